"""Measures the overhead of profiler() in training: inactive, in active steps, and of a whole run.

Compares with torch.profiler with the same options and schedule. Every round trains with each
variant once, in random order. The overhead of a step is the median of all active steps minus that
of the bare ones; the overhead of a run, until its files are written, is the median over the rounds
of its time minus the bare time of the same round. Prints targets next to results, and never fails
on a time.

usage: python bench/training.py [--rounds 15] [--active 10] [--cpu]

--cpu measures CPU time, which other programs disturb less.
"""

import argparse
import contextlib
import io
import os
import pathlib
import random
import shutil
import statistics
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity

from capture import Transformer
from pyrometer import profiler, step_profiler

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "build" / "bench" / "training"
MODELS = {
    "transformer, 4 x 128, 2 x 16 tokens": (
        lambda: Transformer(layers=4),
        lambda: torch.randint(0, 1000, (2, 16)),
    ),
    "perceptron, 30 x 64, 16 rows": (
        lambda: nn.Sequential(
            *(layer for _ in range(30) for layer in (nn.Linear(64, 64), nn.ReLU()))
        ),
        lambda: torch.randn(16, 64),
    ),
}
INACTIVE_NS = 200
SHARE = 0.6
PEERS = ("ours", "torch")


def nanoseconds_a_call(function, calls=200_000, rounds=9):
    """CPU time of the fastest round, minus that of an empty loop."""

    def time_once(body):
        begin = time.thread_time_ns()
        body()
        return time.thread_time_ns() - begin

    def loop():
        for _ in range(calls):
            function()

    def empty():
        for _ in range(calls):
            pass

    best = min(time_once(loop) for _ in range(rounds))
    return (best - min(time_once(empty) for _ in range(rounds))) / calls


def inactive():
    """ns of step_profiler() without a profiler and while the schedule waits, and of a disabled
    decorator around a function."""

    def nothing():
        pass

    rows = {"step_profiler(), no profiler": nanoseconds_a_call(step_profiler)}
    with quiet(), profiler(output_dir=FOLDER / "waiting", skip_first=10**9):
        rows["step_profiler(), schedule waiting"] = nanoseconds_a_call(step_profiler)
    rows["a function under @profiler(enabled=False)"] = nanoseconds_a_call(
        profiler(enabled=False)(nothing)
    ) - nanoseconds_a_call(nothing)
    return rows


@contextlib.contextmanager
def quiet():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


class Bare:
    def __enter__(self):
        return self

    def __exit__(self, *raised):
        pass

    def step(self):
        pass


def by_torch(active):
    """torch.profiler, which writes one trace and no table, less than ours."""
    return torch.profiler.profile(
        activities=[ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(skip_first=1, wait=1, warmup=1, active=active, repeat=1),
        on_trace_ready=torch.profiler.tensorboard_trace_handler(str(FOLDER / "torch" / "rank_0")),
        with_flops=True,
        record_shapes=True,
    )


def train(model, example, profile, active, is_cpu):
    """Seconds of each active step without step(), and of the whole run."""
    clock = time.thread_time if is_cpu else time.perf_counter
    whole_clock = time.process_time if is_cpu else time.perf_counter
    optimizer = torch.optim.AdamW(model.parameters())
    steps = []
    begin = whole_clock()
    with profile:
        for _ in range(4 + active):
            start = clock()
            model(example).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            steps.append(clock() - start)
            profile.step()
    return steps[3 : 3 + active], whole_clock() - begin


def compare(name, rounds, active, is_cpu):
    make, make_example = MODELS[name]
    model, example = make(), make_example()
    ways = {
        "bare": Bare,
        "ours": lambda: profiler(output_dir=FOLDER / "ours", active=active),
        "torch": lambda: by_torch(active),
    }
    steps = {way: [] for way in ways}
    runs = {way: [] for way in ways}
    for number in range(rounds + 1):
        order = list(ways)
        random.shuffle(order)
        times = {}
        for way in order:
            with quiet():
                times[way] = train(model, example, ways[way](), active, is_cpu)
        if number == 0:
            continue  # the first round builds and fills caches
        for way in ways:
            steps[way] += times[way][0]
            runs[way].append(times[way][1] - times["bare"][1])
    bare = statistics.median(steps["bare"])
    print(f"\n{name}: {bare * 1e3:.2f} ms per step, {active} active steps")
    print(f"{'':34}{'ours':>12}{'torch':>12}{'share':>9}   target")
    for title, ours, torchs in (
        ("each active step, +ms", *(statistics.median(steps[way]) - bare for way in PEERS)),
        ("run with files and summary, +ms", *(statistics.median(runs[way]) for way in PEERS)),
    ):
        share = ours / torchs if torchs > 0 else float("nan")
        print(f"{title:34}{ours * 1e3:12.3f}{torchs * 1e3:12.3f}{share:9.2f}   <= {SHARE}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--active", type=int, default=10)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    print(f"profiler() in training, {os.cpu_count()} cores, torch {torch.__version__}")
    for title, ns in inactive().items():
        print(f"{title:46}{ns:8.1f} ns   <= {INACTIVE_NS}")
    for name in MODELS:
        compare(name, options.rounds, options.active, options.cpu)
    shutil.rmtree(FOLDER, ignore_errors=True)


if __name__ == "__main__":
    main()
