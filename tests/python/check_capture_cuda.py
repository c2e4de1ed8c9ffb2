"""Checks capturing on a machine with a GPU: prints PASS or FAIL for each thing, exits with 1 on a
failure. No test of `make test`, which has no GPU. From the source tree:

    cmake -S . -B build-cuda -DPYRO_PYTHON=ON -DPython3_EXECUTABLE="$(command -v python3)"
    cmake --build build-cuda --target _core python_package pyrometer
    PYTHONPATH=build-cuda/python PYRO_TOOL=build-cuda/pyrometer \
        python3 tests/python/check_capture_cuda.py
"""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ["PYROMETER"] = "1"

import torch
from cuda_checks import check, failures, section
from torch import nn

import pyrometer
from pyrometer import capture_model
from pyrometer._capture import observer_build, passes

TOOL = os.path.abspath(os.environ.get("PYRO_TOOL", "build/pyrometer"))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(self.relu(self.bn1(self.conv1(x))))


@capture_model(model_name="Net")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3)
        self.blocks = nn.Sequential(Block(32), Block(32))
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def annotate(model):
    """Labels around every module's forward: the truth about which layer launched what."""
    labels = {}
    for path, module in model.named_modules():

        def enter(module, arguments, path=path):
            labels.setdefault(path, []).append(torch.profiler.record_function(f"truth|{path}"))
            labels[path][-1].__enter__()

        def leave(module, arguments, output, path=path):
            labels[path].pop().__exit__(None, None, None)

        yield module.register_forward_pre_hook(enter)
        yield module.register_forward_hook(leave)


def kernels_by_layer(trace):
    return dict(zip(trace.layers["path"], trace.layers["kernels"], strict=True))


def truth_of(model, x, folder):
    """Kernels of each layer as torch.profiler and labels have them."""
    del Net.__pyrometer_capture__  # our own profiler would be in the way of this one
    handles = list(annotate(model))
    try:
        with torch.profiler.profile() as profile:
            model(x)
            torch.cuda.synchronize()
    finally:
        for handle in handles:
            handle.remove()
        Net.__pyrometer_capture__ = registration
    path = folder / "truth.json"
    profile.export_chrome_trace(str(path))
    return kernels_by_layer(pyrometer.trace(path, layers_from=r"truth\|(.*)"))


registration = Net.__pyrometer_capture__


def check_passes(folder):
    model, x = Net().cuda().eval(), torch.randn(8, 3, 64, 64, device="cuda")
    with torch.no_grad():
        for _ in range(3):
            nn.Sequential(*model.children())[0](x)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for batch in (8, 8, 4):
                model(x[:batch])
            passes.finisher.finish()
        files = sorted(path.name for path in folder.glob("Net_forward_*.json"))
        check("three passes are three files", len(files) == 3, ", ".join(files))
        trace = pyrometer.trace(folder / "Net_forward_002.json")
        truth = truth_of(model, x, folder)
    ours = kernels_by_layer(trace)
    # Labels know no root: what they give to "" is what lies between the layers.
    truth[""] = sum(kernels for path, kernels in truth.items() if "." not in path)
    for path, kernels in truth.items():
        check(f"kernels of {path or '(model)'}", ours.get(path) == kernels,
              f"ours {ours.get(path)}, truth {kernels}")  # fmt: skip
    check("the device is named", "NVIDIA" in (trace.device or ""), str(trace.device))
    check("no kernel without a layer", sum(trace.unattributed.values()) == 0,
          str(trace.unattributed))  # fmt: skip
    check("no warnings", not trace.warnings, str(trace.warnings))
    text = printed.getvalue()
    check("three tables", text.count("TOTAL") == 3)
    check("the table has device time", "Device Time (ms)" in text)
    print(text[-1500:])
    memory = {row["device"]: row["peak_bytes"] for row in trace.memory}
    check("CUDA memory", memory.get("cuda:0", 0) > 0, str(memory))
    rows = dict(zip(trace.layers["path"], trace.layers["allocated_bytes"], strict=True))
    check("memory of layers", rows.get("stem", 0) > 0, f"stem allocated {rows.get('stem')}")
    events = json.loads((folder / "Net_forward_002.json").read_text())["traceEvents"]
    ops = [event for event in events if event.get("cat") == "cpu_op"]
    whole = [op for op in ops if "Input Dims" in op["args"] and "Stack" in op["args"]]
    check("ops have shapes and stacks", ops and len(whole) == len(ops))
    stats = pyrometer.parse_model_trace(str(folder / "Net_forward_003.json"))["layer_stats"]
    check("parse_model_trace", stats["stem"]["shapes"] == {(4, 3, 64, 64)}, str(stats["stem"]))


