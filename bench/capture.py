"""Measures the overhead of capturing over the bare model, and of torch.profiler, in one process.

Every round runs each variant once, in random order, with calls of the bare model before and after.
A ratio is the median over the rounds of the variant's time divided by that of the bare calls around
it, with a 95 % interval from resampled rounds. "bare again" is the control: its distance from 1 is
the error of the other ratios. "quiet" is the ratio of the lowest tenths, of undisturbed calls.
Prints targets next to results, and never fails on a time.

usage: python bench/capture.py [--rounds 50] [--calls 4] [--only resnet18|transformer] [--cpu]
       python bench/capture.py --ladder [--rounds 50]

The transformer runs four times as many rounds, because its calls are short and differences small.

--cpu measures the CPU time of the model's thread, which other programs disturb less. --ladder
prints the cost of each step of observing an op. A thread of the recorder allocates chunks ahead; if
the process is pinned to one core (taskset), the times include its work.
"""

import argparse
import contextlib
import ctypes
import gc
import json
import os
import pathlib
import platform
import random
import statistics
import sys
import time

import ladder
import torch
import torch.nn as nn
from torch.profiler import ProfilerActivity, profile

from pyrometer._testing import core, observer_build, observers

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "bench"
PEERS = pathlib.Path(__file__).with_name("peers")


