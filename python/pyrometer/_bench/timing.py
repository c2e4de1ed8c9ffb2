"""Times calls of a model: limits of the loop, GPU throttling, cold caches."""

from __future__ import annotations

import glob
import os
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


def cache_sizes() -> dict[int, int]:
    """Bytes of one data cache per level of the first processor; empty if the system does not
    report them."""
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
    """Evicts the caches of the device that a model runs on by writing a buffer of twice their size.
    On a CPU every thread of torch writes its part, which empties private caches too. Raises Error
    if the sizes are unknown."""

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
                "cold_cache: the system does not report the cache sizes of this device",
                "unsupported",
            )
        self.buffer = torch.zeros(self.size, dtype=torch.uint8, device=engine.device)
        self.text = f"cold: {self.size / 2**20:.1f} MiB were written before every call ({what})"

    def __call__(self) -> None:
        self.buffer.add_(1)
