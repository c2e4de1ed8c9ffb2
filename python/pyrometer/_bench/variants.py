"""Runs the recommended variants interleaved with the current model, to measure their real gain."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyrometer import _core, _env
from pyrometer._bench import engines
from pyrometer._helper.example_inputs import Inputs

ROUNDS, CALLS = 6, 4
DOUBLINGS = 3  # of the batch that always run, even if the first gains nothing
BATCH_MOST = 64  # times the current batch
BATCH_SECONDS = 1.0  # per batch; slower calls run fewer times

REFUTED, FAILED = "refuted", "could not be run"


@dataclass(frozen=True)
class Attempt:
    """The outcome of trying a variant."""

    outcome: str
    gain: str


def in_turn(
    first: Callable[[], Any],
    second: Callable[[], Any],
    wait: Any = None,
    rounds: int = ROUNDS,
    calls: int = CALLS,
) -> tuple[list[float], list[float]]:
    """Median milliseconds of both in each round; interleaved, so that other load on the machine
    affects both."""
    medians: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for run, found in zip((first, second), medians, strict=True):
            loop = _core.Loop(warmup_runs=1, min_runs=calls, max_runs=calls)
            loop.run(run, wait)
            found.append(_core.median(loop.latency_ms()))
    return medians


def larger_batches(engine: Any, placed: Inputs) -> dict[int, float]:
    """Milliseconds per call by batch: the current one, and doublings of it until throughput stops
    growing or memory or time run out; each interleaved with the current one. Empty if not even
    twice the batch runs."""
    batch = placed.batch_size()
    run, wait = engine.bind(placed), engine.synchronize()
    present: list[float] = []
    found: dict[int, float] = {}
    best = 0.0
    size = 2 * batch
    while size <= BATCH_MOST * batch:
        try:
            with engine.running():
                other = engine.bind(engine.place(placed.resized(size)))
                plan = _plan(other, wait, size == 2 * batch)
                if plan is None:
                    break
                both = in_turn(run, other, wait, *plan)
        except Exception as error:  # a fixed batch, or out of memory
            _env.debug(f"cannot run a batch of {size}: {error}")
            break
        present += both[0]
        # Relative to the current batch in the same rounds: the machine may have slowed down.
        ratio = _core.median([b / a for a, b in zip(*both, strict=True)])
        found[size] = ratio
        rate = size / ratio
        if size >= batch * 2**DOUBLINGS and rate < (1 + _core.KNEE_GAIN) * best:
            break
        best = max(best, rate)
        size *= 2
    if not found:
        return {}
    middle = _core.median(present)
    return {batch: middle} | {size: ratio * middle for size, ratio in found.items()}


def _plan(run: Callable[[], Any], wait: Any, is_first: bool) -> tuple[int, int] | None:
    """Rounds and calls that fit into the time of one batch; None if too few fit."""
    loop = _core.Loop(warmup_runs=1, min_runs=1, max_runs=1)
    loop.run(run, wait)
    seconds = loop.latency_ms()[0] / 1e3
    if seconds * ROUNDS * (CALLS + 1) <= BATCH_SECONDS:
        return ROUNDS, CALLS
    if seconds * 6 <= 2 * BATCH_SECONDS or is_first:
        return 3, 1
    return None


def tell(before: list[float], after: list[float], factor: float) -> str:
    """The gain in throughput with its interval: the smallest and the largest of six rounds contain
    the median with 97% confidence."""
    return _core.compare_variant(before, after, factor, False)[1]


def judge(before: list[float], after: list[float], factor: float, frees: bool = False) -> str:
    """Whether the measurement confirms a recommendation. One that frees processors must keep the
    throughput; others must raise it."""
    return _core.compare_variant(before, after, factor, frees)[0]


def _other_precision(
    engine: Any, model: Any, inputs: Inputs, value: str
) -> tuple[Callable[[], Any], str]:
    other = engines.load(model, engine.device, value)
    placed = other.place(inputs)
    other.verify(placed)
    run, running = other.bind(placed), other.running

    def call() -> Any:
        with running():
            return run()

    weights = (engine.weight_bytes(), other.weight_bytes())
    note = f"; ran {other.ran}"
    if weights[0] and weights[1] is not None:
        note += f"; weights take {weights[1] / weights[0]:.0%} of the memory"
    return call, note


def _compiled(engine: Any, inputs: Inputs) -> Callable[[], Any]:
    import torch

    return engine._bound(torch.compile(engine.module), inputs)


def _channels_last(engine: Any, inputs: Inputs) -> Callable[[], Any]:
    import copy

    import torch

    module = copy.deepcopy(engine.module).to(memory_format=torch.channels_last)
    turned = inputs.map(lambda t: t.to(memory_format=torch.channels_last) if t.dim() == 4 else t)
    return engine._bound(module, turned)


def _folded(engine: Any, inputs: Inputs) -> Callable[[], Any]:
    import torch.fx.experimental.optimization as optimization

    return engine._bound(optimization.fuse(engine.module), inputs)


def _with_attention(engine: Any, inputs: Inputs, kind: str) -> Callable[[], Any]:
    import copy

    module = copy.deepcopy(engine.module)
    module.set_attn_implementation(kind)
    return engine._bound(module, inputs)


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


def _make(
    engine: Any, model: Any, inputs: Inputs, run: Callable[[], Any], kind: str, value: str
) -> tuple[Callable[[], Any] | None, float, str]:
    """The variant as a function without arguments, its factor of samples, and a note."""
    if kind == "precision":
        call, note = _other_precision(engine, model, inputs, value)
        return call, 1.0, note
    if kind == "batch":
        factor = int(value) / max(inputs.batch_size(), 1)
        return engine.bind(engine.place(inputs.resized(int(value)))), factor, ""
    if kind == "threads":
        return _with_threads(run, int(value)), 1.0, ""
    if kind == "attention":
        return _with_attention(engine, inputs, value), 1.0, ""
    made = {"compile": _compiled, "channels_last": _channels_last, "fold": _folded}.get(kind)
    return None if made is None else made(engine, inputs), 1.0, ""


def attempt(engine: Any, model: Any, inputs: Inputs, variant: str, frees: bool = False) -> Attempt:
    """Measures what a variant ("precision=bf16", "batch=64", "threads=2", "compile",
    "channels_last", "fold", "attention=sdpa") gains here, or returns why it could not run. `frees`:
    its goal is fewer processors, not speed."""
    kind, _, value = variant.partition("=")
    try:
        with engine.running():
            run = engine.bind(inputs)
            other, factor, note = _make(engine, model, inputs, run, kind, value)
            if other is None:
                return Attempt("", "not tried")
            other()
            before, after = in_turn(run, other, engine.synchronize())
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        return Attempt(FAILED, f"could not be run here: {type(error).__name__}: {lines[0][:120]}")
    text = tell(before, after, factor) + note
    outcome = judge(before, after, factor, frees)
    return Attempt(outcome, f"refuted: {text}" if outcome == REFUTED else text)


def try_all(engine: Any, model: Any, inputs: Inputs, rows: list[list[str]]) -> list[list[str]]:
    """Adds the outcomes to recommendations; refuted ones, and those that could not run, move to the
    end. A variant that several rows name runs once."""
    known: dict[tuple[str, bool], Attempt] = {}
    tried = []
    for *told, gain, variant, outcome in rows:
        if variant:
            key = (variant, told[0] == "idle threads")
            if key not in known:
                known[key] = attempt(engine, model, inputs, *key)
            outcome, gain = known[key].outcome, known[key].gain
        tried.append([*told, gain, variant, outcome])
    last = {FAILED: 1, REFUTED: 2}
    return sorted(tried, key=lambda row: last.get(row[-1], 0))
