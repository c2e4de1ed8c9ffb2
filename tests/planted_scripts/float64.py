"""Inference in which an array of numpy makes a layer compute in float64."""

import numpy
import recording
import torch
from torch import nn

PLANTED = recording.Planted("double-precision", layer="project", function="forward")


class Projection(nn.Module):
    def __init__(self, width, dtype):
        super().__init__()
        basis = torch.from_numpy(numpy.random.default_rng(0).normal(size=(64, width)))
        self.register_buffer("basis", basis.to(dtype) if dtype else basis)

    def forward(self, x):
        waves = x.to(self.basis.dtype) @ self.basis  # planted
        return waves.to(x.dtype)


class Field(nn.Module):
    def __init__(self, width, dtype):
        super().__init__()
        self.project = Projection(width, dtype)
        self.head = nn.Linear(width, 16)

    def forward(self, x):
        return self.head(self.project(x))


def make(device, is_fixed):
    dtype = recording.type_on(device)
    width = 256 if device == "cpu" else 4096
    model = Field(width, dtype if is_fixed else None).to(device)
    model.head.to(dtype)
    rows = 4096 if device == "cpu" else 1 << 18
    points = torch.randn(rows, 64, device=device, dtype=dtype)

    @torch.no_grad()
    def step():
        return model(points)

    return step


if __name__ == "__main__":
    recording.main()
