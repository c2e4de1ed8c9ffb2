"""Measures the overhead of building a graph of a model with many layers over its plain forward.

.venv/bin/python bench/graph.py [--layers 1000] [--rounds 9]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

import pyrometer

ALLOWED_TIMES, ALLOWED_S = 2, 0.2


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def profile(model: nn.Module, x: torch.Tensor) -> None:
    prof = pyrometer.Profiler(model, granularity="layer", auto_profile=False)
    prof.profile_once(x)
    assert len(prof.graph.edges) >= len(model)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(options.layers))).eval()
    x = torch.randn(4, 64)
    with torch.no_grad():
        model(x)
        profile(nn.Sequential(nn.Linear(2, 2)), torch.randn(1, 2))  # builds the observer once
        plain, built, afterwards = [], [], []
        for _ in range(options.rounds):
            plain.append(seconds(lambda: model(x)))
            built.append(seconds(lambda: profile(model, x)))
            afterwards.append(seconds(lambda: model(x)))
    forward, graph = statistics.median(plain), statistics.median(built)
    ratio = statistics.median(b / a for a, b in zip(plain, afterwards, strict=True))
    limit = ALLOWED_TIMES * forward + ALLOWED_S
    print(f"{options.layers} layers, median of {options.rounds} interleaved rounds")
    print(f"  plain forward                        {forward * 1e3:9.1f} ms")
    print(f"  graph: forward, nodes and edges      {graph * 1e3:9.1f} ms")
    print(
        f"  2 x forward + 0.2 s                  {limit * 1e3:9.1f} ms  ({graph / limit:.2f} of it)"
    )
    print(f"  plain forward right after the graph / before it: {ratio:.3f}")


if __name__ == "__main__":
    main()
