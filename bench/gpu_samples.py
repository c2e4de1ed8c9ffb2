"""What a sample of the GPU's power and clocks costs the process: processor time and file size.

    .venv/bin/python bench/gpu_samples.py [--interval 0.001] [--seconds 2]

With a GPU, the samples come from its driver. Without one, a stub of NVML (build/libnvml_stub.so)
takes its place: then this is the cost of the sampler and of the records, without the driver's.
"""

import argparse
import os
import pathlib
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def measure(core, interval_s, seconds):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.pyro")
        core.recorder_start(path, core.RECORD_DEVICES, 0, False, True, False)
        core.gpu_sampling_start(interval_s)
        while core.gpu_sampling_status()["samples"] < 2:  # NVML is loaded
            time.sleep(0.01)
        before, cpu_s = core.gpu_sampling_status(), time.process_time()
        time.sleep(seconds)
        after, cpu_s = core.gpu_sampling_status(), time.process_time() - cpu_s
        core.gpu_sampling_stop()
        core.recorder_stop()
    count = after["samples"] - before["samples"]
    wall_us = (after["cost_ns"] - before["cost_ns"]) / count / 1000
    return count, 1e6 * cpu_s / count, wall_us


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interval", type=float, default=0.001, help="seconds between samples")
    parser.add_argument("--seconds", type=float, default=2)
    given = parser.parse_args()
    if not os.path.exists("/dev/nvidiactl"):
        os.environ.setdefault("PYRO_NVML", str(ROOT / "build" / "libnvml_stub.so"))
        os.environ |= {"PYRO_STUB_GPU": "1980:0", "PYRO_STUB_GPM": "1"}
    from pyrometer._testing import core

    count, cpu_us, wall_us = measure(core, given.interval, given.seconds)
    print(f"{os.environ.get('PYRO_NVML', 'NVML')}: {count} samples")
    print(f"processor time per sample: {cpu_us:.1f} us; queries and records took {wall_us:.1f} us")
    print(f"at one sample per 100 ms: {cpu_us / 1e5:.4%} of a core")


if __name__ == "__main__":
    main()
