"""Runs what was recommended, in turn with the present model, for the gain that it really has."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from pyrometer import _core, _engines
from pyrometer._inputs import Inputs

ROUNDS, CALLS = 6, 4


def in_turn(
    first: Callable[[], Any], second: Callable[[], Any], wait: Any = None
) -> tuple[list[float], list[float]]:
    """Median milliseconds of both in each round; what else the machine does meets one as the
    other."""
    medians: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for run, found in zip((first, second), medians, strict=True):
            loop = _core.Loop(warmup_runs=1, min_runs=CALLS, max_runs=CALLS)
            loop.run(run, wait)
            found.append(statistics.median(loop.latency_ms()))
    return medians


def tell(before: list[float], after: list[float], factor: float) -> str:
    """The gain in throughput with its interval: from the smallest to the largest of six rounds,
    which hold the median with 97%."""
    gains = [factor * old / new - 1 for old, new in zip(before, after, strict=True)]
    low, high, middle = min(gains), max(gains), statistics.median(gains)
    times = f"{statistics.median(before):.3g} ms, with it {statistics.median(after):.3g} ms"
    sure = "" if low > 0 or high < 0 else "; it cannot be told whether it gains"
    return f"{middle:+.0%} throughput ({low:+.0%} to {high:+.0%}; run here: {times}){sure}"


def _other_precision(engine: Any, model: Any, inputs: Inputs, value: str) -> Callable[[], Any]:
    other = _engines.load(model, engine.device, value)
    run, running = other.bind(other.place(inputs)), other.running

    def call() -> Any:
        with running():
            return run()

    return call


def _compiled(engine: Any, inputs: Inputs) -> Callable[[], Any]:
    import torch

    module = torch.compile(engine.module)
    return lambda: module(*inputs.args, **inputs.kwargs)


def _channels_last(engine: Any, inputs: Inputs) -> Callable[[], Any]:
    import copy

    import torch

    module = copy.deepcopy(engine.module).to(memory_format=torch.channels_last)
    turned = inputs.map(lambda t: t.to(memory_format=torch.channels_last) if t.dim() == 4 else t)
    return lambda: module(*turned.args, **turned.kwargs)


def _folded(engine: Any, inputs: Inputs) -> Callable[[], Any]:
    import torch.fx.experimental.optimization as optimization

    module = optimization.fuse(engine.module)
    return lambda: module(*inputs.args, **inputs.kwargs)


def _with_attention(engine: Any, inputs: Inputs, kind: str) -> Callable[[], Any]:
    import copy

    module = copy.deepcopy(engine.module)
    module.set_attn_implementation(kind)
    return lambda: module(*inputs.args, **inputs.kwargs)


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _with_threads(run: Callable[[], Any], count: int) -> Callable[[], Any]:
    def call() -> Any:
        with _threads(count):
            return run()

    return call


def gain(engine: Any, model: Any, inputs: Inputs, variant: str) -> str:
    """What a variant ("precision=bf16", "batch=64", "threads=2", "compile", "channels_last",
    "fold", "attention=sdpa") gains here, in words; or why it could not be run."""
    kind, _, value = variant.partition("=")
    factor = 1.0
    try:
        with engine.running():
            run = engine.bind(inputs)
            if kind == "precision":
                other = _other_precision(engine, model, inputs, value)
            elif kind == "batch":
                factor = int(value) / max(inputs.batch_size(), 1)
                other = engine.bind(engine.place(inputs.resized(int(value))))
            elif kind == "threads":
                other = _with_threads(run, int(value))
            elif kind == "compile":
                other = _compiled(engine, inputs)
            elif kind == "channels_last":
                other = _channels_last(engine, inputs)
            elif kind == "fold":
                other = _folded(engine, inputs)
            elif kind == "attention":
                other = _with_attention(engine, inputs, value)
            else:
                return "not tried"
            other()
            before, after = in_turn(run, other, engine.synchronize())
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return f"could not be run here: {type(error).__name__}: {lines[0][:120]}"
    return tell(before, after, factor)
