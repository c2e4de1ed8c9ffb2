"""Builds the graph of a transformer down to its leaves, and splits it in two.

python graph_transformer.py [FOLDER]
"""

import os
import sys

import torch
from torch import nn
from torch.nn import functional

from pyrometer import Profiler


class Block(nn.Module):
    """Attention and a gated MLP, each with its residual."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.norm2 = nn.RMSNorm(width)
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (one.view(shape).transpose(1, 2) for one in self.qkv(x).chunk(3, dim=-1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Transformer(nn.Module):
    def __init__(self, depth: int = 4, width: int = 128, heads: int = 4) -> None:
        super().__init__()
        self.tokens = nn.Embedding(1000, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, 1000, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def main(folder: str = ".") -> None:
    model = Transformer().eval()
    prof = Profiler(model, granularity="layer", auto_profile=False, capture_ops=True)
    with torch.no_grad():
        prof.profile_passes(torch.randint(0, 1000, (1, 64)) for _ in range(10))
    prof.export(os.path.join(folder, "transformer"), overwrite_module=True)
    prof.graph.stats()

    split = prof.graph.cuts(2)
    for part in split["parts"]:
        first, last = prof.graph.nodes[part["first"]], prof.graph.nodes[part["last"]]
        print(f"{first.name} .. {last.name}: {part['amount'] / 1e6:.2f} ms")


if __name__ == "__main__":
    main(*sys.argv[1:2])
