"""Measures what torch.profiler and Pyrometer add per event here, for `doctor --calibrate`.

The same steps run bare and recorded, in turn, so that a busy machine disturbs both alike.
"""

from __future__ import annotations

import collections
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from pyrometer import _core
from pyrometer._capture import block

ROUNDS = 5
STEPS = 3


def _make_step(torch: Any) -> Callable[[], None]:
    """A step of training with many small ops, whose time hardly varies."""
    nn = torch.nn
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(32, 32), nn.LayerNorm(32), nn.GELU()) for _ in range(12)]
    model = nn.Sequential(*layers)
    inputs = torch.randn(16, 32)

    def step() -> None:
        model(inputs).square().mean().backward()
        model.zero_grad()

    return step


def _time_ns(step: Callable[[], None]) -> float:
    begin = time.perf_counter_ns()
    for _ in range(STEPS):
        step()
    return (time.perf_counter_ns() - begin) / STEPS


def _count_events(profiler: Any) -> collections.Counter[str]:
    """Events per step, by category."""
    handle, path = tempfile.mkstemp(prefix="pyrometer-costs-", suffix=".json")
    os.close(handle)
    try:
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    finally:
        os.unlink(path)
    counts = collections.Counter(event.get("cat", "") for event in events)
    return collections.Counter({name: count / STEPS for name, count in counts.items()})


def _measure(
    torch: Any, step: Callable[[], None], **options: bool
) -> tuple[float, collections.Counter[str]]:
    """(nanoseconds that recording adds to a step, its events by category)"""
    added = []
    for _ in range(ROUNDS):
        bare = _time_ns(step)
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], **options
        ) as profiler:
            recorded = _time_ns(step)
        added.append(recorded - (bare + _time_ns(step)) / 2)
    return statistics.median(added), _count_events(profiler)


def measure_torch_profiler(torch: Any) -> dict[str, float]:
    """Nanoseconds per event, by kind."""
    step = _make_step(torch)
    _time_ns(step)
    plain, counts = _measure(torch, step)
    shapes, _ = _measure(torch, step, record_shapes=True)
    memory, memory_counts = _measure(torch, step, profile_memory=True)
    stacks, stack_counts = _measure(torch, step, with_stack=True)
    return {
        "op_ns": plain / max(counts["cpu_op"], 1),
        "shapes_ns": max(shapes - plain, 0) / max(counts["cpu_op"], 1),
        "memory_ns": max(memory - plain, 0) / max(memory_counts["cpu_instant_event"], 1),
        "frame_ns": max(stacks - plain, 0) / max(stack_counts["python_function"], 1),
    }


def measure_pyrometer(torch: Any) -> dict[str, float]:
    """Nanoseconds per op of a recording with everything that is on by default."""
    step = _make_step(torch)
    _time_ns(step)
    added = []
    for _ in range(ROUNDS):
        bare = _time_ns(step)
        with block.capture(gpu="none") as recording:
            recorded = _time_ns(step)
        added.append(recorded - (bare + _time_ns(step)) / 2)
    ops = sum(recording.trace().ops.calls) / STEPS
    return {"op_ns": statistics.median(added) / max(ops, 1)}


def measure(torch: Any) -> dict[str, float]:
    """Costs as members of the file of peaks, without those of a recorder that fails here."""
    costs = {}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for name, run in (
            ("torch_profiler", measure_torch_profiler),
            ("pyrometer", measure_pyrometer),
        ):
            try:
                found = run(torch)
            except (_core.Error, AttributeError, OSError, RuntimeError):
                continue
            costs |= {f"{name}_{kind}": value for kind, value in found.items() if value > 0}
    finally:
        torch.set_num_threads(threads)
    return costs
