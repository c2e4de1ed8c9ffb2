"""Inference that clones what it only reads."""

import recording
import torch
from torch import nn

PLANTED = recording.Planted("needless-copies", function="run_block")


def run_block(block, x, is_fixed):
    if is_fixed:
        return block(x)
    return block(x.clone())  # planted


def make(device, is_fixed):
    rows, width = (4096, 64) if device == "cpu" else (1 << 18, 1024)
    dtype = recording.type_on(device)
    blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(4)).to(device, dtype)
    inputs = torch.randn(rows, width, device=device, dtype=dtype)

    @torch.no_grad()
    def step():
        x = inputs
        for block in blocks:
            x = run_block(block, x, is_fixed)
        return x

    return step


if __name__ == "__main__":
    recording.main()
