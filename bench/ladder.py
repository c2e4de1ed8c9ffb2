"""Prints the cost of each step from a bare op to an observed op: torch's part and ours. Each step
adds to the one before and uses the observer's code (peers/observer_ladder.cpp).

Runs of a few dozen ops are so short that some are undisturbed even on a busy machine; a step is the
minimum of many interleaved runs. They are timed twice: back to back, and after reading as many
bytes as a small model has weights, so that the nearer caches are cold."""

import ctypes
import random

from pyrometer._testing import core, observer_build

STEPS = (
    ("bare", "the ops themselves"),
    ("callbacks", "torch: empty callbacks"),
    ("inputs", "torch: passes inputs (the floor)"),
    ("outputs", "torch: passes outputs"),
    ("clocks", "two clock reads"),
    ("records", "write names, nesting and records"),
    ("shapes", "shapes and types of inputs and outputs"),
    ("memory", "allocations and frees"),
)
WEIGHT_BYTES = 6 << 20
RUNS = 40


def build(source, folder):
    library = folder / "observer_ladder.so"
    headers = sorted(observer_build._SOURCE.parent.glob("*.hpp"))
    newest = max(path.stat().st_mtime for path in (source, *headers))
    if not library.exists() or library.stat().st_mtime < newest:
        observer_build.compile_library(source, library)
    loaded = ctypes.CDLL(str(library))
    loaded.ladder_run.restype = ctypes.c_double
    loaded.ladder_run.argtypes = [ctypes.c_int, ctypes.c_size_t]
    loaded.ladder_set.argtypes = [ctypes.c_void_p, ctypes.c_int]
    loaded.ladder_count.restype = ctypes.c_int64
    return loaded


def measure(library, rounds, weight_bytes):
    """ns per run at each step: the lower quartile over rounds of the minimum of RUNS runs."""
    least = [[] for _ in STEPS]
    order = list(range(len(STEPS)))
    for _ in range(rounds):
        random.shuffle(order)
        for step in order:
            library.ladder_set(core.recorder_api(), step)
            library.ladder_run(4, weight_bytes)
            least[step].append(library.ladder_run(RUNS, weight_bytes))
    library.ladder_set(core.recorder_api(), 0)
    return [sorted(values)[len(values) // 4] for values in least]


def show(source, folder, rounds):
    library = build(source, folder)
    count = library.ladder_count()
    flags = core.RECORD_OPS | core.RECORD_SHAPES | core.RECORD_OUTPUTS | core.RECORD_MEMORY
    core.recorder_start(str(folder / "ladder.pyro"), flags, 64 << 20, True, True, False)
    try:
        warm, cold = (measure(library, rounds, size) for size in (0, WEIGHT_BYTES))
    finally:
        core.recorder_stop()
    print(f"\nns per op that each step adds, over {count} ops; lower quartile of {rounds} rounds")
    print(f"  {'':<46} {'warm':>9} {'cold':>9}")
    for i, (_, text) in enumerate(STEPS):
        before = (warm[i - 1], cold[i - 1]) if i else (0, 0)
        steps = [(now - then) / count for now, then in zip((warm[i], cold[i]), before, strict=True)]
        print(f"  {text:<46} {steps[0]:9.1f} {steps[1]:9.1f}", flush=True)
    for text, first in (("total above the floor", 2), ("... ours", 3)):
        total = [(times[-1] - times[first]) / count for times in (warm, cold)]
        print(f"  {text:<46} {total[0]:9.1f} {total[1]:9.1f}", flush=True)
