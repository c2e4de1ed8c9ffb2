"""Runs the scenarios of test_collector.py with the stub of CUPTI in place of a GPU.

    collector_driver.py STUB SHARED_STUB FOLDER

Prints a JSON object: by scenario its result and what it said. Launches of kernels are calls of the
stub, from hooks of layers. A process loads one library, so each other library has a forked child.
"""

import contextlib
import ctypes
import io
import json
import os
import pathlib
import sys
import tempfile

stub_path, shared_stub_path, root = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
folder = root  # of the current scenario
os.environ["PYRO_CUPTI"] = stub_path
os.environ["PYROMETER"] = "1"

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import pyrometer  # noqa: E402
from pyrometer._testing import collector, core, doctor, finish_passes, stop_watching  # noqa: E402


def load_stub(path):
    loaded = ctypes.CDLL(path)
    loaded.stub_launch.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint32]
    loaded.stub_replay.argtypes = [ctypes.c_uint64]
    loaded.stub_capture.argtypes = [ctypes.c_bool]
    loaded.stub_log.restype = ctypes.c_char_p
    return loaded


stub = load_stub(stub_path)
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


def records():
    """Events of the device by category, for each value of PYROMETER_GPU_RECORDS."""
    found = {}
    for number, wanted in enumerate(("", "kernels", "synchronizations,overhead", "all")):
        os.environ["PYROMETER_GPU_RECORDS"] = wanted
        path = folder / f"run{number}.pyro"
        with pyrometer.capture(path) as block:
            begin_collector()
            launch()
            stub.stub_set(4096, 1000)
            stub.stub_wait()
        block.export_chrome_trace(folder / "run.json")
        events = json.loads((folder / "run.json").read_text())["traceEvents"]
        of_device = {"kernel", "gpu_memset", "cuda_sync", "overhead"}
        found[wanted] = sorted(e["cat"] for e in events if e.get("cat") in of_device)
    os.environ["PYROMETER_GPU_RECORDS"] = "memset"
    try:
        pyrometer.capture(folder / "wrong.pyro")
    except ValueError as error:
        found["error"] = str(error)
    del os.environ["PYROMETER_GPU_RECORDS"]
    return found


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
    trace = block.trace()
    own = {row["path"]: row["forward_device_self_ns"] for row in trace.layers}
    return {"layers": own, "warnings": list(trace.warnings), "notes": list(trace.notes)}


class LaunchInAddmm(TorchDispatchMode):
    """Every addmm launches a kernel, inside of the op."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.addmm.default:
            launch()
        return function(*args, **kwargs or {})


def run_layer(is_captured):
    """The row of the op whose kernel ran ten times, as a call each or as replays of one."""
    layer, x = nn.Linear(64, 64), torch.randn(64, 64)
    path = folder / f"{is_captured}.pyro"
    with torch.no_grad(), pyrometer.capture(path) as block:
        begin_collector()
        stub.stub_capture(is_captured)
        with LaunchInAddmm():
            for _ in range(1 if is_captured else 10):
                layer(x)
        stub.stub_capture(False)
        for _ in range(10 if is_captured else 0):
            stub.stub_replay(5000)
        stub.stub_wait()
    row = next(one for one in block.trace().ops if one["name"] == "aten::addmm")
    return {name: row[name] for name in ("device_total_ns", "flops_per_s")}


def graph_rates():
    return {"calls": run_layer(False), "replays": run_layer(True)}


def graph_of_a_part():
    """An eager run of the whole model, and a graph in which one layer runs twice."""
    model, x = Net(), torch.randn(2, 16)
    path = folder / "run.pyro"
    with pyrometer.capture(path) as block:
        begin_collector()
        model(torch.randn(2, 8))
        stub.stub_capture(True)
        model.narrow(x)
        model.narrow(x)
        stub.stub_capture(False)
        for _ in range(3):
            stub.stub_replay(4000)
        stub.stub_wait()
    own = {row["path"]: row["forward_device_self_ns"] for row in block.trace().layers}
    return {"layers": own}


class Starting(nn.Module):
    """Uses CUDA for the first time inside of its forward."""

    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x):
        begin_collector()
        return self.net(x).relu()


def model_graph():
    """Profiler: the kernels of each layer, as the mean of two passes."""
    prof = pyrometer.Profiler(Starting(), granularity="layer", auto_profile=False)
    x = torch.randn(2, 8)
    prof.profile_passes([x, x])
    prof.export(folder / "net")
    left = [path.name for path in pathlib.Path(tempfile.gettempdir()).glob("pyrometer-*.pyro*")]
    return {
        "nodes": {node.name: node.device_ns for node in prof.graph},
        "text": (folder / "net_module.txt").read_text(),
        "left": left,
    }


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


def taken_in_flight():
    os.environ["PYRO_STUB_CUPTI"] = "taken"
    trace = run_block(Net(), keep_last="30s").trace()
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


def shared():
    """By the functions for several subscribers."""
    global stub
    stub = load_stub(shared_stub_path)
    one = run_block(Net()).trace()
    log = stub.stub_log().decode()
    return {"layers": device_times(one), "log": log, "state": core.devices_status()["state"]}


def shared_that_fails():
    """Those functions are there, but kernels cannot be enabled with them."""
    global stub
    stub = load_stub(shared_stub_path)
    os.environ["PYRO_STUB_CUPTI"] = "no kernels"
    one = run_block(Net()).trace()
    return {"layers": device_times(one), "log": stub.stub_log().decode()}


def no_kernels():
    """A library that cannot collect: the layers are still recorded."""
    trace = run_block(Net(), gpu="collector").trace()
    return {
        "kernels": len(trace.kernels),
        "layers": sorted(row["path"] for row in trace.layers),
        "doctor": doctor._collector(launch),
    }


LIBRARIES = (
    ("shared", shared, shared_stub_path, ""),
    ("shared that fails", shared_that_fails, shared_stub_path, ""),
    ("no library", no_kernels, "/nowhere/libcupti.so", ""),
    ("damaged library", no_kernels, __file__, ""),
    ("no functions", no_kernels, "libc.so.6", ""),
    ("old library", no_kernels, stub_path, "old"),
    ("old driver", no_kernels, stub_path, "driver"),
)


def run_scenario(name, scenario, mode=""):
    """The result of a scenario, and what it said."""
    global folder
    folder = root / name.replace(" ", "_")
    folder.mkdir()
    os.environ.pop("PYRO_STUB_CUPTI", None)
    if mode:
        os.environ["PYRO_STUB_CUPTI"] = mode
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        result = scenario()
    return result, said.getvalue()


def in_child(name, scenario, library, mode):
    """Runs a scenario in a forked child, with another library."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.environ["PYRO_CUPTI"] = library
            os.write(write, json.dumps(run_scenario(name, scenario, mode)).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(f"{name} failed")
    return json.loads(text)


def main():
    found = {name: in_child(name, *how) for name, *how in LIBRARIES}
    scenarios = (
        block,
        layers_only,
        records,
        graph,
        graph_of_a_part,
        graph_rates,
        model_graph,
        passes,
        taken,
        taken_in_flight,
        none,
        other_profiler,
        examine,
    )
    for scenario in scenarios:
        found[scenario.__name__] = run_scenario(scenario.__name__, scenario)
    print(json.dumps(found))


main()
