"""Timing calls of a model: the limits of a loop, the GPU that is watched, caches that are cold."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from typing import Any

import torch

from pyrometer import _core
from pyrometer._error import Error

MAX_SECONDS = 60.0  # of a loop that ends by itself, where no limit was given


def make_loop(
    runs: int | None,
    warmup: int | None,
    rate_per_s: float = 0,
    max_time_s: float | None = None,
    min_runs: int = 0,
    max_runs: int = 0,
    deepest: float = 0,
) -> Any:
    """A limit of time that was given wins over a number of runs; without one so many are run."""
    if runs is not None and runs < 1:
        raise ValueError("num_runs is at least 1")
    if warmup is not None and warmup < 0:
        raise ValueError("warmup_runs is not below 0")
    if max_time_s is not None and not max_time_s > 0:
        raise ValueError("max_time_s is above 0")
    if warmup is None and runs is not None:
        warmup = 10  # the windows of a detected warm-up count as samples, and would be more
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
    """Runs it with the device waited for; samples of a throttled GPU are taken again."""
    gpu = engine.gpu()
    if gpu is not None:
        loop.watch(gpu)
    loop.run(run, engine.synchronize(), prepare)


def cache_sizes() -> dict[int, int]:
    """Bytes of one cache of each level of the first processor, instructions left out; empty where
    the system does not say."""
    sizes: dict[int, int] = {}
    for folder in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*"):
        try:
            level, kind, size = (_read(f"{folder}/{name}") for name in ("level", "type", "size"))
            if kind != "Instruction":
                units = {"K": 2**10, "M": 2**20, "G": 2**30}
                number = int(size.rstrip("KMG")) * units.get(size[-1:], 1)
                sizes[int(level)] = max(sizes.get(int(level), 0), number)
        except (OSError, ValueError):
            continue
    if not sizes:
        for level in (2, 3):
            try:
                number = os.sysconf(f"SC_LEVEL{level}_CACHE_SIZE")
            except (OSError, ValueError):
                continue
            if number > 0:
                sizes[level] = number
    return sizes


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read().strip()


class ColdCache:
    """Pushes what earlier calls left out of the caches of the device that a model runs on: writes
    a buffer of twice their size. Of a processor every thread of torch writes its part, so that
    private caches are emptied too. Raises Error where the sizes are not known."""

    def __init__(self, engine: Any) -> None:
        if engine.on_gpu:
            properties = torch.cuda.get_device_properties(engine.device)
            largest = int(getattr(properties, "L2_cache_size", 0))
            self.size, what = 2 * largest, "L2"
        else:
            sizes = cache_sizes()
            largest = sizes.get(max(sizes, default=0), 0)
            private = sizes.get(2, 0) * torch.get_num_threads()
            self.size, what = 2 * max(largest, private), "caches"
        if largest <= 0:
            raise Error(
                "cold_cache: the system does not say how large the caches of this device are",
                "unsupported",
            )
        self.buffer = torch.zeros(self.size, dtype=torch.uint8, device=engine.device)
        self.text = f"cold: {self.size / 2**20:.1f} MiB were written before every call ({what})"

    def __call__(self) -> None:
        self.buffer.add_(1)
