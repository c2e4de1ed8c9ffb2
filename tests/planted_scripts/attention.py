"""Training with attention that is written out as products and a softmax."""

import recording
import torch
from torch import nn
from torch.nn import functional

PLANTED = recording.Planted("unfused-attention", layer="0", function="attend")


def attend(query, key, value):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    return scores.softmax(-1) @ value  # planted


class Attention(nn.Module):
    def __init__(self, width, heads, is_fixed):
        super().__init__()
        self.heads = heads
        self.attend = functional.scaled_dot_product_attention if is_fixed else attend
        self.input = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x):
        parts = self.input(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return self.output(self.attend(*parts).transpose(1, 2).flatten(2))


def make(device, is_fixed):
    batch, tokens, width, heads = (2, 256, 64, 4) if device == "cpu" else (24, 2048, 1024, 16)
    dtype = recording.type_on(device)
    layers = [Attention(width, heads, is_fixed) for _ in range(2)]
    model = nn.Sequential(*layers).to(device, dtype)
    inputs = torch.randn(batch, tokens, width, device=device, dtype=dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step():
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    return step


if __name__ == "__main__":
    recording.main()
