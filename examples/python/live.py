"""Prints the cost of a live module, which is exported in memory and never run."""

import torch
from torch import nn

import pyrometer


class Classifier(nn.Module):
    """A small convolutional network."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.head = nn.Linear(64, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(image).flatten(1))


def main() -> None:
    cost = pyrometer.cost(Classifier().eval(), torch.randn(8, 3, 64, 64))
    print(cost.table())
    print(f"{cost!r}\n")
    for module, flops in cost.by_module("flops").items():
        print(f"{module or '(model)':<16} {flops:>14,} FLOPs")
    if cost.unsupported_ops():
        print("not counted:", dict(cost.unsupported_ops()))


if __name__ == "__main__":
    main()
