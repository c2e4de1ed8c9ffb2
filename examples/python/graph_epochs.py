"""Prints passes, median and 95th percentile of every block, over many passes.

python graph_epochs.py
"""

import torch
from torch import nn

from pyrometer import Profiler


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.mlp(self.norm(x))


def main(epochs: int = 5, batches: int = 6) -> None:
    model = nn.Sequential(
        nn.Linear(32, 128), *(Residual(128) for _ in range(3)), nn.Linear(128, 10)
    )
    prof = Profiler(model.eval(), granularity="module", auto_profile=False)
    with torch.no_grad():
        prof.profile_passes(torch.randn(64, 32) for _ in range(epochs * batches))
    print(f"{'block':<8} {'passes':>6} {'median ms':>10} {'p95 ms':>8}")
    for node in prof.graph:
        if node.kind == "module":
            print(
                f"{node.name:<8} {node.passes:>6} {node.median_ns / 1e6:>10.3f} "
                f"{node.p95_ns / 1e6:>8.3f}"
            )


if __name__ == "__main__":
    main()
