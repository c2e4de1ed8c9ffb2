"""Runs the scenarios of test_flight.py that need stubs of CUPTI, of a tool for NVTX and of
torch's CUDA allocator.

    flight_driver.py CUPTI NVTX C10_CUDA FOLDER

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

cupti_path, nvtx_path, c10_cuda_path = sys.argv[1:4]
root = pathlib.Path(sys.argv[4])
os.environ["PYRO_CUPTI"] = cupti_path
os.environ["NVTX_INJECTION64_PATH"] = nvtx_path

import torch  # noqa: E402
from torch import nn  # noqa: E402

import pyrometer  # noqa: E402
from pyrometer._testing import collector, kineto, nsight, session  # noqa: E402

cupti, nvtx = ctypes.CDLL(cupti_path), ctypes.CDLL(nvtx_path)
c10_cuda = ctypes.CDLL(c10_cuda_path)
c10_cuda.stub_allocate.argtypes = [ctypes.c_size_t, ctypes.c_int64]
c10_cuda.stub_fail.argtypes = [ctypes.c_int64]
c10_cuda.stub_allocate.restype = c10_cuda.stub_fail.restype = None
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


def model_on_gpu():
    """A model that allocates 1 MiB on the GPU per call."""
    model = Net()
    model.body[0].register_forward_pre_hook(lambda *_: c10_cuda.stub_allocate(0x1000, 1 << 20))
    return model


def layer_mib(trace):
    return next(row["allocated_bytes"] for row in trace.layers if row["path"] == "body.0") >> 20


def run_out_of_memory(way):
    """One allocation before and one after kernels are lost, and one that fails."""
    os.environ["PYRO_STUB_CUPTI"] = "taken" if way == "taken" else ""
    model, gpu = model_on_gpu(), way if way in ("torch", "none") else "collector"
    with pyrometer.capture(root / "gpu.pyro", on="oom", gpu=gpu) as c:
        if collector.current is not None:
            collector.current._begin()
        model(torch.ones(2, 8))
        if way == "lost":  # the program's own profiler gets CUPTI
            for callback in list(kineto._State.before_others):
                callback()
        model(torch.ones(2, 8))
        c10_cuda.stub_fail(1 << 40)
    del os.environ["PYRO_STUB_CUPTI"]
    trace = pyrometer.trace(c.saved_files[0]) if c.saved_files else c.trace()
    rows = [row for row in trace.memory if row["device"] != "cpu"]
    return {
        "names": [os.path.basename(path) for path in c.saved_files],
        "text": trace.trigger_text,
        "peaks": {row["device"]: row["peak_bytes"] for row in rows},
        "failed": {row["device"]: row["failed_bytes"] for row in rows},
        "layer_mib": layer_mib(trace),
    }


def gpu_memory():
    return {way: run_out_of_memory(way) for way in ("collector", "taken", "lost", "torch", "none")}


def gpu_memory_beside_torch():
    with pyrometer.capture(root / "beside.pyro", gpu="torch") as c:
        by_torch = session._observers._devices.with_memory
        model_on_gpu()(torch.ones(2, 8))
    return {"by_torch": by_torch, "layer_mib": layer_mib(c.trace())}


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
    scenarios = (ranges, ranges_of_exceptions, profiler_windows, profiled_steps)
    for scenario in (*scenarios, gpu_memory, gpu_memory_beside_torch):
        with contextlib.redirect_stderr(io.StringIO()):
            found[scenario.__name__] = scenario()
    print(json.dumps(found))


main()
