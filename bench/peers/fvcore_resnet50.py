"""fvcore's count of ResNet-50, as its users run it; fvcore cannot trace a model on meta."""

import pathlib
import sys

# Only one file of the package: importing all of it would count as fvcore's time.
sys.path.append(str(pathlib.Path(__file__).parents[2] / "python/pyrometer/_helper"))

import torch
import torchvision_ops
from fvcore.nn import FlopCountAnalysis


def main() -> None:
    torchvision_ops.declare()
    import torchvision

    model = torchvision.models.resnet50().eval()
    analysis = FlopCountAnalysis(model, torch.zeros(1, 3, 224, 224))
    analysis.by_module()
    print(analysis.total())


main()
