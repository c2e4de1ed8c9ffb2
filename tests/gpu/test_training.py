"""profiler() on a GPU, in one process with NCCL."""

import contextlib
import functools
import io
import json
import os
import pathlib
import sys
import tempfile
from unittest import mock

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import pyrometer
from gpu.checks import check
from pyrometer import profiler, step_profiler


def one_rank(test):
    """Runs the test in an NCCL process group with this process only."""

    @functools.wraps(test)
    def with_group(tmp_path):
        ranks = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
        store = dist.FileStore(f"{tmp_path}.store", 1)
        with mock.patch.dict(os.environ, ranks):
            dist.init_process_group("nccl", store=store, rank=0, world_size=1)
            try:
                test(tmp_path)
            finally:
                dist.destroy_process_group()

    return with_group


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, padding=1)
        self.body = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.body(torch.relu(self.stem(x))).mean((2, 3)))


def train(steps, at_step=lambda step: None):
    torch.manual_seed(0)
    model = DistributedDataParallel(Net().cuda())
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(steps):
        at_step(step)
        pictures = torch.randn(16, 3, 64, 64).cuda()
        loss = nn.functional.cross_entropy(model(pictures), torch.zeros(16).long().cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step_profiler()
    return steps


def run(folder, *args, **options):
    """Result and output of a profiled training."""
    output, messages = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(messages):
        value = profiler(output_dir=folder, **options)(train)(*args)
    return value, output.getvalue(), messages.getvalue()


def bare_kernels():
    """Kernels of three steps, as torch.profiler counts them."""
    names = []

    def ready(profile):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            profile.export_chrome_trace(file.name)
            events = json.loads(pathlib.Path(file.name).read_text())["traceEvents"]
        names.extend(event["name"] for event in events if event.get("cat") == "kernel")

    with torch.profiler.profile(
        schedule=torch.profiler.schedule(skip_first=1, wait=1, warmup=1, active=3, repeat=1),
        on_trace_ready=ready,
    ) as profile:
        train(7, at_step=lambda step: profile.step() if step else None)
    return len(names)


@one_rank
def test_an_active_window(tmp_path):
    value, output, messages = run(tmp_path, 8)
    print(output)
    check("the value passes through", value == 8)
    check("nothing is wrong", messages == "", messages)
    rows = [line.split() for line in output.splitlines() if line.rstrip()[-1:].isdigit()]
    device = [row[-2] for row in rows if len(row) >= 5 and row[-2].endswith(("us", "ms"))]
    check("the table has CUDA totals", len(device) == 10 and all(float(d[:-2]) > 0 for d in device))
    check("rates against the peak", "of the peak of" in output)
    trace = pyrometer.trace(os.path.join(tmp_path, "trace_rank_0.json"))
    kernels = dict(zip(trace.layers["path"], trace.layers["kernels"], strict=True))
    check("kernels belong to layers", all(
        any(path.endswith(layer) and count > 0 for path, count in kernels.items())
        for layer in ("stem", "body.0", "body.1", "head")
    ), str(kernels))  # fmt: skip
    counted = sum(trace.kernels["calls"])
    expected = bare_kernels()
    check("as many kernels as torch.profiler has", abs(counted - expected) <= 3,
          f"{counted} and {expected}")  # fmt: skip
    steps = list(trace.training)
    check("steps 3 to 5, no warm-up", [step["number"] for step in steps] == [3, 4, 5])
    for step in steps:
        parts = ("forward", "backward", "optimizer", "data", "communication", "other")
        sizes = {part: step[f"{part}_ns"] for part in parts}
        check(f"parts of step {step['number']} add up, on the device",
              sum(sizes.values()) == step["span_ns"] and
              min(sizes[part] for part in parts[:3]) > 0, str(sizes))  # fmt: skip
    events = b"".join(path.read_bytes() for path in (tmp_path / "rank_0").glob("events*"))
    for tag in ("memory/device_mib", "memory/device_peak_mib", "work/share_of_peak"):
        check(f"scalar {tag}", tag.encode() in events)
    left = [path.name for path in tmp_path.rglob("*") if ".pyro" in path.name]
    check("no recording is left", not left, str(left))


@one_rank
def test_several_windows(tmp_path):
    run(tmp_path, 12, skip_first=0, wait=1, warmup=1, active=2, repeat=2)
    for name in ("trace_rank_0.json", "trace_rank_0_2.json"):
        trace = pyrometer.trace(os.path.join(tmp_path, name))
        check(f"{name} has kernels", sum(trace.kernels["calls"]) > 0)
    run(tmp_path, 12, skip_first=0, wait=1, warmup=0, active=2)
    trace = pyrometer.trace(os.path.join(tmp_path, "trace_rank_0.json"))
    check("kernels without a warm-up", sum(trace.kernels["calls"]) > 0)
    run(os.path.join(tmp_path, "short"), 3)
    with torch.profiler.profile() as profile:
        torch.ones(3).cuda()
    names = {event.name for event in profile.events()}
    check("torch.profiler works after a warm-up that led to nothing", "aten::ones" in names)


class CountingCudart:
    """torch.cuda.cudart() that counts calls of its profiler."""

    def __init__(self, inner):
        self.inner, self.calls = inner, []

    def __getattr__(self, name):
        if name.startswith("cudaProfiler"):
            self.calls.append(name)
        return getattr(self.inner, name)


@one_rank
def test_nsight(tmp_path):
    cudart = torch.cuda.cudart
    counting = CountingCudart(cudart())
    torch.cuda.cudart = lambda: counting

    def fail(step):
        if step == 4:
            raise ValueError("mine")

    try:
        value, output, messages = run(tmp_path, 8, nsight_enabled=True, nsight_output="mine")
        line = next((one for one in output.splitlines() if one.startswith("nsys profile")), "")
        check("the command for nsys", line.startswith(
            "nsys profile -o mine --capture-range=cudaProfilerApi "
        ) and os.path.basename(sys.argv[0]) in line, line)  # fmt: skip
        check("training goes on", value == 8 and messages == "", messages)
        check("one range is captured", counting.calls == ["cudaProfilerStart", "cudaProfilerStop"],
              str(counting.calls))  # fmt: skip
        counting.calls.clear()
        try:
            run(tmp_path, 8, fail, nsight_enabled=True)
            check("the exception passes through", False)
        except ValueError as error:
            check("the exception passes through", str(error) == "mine")
        check("... and the range is closed",
              counting.calls == ["cudaProfilerStart", "cudaProfilerStop"])  # fmt: skip
    finally:
        torch.cuda.cudart = cudart
