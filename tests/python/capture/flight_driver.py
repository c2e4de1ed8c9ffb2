"""Runs the scenarios of test_flight.py that need stubs of CUPTI and of a tool for NVTX.

    flight_driver.py CUPTI NVTX FOLDER

Prints a JSON object: by scenario its result.
"""

import contextlib
import ctypes
import io
import json
import os
import pathlib
import sys
from typing import ClassVar

cupti_path, nvtx_path, root = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
os.environ["PYRO_CUPTI"] = cupti_path
os.environ["NVTX_INJECTION64_PATH"] = nvtx_path

import torch  # noqa: E402
from torch import nn  # noqa: E402

import pyrometer  # noqa: E402
from pyrometer._testing import collector, nsight  # noqa: E402

cupti, nvtx = ctypes.CDLL(cupti_path), ctypes.CDLL(nvtx_path)
cupti.stub_launch.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint32]
cupti.stub_profiler.argtypes = [ctypes.c_bool]
nvtx.nvtx_stub_seen.restype = ctypes.c_char_p


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def forward(self, x):
        if x.numel() == 1:
            raise ValueError("mine")
        return self.body(x)


def seen_ranges():
    text = nvtx.nvtx_stub_seen().decode()
    nvtx.nvtx_stub_forget()
    return text.split()


def ranges():
    model = Net()
    with pyrometer.capture(root / "ranges.pyro", nvtx=True):
        model(torch.ones(1, 8))
    inside = seen_ranges()
    model(torch.ones(1, 8))
    return {"inside": inside, "after": seen_ranges()}


def ranges_of_exceptions():
    model = Net()
    with pyrometer.capture(root / "raised.pyro", nvtx=True), contextlib.suppress(ValueError):
        model(torch.ones(1))
    return seen_ranges()


def profiler_windows():
    """The program's own calls of cudaProfilerStart and Stop, from C."""
    model = Net()
    with pyrometer.capture(root / "server.pyro", on=["cuda-profiler"]) as c:
        collector.current._begin()
        model(torch.ones(2, 8))
        cupti.stub_profiler(True)
        for _ in range(3):
            model(torch.ones(3, 8))
            cupti.stub_launch(b"_Z4gemmPfi", 5000, 7)
        cupti.stub_wait()
        cupti.stub_profiler(False)
        model(torch.ones(4, 8))
    names = [os.path.basename(path) for path in c.saved_files]
    trace = pyrometer.trace(c.saved_files[0])
    rows = {row["path"]: row["calls"] for row in trace.layers}
    kernels = sum(row["calls"] for row in trace.kernels)
    return {"names": names, "calls": rows[""], "kernels": kernels, "text": trace.trigger_text}


class Cudart:
    calls: ClassVar[list[str]] = []

    @classmethod
    def cudaProfilerStart(cls):
        cls.calls.append("start")

    @classmethod
    def cudaProfilerStop(cls):
        cls.calls.append("stop")


def profiled_steps():
    """Steps and layers of @profiler, with a CUDA runtime that is only counted."""
    model = Net()
    torch.cuda.cudart, torch.cuda.check_error = (lambda: Cudart), (lambda code: None)
    nsight.has_device = lambda: True

    @pyrometer.profiler(output_dir=str(root / "steps"), skip_first=0, wait=1, warmup=0, active=2,
                        nsight_enabled=True)  # fmt: skip
    def train():
        for _ in range(4):
            model.body[0](torch.ones(1, 8))
            pyrometer.step_profiler()

    with contextlib.redirect_stdout(io.StringIO()):
        train()
    return {"calls": Cudart.calls, "seen": seen_ranges()}


def main():
    found = {}
    for scenario in (ranges, ranges_of_exceptions, profiler_windows, profiled_steps):
        with contextlib.redirect_stderr(io.StringIO()):
            found[scenario.__name__] = scenario()
    print(json.dumps(found))


main()
