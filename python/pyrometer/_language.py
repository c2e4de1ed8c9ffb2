"""A language model's two phases apart: reading the prompt, and making one token after another."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import Any

from pyrometer._engines import Engine
from pyrometer._inputs import Inputs

RUNS = 5
NEW_TOKENS = 16


def is_language_model(engine: Engine) -> bool:
    """Whether it makes tokens from tokens, with a cache between."""
    config = getattr(engine.module, "config", None)
    if config is None or getattr(config, "is_encoder_decoder", False):
        return False
    can_generate = getattr(engine.module, "can_generate", None)
    return callable(can_generate) and bool(can_generate())


def prompt_of(inputs: Inputs) -> Any:
    """The tokens among the inputs; None where there are none."""
    if "input_ids" in inputs.kwargs:
        return inputs.kwargs["input_ids"]
    for _, tensor in inputs.tensors():
        if getattr(tensor, "dim", None) and tensor.dim() == 2 and not tensor.is_floating_point():
            return tensor
    return None


def with_room(engine: Engine, prompt: Any, new_tokens: int) -> Any:
    """The prompt, cut where the model has no positions for it and the new tokens."""
    limit = getattr(engine.module.config, "max_position_embeddings", None)
    if not isinstance(limit, int) or prompt.shape[1] + new_tokens <= limit:
        return prompt
    return prompt[:, : max(1, limit - new_tokens)]


def measure(engine: Engine, prompt: Any, runs: int, new_tokens: int) -> tuple[list[float], ...]:
    """Milliseconds to the first token, one a run, and of each later one; all sequences of the
    batch advance together. Greedy, so that every run does the same."""
    module, wait = engine.module, engine.synchronize() or (lambda: None)
    first_ms: list[float] = []
    token_ms: list[float] = []
    for _ in range(runs + 1):
        wait()
        start = time.perf_counter_ns()
        with engine.casting():
            out = module(input_ids=prompt, use_cache=True)
        token = out.logits[:, -1:].argmax(-1)
        wait()
        marks = [time.perf_counter_ns()]
        for _ in range(new_tokens):
            with engine.casting():
                out = module(input_ids=token, past_key_values=out.past_key_values, use_cache=True)
            token = out.logits[:, -1:].argmax(-1)
            wait()
            marks.append(time.perf_counter_ns())
        first_ms.append((marks[0] - start) / 1e6)
        token_ms.append([(b - a) / 1e6 for a, b in itertools.pairwise(marks)])
    # The first run warms up.
    return first_ms[1:], [ms for run in token_ms[1:] for ms in run]


def add_phases(bench: Any, index: int, engine: Engine, placed: Inputs) -> dict[str, float]:
    """Both phases into a result; their means in ms. What cannot be run so is warned of."""
    prompt = prompt_of(placed)
    if prompt is None:
        return {}
    prompt = with_room(engine, prompt, NEW_TOKENS)
    try:
        with engine.running():
            first, each = measure(engine, prompt, RUNS, NEW_TOKENS)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        bench.warn(f"prefill and decode were not measured apart: {lines[0]}")
        return {}
    sequences = prompt.shape[0]
    bench.metric(index, "time_to_first_token", "ms", False, first)
    bench.metric(index, "time_per_token", "ms", False, each)
    rate = 1000 * sequences * len(each) / sum(each)
    bench.metric(index, "decode_tokens_per_second", "tokens/s", True, rate)
    rate = 1000 * prompt.numel() * len(first) / sum(first)
    bench.metric(index, "prefill_tokens_per_second", "tokens/s", True, rate)
    text = f"{sequences} sequences of {prompt.shape[1]} tokens, {len(each) // len(first)} new"
    bench.fact(index, "decoding", text)
    return {"first_token_ms": statistics.fmean(first), "token_ms": statistics.fmean(each)}
