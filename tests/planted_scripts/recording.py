"""Runs a planted script and records it as users would: bare, by torch.profiler or by Pyrometer.

A script defines `make(device, is_fixed)`, which builds a model and returns the function that runs
one step, and `PLANTED`, which says what `pyrometer trace` should find first. By itself it records:

    python slow_loader.py --recorder torch -o trace.json [--fixed] [--device cuda]
"""

import argparse
import contextlib
import dataclasses
import inspect
import pathlib
import sys
import time

import torch
from torch import nn

CPU_ROWS, GPU_ROWS = 512, 16384
WARM_UP_STEPS = 3
STEPS = 5
RECORDERS = ("torch", "pyrometer")


@dataclasses.dataclass(frozen=True)
class Planted:
    """What the trace of a script should show."""

    finding: str  # id of the first finding
    on_device: str = ""  # its id where a device works, if it differs
    layer: str = ""  # dotted path of the layer that holds the problem
    function: str = ""  # function that holds the line with the comment "# planted"
    with_memory: bool = False
    needs_device: bool = False

    def finding_on(self, device):
        return self.on_device if device != "cpu" and self.on_device else self.finding


def planted_line(script):
    """The number of the line with the comment."""
    lines = inspect.getsource(script).splitlines()
    found = [number for number, line in enumerate(lines, 1) if line.endswith("# planted")]
    assert len(found) == 1, f"{script.__name__}: one line must end in '# planted'"
    return found[0]


def type_on(device):
    return torch.float32 if device == "cpu" else torch.bfloat16


def rows_for(device, width):
    """Inputs of a heavy model."""
    rows = CPU_ROWS if device == "cpu" else GPU_ROWS
    return torch.randn(rows, width, device=device, dtype=type_on(device))


def heavy_model(device, width, depth=(4, 12)):
    """Some products that are worth their launches, so that the problem is what a script does
    besides. `depth` is how many they are, on the CPU and on a GPU."""
    is_cpu = device == "cpu"
    hidden = 256 if is_cpu else 4096
    layers = [nn.Linear(hidden, hidden) for _ in range(depth[0 if is_cpu else 1])]
    model = nn.Sequential(nn.Linear(width, hidden), *layers, nn.Linear(hidden, width))
    return model.to(device, type_on(device))


def endless(loader):
    while True:
        yield from loader


def wait_for(device):
    if device != "cpu":
        torch.cuda.synchronize()


def record_torch(step, path, device, with_memory=False, steps=STEPS):
    """As in torch's documentation: a schedule, with stacks and shapes."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device != "cpu":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(
        activities=activities,
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=steps, repeat=1),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
        record_shapes=True,
        with_stack=True,
        profile_memory=with_memory,
    ) as profiler:
        for _ in range(2 + steps):
            step()
            profiler.step()
        wait_for(device)


def record_pyrometer(step, path, device, steps=STEPS):
    import pyrometer

    with pyrometer.capture(path):
        for _ in range(steps):
            step()
        wait_for(device)


@contextlib.contextmanager
def steps_of(script, device, is_fixed):
    """The function that runs one step, after some steps that warm it up."""
    torch.manual_seed(0)
    step = script.make(device, is_fixed)
    try:
        for _ in range(WARM_UP_STEPS):
            step()
        wait_for(device)
        yield step
    finally:
        if hasattr(step, "close"):
            step.close()


def path_of(script, recorder, folder, is_fixed=False):
    name = pathlib.Path(folder) / f"{script.__name__}{'_fixed' if is_fixed else ''}"
    return name.with_suffix(".json" if recorder == "torch" else ".pyro")


def record(script, recorder, folder, device="cpu", is_fixed=False):
    """Records some steps of a script; returns the path of the file."""
    path = path_of(script, recorder, folder, is_fixed)
    with steps_of(script, device, is_fixed) as step:
        if recorder == "torch":
            record_torch(step, path, device, script.PLANTED.with_memory)
        else:
            record_pyrometer(step, path, device)
    return path


def time_steps(step, device, count, clock=time.perf_counter):
    """Milliseconds of some steps."""
    times = []
    for _ in range(count):
        begin = clock()
        step()
        wait_for(device)
        times.append((clock() - begin) * 1e3)
    return times


def main(script_name="__main__"):
    script = sys.modules[script_name]
    parser = argparse.ArgumentParser(description=script.__doc__)
    parser.add_argument("--fixed", action="store_true", help="Run without the problem.")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--recorder", choices=("none", *RECORDERS), default="none")
    parser.add_argument("-o", "--output", default=".", help="Folder of the recording.")
    options = parser.parse_args()
    script.__name__ = pathlib.Path(script.__file__).stem
    if options.recorder != "none":
        print(record(script, options.recorder, options.output, options.device, options.fixed))
        return
    with steps_of(script, options.device, options.fixed) as step:
        times = time_steps(step, options.device, STEPS)
    print(f"{sorted(times)[len(times) // 2]:.2f} ms per step")
