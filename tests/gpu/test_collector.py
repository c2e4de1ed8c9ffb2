"""The collector on a GPU: kernels equal torch.profiler's, layers add up, graphs, kills, refusals.

torch.profiler keeps CUPTI for itself once it was used, so nothing in this process uses it before
test_kernels_equal_those_of_torch_profiler, which is the last test.
"""

import collections
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

import torch
from torch import nn

import pyrometer
from gpu.checks import TOOL, check
from gpu.kernel_cases import CASES, GPT, tokens, two_blocks
from pyrometer._testing import core

REPEATS = 5
HERE = pathlib.Path(__file__).resolve().parent


def device_events(path):
    """(stream, name, ns) of kernels in order of their start."""
    events = json.loads(pathlib.Path(path).read_text())["traceEvents"]
    found = [event for event in events if event.get("cat") == "kernel"]
    found.sort(key=lambda event: event["ts"])
    return [(e["args"]["stream"], e["name"], round(e["dur"] * 1000)) for e in found]


def by_stream(events, which=1):
    """Names in order (or times, `which` 2), per stream; streams in order of their first kernel."""
    streams = collections.defaultdict(list)
    for event in events:
        streams[event[0]].append(event[which])
    return list(streams.values())


def device_time_ns(path):
    """The time of all work of the device in a Chrome trace."""
    events = json.loads(pathlib.Path(path).read_text())["traceEvents"]
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    return sum(round(event["dur"] * 1000) for event in work)


def sums_up(trace):
    """(the layers' own device time and what has no layer, the total of all kernels)."""
    own = sum(r["forward_device_self_ns"] + r["backward_device_self_ns"] for r in trace.layers)
    return own + sum(trace.unattributed.values()), trace.device_total_ns


def capture_step(step, folder, name, **options):
    path = folder / f"{name}.pyro"
    with pyrometer.capture(path, **options) as block:
        check("the collector is on", core.devices_status()["state"] == "on",
              str(core.devices_status()))  # fmt: skip
        step()
    return block


def test_the_collector_works(tmp_path):
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64)).cuda()
    x = torch.randn(32, 256, device="cuda")
    model(x)
    block = capture_step(lambda: model(x).sum().backward(), tmp_path, "small")
    trace = block.trace()
    check("one file", sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["small.pyro"])
    check("no warnings", not trace.warnings, str(trace.warnings))
    check("the device is named", "NVIDIA" in (trace.device or ""), str(trace.device))
    check("kernels", sum(trace.kernels["calls"]) >= 5, str(sum(trace.kernels["calls"])))
    layers, total = sums_up(trace)
    check("the layers' times add up", layers == total, f"{layers} and {total} ns")
    block.export_chrome_trace(tmp_path / "small.json")
    about = json.loads((tmp_path / "small.json").read_text())["pyrometer"]
    error_ns = int(about["device_clock_error_ns"])
    check("the clocks agree", 0 < error_ns < 20_000, f"{error_ns} ns")
    memory = {row["device"]: row["peak_bytes"] for row in trace.memory}
    check("CUDA memory", memory.get("cuda:0", 0) > 0, str(memory))
    late = [row for row in trace.layers if row["forward_device_ns"] <= 0]
    check("every layer has device time", not late, str(late[:2]))


def test_kernels_start_after_their_launch(tmp_path):
    model, x = nn.Linear(512, 512).cuda(), torch.randn(64, 512, device="cuda")
    model(x)

    def step():
        for _ in range(50):
            model(x)
            torch.cuda.synchronize()

    block = capture_step(step, tmp_path, "launches")
    block.export_chrome_trace(tmp_path / "launches.json")
    events = json.loads((tmp_path / "launches.json").read_text())["traceEvents"]
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_driver"}
    kernels = [e for e in events if e.get("cat") == "kernel"]
    delays = [k["ts"] - calls[k["args"]["correlation"]]["ts"] for k in kernels]
    check("every kernel has its launch", len(delays) == len(kernels) >= 50, str(len(kernels)))
    check("no kernel starts before its launch", min(delays) > -2, f"{min(delays):.2f} us")
    check("kernels start soon", statistics.median(delays) < 1000,
          f"median {statistics.median(delays):.1f} us")  # fmt: skip


