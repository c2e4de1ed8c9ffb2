"""Predicts what a PyTorch model costs, and reports what a run of it cost, layer by layer.

>>> import pyrometer
>>> pyrometer.cost("resnet18").total("macs")
1814073344
"""

from typing import TYPE_CHECKING, Any

from pyrometer import _env
from pyrometer._bench.results import (
    BenchmarkResults,
    Regressions,
    Results,
    detect_regressions,
    load_baseline,
)
from pyrometer._capture.block import Capture, capture
from pyrometer._capture.model import capture_model
from pyrometer._core import version as __version__
from pyrometer._cost.cost import Cost, Operator, Tensor, cost
from pyrometer._cost.fit import Fit, fit
from pyrometer._cost.fuse import Fusion, fuse
from pyrometer._cost.map import Map, map
from pyrometer._cost.registry import MODEL_REGISTRY, Model, models, register
from pyrometer._cost.train import TrainCost
from pyrometer._error import Error
from pyrometer._graph.graph import Graph
from pyrometer._history.history import History, history
from pyrometer._ray.decorator import ray
from pyrometer._trace.ranks import Ranks, ranks
from pyrometer._trace.trace import Table, Trace, parse_model_trace, trace
from pyrometer._training.profiler import TrainingProfiler, profiler, step_profiler

if TYPE_CHECKING:
    from pyrometer._bench.model_profiler import ModelProfiler
    from pyrometer._capture.graph_profiler import Profiler

__all__ = [
    "MODEL_REGISTRY",
    "BenchmarkResults",
    "Capture",
    "Cost",
    "Error",
    "Fit",
    "Fusion",
    "Graph",
    "History",
    "Map",
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
    "TrainCost",
    "TrainingProfiler",
    "__version__",
    "capture",
    "capture_model",
    "cost",
    "detect_regressions",
    "fit",
    "fuse",
    "history",
    "load_baseline",
    "map",
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
    """Imports the names that require torch only when they are used."""
    if name in ("ModelProfiler", "Profiler"):
        _env.require_torch(f"pyrometer.{name}")
    if name == "ModelProfiler":
        from pyrometer._bench.model_profiler import ModelProfiler

        return ModelProfiler
    if name == "Profiler":
        from pyrometer._capture.graph_profiler import Profiler

        return Profiler
    raise AttributeError(f"module 'pyrometer' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Lists only the public names."""
    return sorted(__all__)
