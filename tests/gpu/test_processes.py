"""The collector in programs with several processes: each must do what it does without us, and the
recordings must hold the kernels of the processes that use the GPU."""

import os
import pathlib
import subprocess
import sys

import pyrometer
from gpu.checks import TOOL, check

# A step of training, whose loss shows whether anything changed.
STEP = """
import os, sys, torch
def train(steps=20):
    torch.manual_seed(0)
    layers = torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)
    model = torch.nn.Sequential(*layers).cuda()
    x = torch.randn(16, 64, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    return loss.item()
"""

FORK_BEFORE = (
    STEP
    + """
codes = []
for leave in (sys.exit, os._exit):
    child = os.fork()
    if child == 0:
        print(f"child {train():.6f}", flush=True)
        leave(3)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(f"parent {train():.6f}", codes, flush=True)
sys.exit(5)
"""
)

# torch forbids CUDA in a child of a process that has used it: the error must be the same.
FORK_AFTER = (
    STEP
    + """
print(f"parent {train():.6f}", flush=True)
child = os.fork()
if child == 0:
    print("child", torch.ones(4).sum().item(), flush=True)
    try:
        train()
    except RuntimeError as error:
        print(type(error).__name__, str(error).splitlines()[0][:60], flush=True)
    os._exit(4)
status = os.waitpid(child, 0)[1]
print(f"parent {train():.6f}", os.waitstatus_to_exitcode(status), flush=True)
"""
)

SPAWN = (
    STEP
    + """
def work(number, results):
    results.put((number, f"{train():.6f}"))
if __name__ == "__main__":
    import torch.multiprocessing as mp
    context = mp.get_context("spawn")
    results = context.Queue()
    children = [context.Process(target=work, args=(n, results)) for n in range(2)]
    for child in children: child.start()
    found = sorted(results.get() for _ in children)
    for child in children: child.join()
    print(found, [child.exitcode for child in children], f"{train():.6f}", flush=True)
"""
)


