"""Measures the two phases of a language model separately: prefill and decode."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import Any

from pyrometer import _core
from pyrometer._bench.engine import Engine
from pyrometer._helper.example_inputs import Inputs

RUNS = 5
NEW_TOKENS = 16


def is_language_model(engine: Engine) -> bool:
    """Whether the model generates tokens with a KV cache."""
    config = getattr(engine.module, "config", None)
    if config is None or getattr(config, "is_encoder_decoder", False):
        return False
    can_generate = getattr(engine.module, "can_generate", None)
    return callable(can_generate) and bool(can_generate())


def prompt_of(inputs: Inputs) -> Any:
    """The tokens among the inputs; None without tokens."""
    if "input_ids" in inputs.kwargs:
        return inputs.kwargs["input_ids"]
    for _, tensor in inputs.tensors():
        if getattr(tensor, "dim", None) and tensor.dim() == 2 and not tensor.is_floating_point():
            return tensor
    return None


def with_room(engine: Engine, prompt: Any, new_tokens: int) -> Any:
    """The prompt, cut if the model lacks positions for it and the new tokens."""
    limit = getattr(engine.module.config, "max_position_embeddings", None)
    if not isinstance(limit, int) or prompt.shape[1] + new_tokens <= limit:
        return prompt
    return prompt[:, : max(1, limit - new_tokens)]


@dataclass
class Phases:
    """Milliseconds to the first token, one per run, and of each later token."""

    first_ms: list[float] = field(default_factory=list)
    token_ms: list[float] = field(default_factory=list)
    discarded: int = 0  # runs during which the GPU was throttled


def _generate(engine: Engine, prompt: Any, new_tokens: int) -> list[int]:
    """Start time, and the time of each token; greedy, so that all runs are equal."""
    module, wait = engine.module, engine.synchronize() or (lambda: None)
    wait()
    marks = [time.perf_counter_ns()]
    with engine.casting():
        out = module(input_ids=prompt, use_cache=True)
    token = out.logits[:, -1:].argmax(-1)
    wait()
    marks.append(time.perf_counter_ns())
    for _ in range(new_tokens):
        with engine.casting():
            out = module(input_ids=token, past_key_values=out.past_key_values, use_cache=True)
        token = out.logits[:, -1:].argmax(-1)
        wait()
        marks.append(time.perf_counter_ns())
    return marks


def measure(
    engine: Engine, prompt: Any, runs: int, new_tokens: int, max_time_s: float | None = None
) -> Phases:
    """All sequences of the batch advance together. The first run is the warm-up; a run during which
    the GPU is throttled is repeated, at most as often as there are runs."""
    found, gpu = Phases(), engine.gpu()
    start = time.perf_counter()
    _generate(engine, prompt, new_tokens)
    throttled = gpu is not None and gpu.read()["throttled"]
    while len(found.first_ms) < runs:
        marks = _generate(engine, prompt, new_tokens)
        before, throttled = throttled, gpu is not None and gpu.read()["throttled"]
        if (before or throttled) and found.discarded < runs:
            found.discarded += 1
        else:
            first, *rest = ((b - a) / 1e6 for a, b in itertools.pairwise(marks))
            found.first_ms.append(first)
            found.token_ms.extend(rest)
        is_over = max_time_s is not None and time.perf_counter() - start >= max_time_s
        if is_over and found.first_ms:
            break
    return found


def add_phases(
    bench: Any, index: int, engine: Engine, placed: Inputs, max_time_s: float | None = None
) -> dict[str, float]:
    """Adds both phases to a result; returns their means in ms. Warns if the model cannot run so."""
    prompt = prompt_of(placed)
    if prompt is None:
        return {}
    prompt = with_room(engine, prompt, NEW_TOKENS)
    try:
        with engine.running():
            phases = measure(engine, prompt, RUNS, NEW_TOKENS, max_time_s)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        bench.warn(f"prefill and decode were not measured apart: {lines[0]}")
        return {}
    first, each = phases.first_ms, phases.token_ms
    sequences = prompt.shape[0]
    bench.metric(index, "time_to_first_token", "ms", False, first)
    bench.metric(index, "time_per_token", "ms", False, each)
    for of, name, tokens in (
        ("time_per_token", "decode_tokens_per_second", sequences),
        ("time_to_first_token", "prefill_tokens_per_second", prompt.numel()),
    ):
        bench.rate(index, of, name, "tokens/s", tokens)
    text = f"{sequences} sequences of {prompt.shape[1]} tokens, {len(each) // len(first)} new"
    if phases.discarded:
        text += f"; {phases.discarded} runs were discarded, beside which the GPU was throttled"
    bench.fact(index, "decoding", text)
    return {"first_token_ms": _core.mean(first), "token_ms": _core.mean(each)}
