"""Where the overhead of recording on a GPU comes from: each step adds to the one before.

The first steps are CUPTI's own (peers/cupti_floor.c): records that are dropped unread, callbacks
that return at once. The collector then adds its callbacks, while the recorder rests and while it
records. Layers, ops, shapes, memory and stacks follow. "empty callbacks of ops" is torch's part:
empty RecordFunction callbacks with inputs, on top of all of CUPTI's steps.
"""

import contextlib
import random
import sys
import time

import torch
import torch.nn as nn

from pyrometer._testing import core, observer_build, observers

KERNELS, COPIES, SYNCHRONIZATIONS, OVERHEADS, LAUNCHES, CALLS, NOTES = (
    1 << bit for bit in range(7)
)
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
    core.device_memory_start(True)
    status = core.devices_start()
    if status["state"] != "on":
        sys.exit(f"the collector cannot start: {status['reason']}")
    try:
        yield
    finally:
        core.devices_stop()
        core.device_memory_stop()
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


ALONE = (
    ("kernels, copies and memsets", KERNELS | COPIES),
    ("kernels, synchronizations", KERNELS | SYNCHRONIZATIONS),
    ("kernels, CUPTI's own overhead", KERNELS | OVERHEADS),
    ("kernels, callbacks of launches", KERNELS | LAUNCHES),
    ("kernels, callbacks of other calls", KERNELS | CALLS),
)


def ways_alone(cupti_floor):
    """CUPTI's steps, each added to kernels only."""
    return {name: lambda bits=bits: cupti(cupti_floor, bits) for name, bits in ALONE}


def time_launches(x, launches, runs):
    """ns per launch and per launch with its synchronization, of the fastest run."""
    fastest = fastest_all = float("inf")
    for _ in range(runs):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(launches):
            x.add_(1)
        launched = time.perf_counter_ns()
        torch.cuda.synchronize()
        fastest = min(fastest, (launched - start) / launches)
        fastest_all = min(fastest_all, (time.perf_counter_ns() - start) / launches)
    return fastest, fastest_all


def measure_launches(table, rounds):
    """Small kernels in a row, which are so short that some runs are undisturbed on a busy machine.
    Prints per way the lower quartile over rounds, and the difference from bare launches."""
    x = torch.zeros(16, device="cuda")
    found = {way: [] for way in table}
    order = list(table)
    with torch.inference_mode():
        time_launches(x, 100, 20)
        for _ in range(rounds):
            random.shuffle(order)
            for way in order:
                with table[way]():
                    time_launches(x, 100, 2)
                    found[way].append(time_launches(x, 100, 20))
    print(f"\nsmall kernels in a row, {rounds} rounds: ns per launch")
    quartiles = {
        way: [sorted(times)[len(times) // 4] for times in zip(*rows, strict=True)]
        for way, rows in found.items()
    }
    bare = quartiles["bare again"]
    for way, (launch, with_wait) in quartiles.items():
        print(f"  {way:<34} {launch:7.0f} {launch - bare[0]:+7.0f}   with the wait "
              f"{with_wait:7.0f} {with_wait - bare[1]:+7.0f}", flush=True)  # fmt: skip
    return quartiles


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
