"""Shows on a GPU what the samples and the calibration give, in one call of about a minute.

    scripts/build-gpu.sh python3 && PYTHONPATH=build-gpu/python PYRO_TOOL=build-gpu/pyrometer \\
        python3 tests/gpu/show_power.py

Writes nothing but a temporary folder; XDG_DATA_HOME is there too."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import torch

from gpu.checks import TOOL
from gpu.test_power import record_steps
from pyrometer._testing import core


def show(*command):
    print(f"\n$ pyrometer {' '.join(command)}", flush=True)
    subprocess.run([TOOL, *command], check=False)


def cost(interval_s, seconds=2.0):
    """Time of a loop of small products with and without samples, and what a sample costs."""
    x = torch.randn(1024, 1024, device="cuda")

    def calls():
        done, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            for _ in range(100):
                x @ x
            torch.cuda.synchronize()
            done += 100
        return done

    calls()
    bare = calls()
    core.gpu_sampling_start(interval_s)
    sampled = calls()
    core.gpu_sampling_stop()
    again = calls()
    status = core.gpu_sampling_status()
    each_us = status["cost_ns"] / max(1, status["samples"]) / 1000
    print(f"every {interval_s * 1000:g} ms: {status['samples']} samples of {each_us:.0f} us each; "
          f"calls per second {bare / seconds:.0f} bare, {sampled / seconds:.0f} sampled, "
          f"{again / seconds:.0f} bare again; missing: {status['missing'] or 'nothing'}; "
          f"units: {status['has_units']}; power is a mean: {status['power_is_mean']}")  # fmt: skip


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
        torch.ones(1, device="cuda")
        for interval_s in (0.1, 0.02, 0.001):
            cost(interval_s)
        path = str(pathlib.Path(folder) / "run.pyro")
        record_steps(path, gpu_sampling=0.02)
        show("doctor", "--calibrate", "--python", sys.executable)
        subprocess.run(["cat", *map(str, pathlib.Path(folder, "pyrometer").glob("*"))], check=False)
        show("trace", path)
        show("trace", path, "--by", "step")
        show("trace", path, "--by", "counter")
        show("trace", path, "--by", "op")
        show("trace", path, "--by", "layer")


if __name__ == "__main__":
    main()
