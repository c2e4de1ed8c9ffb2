"""Trains for minutes under continuous capture: memory must not grow, losses must be counted.

    make soak-gpu                 four minutes
    make soak-gpu SECONDS=100     a part of them; the next call goes on

Trains a small GPT as fast as the GPU allows, while a recording keeps its last 64 MB. Prints memory
and counters, and the slope of the memory after each part's first quarter. Exit status: 0 all holds,
1 it does not, 3 some time is left.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import pyrometer
from gpu.kernel_cases import GPT, tokens, train_step
from pyrometer._testing import core

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILE_BYTES = 64 << 20
MOST_MB_PER_MINUTE = 1
LEFT = 3


def memory_mb():
    """(resident memory, its part that is no file) of this process."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    found = dict(line.split(":", 1) for line in lines if line.startswith(("VmRSS", "RssAnon")))
    return tuple(int(found[key].split()[0]) / 1024 for key in ("VmRSS", "RssAnon"))


def slope_per_minute(samples, which):
    """Least squares over the samples after the first quarter."""
    rest = samples[len(samples) // 4 :]
    times, values = [s["seconds"] / 60 for s in rest], [s[which] for s in rest]
    middle, level = sum(times) / len(times), sum(values) / len(values)
    spread = sum((t - middle) ** 2 for t in times)
    products = ((t - middle) * (v - level) for t, v in zip(times, values, strict=True))
    return sum(products) / spread if spread else 0.0


def watched(way, path):
    """What is switched on during the training; only "all" counts, the others show where memory
    goes."""
    if way == "bare":
        return contextlib.nullcontext()
    gpu = "none" if way == "host" else "collector"
    return pyrometer.capture(path, max_size=FILE_BYTES, keep_last=True, gpu=gpu)


def train(seconds, path, way="all"):
    """Samples of memory and counters, one per two seconds."""
    step = train_step(GPT().cuda(), tokens(), autocast=True)
    samples, steps = [], 0
    for _ in range(5):
        step()
    with watched(way, path):
        begun = last = time.monotonic()
        while time.monotonic() - begun < seconds:
            for _ in range(10):
                step()
            steps += 10
            torch.cuda.synchronize()
            if time.monotonic() - last < 2:
                continue
            last = time.monotonic()
            status = core.devices_status()
            resident, anonymous = memory_mb()
            samples.append(
                {"seconds": last - begun, "steps": steps, "resident_mb": resident,
                 "anonymous_mb": anonymous, "records": status["records"],
                 "dropped": status["dropped"], "malformed": status["malformed"]}
            )  # fmt: skip
    return samples


def run_part(seconds):
    """What one part found."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "soak.pyro")
        samples = train(seconds, path)
        size, trace = os.path.getsize(path), pyrometer.trace(path)
    last = samples[-1]
    return {
        "seconds": seconds,
        "steps": last["steps"],
        "records": last["records"],
        "dropped": last["dropped"] + last["malformed"],
        "resident_mb": [samples[0]["resident_mb"], last["resident_mb"]],
        "resident_mb_per_minute": slope_per_minute(samples, "resident_mb"),
        "anonymous_mb_per_minute": slope_per_minute(samples, "anonymous_mb"),
        "file_mb": size / 1e6,
        "kernels_kept": sum(trace.kernels["calls"]),
        "warnings": list(trace.warnings),
    }


def show_way(way, seconds):
    with tempfile.TemporaryDirectory() as folder:
        samples = train(seconds, os.path.join(folder, "soak.pyro"), way)
    slope = slope_per_minute(samples, "resident_mb")
    print(f"{way}: {samples[-1]['steps']} steps, {slope:+.2f} MB per minute", flush=True)


def judge(part):
    """Prints a part; whether it holds."""
    grows = part["resident_mb_per_minute"] >= MOST_MB_PER_MINUTE
    is_counted = part["dropped"] == 0 or any("dropped" in text for text in part["warnings"])
    holds = not grows and is_counted and part["kernels_kept"] > 0
    holds = holds and part["file_mb"] < 1.1 * FILE_BYTES / 1e6
    print(
        f"{'PASS' if holds else 'FAIL'}  {part['seconds']:.0f} s: {part['steps']} steps, "
        f"{part['records']} records of work, {part['dropped']} dropped; resident "
        f"{part['resident_mb'][0]:.0f} to {part['resident_mb'][1]:.0f} MB, "
        f"{part['resident_mb_per_minute']:+.2f} MB per minute (without files "
        f"{part['anonymous_mb_per_minute']:+.2f}; target: below {MOST_MB_PER_MINUTE}); file "
        f"{part['file_mb']:.0f} MB with {part['kernels_kept']} kernels; {part['warnings']}",
        flush=True,
    )
    return holds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--total", type=float, default=240, help="seconds of training in all")
    parser.add_argument("--seconds", type=float, help="at most so many in this call")
    parser.add_argument("--way", choices=("bare", "host"), help="only show this way's memory")
    parser.add_argument("--state", type=pathlib.Path, default=ROOT / "build" / "soak-gpu.json")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("soak: torch sees no GPU")
        return 0
    if options.way:
        show_way(options.way, options.seconds or options.total)
        return 0
    parts = json.loads(options.state.read_text()) if options.state.exists() else []
    left = options.total - sum(part["seconds"] for part in parts)
    parts.append(run_part(min(left, options.seconds or left)))
    left -= parts[-1]["seconds"]
    options.state.parent.mkdir(parents=True, exist_ok=True)
    options.state.write_text(json.dumps(parts, indent=1) + "\n")
    if left > 1:
        judge(parts[-1])
        print(f"{left:.0f} s are left: make soak-gpu goes on with them")
        return LEFT
    options.state.unlink()
    return 0 if all([judge(part) for part in parts]) else 1


if __name__ == "__main__":
    sys.exit(main())
