"""Measures whether `pyrometer trace` knows how long a step takes without the profiler.

    python bench/profiler_cost.py [--device cuda] [--rounds 5] [--only gpt] [--options all]

Every program runs bare and recorded in turn, in one process, because machines are noisy. A round
records some steps; the range that the analysis of this recording gives is compared with the median
of the bare steps right before and after it. Programs: the planted scripts and those of
profiler_programs.py. The costs were fitted to the latter; the planted scripts took no part in that.
With --cpu-time, steps are measured in CPU time, which other programs on the machine hardly change.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import types

import torch

import pyrometer

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "planted_scripts"), str(ROOT / "bench" / "programs")]

import check  # noqa: E402
import profiler_programs  # noqa: E402
import recording  # noqa: E402

OPTIONS = {
    "plain": {},
    "shapes": {"record_shapes": True},
    "stacks": {"with_stack": True},
    "memory": {"profile_memory": True, "record_shapes": True},
    "usual": {"record_shapes": True, "with_stack": True},
    "all": {"record_shapes": True, "with_stack": True, "profile_memory": True},
}
STEPS = 4


def record_torch(step, path, device, options, clock):
    """Records some steps; returns how long they took, in milliseconds."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device != "cpu":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    times = []
    with torch.profiler.profile(
        activities=activities,
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
        **OPTIONS[options],
    ) as profiler:
        for _ in range(1 + STEPS):
            times += recording.time_steps(step, device, 1, clock)
            profiler.step()
    return times[1:]


def record_pyrometer(step, path, device, options, clock):
    with pyrometer.capture(path):
        return recording.time_steps(step, device, STEPS, clock)


def without_cost(cost, recorded_ms, steps):
    """The range of the analysis for a step whose time was measured by another clock."""
    cost_ms = cost["time_ns"] / steps / 1e6
    bare_ms = recorded_ms - cost_ms
    half_ms = min(0.04 * bare_ms + 0.3 * cost_ms, 0.15 * bare_ms)
    return bare_ms - half_ms, bare_ms + half_ms


def analyze(tool, path):
    command = [tool, "trace", str(path), "--format", "json", "-q"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def measure(name, step, arguments, folder):
    """Yields one result per round."""
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    record, path = record_torch, folder / "trace.json"
    if arguments.recorder == "pyrometer":
        record, path = record_pyrometer, folder / "trace.pyro"
    for _ in range(arguments.rounds):
        bare = recording.time_steps(step, arguments.device, 2 * STEPS, clock)
        recorded = record(step, path, arguments.device, arguments.options, clock)
        bare += recording.time_steps(step, arguments.device, 2 * STEPS, clock)
        cost = analyze(arguments.tool, path)["profiler_cost"]
        low, high = cost["step_without_low_ns"] / 1e6, cost["step_without_high_ns"] / 1e6
        recorded_ms = cost["step_ns"] / 1e6
        if arguments.cpu_time:
            recorded_ms = statistics.median(recorded)
            low, high = without_cost(cost, recorded_ms, STEPS)
        yield {
            "name": name,
            "bare_ms": statistics.median(bare),
            "recorded_ms": recorded_ms,
            "low_ms": low,
            "high_ms": high,
            "costs": cost,
        }


def is_inside(row):
    return row["low_ms"] <= row["bare_ms"] <= row["high_ms"]


def scripts(device):
    """(set of programs, name, script)"""
    for name in check.names_for(device):
        yield "planted", name, check.load(name)
    for kind, models in (("first", profiler_programs.FIRST), ("later", profiler_programs.LATER)):
        for name, make in models.items():
            yield (
                kind,
                name,
                types.SimpleNamespace(make=lambda device, _, make=make: make(device)),
            )


def print_middle(found):
    """Prints and returns the medians of the rounds of one program."""
    middle = {
        key: statistics.median(row[key] for row in found)
        for key in ("bare_ms", "recorded_ms", "low_ms", "high_ms")
    }
    print(
        f"{found[0]['name']:22} {middle['bare_ms']:8.2f} {middle['recorded_ms']:9.2f} "
        f"{1 - middle['bare_ms'] / middle['recorded_ms']:8.1%} "
        f"{middle['low_ms']:8.2f} - {middle['high_ms']:7.2f}  "
        f"{'in ' if is_inside(middle) else 'OUT'} {sum(map(is_inside, found))}/{len(found)}",
        flush=True,
    )
    return middle


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--recorder", choices=recording.RECORDERS, default="torch")
    parser.add_argument("--options", choices=OPTIONS, default="usual")
    parser.add_argument("--only", nargs="*", help="Names of programs.")
    parser.add_argument("--sets", nargs="*", default=["planted", "first", "later"])
    parser.add_argument("--cpu-time", action="store_true", help="Measure steps in CPU time.")
    parser.add_argument("--tool", default=str(ROOT / "build" / "pyrometer"))
    parser.add_argument("--json", help="File for all results.")
    arguments = parser.parse_args()
    if arguments.device == "cpu":
        torch.set_num_threads(1)
    inside, rows = {kind: [] for kind in arguments.sets}, []
    print(f"load {pathlib.Path('/proc/loadavg').read_text().strip()}, options {arguments.options}")
    print(f"{'program':22} {'bare':>8} {'recorded':>9} {'profiler':>8} {'range without':>18}")
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, script in scripts(arguments.device):
            if kind not in inside or (arguments.only and name not in arguments.only):
                continue
            with recording.steps_of(script, arguments.device, False) as step:
                found = list(measure(name, step, arguments, pathlib.Path(folder)))
            rows += found
            inside[kind].append(is_inside(print_middle(found)))
    for kind, results in inside.items():
        print(f"{kind}: {sum(results)} of {len(results)} ranges hold the bare time")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
