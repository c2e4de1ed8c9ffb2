"""FlopCounterMode's count of ResNet-50; on meta, so that nothing is computed."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import torch
from torch.utils.flop_counter import FlopCounterMode

from catalog import torchvision_ops


def main() -> None:
    torchvision_ops.declare()
    import torchvision

    with torch.device("meta"):
        model = torchvision.models.resnet50().eval()
        image = torch.empty(1, 3, 224, 224)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(image)
    print(counter.get_total_flops())


main()
