"""Times calls of a model: limits of the loop, GPU throttling, cold caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pyrometer import _core
from pyrometer._error import Error

MAX_SECONDS = 60.0  # limit of an adaptive loop, unless given


def make_loop(
    runs: int | None,
    warmup: int | None,
    rate_per_s: float = 0,
    max_time_s: float | None = None,
    min_runs: int = 0,
    max_runs: int = 0,
    deepest: float = 0,
) -> Any:
    """Makes a loop. A given time limit overrides the number of runs; without one it is fixed."""
    if runs is not None and runs < 1:
        raise ValueError("num_runs must be at least 1")
    if warmup is not None and warmup < 0:
        raise ValueError("warmup_runs must be at least 0")
    if max_time_s is not None and not max_time_s > 0:
        raise ValueError("max_time_s must be greater than 0")
    if warmup is None and runs is not None:
        warmup = 10  # the windows of a detected warm-up count as samples and would exceed num_runs
    return _core.Loop(
        warmup_runs=-1 if warmup is None else warmup,
        min_runs=runs or min_runs,
        max_runs=runs or max_runs,
        max_time_s=MAX_SECONDS if max_time_s is None else max_time_s,
        max_time_wins=max_time_s is not None and (runs is not None or min_runs == 0),
        deepest=deepest,
        rate_per_s=rate_per_s,
    )


def run_loop(
    loop: Any, engine: Any, run: Callable[[], Any], prepare: Callable[[], Any] | None = None
) -> None:
    """Runs the loop, synchronized with the device; repeats samples of a throttled GPU."""
    gpu = engine.gpu()
    if gpu is not None:
        loop.watch(gpu)
    loop.run(run, engine.synchronize(), prepare)


class ColdCache:
    """Evicts the caches of the device that a model runs on by writing a buffer of twice their size.
    On a CPU every thread of torch writes its part, which empties private caches too. Raises Error
    if the sizes are unknown."""

    def __init__(self, engine: Any) -> None:
        if engine.on_gpu:
            properties = torch.cuda.get_device_properties(engine.device)
            self.size, what = 2 * int(getattr(properties, "L2_cache_size", 0)), "L2"
        else:
            self.size, what = _core.cache_eviction_bytes(torch.get_num_threads()) or 0, "caches"
        if self.size <= 0:
            raise Error(
                "cold_cache: the system does not report the cache sizes of this device",
                "unsupported",
            )
        self.buffer = torch.zeros(self.size, dtype=torch.uint8, device=engine.device)
        self.text = f"cold: {self.size / 2**20:.1f} MiB were written before every call ({what})"

    def __call__(self) -> None:
        self.buffer.add_(1)
