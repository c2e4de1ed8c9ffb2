"""What a PyTorch model should cost: MACs, FLOPs, bytes and parameters, layer by layer.

>>> import pyrometer
>>> pyrometer.cost("resnet18").total("macs")
1814073344
"""

from pyrometer._core import version as __version__
from pyrometer._cost import Cost, Operator, Tensor, cost
from pyrometer._error import Error

__all__ = ["Cost", "Error", "Operator", "Tensor", "__version__", "cost"]
