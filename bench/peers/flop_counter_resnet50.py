"""FlopCounterMode's count of ResNet-50; on meta, so that nothing is computed."""

import pathlib
import sys

# Only one file of the package: importing all of it would count as FlopCounterMode's time.
sys.path.append(str(pathlib.Path(__file__).parents[2] / "python/pyrometer/_helper"))

import torch
import torchvision_ops
from torch.utils.flop_counter import FlopCounterMode


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