def check_training(folder):
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 64, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=False)
        model(x).sum().backward()
        optimizer.step()
        torch.cuda.synchronize()

    for _ in range(3):
        step()
    with pyrometer.capture(folder / "train.pyro") as block:
        for _ in range(5):
            step()
    with torch.profiler.profile() as profile:
        for _ in range(5):
            step()
    profile.export_chrome_trace(str(folder / "train.json"))
    ours, truth = block.trace(), pyrometer.trace(folder / "train.json")
    count = sum(ours.kernels["calls"]), sum(truth.kernels["calls"])
    check("kernels of a training run", count[0] == count[1], f"ours {count[0]}, torch's {count[1]}")
    rows = {row["path"]: row for row in block.layers()}
    check("backward on the device", rows["0"]["backward_device_ns"] > 0, str(rows["0"]))
    check("share of the peak", (rows["0"]["peak_share"] or 0) > 0, str(rows["0"]["peak_share"]))
    table = block.key_averages().table(sort_by="self_cuda_time_total", row_limit=5)
    check("key_averages has CUDA columns", "CUDA total" in table)
    print(table)


PROGRAM = """
import torch
model = torch.nn.Linear(256, 256).cuda()
for _ in range(10):
    model(torch.randn(64, 256, device="cuda")).sum().backward()
torch.cuda.synchronize()
"""


def check_run(folder):
    (folder / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [TOOL, "run", "--python", sys.executable, "program.py"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    check("pyrometer run", done.returncode == 0, done.stderr.strip()[-300:])
    shown = subprocess.run(
        [TOOL, "trace", "program.pyro"], cwd=folder, capture_output=True, text=True, check=False
    )
    check("pyrometer trace", shown.returncode == 0 and "Device time:" in shown.stdout)
    print(shown.stdout[:3000], shown.stderr)
    trace = pyrometer.trace(folder / "program.pyro")
    check("its kernels", sum(trace.kernels["calls"]) >= 30, str(sum(trace.kernels["calls"])))
    doctor = subprocess.run(
        [TOOL, "doctor", "--python", sys.executable], capture_output=True, text=True, check=False
    )
    check("pyrometer doctor", doctor.returncode == 0 and "CUDA" in doctor.stdout)
    print(doctor.stdout)


def measure(folder):
    model, x = Net().cuda().eval(), torch.randn(8, 3, 64, 64, device="cuda")

    def median_ms(run, count=30):
        times = []
        for _ in range(count):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            run()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - begin) * 1000)
        return sorted(times)[count // 2]

    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        captured = median_ms(lambda: model(x))
        passes.finisher.finish()
        del Net.__pyrometer_capture__
        bare = median_ms(lambda: model(x))
    Net.__pyrometer_capture__ = registration
    print(f"bare {bare:.2f} ms a forward, captured with its file {captured:.2f} ms")


def main():
    print(f"torch {torch.__version__}, CUDA {torch.version.cuda}, Python {sys.version.split()[0]}")
    check("torch has a GPU", torch.cuda.is_available())
    if failures:
        sys.exit(1)
    print(torch.cuda.get_device_name())
    status = observer_build.status()
    check("the observer of ops", status["ok"], status.get("reason") or status["library"])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.chdir(folder)
        for title, run in (
            ("passes", check_passes),
            ("training", check_training),
            ("pyrometer run", check_run),
            ("cost", measure),
        ):
            with section(title):
                run(folder)
        os.chdir("/")
    print(f"\n{len(failures)} failed: {', '.join(failures)}" if failures else "\nall passed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
