#!/usr/bin/env python3
"""Measures ModelProfiler: the overhead of its loop, torch.utils.benchmark on the same call, and A/A
pairs.

    make python && .venv/bin/python bench/model.py [--rounds 10] [--pairs 10]

Both tools measure the same call in turn, so that other load on the machine affects both. Prints
results and never fails on a time.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import warnings

# With several threads, the waits between them would measure other load on the machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.utils.benchmark
from torch import nn

import pyrometer
from pyrometer._testing import core


def make() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return model.eval(), torch.randn(8, 64, 128)


def measure_once() -> dict:
    model, inputs = make()
    profiler = pyrometer.ModelProfiler(model, device="cpu")
    return profiler.profile(inputs, num_runs=50, warmup_runs=10)


def compare_with_torch(rounds: int) -> None:
    model, inputs = make()
    profiler = pyrometer.ModelProfiler(model, device="cpu")
    timer = torch.utils.benchmark.Timer("model(x)", globals={"model": model, "x": inputs})
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(profiler.profile(inputs, num_runs=30, warmup_runs=3)["latency"]["p50"])
        with torch.inference_mode():
            times = [timer.timeit(1).mean * 1e3 for _ in range(30)]
        theirs.append(statistics.median(times))
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    print(
        f"ours {statistics.median(ours):.3f} ms, torch.utils.benchmark "
        f"{statistics.median(theirs):.3f} ms; ratio per round: median "
        f"{statistics.median(ratios):.4f}, from {ratios[0]:.4f} to {ratios[-1]:.4f}"
    )


def measure_loop(runs: int = 20_000) -> None:
    """Measures the loop around an empty call."""
    loop = core.Loop(warmup_runs=100, min_runs=runs, max_runs=runs)
    loop.run(int)
    print(f"loop overhead per empty call: {statistics.median(loop.latency_ms()) * 1e6:.0f} ns")


def measure_gpu(rounds: int) -> None:
    """What watching the clocks of a GPU costs, and how much slower calls with a cold L2 are."""
    model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(2)]).eval()
    inputs = torch.randn(1, 2048)
    profiler = pyrometer.ModelProfiler(model, device="cuda")
    engine = profiler._engine
    ratios: dict[str, list[float]] = {"watched to unwatched": [], "cold to warm": []}
    for _ in range(rounds):
        warm = profiler.profile(inputs, num_runs=300, only_times=True)["latency"]["p50"]
        cold = profiler.profile(inputs, num_runs=300, only_times=True, cold_cache=True)
        gpu, engine._gpu, engine.gpu_reason = engine._gpu, None, "switched off"
        bare = profiler.profile(inputs, num_runs=300, only_times=True)["latency"]["p50"]
        engine._gpu, engine.gpu_reason = gpu, None
        ratios["watched to unwatched"].append(warm / bare)
        ratios["cold to warm"].append(cold["latency"]["p50"] / warm)
    for what, found in ratios.items():
        print(f"on the GPU, {what}: median ratio {statistics.median(found):.4f}")


def run_pairs(count: int) -> None:
    """Compares equal models, five interleaved processes per side; every alarm is false."""
    verdicts: dict[str, int] = {}
    command = [sys.executable, __file__, "--once"]
    for pair in range(count):
        sides: list[list[dict]] = [[], []]
        for _ in range(5):
            for side in sides:
                out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                side.append(json.loads(out))
        merged = [merge(side) for side in sides]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = pyrometer.detect_regressions(*merged)
        verdicts[found.verdict] = verdicts.get(found.verdict, 0) + 1
        print(f"  pair {pair + 1}: {found.verdict}")
    print("equal models:", ", ".join(f"{count} {name}" for name, count in verdicts.items()))


def merge(side: list[dict]) -> dict:
    """One document with the samples of all processes."""
    whole = side[0]
    result = whole["benchmarks"][0]
    for document in side[1:]:
        other = document["benchmarks"][0]
        result["processes"] += other["processes"]
        for metric, more in zip(result["metrics"], other["metrics"], strict=True):
            if "samples" in metric:
                metric["samples"] += more["samples"]
    return whole


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        json.dump(measure_once().document, sys.stdout)
        return
    measure_loop()
    if torch.cuda.is_available():
        measure_gpu(options.rounds)
    compare_with_torch(options.rounds)
    run_pairs(options.pairs)


if __name__ == "__main__":
    main()
