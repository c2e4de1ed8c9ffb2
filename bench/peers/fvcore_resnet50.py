"""fvcore's count of ResNet-50, as its users write it; it cannot trace a model on meta."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import torch
from fvcore.nn import FlopCountAnalysis

from catalog import torchvision_ops


def main() -> None:
    torchvision_ops.declare()
    import torchvision

    model = torchvision.models.resnet50().eval()
    analysis = FlopCountAnalysis(model, torch.zeros(1, 3, 224, 224))
    analysis.by_module()
    print(analysis.total())


main()
