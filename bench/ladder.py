"""The steps from a bare op to one that is observed, a line each: what torch charges for telling,
and what is ours. Each adds to the one before, by the observer's code (peers/observer_ladder.cpp).

Runs of a few dozen ops are so short that some are undisturbed, also where others use the machine: a
step is the least of many runs, taken in turns. They are timed twice: one right after the other, and
after as many bytes were read as a small model has weights, so that the nearer caches are empty."""

import ctypes
import random

from pyrometer import _core
from pyrometer._capture import observer_build

STEPS = (
    ("bare", "the ops themselves"),
    ("callbacks", "torch: callbacks that do nothing"),
    ("inputs", "torch: inputs are handed over (the floor)"),
    ("outputs", "torch: outputs are handed over"),
    ("clocks", "two looks at the clock"),
    ("records", "names, nesting and records are written"),
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
    """ns of a run at each step: the lower quartile over rounds of the least of some runs."""
    least = [[] for _ in STEPS]
    order = list(range(len(STEPS)))
    for _ in range(rounds):
        random.shuffle(order)
        for step in order:
            library.ladder_set(_core.recorder_api(), step)
            library.ladder_run(4, weight_bytes)
            least[step].append(library.ladder_run(RUNS, weight_bytes))
    library.ladder_set(_core.recorder_api(), 0)
    return [sorted(values)[len(values) // 4] for values in least]


def show(source, folder, rounds):
    library = build(source, folder)
    count = library.ladder_count()
    flags = _core.RECORD_OPS | _core.RECORD_SHAPES | _core.RECORD_OUTPUTS | _core.RECORD_MEMORY
    _core.recorder_start(str(folder / "ladder.pyro"), flags, 64 << 20, True, True, False)
    try:
        warm, cold = (measure(library, rounds, size) for size in (0, WEIGHT_BYTES))
    finally:
        _core.recorder_stop()
    print(f"\nns an op that each step adds, over {count} ops; lower quartile of {rounds} rounds")
    print(f"  {'':<46} {'in cache':>9} {'not':>9}")
    for i, (_, text) in enumerate(STEPS):
        before = (warm[i - 1], cold[i - 1]) if i else (0, 0)
        steps = [(now - then) / count for now, then in zip((warm[i], cold[i]), before, strict=True)]
        print(f"  {text:<46} {steps[0]:9.1f} {steps[1]:9.1f}", flush=True)
    for text, first in (("all above the floor", 2), ("of it ours", 3)):
        total = [(times[-1] - times[first]) / count for times in (warm, cold)]
        print(f"  {text:<46} {total[0]:9.1f} {total[1]:9.1f}", flush=True)