def op_around(ops, call):
    """The innermost op with shapes around a launch, or None."""
    around = [
        op for op in ops
        if op["tid"] == call["tid"] and op["ts"] <= call["ts"] <= op["ts"] + op["dur"]
        and any(op["args"].get("Input Dims", ()))
    ]  # fmt: skip
    return max(around, key=lambda op: op["ts"], default=None)


def test_no_kernel_is_in_the_wrong_block(tmp_path):
    """Two identical blocks of different width: sizes of the ops show where a kernel belongs."""
    step = two_blocks()
    step()
    block = capture_step(step, tmp_path, "blocks")
    block.export_chrome_trace(tmp_path / "blocks.json")
    events = json.loads((tmp_path / "blocks.json").read_text())["traceEvents"]
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_driver"}
    ops = [e for e in events if e.get("cat") == "cpu_op"]
    found, wrong = collections.Counter(), []
    for kernel in (e for e in events if e.get("cat") == "kernel"):
        which = kernel["args"].get("layer", "").partition(".")[0]
        op = op_around(ops, calls[kernel["args"]["correlation"]])
        if which not in ("small", "large") or op is None:
            continue
        found[which, kernel["args"].get("phase")] += 1
        if ("2048" in json.dumps(op["args"]["Input Dims"])) != (which == "large"):
            wrong.append((which, op["name"], op["args"]["Input Dims"]))
    print(dict(found))
    check("both blocks have kernels in both directions", len(found) == 4, str(dict(found)))
    check("no kernel is in the wrong block", not wrong, str(wrong[:3]))


def graph_shares(folder, name, run, steps):
    """Shares of all device time: of each layer, and of what has none ("outside")."""
    path = folder / f"{name}.pyro"
    with pyrometer.capture(path):
        run(steps)
    trace = pyrometer.trace(path)
    times = collections.Counter(outside=sum(trace.unattributed.values()))
    for row in trace.layers:
        times[row["path"]] += row["forward_device_self_ns"] + row["backward_device_self_ns"]
    return {path: ns / trace.device_total_ns for path, ns in times.items()}, trace


def test_graphs_keep_their_layers(tmp_path):
    torch.manual_seed(0)
    model, x = GPT(layers=2).cuda(), tokens()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def work():
        optimizer.zero_grad(set_to_none=False)
        model(x).float().square().mean().backward()
        optimizer.step()

    def eager(steps):
        for _ in range(steps):
            work()

    def warm_up():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            eager(3)
        torch.cuda.current_stream().wait_stream(side)

    def replayed(steps):
        """Nothing but the capture can tell the layers: no eager run is in the recording."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        for _ in range(steps):
            graph.replay()

    eager(3)
    truth, _ = graph_shares(tmp_path, "eager", eager, 20)
    warm_up()
    found, trace = graph_shares(tmp_path, "graph", replayed, 20)
    replays = sum(trace.kernels["calls"])
    check("kernels of the replays", replays > 20 * 30, str(replays))
    for path in sorted(truth):
        shares = truth[path], found.get(path, 0)
        check(f"share of {path or '(model)'}", abs(shares[0] - shares[1]) < 0.02,
              f"eager {shares[0]:.2%}, graph {shares[1]:.2%}")  # fmt: skip
    print("without a layer:", trace.unattributed, "of", trace.device_total_ns)
    told = [text for text in trace.notes if "100.0% of the time by the recorded captures" in text]
    check("layers come from the capture", told, str(trace.notes))
    check("no warnings", not trace.warnings, str(trace.warnings))


class Flushing(nn.Module):
    """Asks for kernels between its layers, as a pass or a trigger does."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(256, 256), nn.Linear(256, 256)

    def forward(self, x):
        hidden = self.first(x)
        core.devices_flush()
        return self.second(hidden)


