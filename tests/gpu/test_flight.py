"""The flight recorder on a GPU: out of memory, windows of the CUDA profiler, slow steps with their
kernels; NVTX ranges of layers."""

import contextlib
import ctypes
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import torch
from torch import nn

import pyrometer
from gpu.checks import TOOL, check, skip
from pyrometer._testing import core

HERE = pathlib.Path(__file__).resolve().parent


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(1024, 4096)
        self.narrow = nn.Linear(4096, 1024)

    def forward(self, x):
        return self.narrow(torch.relu(self.wide(x)))


def first_screen(path):
    return subprocess.run([TOOL, "trace", path], capture_output=True, text=True, check=True).stdout


def test_out_of_memory(tmp_path):
    model = Net().cuda()
    with (
        pyrometer.capture(tmp_path / "run.pyro", keep_last="2s", on=["oom"], max_size=8 << 20) as c,
        contextlib.suppress(torch.OutOfMemoryError),
    ):
        kept = []
        hook = model.wide.register_forward_hook(lambda *call: kept.append(call[2].detach()))
        for _ in range(4):
            model(torch.randn(8192, 1024, device="cuda"))
        hook.remove()
        until = time.monotonic() + 3
        while time.monotonic() < until:  # what was allocated leaves the kept time
            model.narrow(kept[0][:8])
        torch.empty(1 << 42, device="cuda")
    names = [os.path.basename(path) for path in c.saved_files]
    check("one file", names == ["run.oom-1.pyro"], str(names))
    trace = pyrometer.trace(c.saved_files[0])
    rows = [row for row in trace.memory if row["device"].startswith("cuda")]
    check("the failed allocation", rows and rows[0]["failed_bytes"] == 4 << 42, str(rows))
    data = json.loads(subprocess.run(
        [TOOL, "trace", "--format", "json", c.saved_files[0]], capture_output=True, check=True
    ).stdout)  # fmt: skip
    device = next(one for one in data["memory"]["devices"] if one["device"].startswith("cuda"))
    wide = [one for one in device["holders"] if one["layer"] == "wide"]
    held = sum(one["bytes"] for one in wide)
    check(
        "who held it", held >= 4 * 8192 * 4096 * 4, f"wide: {held:,} B of {device['holders'][:3]}"
    )
    total = sum(one["bytes"] for one in device["holders"])
    check("holders add up", total == device["failed_live_bytes"],
          f"{total:,} of {device['failed_live_bytes']:,}")  # fmt: skip
    screen = first_screen(c.saved_files[0])
    check("the first screen says so", "Out of memory:" in screen
          and "Live when memory ran out" in screen, screen[:1500])  # fmt: skip
    check("the program goes on", torch.ones(1, device="cuda").item() == 1 and len(kept) == 4)


# torch.profiler keeps CUPTI after its first use.
TAKEN = """
import sys, torch, pyrometer
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096)).cuda()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
    model(torch.ones(8, 1024, device="cuda"))
with pyrometer.capture(sys.argv[1], on="oom", gpu=sys.argv[2]) as c:
    kept = [model(torch.ones(4096, 1024, device="cuda")) for _ in range(4)]
    try:
        torch.empty(1 << 42, device="cuda")
    except torch.OutOfMemoryError:
        print(*c.saved_files)
"""


def test_out_of_memory_without_kernels(tmp_path):
    for way in ("collector", "torch", "none"):
        path = tmp_path / f"{way}.pyro"
        done = subprocess.run([sys.executable, "-c", TAKEN, str(path), way], cwd=tmp_path,
                              capture_output=True, text=True, check=False)  # fmt: skip
        files = list(tmp_path.glob(f"{way}.oom-*.pyro"))
        check(f"{way}: one file", len(files) == 1, done.stdout + done.stderr[-300:])
        trace = pyrometer.trace(files[0])
        rows = [row for row in trace.memory if row["device"].startswith("cuda")]
        failed = [row["failed_bytes"] for row in rows]
        check(f"{way}: the failed allocation", failed == ([] if way == "none" else [4 << 42]),
              f"{rows}; {trace.trigger_text}")  # fmt: skip
        layers = {row["path"]: row["allocated_bytes"] for row in trace.layers}
        wanted = 0 if way == "none" else 4 * 4096 * 4096 * 4
        check(f"{way}: memory by layer", layers["0"] >= wanted, str(layers))
        check(f"{way}: no kernels", not len(trace.kernels), str(len(trace.kernels)))


