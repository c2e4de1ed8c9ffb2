"""Where the overhead of recording on a GPU comes from: each step adds to the one before.

The first steps are CUPTI's own (peers/cupti_floor.c): records that are dropped unread, callbacks that
return at once. The collector then adds its callbacks, while the recorder rests and while it records.
Layers, ops, shapes, memory and stacks follow. "empty callbacks of ops" is torch's part: empty
RecordFunction callbacks with inputs, on top of all of CUPTI's steps.
"""

import contextlib
import sys

import torch.nn as nn

from pyrometer._testing import core, observer_build, observers

KERNELS, COPIES, SYNCHRONIZATIONS, OVERHEADS, LAUNCHES, CALLS = (1 << bit for bit in range(6))
CUPTI_STEPS = (
    ("kernels", KERNELS),
    ("+ copies and memsets", COPIES),
    ("+ synchronizations", SYNCHRONIZATIONS),
    ("+ CUPTI's own overhead", OVERHEADS),
    ("+ callbacks of launches", LAUNCHES),
    ("+ callbacks of other calls", CALLS),
)
OUR_STEPS = (
    ("our collector, recorder rests", ("rest",)),
    ("+ calls and work are recorded", ()),
    ("+ layers", ("layers",)),
    ("+ ops", ("ops",)),
    ("+ shapes", ("shapes",)),
    ("+ memory", ("memory",)),
    ("+ stacks", ("stacks",)),
)


@contextlib.contextmanager
def cupti(library, what):
    if library.floor_set(what):
        sys.exit("CUPTI cannot record kernels")
    try:
        yield
    finally:
        library.floor_set(0)


@contextlib.contextmanager
def cupti_and_ops(library, what, record_function):
    with cupti(library, what):
        record_function.floor_set(1, 0, 0)
        try:
            yield
        finally:
            record_function.floor_set(0, 0, 0)


@contextlib.contextmanager
def recorded(path, *what):
    """Like bench/capture.py's captured(), but installs only what is wanted."""
    flags = sum(getattr(core, f"RECORD_{one.upper()}") for one in what if one != "rest")
    core.recorder_start(str(path), flags | core.RECORD_DEVICES, 256 << 20, True, True, False)
    core.recorder_rest("rest" in what)
    if "stacks" in what:
        core.stacks_install(observer_build.stack_functions())
    if "layers" in what:
        core.layers_install(nn.Module._call_impl, nn.Module)
    if "shapes" in what:
        observers.watch_inputs()
    if "ops" in what:
        observer_build.start(flags)
    status = core.devices_start()
    if status["state"] != "on":
        sys.exit(f"the collector cannot start: {status['reason']}")
    try:
        yield
    finally:
        core.devices_stop()
        observer_build.stop()
        if "layers" in what:
            core.layers_remove()
        core.recorder_rest(False)
        core.recorder_stop()
        core.stacks_remove()


def ways(cupti_floor, record_function, path):
    """Name -> context manager, in the order of the ladder."""
    table = {"bare again": contextlib.nullcontext}
    bits = 0
    for name, bit in CUPTI_STEPS:
        bits |= bit
        table[name] = lambda bits=bits: cupti(cupti_floor, bits)
    table["+ empty callbacks of ops"] = lambda: cupti_and_ops(cupti_floor, bits, record_function)
    what = ()
    for name, more in OUR_STEPS:
        if name.startswith("+"):
            what = tuple(one for one in what if one != "rest")
        what += more
        table[name] = lambda what=what: recorded(path, *what)
    return table


def count_events(path, run, calls):
    """(launches, layers, ops) per call of the model."""
    import pyrometer

    with pyrometer.capture(path) as block:
        run(calls)
    trace = block.trace()
    found = (trace.kernels, trace.layers, trace.ops)
    return tuple(round(sum(row["calls"] for row in table) / calls) for table in found)


def report(name, figures, events):
    """Prints every step with its difference from the step before, in time per call of the model."""
    bare_us = figures.bare_ms * 1000
    print(f"\n{name}: bare {figures.bare_ms:.3f} ms; per call {events[0]} kernels, {events[1]} "
          f"calls of layers, {events[2]} ops")  # fmt: skip
    print(f"  {'':<34} {'x bare':>7}  {'95 % interval':<16} {'quiet':>6} {'step':>8} "
          f"{'quiet step':>11}")  # fmt: skip
    last = quiet_last = 1.0
    for way in figures.ways:
        value, low, high = figures.ratio(way)
        quiet = figures.quiet(way)
        # The collector starts anew: its first step contains all of CUPTI's.
        before = "+ callbacks of other calls" if way.startswith("our collector") else None
        if before:
            last, quiet_last = figures.ratio(before)[0], figures.quiet(before)
        print(f"  {way:<34} {value:7.3f}  ({low:.3f} to {high:.3f}) {quiet:6.3f} "
              f"{(value - last) * bare_us:6.0f}us {(quiet - quiet_last) * bare_us:9.0f}us",
              flush=True)  # fmt: skip
        last, quiet_last = value, quiet
    return {
        "name": name,
        "bare_ms": figures.bare_ms,
        "events": events,
        "ratios": {way: figures.ratio(way) for way in figures.ways},
        "quiet": {way: figures.quiet(way) for way in figures.ways},
    }
