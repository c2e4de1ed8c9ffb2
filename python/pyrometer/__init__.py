"""What a PyTorch model should cost, and what a run of it did cost, layer by layer.

>>> import pyrometer
>>> pyrometer.cost("resnet18").total("macs")
1814073344
"""

from pyrometer._block import Capture, capture
from pyrometer._capture import capture_model
from pyrometer._core import version as __version__
from pyrometer._cost import Cost, Operator, Tensor, cost
from pyrometer._error import Error
from pyrometer._registry import MODEL_REGISTRY, Model, models, register
from pyrometer._trace import Table, Trace, parse_model_trace, trace

__all__ = [
    "MODEL_REGISTRY",
    "Capture",
    "Cost",
    "Error",
    "Model",
    "Operator",
    "Table",
    "Tensor",
    "Trace",
    "__version__",
    "capture",
    "capture_model",
    "cost",
    "models",
    "parse_model_trace",
    "register",
    "trace",
]
