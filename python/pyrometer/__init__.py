"""What a PyTorch model should cost, and what a run of it did cost, layer by layer.

>>> import pyrometer
>>> pyrometer.cost("resnet18").total("macs")
1814073344
"""

from typing import TYPE_CHECKING, Any

from pyrometer import _switch
from pyrometer._block import Capture, capture
from pyrometer._capture import capture_model
from pyrometer._core import version as __version__
from pyrometer._cost import Cost, Operator, Tensor, cost
from pyrometer._error import Error
from pyrometer._graph import Graph
from pyrometer._many_ranks import Ranks, ranks
from pyrometer._ray import ray
from pyrometer._registry import MODEL_REGISTRY, Model, models, register
from pyrometer._results import (
    BenchmarkResults,
    Regressions,
    Results,
    detect_regressions,
    load_baseline,
)
from pyrometer._trace import Table, Trace, parse_model_trace, trace
from pyrometer._training import TrainingProfiler, profiler, step_profiler

if TYPE_CHECKING:
    from pyrometer._model_profiler import ModelProfiler
    from pyrometer._profiler import Profiler

__all__ = [
    "MODEL_REGISTRY",
    "BenchmarkResults",
    "Capture",
    "Cost",
    "Error",
    "Graph",
    "Model",
    "ModelProfiler",
    "Operator",
    "Profiler",
    "Ranks",
    "Regressions",
    "Results",
    "Table",
    "Tensor",
    "Trace",
    "TrainingProfiler",
    "__version__",
    "capture",
    "capture_model",
    "cost",
    "detect_regressions",
    "load_baseline",
    "models",
    "parse_model_trace",
    "profiler",
    "ranks",
    "ray",
    "register",
    "step_profiler",
    "trace",
]


def __getattr__(name: str) -> Any:
    """These need torch, and so only asking for them does."""
    if name in ("ModelProfiler", "Profiler"):
        _switch.require_torch(f"pyrometer.{name}")
    if name == "ModelProfiler":
        from pyrometer._model_profiler import ModelProfiler

        return ModelProfiler
    if name == "Profiler":
        from pyrometer._profiler import Profiler

        return Profiler
    raise AttributeError(f"module 'pyrometer' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names alone."""
    return sorted(__all__)
