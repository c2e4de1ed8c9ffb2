"""Measures the overhead of one file per forward: capture_model and torch.profiler, in one process.

Overhead is the time of a forward minus that of the bare one. Ours is printed as the model's thread
sees it, and with the wait until the last file is on disk. Every round runs all variants in random
order.

usage: python bench/capture_files.py [--rounds 10] [--calls 10]
"""

import argparse
import contextlib
import gc
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

os.environ["PYROMETER"] = "1"  # read when a model is decorated

import torch
from torch.profiler import ProfilerActivity, profile

import pyrometer
from capture import Transformer, line, with_interval
from pyrometer._testing import core

OPTIONS = {
    "activities": [ProfilerActivity.CPU],
    "record_shapes": True,
    "profile_memory": True,
}


def bare(model, _, example, calls, folder):
    start = time.perf_counter()
    for _ in range(calls):
        model(example)
    return (time.perf_counter() - start) / calls


def ours(_, decorated, example, calls, folder):
    """Seconds per call on the model's thread, and with the wait for the files."""
    start = time.perf_counter()
    for _ in range(calls):
        decorated(example)
    called = time.perf_counter()
    core.recorder_wait()
    return (called - start) / calls, (time.perf_counter() - start) / calls


def one_profile(model, _, example, calls, folder):
    start = time.perf_counter()
    with profile(**OPTIONS) as profiler:
        for _ in range(calls):
            model(example)
    profiler.export_chrome_trace(str(folder / "one.json"))
    return (time.perf_counter() - start) / calls


def a_profile_each(model, _, example, calls, folder):
    start = time.perf_counter()
    for number in range(calls):
        path = folder / f"each{number}.json"
        with profile(**OPTIONS) as profiler:
            model(example)
        profiler.export_chrome_trace(str(path))
        layers = {}
        for event in json.loads(path.read_text())["traceEvents"]:
            if "dur" in event:
                layers[event["name"]] = layers.get(event["name"], 0) + event["dur"]
    return (time.perf_counter() - start) / calls


def measure(rounds, calls, folder):
    torch.manual_seed(0)
    example = torch.randint(0, 1000, (1, 16))
    model = Transformer().eval()
    decorated = pyrometer.capture_model(output_dir=str(folder), with_stack=False)(
        Transformer().eval()
    )
    ways = [bare, ours, one_profile, a_profile_each]
    seconds = {way.__name__: [] for way in ways}
    with torch.no_grad():
        for number in range(rounds + 1):
            random.shuffle(ways)
            for way in ways:
                model(example)
                taken = way(model, decorated, example, calls, folder)
                if number:  # skip the first round, which builds, loads and opens
                    seconds[way.__name__].append(taken)
                gc.collect()
    return seconds


def times_cheaper(seconds, theirs, which):
    """Their overhead divided by ours, as medians over the rounds."""
    rows = list(zip(seconds[theirs], seconds["ours"], seconds["bare"], strict=True))

    def statistic(rows):
        other = statistics.median(a - plain for a, _, plain in rows)
        mine = statistics.median(b[which] - plain for _, b, plain in rows)
        return other / mine if mine > 0 else float("inf")

    return with_interval(rows, statistic)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.backends.mha.set_fastpath_enabled(False)
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        with contextlib.redirect_stdout(nowhere):  # each pass prints a table
            seconds = measure(options.rounds, options.calls, pathlib.Path(folder))
    plain = statistics.median(seconds["bare"]) * 1e3
    print(f"transformer, 12 x 128, 16 tokens, one file per forward: bare {plain:.2f} ms")
    for name in ("one_profile", "a_profile_each"):
        print(f"  {name}: {statistics.median(seconds[name]) * 1e3:.2f} ms per forward")
    for which, text in ((0, "the model's thread"), (1, "with the wait for files")):
        taken = statistics.median(pair[which] for pair in seconds["ours"])
        print(f"  ours, {text}: {taken * 1e3:.2f} ms per forward")
    for which, text in ((0, "model's thread"), (1, "and files on disk")):
        one = times_cheaper(seconds, "one_profile", which)
        line(f"times cheaper than one profile + export ({text})", one, target="target: at least 10")
        each = times_cheaper(seconds, "a_profile_each", which)
        line(
            f"... than one profile per forward + parse ({text})", each, target="target: at least 15"
        )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
