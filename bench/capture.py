"""What capturing costs beside the bare model and torch.profiler, interleaved in one process.

Every round runs each way of looking once, in another order; a ratio is the median over the rounds
of that way's time by the bare time of the same round, with a 95 % interval by resampling rounds. It
prints what is asked beside what is measured, and never fails on a time.

usage: python bench/capture.py [--rounds 50] [--calls 4] [--only resnet18|transformer] [--cpu]
       python bench/capture.py --ladder [--rounds 50]

--cpu takes the processor time of the model's thread, which other programs disturb less; --ladder
says what each step of observing an op costs.
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
import time

import ladder
import torch
import torch.nn as nn
from torch.profiler import ProfilerActivity, profile

from pyrometer import _core, _observer

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
    "resnet18, 224": (resnet18, lambda: torch.randn(1, 3, 224, 224)),
    "transformer, 12 x 128, 16 tokens": (Transformer, lambda: torch.randint(0, 1000, (1, 16))),
}


@contextlib.contextmanager
def captured(*what):
    flags = sum(getattr(_core, f"RECORD_{one.upper()}") for one in what)
    _core.recorder_start(str(FOLDER / "bench.pyro"), flags, 256 << 20, True, True, False)
    if "stacks" in what:
        _core.stacks_install(_observer.stack_functions())
    _core.layers_install(nn.Module._call_impl, nn.Module)
    if "ops" in what:
        _observer.start(flags)
    try:
        yield
    finally:
        _observer.stop()
        _core.layers_remove()
        _core.recorder_stop()
        _core.stacks_remove()


@contextlib.contextmanager
def profiled(**options):
    with profile(activities=[ProfilerActivity.CPU], **options):
        yield


def build_floor():
    library = FOLDER / "record_function_floor.so"
    source = PEERS / "record_function_floor.cpp"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        _observer.compile_library(source, library)
    return ctypes.CDLL(str(library))


@contextlib.contextmanager
def floor(library, with_outputs):
    library.floor_set(1, with_outputs)
    try:
        yield
    finally:
        library.floor_set(0, 0)


def ways(library):
    shapes = {"record_shapes": True, "profile_memory": True}
    full = ("layers", "ops", "shapes", "memory")
    return {
        "bare": contextlib.nullcontext,
        "floor": lambda: floor(library, False),
        "floor with outputs": lambda: floor(library, True),
        "layers": lambda: captured("layers"),
        "full": lambda: captured(*full),
        "full and stacks": lambda: captured(*full, "stacks"),
        "profiler": lambda: profiled(**shapes),
        "profiler and stacks": lambda: profiled(**shapes, with_stack=True),
    }


def time_calls(model, example, calls, clock):
    """The median of some calls, after a twentieth of a second of others: what is measured is a
    program that runs, not its first steps."""
    seconds = []
    until = time.perf_counter() + 0.05
    while not seconds or time.perf_counter() < until:
        model(example)
        seconds = [0.0]
    seconds.clear()
    for _ in range(calls):
        start = clock()
        model(example)
        seconds.append((clock() - start) / 1e9)
    return statistics.median(seconds)


def measure(model, example, table, rounds, calls, clock):
    names = list(table)
    seconds = {name: [] for name in names}
    with torch.no_grad():
        for _ in range(rounds):
            random.shuffle(names)
            for name in names:
                with table[name]():
                    seconds[name].append(time_calls(model, example, calls, clock))
            gc.collect()
    return seconds


def with_interval(values, statistic):
    """The statistic over rounds, and the middle 95 % of it over resampled rounds."""
    count = len(values)
    chooser = random.Random(0)
    again = sorted(
        statistic([values[chooser.randrange(count)] for _ in range(count)]) for _ in range(1000)
    )
    return statistic(values), again[25], again[974]


def ratio(seconds, name, other="bare"):
    pairs = [a / b for a, b in zip(seconds[name], seconds[other], strict=True)]
    return with_interval(pairs, statistics.median)


def difference(seconds, name, other):
    """How much more of the bare time one way takes than the other."""
    rows = list(zip(seconds[name], seconds[other], seconds["bare"], strict=True))
    return with_interval([(a - b) / bare for a, b, bare in rows], statistics.median)


def share(seconds, name, other):
    """One way's cost by the other's: a ratio of differences to bare, so of medians."""
    rows = list(zip(seconds[name], seconds[other], seconds["bare"], strict=True))

    def statistic(rows):
        mine = statistics.median((a - bare) / bare for a, _, bare in rows)
        theirs = statistics.median((b - bare) / bare for _, b, bare in rows)
        return mine / theirs if theirs > 0 else float("inf")

    return with_interval(rows, statistic)


def line(text, measured, asked=""):
    value, low, high = measured
    print(f"  {text:<52} {value:7.3f}  ({low:.3f} to {high:.3f})  {asked}", flush=True)


def report(name, seconds):
    bare = statistics.median(seconds["bare"]) * 1e3
    print(f"\n{name}: bare {bare:.2f} ms", flush=True)
    is_small = "transformer" in name
    line("layers, x bare", ratio(seconds, "layers"), "asked: 1.02 at most")
    asked = "" if is_small else "asked: 1.02 at most"
    line("layers, ops, shapes, memory, x bare", ratio(seconds, "full"), asked)
    line("... and stacks, x bare", ratio(seconds, "full and stacks"))
    line("callbacks that do nothing, with inputs, x bare", ratio(seconds, "floor"))
    line("... and with outputs, x bare", ratio(seconds, "floor with outputs"))
    line("torch.profiler, shapes and memory, x bare", ratio(seconds, "profiler"))
    line("... and stacks, x bare", ratio(seconds, "profiler and stacks"))
    asked = ("asked: 0.05 at most", "asked: 0.6 at most") if is_small else ("", "")
    line("ours above the callbacks, of bare", difference(seconds, "full", "floor"), asked[0])
    line("our cost by torch.profiler's", share(seconds, "full", "profiler"), asked[1])
    with_stacks = share(seconds, "full and stacks", "profiler and stacks")
    line("... with stacks", with_stacks, "asked: 0.4 at most" if is_small else "")
    return {
        "name": name,
        "bare_ms": bare,
        "seconds": {key: statistics.median(value) for key, value in seconds.items()},
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
    # The fused path of eval mode would leave one op a layer, and little to observe.
    torch.backends.mha.set_fastpath_enabled(False)
    _observer.load()
    if options.ladder:
        ladder.show(PEERS / "observer_ladder.cpp", FOLDER, options.rounds)
        return
    table = ways(build_floor())
    clock = time.thread_time_ns if options.cpu else time.perf_counter_ns
    print(
        f"torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; "
        f"{options.rounds} rounds of {options.calls} calls"
    )
    results = []
    for name, (make, example) in MODELS.items():
        if options.only in name:
            model = make().eval()
            seconds = measure(model, example(), table, options.rounds, options.calls, clock)
            results.append(report(name, seconds))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
