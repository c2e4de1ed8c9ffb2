"""Runs the scenarios of test_collector.py with the stub of CUPTI in place of a GPU.

    collector_driver.py STUB FOLDER

Prints a JSON object: by scenario its result and what it said. Launches of kernels are calls of the
stub, from hooks of layers.
"""

import contextlib
import ctypes
import io
import json
import os
import pathlib
import sys

stub_path, root = sys.argv[1], pathlib.Path(sys.argv[2])
folder = root  # of the current scenario
os.environ["PYRO_CUPTI"] = stub_path
os.environ["PYROMETER"] = "1"

import torch  # noqa: E402
from torch import nn  # noqa: E402

import pyrometer  # noqa: E402
from pyrometer._testing import collector, core, doctor, finish_passes, stop_watching  # noqa: E402

stub = ctypes.CDLL(stub_path)
stub.stub_launch.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint32]
stub.stub_replay.argtypes = [ctypes.c_uint64]
stub.stub_capture.argtypes = [ctypes.c_bool]
KERNEL = ctypes.c_char_p(b"_Z4gemmPfi")


def launch(*unused):
    stub.stub_launch(KERNEL, 5000, 7)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(8, 16)
        self.narrow = nn.Linear(16, 4)
        for layer in (self.wide, self.narrow):
            layer.register_forward_pre_hook(launch)

    def forward(self, x):
        return self.narrow(self.wide(x))


def begin_collector():
    """What torch calls when the program first uses CUDA."""
    collector.current._begin()


def run_block(model, **options):
    path = folder / "run.pyro"
    with pyrometer.capture(path, **options) as block:
        begin_collector()
        model(torch.randn(2, 8))
        stub.stub_wait()
    return block


def device_times(trace):
    return {row["path"]: row["forward_device_ns"] for row in trace.layers}


def block():
    trace = run_block(Net()).trace()
    return {
        "kernels": [(row["name"], row["calls"]) for row in trace.kernels],
        "layers": device_times(trace),
        "files": sorted(os.listdir(folder)),
        "warnings": list(trace.warnings),
        "state": core.devices_status()["state"],
    }


def layers_only():
    trace = run_block(Net(), ops=False, profile_memory=False).trace()
    return {"layers": device_times(trace)}


def graph():
    model = Net()
    path = folder / "run.pyro"
    with pyrometer.capture(path) as block:
        begin_collector()
        stub.stub_capture(True)
        model(torch.randn(2, 8))
        stub.stub_capture(False)
        for _ in range(3):
            stub.stub_replay(4000)
        stub.stub_wait()
    return {"layers": device_times(block.trace()), "warnings": list(block.trace().warnings)}


def passes():
    Captured = pyrometer.capture_model(output_dir=str(folder))(Net)
    model = Captured()
    for _ in range(3):
        model(torch.randn(2, 8))
        if collector.current is not None and not collector.current.is_on:
            begin_collector()
    finish_passes()
    stop_watching()
    found = {}
    for path in sorted(folder.glob("Net_forward_*.json")):
        trace = pyrometer.trace(path)
        found[path.name] = sum(row["calls"] for row in trace.kernels)
    return found


def taken():
    os.environ["PYRO_STUB_CUPTI"] = "taken"
    trace = run_block(Net(), gpu="collector").trace()
    return {"kernels": len(trace.kernels), "layers": len(trace.layers)}


def none():
    path = folder / "run.pyro"
    with pyrometer.capture(path, gpu="none"):
        Net()(torch.randn(2, 8))
    return {"current": collector.current is None, "on": core.devices_status()["state"] == "on"}


def other_profiler():
    """The program starts its own profiler of devices: the collector leaves CUPTI to it."""
    model = Net()
    with pyrometer.capture(folder / "run.pyro") as block:
        begin_collector()
        model(torch.randn(2, 8))
        profile = torch.autograd.profiler.profile
        one = profile.__new__(profile)
        one.use_device = "cuda"
        before = core.devices_status()["state"]
        from pyrometer._testing import kineto

        for callback in list(kineto._State.before_others):
            callback()
        after = core.devices_status()["state"]
        model(torch.randn(2, 8))
    trace = block.trace()
    return {"before": before, "after": after, "kernels": sum(r["calls"] for r in trace.kernels)}


def examine():
    works = doctor._collector(launch)
    os.environ["PYRO_STUB_CUPTI"] = "taken"
    is_taken = doctor._collector(launch)
    return {"works": works, "taken": is_taken}


def main():
    global folder
    found = {}
    scenarios = (block, layers_only, graph, passes, taken, none, other_profiler, examine)
    for scenario in scenarios:
        folder = root / scenario.__name__
        folder.mkdir()
        os.environ.pop("PYRO_STUB_CUPTI", None)
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            result = scenario()
        found[scenario.__name__] = (result, said.getvalue())
    print(json.dumps(found))


main()
