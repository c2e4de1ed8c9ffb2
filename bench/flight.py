"""Measures the flight recorder on the CPU: what it costs while nothing happens, how long saving a
file takes, and memory over many steps.

usage: python bench/flight.py [--rounds 30] [--calls 8] [--steps 20000]

Costs are ratios to the bare model, as bench/capture.py computes them; "bare again" is the control.
"""

import argparse
import contextlib
import os
import pathlib
import resource
import time

import torch

import capture as overhead
import pyrometer
from pyrometer._testing import core

FOLDER = overhead.FOLDER
TRIGGERS = ["slow-step:1000x", "oom", "exception", "SIGUSR2"]


def flight(**options):
    return pyrometer.capture(
        FOLDER / "flight.pyro", keep_last="30s", on=TRIGGERS, max_size=64 << 20, **options
    )


WAYS = {
    "bare again": contextlib.nullcontext,
    "layers": lambda: flight(ops=False),
    "layers, ops, shapes, memory": lambda: flight(with_stack=False, record_outputs=False),
    "everything, with stacks": lambda: flight(),
}


def rss_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def measure_cost(options):
    for name, (make, example, factor) in overhead.MODELS.items():
        model = make().eval()
        rounds = options.rounds * factor
        figures = overhead.Figures(overhead.measure(name, model, example(), WAYS, rounds, options))
        print(f"\n{name}: bare {figures.bare_ms:.2f} ms")
        for way in WAYS:
            overhead.line(f"{way}, x bare", figures.ratio(way), figures.quiet(way))


def measure_long_run(steps):
    """Steps of the transformer: memory at quarters of the run, after the ring is full."""
    model, example = overhead.Transformer().eval(), torch.randint(0, 1000, (1, 16))
    with flight() as c, torch.no_grad():
        print(f"\n{steps:,} steps with a limit of 64 MiB")
        for quarter in range(4):
            for _ in range(steps // 4):
                model(example)
            status = core.recorder_status()
            print(
                f"  after {(quarter + 1) * steps // 4:,}: resident {rss_mib():.1f} MiB, "
                f"file {status['file_bytes'] / 2**20:.1f} MiB, lost {status['lost_records']}"
            )
        began = time.perf_counter()
        c.save()
        asked = time.perf_counter()
        core.flight_wait()
        done = time.perf_counter()
    size = os.path.getsize(c.saved_files[-1]) / 2**20
    print(
        f"  a file of {size:.1f} MiB: the program waits {(asked - began) * 1e6:.0f} us, "
        f"the file is there after {(done - began) * 1e3:.0f} ms"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--calls", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--cpu", action="store_true", help="CPU time of the model's thread")
    options = parser.parse_args()
    pathlib.Path(FOLDER).mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    measure_cost(options)
    measure_long_run(options.steps)


if __name__ == "__main__":
    main()
