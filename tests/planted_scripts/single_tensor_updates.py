"""Training whose optimizer updates its parameters one by one."""

import recording
import torch
from torch import nn

PLANTED = recording.Planted("single-tensor-optimizer", function="update")


class Scales(nn.Module):
    """Scales of single heads, each a parameter of its own."""

    def __init__(self, count, size):
        super().__init__()
        self.parts = nn.ParameterList(torch.ones(size) for _ in range(count))

    def forward(self, x):
        return x * torch.cat(list(self.parts))


def make(device, is_fixed):
    count, size = (128, 4) if device == "cpu" else (512, 8)
    width = count * size
    heavy = recording.heavy_model(device, width, depth=(4, 30))
    for parameter in heavy.parameters():
        parameter.requires_grad_(False)
    scales = Scales(count, size).to(device, recording.type_on(device))
    inputs = recording.rows_for(device, width)
    options = {"fused": True} if is_fixed else {"foreach": False}
    optimizer = torch.optim.AdamW(scales.parameters(), lr=1e-3, **options)

    def update():
        optimizer.step()  # planted

    def step():
        optimizer.zero_grad()
        with torch.no_grad():
            features = heavy(inputs)
        scales(features).square().mean().backward()
        update()

    return step


if __name__ == "__main__":
    recording.main()