class Residual(nn.Module):
    """A basic block of ResNet-18."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + identity)


def resnet18():
    def stage(inputs, outputs, stride):
        return nn.Sequential(Residual(inputs, outputs, stride), Residual(outputs, outputs, 1))

    head = (nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True))
    return nn.Sequential(
        *head,
        nn.MaxPool2d(3, 2, 1),
        *(stage(64, 64, 1), stage(64, 128, 2), stage(128, 256, 2), stage(256, 512, 2)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)),
    )


class Transformer(nn.Module):
    def __init__(self, layers=12, width=128, heads=4):
        super().__init__()
        self.embedding = nn.Embedding(1000, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 1000)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


MODELS = {
    "resnet18, 224": (resnet18, lambda: torch.randn(1, 3, 224, 224), 1),
    "transformer, 12 x 128, 16 tokens": (Transformer, lambda: torch.randint(0, 1000, (1, 16)), 4),
}  # the number multiplies the rounds, for models with short calls and small differences


@contextlib.contextmanager
def captured(*what, records=()):
    """`records`: what the collector records of devices, if not as usual."""
    flags = sum(getattr(core, f"RECORD_{one.upper()}") for one in what)
    core.recorder_start(str(FOLDER / "bench.pyro"), flags, 256 << 20, True, True, False)
    if "stacks" in what:
        core.stacks_install(observer_build.stack_functions())
    core.layers_install(nn.Module._call_impl, nn.Module)
    if "shapes" in what:
        observers.watch_inputs()
    if "ops" in what:
        observer_build.start(flags)
    if "devices" in what:
        core.device_memory_start(True)
        status = core.devices_start(*records)
        if status["state"] != "on":
            sys.exit(f"the collector cannot start: {status['reason']}")
    try:
        yield
    finally:
        if "devices" in what:
            core.devices_stop()
            core.device_memory_stop()
        observer_build.stop()
        core.layers_remove()
        core.recorder_stop()
        core.stacks_remove()


@contextlib.contextmanager
def profiled(**options):
    with profile(activities=[ProfilerActivity.CPU], **options):
        yield


def build_floor():
    library = FOLDER / "record_function_floor.so"
    source = PEERS / "record_function_floor.cpp"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        observer_build.compile_library(source, library)
    return ctypes.CDLL(str(library))


@contextlib.contextmanager
def floor(library, with_outputs, with_clock=False):
    library.floor_set(1, with_outputs, with_clock)
    try:
        yield
    finally:
        library.floor_set(0, 0, 0)


def ways(library):
    shapes = {"record_shapes": True, "profile_memory": True}
    full = ("layers", "ops", "shapes", "memory")  # input shapes, as torch.profiler records them
    return {
        "bare again": contextlib.nullcontext,
        "floor": lambda: floor(library, False),
        "floor with outputs": lambda: floor(library, True),
        "floor with outputs and clock": lambda: floor(library, True, True),
        "layers": lambda: captured("layers"),
        "layers and inputs": lambda: captured("layers", "shapes"),
        "full": lambda: captured(*full),
        "full and outputs": lambda: captured(*full, "outputs"),
        "full and stacks": lambda: captured(*full, "outputs", "stacks"),
        "profiler": lambda: profiled(**shapes),
        "profiler and stacks": lambda: profiled(**shapes, with_stack=True),
    }


def time_calls(model, example, calls, clock):
    """Seconds of each call, after warm-up calls."""
    until = time.perf_counter() + 0.015
    model(example)
    while time.perf_counter() < until:
        model(example)
    seconds = []
    for _ in range(calls):
        start = clock()
        model(example)
        seconds.append((clock() - start) / 1e9)
    return seconds


def say_progress(name, done, rounds, began):
    if done % 10 == 0 or done == rounds:
        left = (time.monotonic() - began) / done * (rounds - done)
        print(f"{name}: round {done} of {rounds}, {left:.0f} s left", file=sys.stderr, flush=True)


def measure(name, model, example, table, count, options):
    """For every variant and round, the seconds of its calls and of the bare calls around them."""
    clock = time.thread_time_ns if options.cpu else time.perf_counter_ns
    order = list(table)
    rounds = {way: [] for way in order}
    began = time.monotonic()
    bare_calls = (options.calls + 1) // 2
    gc.disable()
    with torch.no_grad():
        for done in range(1, count + 1):
            random.shuffle(order)
            before = time_calls(model, example, bare_calls, clock)
            for way in order:
                with table[way]():
                    seconds = time_calls(model, example, options.calls, clock)
                after = time_calls(model, example, bare_calls, clock)
                rounds[way].append((seconds, before + after))
                before = after
            gc.collect()
            say_progress(name, done, count, began)
    gc.enable()
    return rounds


class Figures:
    """Statistics of the rounds, each with the middle 95 % of its values over resampled rounds."""

    def __init__(self, rounds, of_calls=statistics.median):
        """`of_calls`: the time of some calls, by the times of each."""
        self._rounds = rounds
        self.ratios = {
            way: [of_calls(mine) / of_calls(bare) for mine, bare in pairs]
            for way, pairs in rounds.items()
        }
        self.ways = tuple(rounds)
        self.bare_ms = statistics.median(self._all("bare again", 1)) * 1e3

    def _all(self, way, which):
        return [second for pair in self._rounds[way] for second in pair[which]]

    def ratio(self, way):
        return with_interval(self.ratios[way], statistics.median)

    def quiet(self, way):
        bare = [second for other in self._rounds for second in self._all(other, 1)]
        return lowest_tenth(self._all(way, 0)) / lowest_tenth(bare)

    def difference(self, way, other):
        """Difference of two variants in units of the bare time. Uses medians, because the variants
        ran at different times of a round."""

        def statistic(rows):
            return statistics.median(a for a, _ in rows) - statistics.median(b for _, b in rows)

        pairs = list(zip(self.ratios[way], self.ratios[other], strict=True))
        return with_interval(pairs, statistic)

    def share(self, way, other):
        """Overhead of one variant divided by that of the other, from medians."""

        def statistic(rows):
            mine = statistics.median(a for a, _ in rows) - 1
            theirs = statistics.median(b for _, b in rows) - 1
            return mine / theirs if theirs > 0 else float("inf")

        pairs = list(zip(self.ratios[way], self.ratios[other], strict=True))
        return with_interval(pairs, statistic)

    def quiet_share(self, way, other):
        theirs = self.quiet(other) - 1
        return (self.quiet(way) - 1) / theirs if theirs > 0 else float("inf")


def lowest_tenth(values):
    return sorted(values)[len(values) // 10]


def lower_quartile(values):
    return sorted(values)[len(values) // 4]


def with_interval(values, statistic):
    """The statistic over rounds, and the middle 95 % of it over resampled rounds."""
    count = len(values)
    chooser = random.Random(0)
    again = sorted(
        statistic([values[chooser.randrange(count)] for _ in range(count)]) for _ in range(1000)
    )
    return statistic(values), again[25], again[974]


def line(text, measured, quiet=None, target=""):
    value, low, high = measured
    interval = f"({low:.3f} to {high:.3f})"
    lowest = f"{quiet:8.3f}" if quiet is not None else ""
    print(f"  {text:<48} {value:7.3f}  {interval:<16} {lowest:8}  {target}".rstrip(), flush=True)


RATIOS = (
    ("bare again", "bare again, x bare"),
    ("layers", "layers, x bare"),
    ("layers and inputs", "... and their inputs, x bare"),
    ("full", "layers, ops, shapes, memory, x bare"),
    ("full and outputs", "... and shapes of outputs, x bare"),
    ("full and stacks", "... and stacks, x bare"),
    ("floor", "empty callbacks, with inputs, x bare"),
    ("floor with outputs", "... and with outputs, x bare"),
    ("floor with outputs and clock", "... and two clock reads, x bare"),
    ("profiler", "torch.profiler, shapes and memory, x bare"),
    ("profiler and stacks", "... and stacks, x bare"),
)


def report(name, figures):
    is_small = "transformer" in name
    print(f"\n{name}: bare {figures.bare_ms:.2f} ms")
    print(f"  {'':<48} {'median':>7}  {'':<16} {'quiet':>8}")
    target = {"bare again": "control: 1", "layers": "target: at most 1.02"}
    if not is_small:
        target["full"] = "target: at most 1.02"
    for way, text in RATIOS:
        line(text, figures.ratio(way), figures.quiet(way), target.get(way, ""))
    for way, other, text in (
        ("full", "floor", "ours above empty callbacks"),
        ("full and outputs", "floor with outputs", "... both with outputs"),
        ("full and outputs", "floor with outputs and clock", "... and with the clock"),
    ):
        limit = "target: at most 0.05" if is_small and (way, other) == ("full", "floor") else ""
        quiet = figures.quiet(way) - figures.quiet(other)
        line(f"{text}, of bare", figures.difference(way, other), quiet, limit)
    for way, other, text, limit in (
        ("full", "profiler", "our overhead / torch.profiler's", 0.6),
        ("full and outputs", "profiler", "... ours with outputs", 0.6),
        ("full and stacks", "profiler and stacks", "... with stacks", 0.4),
    ):
        limit = f"target: at most {limit}" if is_small else ""
        line(text, figures.share(way, other), figures.quiet_share(way, other), limit)
    return {
        "name": name,
        "bare_ms": figures.bare_ms,
        "ratios": {way: figures.ratio(way) for way, _ in RATIOS},
        "quiet": {way: figures.quiet(way) for way, _ in RATIOS},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--calls", type=int, default=4)
    parser.add_argument("--only", default="")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--ladder", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    # The fused path of eval mode has one op per layer, too few to observe.
    torch.backends.mha.set_fastpath_enabled(False)
    observer_build.load()
    if options.ladder:
        ladder.show(PEERS / "observer_ladder.cpp", FOLDER, options.rounds)
        return
    table = ways(build_floor())
    print(
        f"torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
        f"{options.rounds} rounds of {options.calls} calls, four times as many for the transformer"
    )
    results = []
    for name, (make, example, times) in MODELS.items():
        if options.only in name:
            model = make().eval()
            rounds = measure(name, model, example(), table, times * options.rounds, options)
            results.append(report(name, Figures(rounds)))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