def test_slow_step_with_kernels(tmp_path):
    model, slow = Net().cuda(), random.randint(15, 30)
    optimizer = torch.optim.AdamW(model.parameters())
    with pyrometer.capture(tmp_path / "run.pyro", keep_last="20s", on="slow-step:5x") as c:
        for step in range(1, 41):
            loss = model(torch.randn(64, 1024, device="cuda")).sum()
            if step == slow:
                torch.cuda._sleep(int(4e9))  # about two seconds
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            loss.item()
    saved = [path for path in c.saved_files if "slow-step" in path]
    check("a slow step was saved", len(saved) >= 1, str(c.saved_files))
    trace = pyrometer.trace(saved[-1])
    steps = {row["number"]: row["span_ns"] for row in trace.steps}
    slowest = max(steps, key=steps.get)
    # loss.item() comes after the optimizer, so the wait belongs to the next step of its count.
    check("it is in the file, and named", slowest in (slow - 1, slow)
          and f"step {slowest} took" in trace.trigger_text, trace.trigger_text)  # fmt: skip
    check("with its kernels", sum(trace.kernels["calls"]) > 10 * len(steps),
          f"{sum(trace.kernels['calls'])} kernels in {len(steps)} steps")  # fmt: skip
    check("and layers on the device", all(
        row["forward_device_ns"] > 0 for row in trace.layers if row["path"]
    ))  # fmt: skip


def run_window(model, start, stop):
    model(torch.randn(8, 1024, device="cuda"))
    start()
    for _ in range(3):
        model(torch.randn(8, 1024, device="cuda"))
    torch.cuda.synchronize()
    stop()
    model(torch.randn(8, 1024, device="cuda"))


def cudart_from_c():
    """cudaProfilerStart and Stop, as a library in C calls them."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "libcudart" in line}
    if not paths:
        skip("libcudart is not loaded")
    library = ctypes.CDLL(sorted(paths)[0])
    return library.cudaProfilerStart, library.cudaProfilerStop


def test_windows_of_the_cuda_profiler(tmp_path):
    model = Net().cuda()
    for name, (start, stop) in {
        "torch": (torch.cuda.profiler.start, torch.cuda.profiler.stop),
        "c": cudart_from_c(),
    }.items():
        with pyrometer.capture(tmp_path / f"{name}.pyro", on="cuda-profiler") as c:
            check("the collector is on", core.devices_status()["state"] == "on")
            run_window(model, start, stop)
        names = [os.path.basename(path) for path in c.saved_files]
        check(f"{name}: one file", names == [f"{name}.cuda-profiler-1.pyro"], str(names))
        trace = pyrometer.trace(c.saved_files[0])
        calls = {row["path"]: row["calls"] for row in trace.layers}
        check(f"{name}: the three calls", calls.get("") == 3, str(calls))
        check(f"{name}: their kernels", sum(trace.kernels["calls"]) >= 9,
              str(sum(trace.kernels["calls"])))  # fmt: skip


PROGRAM = """
import ctypes, json, sys, torch
from torch import nn
import pyrometer
stub = ctypes.CDLL(sys.argv[1])
stub.nvtx_stub_seen.restype = ctypes.c_char_p
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).cuda()
torch.cuda.nvtx.range_push("torch's own")
torch.cuda.nvtx.range_pop()
with pyrometer.capture("run.pyro", nvtx=True):
    model(torch.ones(1, 8, device="cuda"))
print(json.dumps([stub.nvtx_stub_clients(), stub.nvtx_stub_seen().decode().splitlines()]))
"""


def test_nvtx_ranges(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        skip("no C compiler")
    stub = tmp_path / "libnvtx_stub.so"
    source = HERE.parent / "unit" / "device" / "nvtx_stub.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", stub, source, "-lpthread"], check=True
    )
    package = str(pathlib.Path(pyrometer.__file__).parents[1])
    environment = {
        **os.environ,
        "NVTX_INJECTION64_PATH": str(stub),
        "PYTHONPATH": os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, stub],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    check("the program runs", done.returncode == 0, done.stderr[-2000:])
    clients, seen = json.loads(done.stdout.splitlines()[-1])
    check("the tool hears torch and us in the same way", clients >= 2 and "<torch's own" in seen,
          f"{clients}, {seen}")  # fmt: skip
    ours = seen[seen.index("<Sequential") :]
    check("layers are ranges", ours == ["<Sequential", "<0", ">", "<1", ">", ">"], str(ours))
