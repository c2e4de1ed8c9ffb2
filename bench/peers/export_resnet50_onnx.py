"""Writes torchvision's ResNet-50 as ONNX: export_resnet50_onnx.py FILE."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "python/pyrometer/_helper"))

import torch
import torchvision_ops


def main() -> None:
    torchvision_ops.declare()
    import torchvision

    model = torchvision.models.resnet50().eval()
    torch.onnx.export(model, torch.zeros(1, 3, 224, 224), sys.argv[1], dynamo=False)


main()
