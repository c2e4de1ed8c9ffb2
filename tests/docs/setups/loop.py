"""Defines model, optimizer and loader of a training loop for blocks."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 4)

    def forward(self, x):
        return self.linear(x).square().mean()


model = Net()
names |= {  # noqa: F821, the namespace of the document's blocks
    "model": model,
    "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
    "loader": [torch.randn(8, 16) for _ in range(10)],
}