def run_bare(program, folder):
    done = subprocess.run(
        [sys.executable, program], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def run_recorded(program, folder):
    command = [TOOL, "run", "-o", "run.pyro", "--python", sys.executable, program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("pyrometer:")]
    return (done.returncode, "".join(f"{line}\n" for line in lines)), done.stderr


def traces_of(folder):
    """The recordings, the parent's first."""
    found = sorted(folder.glob("run*.pyro"), key=lambda path: path.name != "run.pyro")
    return [pyrometer.trace(path) for path in found]


def kernels_of(trace):
    return sum(trace.kernels["calls"])


def compare(text, folder, name):
    program = pathlib.Path(folder) / f"{name}.py"
    program.write_text(text)
    bare = run_bare(program.name, folder)
    recorded, said = run_recorded(program.name, folder)
    print(name, bare, said.strip()[-300:])
    check(f"{name}: same output and exit code", recorded[:2] == bare, f"{recorded} and {bare}")
    return traces_of(folder)


def test_fork_before_cuda(tmp_path):
    traces = compare(FORK_BEFORE, tmp_path, "fork_before")
    kernels = sorted((kernels_of(trace) for trace in traces), reverse=True)
    check("recordings of all processes", len(kernels) == 3, str(kernels))
    check("the same kernels", kernels[0] == kernels[1] > 100, str(kernels))
    # One child ends without any of Python's clean-up, and what it did last is counted as missing.
    cut = [trace for trace in traces if kernels_of(trace) < kernels[0]]
    counted = [text for trace in cut for text in trace.warnings if "launches are missing" in text]
    check("what is missing is counted", len(counted) == len(cut), str([t.warnings for t in cut]))


def test_fork_after_cuda(tmp_path):
    kernels = [kernels_of(trace) for trace in compare(FORK_AFTER, tmp_path, "fork_after")]
    check("kernels of the parent", kernels[0] > 200, str(kernels))
    check("none of the child", sum(kernels[1:]) == 0, str(kernels))


def test_spawn(tmp_path):
    kernels = [kernels_of(trace) for trace in compare(SPAWN, tmp_path, "spawn")]
    with_kernels = [count for count in kernels if count]
    check("kernels of three processes", len(with_kernels) == 3, str(kernels))
    check("the same kernels", len(set(with_kernels)) == 1, str(kernels))


# The inputs of the training come from other processes.
WORKERS = (
    STEP
    + """
class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        return torch.full((64,), index / 64)
if __name__ == "__main__":
    torch.manual_seed(0)
    model = torch.nn.Linear(64, 8).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for x in torch.utils.data.DataLoader(Rows(), batch_size=8, num_workers=2):
            optimizer.zero_grad()
            loss = model(x.cuda()).square().mean()
            loss.backward()
            optimizer.step()
    print(f"{loss.item():.6f}", flush=True)
    sys.exit(6)
"""
)


def test_loader_workers(tmp_path):
    kernels = [kernels_of(trace) for trace in compare(WORKERS, tmp_path, "workers")]
    check("kernels of the program", kernels[0] > 3 * 8 * 4, str(kernels))
    check("none of the workers", sum(kernels[1:]) == 0, str(kernels))


# CUDA reports the error at the next synchronization, and nobody catches it.
UNCAUGHT = (
    STEP
    + """
print(f"{train():.6f}", flush=True)
x = torch.zeros(4, device="cuda")
print(x[torch.tensor([100], device="cuda")].sum().item())
"""
)


def test_an_error_that_nobody_catches(tmp_path):
    traces = compare(UNCAUGHT, tmp_path, "uncaught")
    kernels, warnings = kernels_of(traces[0]), traces[0].warnings
    is_counted = any("launches are missing" in text for text in warnings)
    check("kernels before the error", kernels > 100 or is_counted, f"{kernels}; {warnings}")


TOGETHER = (
    STEP
    + """
import contextlib, time
if sys.argv[3] == "bare":
    context = contextlib.nullcontext()
else:
    import pyrometer
    context = pyrometer.capture(sys.argv[1])
with context:
    open(sys.argv[1] + ".ready", "w").close()
    until = time.time() + 60
    while not os.path.exists(sys.argv[2] + ".ready") and time.time() < until: pass
    print(f"{train(200):.6f}")
"""
)


def run_two(names, way, folder):
    """What two processes say that wait for each other."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER, names[i], names[1 - i], way],
            cwd=folder, stdout=subprocess.PIPE, text=True,
        )
        for i in range(2)
    ]  # fmt: skip
    return [(child.communicate(timeout=180)[0], child.returncode) for child in running]


def test_two_processes_on_one_gpu(tmp_path):
    names = ["first.pyro", "second.pyro"]
    bare = run_two(["first.bare", "second.bare"], "bare", tmp_path)
    said = run_two(names, "captured", tmp_path)
    check("same results and exit codes", said == bare and said[0][0], f"{said} and {bare}")
    traces = [pyrometer.trace(tmp_path / name) for name in names]
    counts = [kernels_of(trace) for trace in traces]
    check("each has its own kernels", counts[0] == counts[1] > 1000, str(counts))
    check("no warnings", not any(trace.warnings for trace in traces), str(traces[0].warnings))


WHEN = (
    STEP
    + """
import contextlib
if sys.argv[2] == "bare":
    context = contextlib.nullcontext()
else:
    import pyrometer
    context = pyrometer.capture(sys.argv[1])
if sys.argv[2] == "after":
    train(1)
with context:
    print(f"{train():.6f}")
"""
)


def test_capture_before_and_after_cuda_was_used(tmp_path):
    counts, said = {}, {}
    for when in ("bare", "before", "after"):
        path = tmp_path / f"{when}.pyro"
        done = subprocess.run(
            [sys.executable, "-c", WHEN, str(path), when],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        check(f"{when}: exit code", done.returncode == 0, done.stderr[-300:])
        said[when] = done.stdout
        if when == "bare":
            continue
        trace = pyrometer.trace(path)
        counts[when] = kernels_of(trace)
        check(f"{when}: no warnings", not trace.warnings, str(trace.warnings))
    check("same results", said["before"] == said["after"] == said["bare"] != "", str(said))
    check("the same kernels", counts["before"] == counts["after"] > 100, str(counts))


# A kernel of seconds is still running when the process stops to record and ends.
ENDS = (
    STEP
    + """
import pyrometer
with pyrometer.capture(sys.argv[1]) as block:
    train(1)
    torch.cuda._sleep(int(4e9))
print(sum(block.trace().kernels["calls"]))
sys.exit(9)
"""
)


def test_the_program_ends_during_a_long_kernel(tmp_path):
    path = tmp_path / "ends.pyro"
    done = subprocess.run(
        [sys.executable, "-c", ENDS, str(path)], capture_output=True, text=True, check=False
    )
    check("exit code", done.returncode == 9, f"{done.returncode}: {done.stderr[-300:]}")
    longest = max(pyrometer.trace(path).kernels, key=lambda row: row["max_ns"])
    check("the long kernel is there", longest["max_ns"] > 1e9, str(longest["max_ns"]))


# An error that surfaces while we stop, and is raised by the program's own next call.
LATE_ERROR = """
import os, sys, torch
if sys.argv[1] == "captured":
    import pyrometer
    context = pyrometer.capture(sys.argv[2])
else:
    import contextlib
    context = contextlib.nullcontext()
x = torch.zeros(4, device="cuda")
index = torch.tensor([100], device="cuda")
try:
    with context:
        y = x[index]
    print("left the block")
    torch.cuda.synchronize()
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0])
    sys.exit(7)
"""


def test_an_error_that_surfaces_while_we_stop(tmp_path):
    outcomes = []
    for way in ("bare", "captured"):
        done = subprocess.run(
            [sys.executable, "-c", LATE_ERROR, way, str(tmp_path / "late.pyro")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        outcomes.append((done.returncode, done.stdout))
        print(way, done.returncode, done.stdout.strip(), done.stderr[-300:])
    check("same error and exit code", outcomes[0] == outcomes[1], str(outcomes))
    check("the recording is there", os.path.getsize(tmp_path / "late.pyro") > 0)