def test_a_flush_during_a_capture(tmp_path):
    model, x = Flushing().cuda().eval(), torch.randn(64, 256, device="cuda")
    with torch.no_grad(), pyrometer.capture(tmp_path / "run.pyro", gpu="collector") as block:
        wanted = model(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
            core.devices_flush()
        for _ in range(5):
            graph.replay()
        core.devices_flush()
        torch.cuda.synchronize()
        check("the capture is not disturbed", torch.allclose(y, wanted, atol=1e-3))
    trace = block.trace()
    times = {row["path"]: row["forward_device_ns"] for row in trace.layers}
    calls = sum(row["calls"] for row in trace.kernels)
    check("kernels of all replays", calls >= 6 * 2, str(calls))
    check("with their layers", min(times["first"], times["second"]) > 0, str(times))
    check("no warning", not trace.warnings, str(trace.warnings))


def test_compiled_graphs_have_layers(tmp_path):
    model, x = GPT(layers=2).cuda().eval(), tokens()
    compiled = torch.compile(model, mode="reduce-overhead")
    path = tmp_path / "compiled.pyro"
    with pyrometer.capture(path), torch.no_grad():
        for _ in range(6):  # compilation and capture are inside
            compiled(x)
            torch.cuda.synchronize()
    trace = pyrometer.trace(path)
    layers, total = sums_up(trace)
    print("kernels", sum(trace.kernels["calls"]), "device ns", total, trace.unattributed)
    check("sums are exact", layers == total, f"{layers} and {total}")
    inner = [r for r in trace.layers if "layers." in r["path"] and r["forward_device_self_ns"]]
    check("kernels of the model have layers", len(inner) > 4, str([r["path"] for r in inner]))


KILLED = """
import os, signal, sys, time, torch, pyrometer
model = torch.nn.Linear(512, 512).cuda()
x = torch.randn(64, 512, device="cuda")
model(x)
with pyrometer.capture(sys.argv[1]):
    begun = time.time()
    while time.time() - begun < 5:
        model(x)
        torch.cuda.synchronize()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_program_is_readable(tmp_path):
    path = tmp_path / "killed.pyro"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    check("killed", done.returncode == -signal.SIGKILL, str(done.returncode))
    trace = pyrometer.trace(path)
    kernels = sum(trace.kernels["calls"])
    print("warnings:", trace.warnings)
    said = [text for text in trace.warnings if "launches are missing" in text]
    check("what is missing is counted", len(said) == 1, str(trace.warnings))
    missing, launches = (int(word) for word in re.findall(r"\d+", said[0]))
    check("nothing else is missing", kernels + missing == launches, f"{kernels} of {launches}")
    # Buffers are read every second.
    check("at most the last buffers", missing < launches * 2 / 5, f"{missing} of {launches}")


BROKEN = """
import sys, torch
context = None
if sys.argv[1] == "captured":
    import pyrometer
    context = pyrometer.capture(sys.argv[2]); context.__enter__()
x = torch.zeros(4, device="cuda")
index = torch.tensor([100], device="cuda")
try:
    print(x[index].sum().item())
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0])
    if context: context.__exit__(None, None, None)
    sys.exit(7)
"""


def test_an_error_of_the_program_is_its_own(tmp_path):
    outcomes = []
    for way in ("bare", "captured"):
        done = subprocess.run(
            [sys.executable, "-c", BROKEN, way, str(tmp_path / "broken.pyro")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        outcomes.append((done.returncode, done.stdout))
        print(way, done.returncode, done.stdout.strip(), done.stderr[-300:])
    check("same error and exit code", outcomes[0] == outcomes[1], str(outcomes))


def test_a_long_kernel_at_the_end(tmp_path):
    model, x = nn.Linear(64, 64).cuda(), torch.randn(4, 64, device="cuda")
    model(x)

    def step():
        model(x)
        torch.cuda._sleep(int(6e9))  # about three seconds, still running when the block ends
        model(x)

    began = time.monotonic()
    trace = capture_step(step, tmp_path, "long").trace()
    print(f"{time.monotonic() - began:.2f} s")
    longest = max(trace.kernels, key=lambda row: row["total_ns"])
    check("the long kernel is there", longest["total_ns"] > 2e9, str(longest["total_ns"]))
    check("nothing is missing", not trace.warnings, str(trace.warnings))


PROGRAM = """
import torch
model = torch.nn.Linear(256, 256).cuda()
for _ in range(200):
    model(torch.randn(64, 256, device="cuda")).sum().backward()
