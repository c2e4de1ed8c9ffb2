"""Capturing on a GPU: passes, training, `pyrometer run`, and kernels as in torch.profiler."""

import contextlib
import io
import json
import os
import subprocess
import sys
from unittest import mock

import torch
from torch import nn

import pyrometer
from gpu.checks import TOOL, check
from pyrometer import capture_model
from pyrometer._testing import finish_passes, observer_build, stop_watching


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(self.relu(self.bn1(self.conv1(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3)
        self.blocks = nn.Sequential(Block(32), Block(32))
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def annotate(model):
    """Labels every module's forward, which gives the true layer of each launch."""
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
    """Kernels per layer, from torch.profiler and the labels."""
    handles = list(annotate(model))
    try:
        with torch.profiler.profile() as profile:
            model(x)
            torch.cuda.synchronize()
    finally:
        for handle in handles:
            handle.remove()
    path = folder / "truth.json"
    profile.export_chrome_trace(str(path))
    return kernels_by_layer(pyrometer.trace(path, layers_from=r"truth\|(.*)"))


def test_the_observer_of_ops_is_there():
    status = observer_build.status()
    check("the observer of ops", status["ok"], status.get("reason") or status["library"])


def capture_passes(model, batches):
    """The output of capturing each batch as a pass."""
    printed = io.StringIO()
    with mock.patch.dict(os.environ, PYROMETER="1"), contextlib.redirect_stdout(printed):
        capture_model("Net")(model)
        for batch in batches:
            model(batch)
        finish_passes()
    return printed.getvalue()


def test_passes(tmp_path):
    torch.manual_seed(0)
    model, x = Net().cuda().eval(), torch.randn(8, 3, 64, 64, device="cuda")
    with torch.no_grad():
        model(x)  # first-use initialization is outside all passes
        truth = truth_of(model, x, tmp_path)
        text = capture_passes(model, (x, x, x[:4]))
    stop_watching()
    files = sorted(path.name for path in tmp_path.glob("Net_forward_*.json"))
    check("three passes are three files", len(files) == 3, ", ".join(files))
    trace = pyrometer.trace(tmp_path / "Net_forward_002.json")
    ours = kernels_by_layer(trace)
    # Labels have no root: "" is the work between layers.
    truth[""] = sum(kernels for path, kernels in truth.items() if "." not in path)
    for path, kernels in truth.items():
        check(f"kernels of {path or '(model)'}", ours.get(path) == kernels,
              f"ours {ours.get(path)}, truth {kernels}")  # fmt: skip
    check("the device is named", "NVIDIA" in (trace.device or ""), str(trace.device))
    check("no kernel without a layer", sum(trace.unattributed.values()) == 0,
          str(trace.unattributed))  # fmt: skip
    check("no warnings", not trace.warnings, str(trace.warnings))
    check("three tables", text.count("TOTAL") == 3)
    check("the table has device time", "Device Time (ms)" in text)
    print(text[-1500:])
    memory = {row["device"]: row["peak_bytes"] for row in trace.memory}
    check("CUDA memory", memory.get("cuda:0", 0) > 0, str(memory))
    rows = dict(zip(trace.layers["path"], trace.layers["allocated_bytes"], strict=True))
    check("memory of layers", rows.get("stem", 0) > 0, f"stem allocated {rows.get('stem')}")
    events = json.loads((tmp_path / "Net_forward_002.json").read_text())["traceEvents"]
    ops = [event for event in events if event.get("cat") == "cpu_op"]
    whole = [op for op in ops if "Input Dims" in op["args"] and "Stack" in op["args"]]
    check("ops have shapes and stacks", ops and len(whole) == len(ops))
    stats = pyrometer.parse_model_trace(str(tmp_path / "Net_forward_003.json"))["layer_stats"]
    check("parse_model_trace", stats["stem"]["shapes"] == {(4, 3, 64, 64)}, str(stats["stem"]))


def test_training(tmp_path):
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
    with pyrometer.capture(tmp_path / "train.pyro") as block:
        for _ in range(5):
            step()
    with torch.profiler.profile() as profile:
        for _ in range(5):
            step()
    profile.export_chrome_trace(str(tmp_path / "train.json"))
    ours, truth = block.trace(), pyrometer.trace(tmp_path / "train.json")
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


def test_run(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [TOOL, "run", "--python", sys.executable, "program.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    check("pyrometer run", done.returncode == 0, done.stderr.strip()[-300:])
    shown = subprocess.run(
        [TOOL, "trace", "program.pyro"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    check("pyrometer trace", shown.returncode == 0 and "Device time:" in shown.stdout)
    print(shown.stdout[:3000], shown.stderr)
    trace = pyrometer.trace(tmp_path / "program.pyro")
    check("its kernels", sum(trace.kernels["calls"]) >= 30, str(sum(trace.kernels["calls"])))
    doctor = subprocess.run(
        [TOOL, "doctor", "--python", sys.executable], capture_output=True, text=True, check=False
    )
    check("pyrometer doctor", doctor.returncode == 0 and "CUDA" in doctor.stdout)
    print(doctor.stdout)
