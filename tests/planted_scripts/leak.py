"""Training whose model keeps a state of every step."""

import recording
import torch
from torch import nn

PLANTED = recording.Planted("memory-growth", layer="smooth", function="forward", with_memory=True)


class Smoothed(nn.Module):
    """Averages its input with the last one, for which it needs no more than that."""

    def __init__(self, is_fixed):
        super().__init__()
        self.states = []
        self.is_fixed = is_fixed

    def forward(self, x):
        state = torch.tanh(x)  # planted
        last = self.states[-1] if self.states else state.detach()
        if self.is_fixed:
            self.states.clear()
        self.states.append(state.detach())
        return (state + last) / 2


class Model(nn.Module):
    def __init__(self, width, device, is_fixed):
        super().__init__()
        self.trunk = recording.heavy_model(device, width)
        self.smooth = Smoothed(is_fixed)
        self.head = nn.Linear(width, 16)

    def forward(self, x):
        with torch.no_grad():
            features = self.trunk(x)
        return self.head(self.smooth(features))


def make(device, is_fixed):
    width = 128 if device == "cpu" else 2048
    model = Model(width, device, is_fixed).to(device, recording.type_on(device))
    inputs = recording.rows_for(device, width)
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.01, fused=True)

    def step():
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    recording.main()