torch.cuda.synchronize()
"""


def test_run_needs_no_second_file(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    counts = {}
    for way in ("collector", "torch", "none"):
        name = f"{way}.pyro"
        command = [TOOL, "run", "-o", name, "--gpu", way, "--python", sys.executable, "program.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        check(f"pyrometer run --gpu {way}", done.returncode == 0, done.stderr.strip()[-300:])
        counts[way] = sum(pyrometer.trace(tmp_path / name).kernels["calls"])
        beside = (tmp_path / f"{name}.devices.json").exists()
        check(f"{way}: a second file", beside == (way == "torch"), str(os.listdir(tmp_path)))
    check("the same kernels", counts["collector"] == counts["torch"] > 0, str(counts))
    check("none", counts["none"] == 0, str(counts))


def test_doctor_runs_a_kernel():
    done = subprocess.run(
        [TOOL, "doctor", "--python", sys.executable], capture_output=True, text=True, check=False
    )
    print(done.stdout)
    line = next((text for text in done.stdout.splitlines() if "collector" in text), "")
    check("doctor names the collector", "CUPTI" in line, line)


def run_cases(folder):
    """Every case by the collector, then every case by torch.profiler."""
    found = {}
    for name, make in CASES.items():
        try:
            step = make()
        except ModuleNotFoundError as error:
            print(f"SKIP  {name}: {error}")
            continue
        for _ in range(4):
            step()
        torch.cuda.synchronize()

        def repeat(step=step):
            for _ in range(REPEATS):
                step()
                torch.cuda.synchronize()

        block = capture_step(repeat, folder, name.replace(" ", "_"))
        target = folder / f"{name.replace(' ', '_')}.ours.json"
        block.export_chrome_trace(target)
        layers, total = sums_up(block.trace())
        events = device_time_ns(target)
        check(f"{name}: sums", layers == total == events, f"{layers}, {total} and {events} ns")
        check(f"{name}: warnings", not block.trace().warnings, str(block.trace().warnings))
        found[name] = (repeat, device_events(target))
    return found


def usual_ns(events):
    """The time of a step in which each kernel takes its median of all steps: the two recordings are
    a minute apart, and single kernels of a few microseconds take longer at times."""
    total = 0
    for times in by_stream(events, which=2):
        length = len(times) // REPEATS
        assert len(times) == length * REPEATS, f"{len(times)} kernels in {REPEATS} steps"
        total += sum(statistics.median(times[i::length]) for i in range(length))
    return total


def test_kernels_equal_those_of_torch_profiler(tmp_path):
    problems = []
    for name, (repeat, ours) in run_cases(tmp_path).items():
        with torch.profiler.profile() as profile:
            repeat()
        target = tmp_path / "torch.json"
        profile.export_chrome_trace(str(target))
        theirs = device_events(target)
        ratio = usual_ns(ours) / max(usual_ns(theirs), 1)
        same = by_stream(ours) == by_stream(theirs)
        print(f"{'PASS' if same else 'FAIL'}  {name}: {len(ours)} and {len(theirs)} kernels, "
              f"device time {ratio:.4f} of torch.profiler's", flush=True)  # fmt: skip
        if not same:
            only = collections.Counter(n for _, n, _ in ours)
            only.subtract(collections.Counter(n for _, n, _ in theirs))
            print("   differences:", [item for item in only.items() if item[1]][:6])
            problems.append(name)
        if abs(ratio - 1) > 0.02:
            problems.append(f"{name}: time {ratio:.4f}")
    check("all cases are equal", not problems, "; ".join(problems))
