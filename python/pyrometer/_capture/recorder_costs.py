"""Measures what torch.profiler and Pyrometer add per event here, for `doctor --calibrate`.

The same steps run bare and recorded, in turn, so that a busy machine disturbs both alike. CPU time
counts, and the faster rounds: other programs make a round slower, never faster.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from pyrometer import _core
from pyrometer._capture import block, kineto

ROUNDS = 7
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
    begin = time.process_time_ns()
    for _ in range(STEPS):
        step()
    return (time.process_time_ns() - begin) / STEPS


def _typical_ns(times: list[float]) -> float:
    """The median of the faster half."""
    return statistics.median(sorted(times)[: len(times) // 2 + 1])


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
    return collections.Counter({name: count / (1 + STEPS) for name, count in counts.items()})


def _measure(
    torch: Any, step: Callable[[], None], **options: bool
) -> tuple[float, collections.Counter[str]]:
    """(nanoseconds that recording adds to a step, its events by category)"""
    bare, recorded = [], []
    for _ in range(ROUNDS):
        bare.append(_time_ns(step))
        with contextlib.ExitStack() as stack:
            profiler = torch.profiler.profile(
                activities=[torch.profiler.ProfilerActivity.CPU], **options
            )
            with kineto.quiet_start():
                stack.enter_context(profiler)
            step()  # the first one finds the recorder's memory new
            recorded.append(_time_ns(step))
    return _typical_ns(recorded) - _typical_ns(bare), _count_events(profiler)


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
    bare, recorded = [], []
    for _ in range(ROUNDS):
        bare.append(_time_ns(step))
        with block.capture(gpu="none") as recording:
            step()
            recorded.append(_time_ns(step))
    ops = sum(recording.trace().ops.calls) / (1 + STEPS)
    return {"op_ns": (_typical_ns(recorded) - _typical_ns(bare)) / max(ops, 1)}


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
