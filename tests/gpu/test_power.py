"""Samples of power, energy and clocks on a GPU: cost, limits, counters, kills."""

import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import torch
from torch import nn

import pyrometer
from gpu.checks import TOOL, check, skip
from pyrometer._testing import core

HERE = pathlib.Path(__file__).resolve().parent
STEPS, STEP_S = 6, 0.5


class Net(nn.Module):
    """Keeps a large GPU busy."""

    def __init__(self, width=8192):
        super().__init__()
        self.first = nn.Linear(width, width, bias=False)
        self.second = nn.Linear(width, width, bias=False)

    def forward(self, x):
        return self.second(self.first(x))


def record_steps(path, steps=STEPS, **options):
    """Steps of about STEP_S each, marked as torch.profiler marks them."""
    net = Net().cuda().bfloat16()
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        net(x)
        torch.cuda.synchronize()
        with pyrometer.capture(path, **options) as block:
            for number in range(steps):
                with torch.profiler.record_function(f"ProfilerStep#{number}"):
                    end = time.perf_counter() + STEP_S
                    while time.perf_counter() < end:
                        for _ in range(5):
                            net(x)
                        torch.cuda.synchronize()
    return block


def samples_of(path, name, series):
    """(seconds, value) of a counter, from Chrome JSON."""
    events = json.loads(pathlib.Path(path).read_text())["traceEvents"]
    found = [e for e in events if e["ph"] == "C" and e["name"] == name and series in e["args"]]
    return sorted((e["ts"] / 1e6, e["args"][series]) for e in found)


def area(samples, begin, end):
    """Integral of samples over time by trapezoids, and the time that they cover."""
    inside = [(t, v) for t, v in samples if begin <= t <= end]
    pairs = list(itertools.pairwise(inside))
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairs), inside[-1][0] - inside[0][0]


def test_energy_per_step(tmp_path):
    block = record_steps(tmp_path / "run.pyro", gpu_sampling=0.02)
    status = core.gpu_sampling_status()
    # The interval grows where the driver is slow, so that samples take at most a twentieth of it.
    check("sampled", status["samples"] > 20, str(status))
    check("CUDA says which device it is", status["from_driver"])
    cost_us = status["cost_ns"] / max(status["samples"], 1) / 1000
    check("a sample costs less than 20 ms", cost_us < 20000, f"{cost_us:.0f} us")
    trace = block.trace()
    summary = trace.power_summary
    print(f"      {summary}")
    rows = [row for row in trace.power if row["energy_j"] is not None]
    # Starting NVML may take longer than the first step.
    check("steps have energy", len(rows) >= STEPS - 2, f"{len(rows)} of {STEPS}")
    power = core.Gpu().read()["power_w"]
    check(
        "plausible power",
        50 < summary["mean_power_w"] < 1500,
        f"{summary['mean_power_w']:.0f} W, now {power} W",
    )
    block.export_chrome_trace(tmp_path / "run.json")
    samples = samples_of(tmp_path / "run.json", "GPU power", "W")
    begin, end = samples[0][0] + 1, samples[-1][0] - 0.1  # the first second is a ramp
    counter = samples_of(tmp_path / "run.json", "GPU energy", "J")
    if not counter:
        skip("no energy counter")
    inside = [(t, v) for t, v in counter if begin <= t <= end]
    joules, seconds = area(samples, begin, end)
    by_counter = (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0])
    by_power = joules / seconds
    # The sensor of an H100 looks at a quarter of the time; the counter lags by its update.
    check("the counter agrees with the integral of power", 0.8 < by_counter / by_power < 1.25,
          f"{by_counter:.0f} W by the counter, {by_power:.0f} W by samples")  # fmt: skip
    period_s = max(summary["update_ns"] or 0, summary["interval_ns"]) / 1e9
    check("the counter is updated several times per second", period_s < 0.5, f"{period_s:.3f} s")
    steady = [row["mean_power_w"] for row in rows[-3:]]
    check("equal steps have equal power", max(steady) / min(steady) < 1.3, str(steady))
    limits = all(row["energy_error_j"] <= row["mean_power_w"] * period_s * 1.01 for row in rows)
    check("errors are one update's worth", limits)


def test_counters(tmp_path):
    block = record_steps(tmp_path / "run.pyro", steps=2, gpu_sampling=0.05)
    counters = {f"{r['name']}/{r['series']}": r for r in block.trace().counters}
    for name in ("GPU power/W", "GPU clock/SM MHz", "GPU busy/kernels %", "GPU memory/used bytes"):
        check(name, name in counters, str(sorted(counters)))
    check("busy", counters["GPU busy/kernels %"]["max"] > 50)
    free, total = torch.cuda.mem_get_info()
    used = counters["GPU memory/used bytes"]["max"]
    check("memory in use", 0.2 < used / (total - free) < 5, f"{used:.3g} and {total - free:.3g}")
    if core.gpu_sampling_status()["has_units"]:
        units = {name: row["max"] for name, row in counters.items() if name.startswith("GPU units")}
        check("tensor cores work", units.get("GPU units/tensor %", 0) > 20, str(units))
        check("percentages", all(0 <= value <= 100.5 for value in units.values()), str(units))
    done = subprocess.run([TOOL, "trace", str(tmp_path / "run.pyro"), "--by", "step"],
                          capture_output=True, text=True)  # fmt: skip
    check("the tool shows energy", "Energy J" in done.stdout, done.stdout[-1500:])


def test_by_default_and_off(tmp_path):
    block = record_steps(tmp_path / "run.pyro", steps=3)
    check("by default", block.trace().power_summary["samples"] >= 3)
    interval_ns = core.gpu_sampling_status()["interval_ns"]
    check("every 100 ms", interval_ns == 100_000_000, str(interval_ns))
    block = record_steps(tmp_path / "off.pyro", steps=1, gpu_sampling=0)
    check("off", block.trace().power_summary["samples"] == 0)


def test_start_and_stop_take_no_time(tmp_path):
    torch.ones(1, device="cuda")
    worst = 0.0
    for _ in range(5):
        with pyrometer.capture(tmp_path / "run.pyro", gpu="none"):
            pass
        core.recorder_start(
            str(tmp_path / "plain.pyro"), core.RECORD_DEVICES, 0, False, True, False
        )
        begin = time.perf_counter()
        core.gpu_sampling_start(0.1)
        time.sleep(0.05)
        middle = time.perf_counter()
        core.gpu_sampling_stop()
        worst = max(worst, time.perf_counter() - middle, middle - begin - 0.05)
        core.recorder_stop()
    check("start and stop within 100 ms", worst < 0.11, f"{worst * 1000:.1f} ms")


def test_a_killed_program(tmp_path):
    program = (
        "import sys, time, torch, pyrometer\n"
        "x = torch.randn(4096, 4096, device='cuda')\n"
        f"with pyrometer.capture({str(tmp_path / 'run.pyro')!r}, gpu_sampling=0.02):\n"
        "    for i in range(10**9):\n"
        "        (x @ x).sum().item()\n"
        "        if i == 300: print('ready', flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
                             env=dict(os.environ))  # fmt: skip
    child.stdout.readline()
    time.sleep(3)
    child.send_signal(signal.SIGKILL)
    child.wait()
    trace = pyrometer.trace(tmp_path / "run.pyro")
    check("samples survive", trace.power_summary["samples"] >= 10, str(trace.power_summary))
