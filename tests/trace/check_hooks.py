"""Checks the layers of a trace against hooks that watched the same run.

A model trains on the CPU under torch.profiler(with_stack, record_shapes) while forward hooks time
every module. The trace must show every module by its dotted path with as many forward and backward
calls as the hooks saw, and for modules that take over a millisecond in most passes, forward times
within 10% of the hooks' (median over the passes). As times are compared, this is no part of
`make test`.

usage: python tests/trace/check_hooks.py [--tool build/pyrometer] [--passes 10]
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONG_NS = 1_000_000
TOLERANCE = 0.10


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.norm1(self.conv1(x)))
        return self.relu(self.norm2(self.conv2(y)) + x)


class ConvNet(nn.Module):
    """Residual blocks, of which one runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 7, stride=2, padding=3), nn.ReLU())
        self.blocks = nn.Sequential(Block(32), Block(32))
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(self.blocks(self.stem(x)))
        return self.head(x.mean((2, 3)))


class Language(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(1000, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(128, 1000)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.tokens(ids)))


MODELS = {
    "convnet": (ConvNet, lambda: torch.randn(8, 3, 128, 128)),
    "language": (Language, lambda: torch.randint(0, 1000, (8, 128))),
}


class Watch:
    """Forward calls and times of every module, one record a pass."""

    def __init__(self, model: nn.Module) -> None:
        self.passes: list[dict[str, list[int]]] = []
        self.starts: list[int] = []
        for path, module in model.named_modules():
            module.register_forward_pre_hook(self.enter)
            module.register_forward_hook(self.leave(path))

    def enter(self, *_: object) -> None:
        self.starts.append(time.perf_counter_ns())

    def leave(self, path: str):
        def note(*_: object) -> None:
            elapsed_ns = time.perf_counter_ns() - self.starts.pop()
            self.passes[-1].setdefault(path, []).append(elapsed_ns)

        return note


def count_backward_calls(model: nn.Module, example: torch.Tensor) -> collections.Counter[str]:
    """How often each module's backward runs in one pass, by torch's own hooks."""
    calls: collections.Counter[str] = collections.Counter()
    handles = []
    for path, module in model.named_modules():
        if getattr(module, "inplace", False):
            module.inplace = False  # full backward hooks do not go with in-place work
        handles.append(
            module.register_full_backward_hook(lambda *_, _path=path: calls.update([_path]))
        )
    model(example).square().mean().backward()
    for handle in handles:
        handle.remove()
    return calls


def record(model: nn.Module, example: torch.Tensor, passes: int, trace: str) -> Watch:
    watch = Watch(model)
    plan = schedule(wait=0, warmup=2, active=passes, repeat=1)
    with profile(
        activities=[ProfilerActivity.CPU], schedule=plan, with_stack=True, record_shapes=True
    ) as profiler:
        for _ in range(passes + 2):
            watch.passes.append({})
            model(example).square().mean().backward()
            profiler.step()
    profiler.export_chrome_trace(trace)
    del watch.passes[:2]
    return watch


def layers_of(tool: str, trace: str, program: str, *options: str) -> dict[str, dict]:
    command = [tool, "trace", trace, "--model", program, "--format", "json", *options]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        sys.exit(finished.stderr.strip())
    return {row["path"]: row for row in json.loads(finished.stdout)["layers"]}


def check(name: str, tool: str, passes: int, folder: str) -> int:
    """Prints what differs and returns how much did."""
    torch.manual_seed(0)
    build, make_example = MODELS[name]
    example = make_example()
    program, trace = f"{folder}/{name}.pt2", f"{folder}/{name}.json"
    torch.export.save(torch.export.export(build().eval(), (example,), strict=False), program)
    backward = count_backward_calls(build(), example)
    watch = record(build(), example, passes, trace)
    layers = layers_of(tool, trace, program)
    failures = 0
    for path, times in watch.passes[0].items():
        row = layers.get(path)
        if row is None:
            print(f"    {name}: no layer {path!r} in the trace")
            failures += 1
            continue
        wanted = (len(times) * passes, backward[path] * passes)
        got = (row["calls"], row["backward_calls"])
        if got != wanted:
            print(f"    {name}: {path}: calls {got}, the hooks saw {wanted}")
            failures += 1
    first = min(int(step) for step in step_numbers(tool, trace))
    ratios: dict[str, list[float]] = {}
    for index, seen in enumerate(watch.passes):
        rows = layers_of(tool, trace, program, "--step", str(first + index))
        for path, times in seen.items():
            if sum(times) > LONG_NS and path in rows:
                ratios.setdefault(path, []).append(rows[path]["forward_host_ns"] / sum(times))
    for path, values in sorted(ratios.items()):
        ratio = statistics.median(values)
        if len(values) > passes / 2 and abs(ratio - 1) > TOLERANCE:
            print(f"    {name}: {path}: forward time {ratio:.3f} of the hooks' over {len(values)}")
            failures += 1
    print(f"{name}: {len(watch.passes[0])} modules, {len(ratios)} timed, {failures} differ")
    return failures


def step_numbers(tool: str, trace: str) -> list[int]:
    command = [tool, "trace", trace, "--format", "json"]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    return [step["number"] for step in json.loads(finished.stdout)["steps"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", default=str(ROOT / "build" / "pyrometer"))
    parser.add_argument("--passes", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        failures = sum(check(name, options.tool, options.passes, folder) for name in MODELS)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
