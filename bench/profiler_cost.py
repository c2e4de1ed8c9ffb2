"""Measures whether `pyrometer trace` knows how long a step takes without the profiler.

    python bench/profiler_cost.py [--device cuda] [--rounds 5] [--only gpt] [--options all]

Every program runs bare and recorded in turn, in one process, because machines are noisy. A round
records some steps; the range that the analysis of this recording gives is compared with the median
of the bare steps right before and after it. Programs: those of unseen_programs.py, which ran for
the first time when the costs were fixed; those of checked_programs.py and the planted scripts,
which took no part in the fit; and those of profiler_programs.py, to which the costs were fitted.
With --cpu-time, CPU time of the main thread counts, for machines with other programs; steps that
one of these interrupted do not count: they find the caches full of something else.
"""

import argparse
import ctypes
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import types

import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "planted_scripts"), str(ROOT / "bench" / "programs")]

import check  # noqa: E402
import checked_programs  # noqa: E402
import profiler_programs  # noqa: E402
import recording  # noqa: E402
import unseen_programs  # noqa: E402

OPTIONS = {
    "plain": {},
    "shapes": {"record_shapes": True},
    "stacks": {"with_stack": True},
    "memory": {"profile_memory": True, "record_shapes": True},
    "usual": {"record_shapes": True, "with_stack": True},
    "all": {"record_shapes": True, "with_stack": True, "profile_memory": True},
}
SETS = ("unseen", "checked", "planted", "first", "later")
LEAST_STEPS, MOST_STEPS, ROUND_MS = 4, 24, 60
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h


def keep_freed_memory():
    """Whether malloc returns memory of a step to the system, and the next step faults it in again,
    depends on what happens to lie above it. It can cost more than the profiler does."""
    malloc = ctypes.CDLL(None)
    if hasattr(malloc, "mallopt"):
        malloc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
        malloc.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)


def interruptions():
    """How often another program took the processor away."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw


def time_steps(step, count, arguments):
    """(milliseconds, was interrupted) of each step"""
    clock = time.thread_time if arguments.cpu_time else time.perf_counter
    times = []
    for _ in range(count):
        before = interruptions()
        (time_ms,) = recording.time_steps(step, arguments.device, 1, clock)
        times.append((time_ms, arguments.cpu_time and interruptions() != before))
    return times


def median_ms(times):
    """Of the steps that were not interrupted, if some were not."""
    calm = [time_ms for time_ms, was_interrupted in times if not was_interrupted]
    return statistics.median(calm if len(calm) > 2 else [time_ms for time_ms, _ in times])


def record_torch(step, steps, path, options, arguments):
    """Records some steps; returns how long they took."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if arguments.device != "cpu":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    times = []
    with torch.profiler.profile(
        activities=activities,
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=steps, repeat=1),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
        **OPTIONS[options],
    ) as profiler:
        for _ in range(1 + steps):
            times += time_steps(step, 1, arguments)
            profiler.step()
    return times[1:]


def record_pyrometer(step, steps, path, options, arguments):
    import pyrometer

    with pyrometer.capture(path):
        return time_steps(step, steps, arguments)


def without_cost(cost, recorded_ms, steps):
    """The range of the analysis for a step whose time was measured by another clock."""
    cost_ms = cost["time_ns"] / steps / 1e6
    bare_ms = recorded_ms - cost_ms
    half_ms = min(0.06 * bare_ms + 0.4 * cost_ms, 0.15 * bare_ms)  # uncertainty_of, profiler_cost.c
    return bare_ms - half_ms, bare_ms + half_ms


def analyze(tool, path):
    command = [tool, "trace", str(path), "--format", "json", "-q"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def measure(name, step, options, arguments, folder):
    """Yields one result per round."""
    once_ms = median_ms(time_steps(step, 3, arguments))
    steps = round(max(LEAST_STEPS, min(MOST_STEPS, ROUND_MS / once_ms)))
    record, path = record_torch, folder / "trace.json"
    if arguments.recorder == "pyrometer":
        record, path = record_pyrometer, folder / "trace.pyro"
    for _ in range(arguments.rounds):
        bare = time_steps(step, steps, arguments)
        recorded = record(step, steps, path, options, arguments)
        bare += time_steps(step, steps, arguments)
        cost = analyze(arguments.tool, path)["profiler_cost"]
        low, high = cost["step_without_low_ns"] / 1e6, cost["step_without_high_ns"] / 1e6
        recorded_ms = cost["step_ns"] / 1e6
        if arguments.cpu_time:
            recorded_ms = median_ms(recorded)
            low, high = without_cost(cost, recorded_ms, steps)
        yield {
            "name": name,
            "options": options,
            "bare_ms": median_ms(bare),
            "recorded_ms": recorded_ms,
            "low_ms": low,
            "high_ms": high,
            "costs": cost,
        }


def is_inside(row):
    return row["low_ms"] <= row["bare_ms"] <= row["high_ms"]


def scripts(device):
    """(set of programs, name, script, its options)"""
    for kind, models in (
        ("unseen", unseen_programs.UNSEEN),
        ("checked", checked_programs.CHECKED),
    ):
        for name, (make, options) in models.items():
            yield kind, name, script_of(make), options
    for name in check.names_for(device):
        yield "planted", name, check.load(name), "usual"
    for kind, models in (("first", profiler_programs.FIRST), ("later", profiler_programs.LATER)):
        for name, make in models.items():
            yield kind, name, script_of(make), "usual"


def script_of(make):
    return types.SimpleNamespace(make=lambda device, is_fixed: make(device))


def medians(found, by, *keys):
    """Medians over the faster half of the rounds: what disturbs a round makes it slower."""
    faster = sorted(found, key=lambda row: row[by])[: len(found) // 2 + 1]
    return {key: statistics.median(row[key] for row in faster) for key in keys}


def print_middle(found):
    """Prints and returns the medians of the rounds of one program."""
    middle = medians(found, "bare_ms", "bare_ms")
    middle |= medians(found, "recorded_ms", "recorded_ms", "low_ms", "high_ms")
    print(
        f"{found[0]['name']:22} {found[0]['options']:7} "
        f"{middle['bare_ms']:8.2f} {middle['recorded_ms']:9.2f} "
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
    parser.add_argument("--options", choices=OPTIONS, help="Of all recordings.")
    parser.add_argument("--only", nargs="*", help="Names of programs.")
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--cpu-time", action="store_true", help="Measure steps in CPU time.")
    tool = os.environ.get("PYRO_TOOL", str(ROOT / "build" / "pyrometer"))
    parser.add_argument("--tool", default=tool)
    parser.add_argument("--json", help="File for all results.")
    arguments = parser.parse_args()
    if arguments.device == "cpu":
        torch.set_num_threads(1)
        keep_freed_memory()
    inside, rows = {kind: [] for kind in arguments.sets}, []
    print(f"load {pathlib.Path('/proc/loadavg').read_text().strip()}")
    titles = f"{'program':22} {'options':7} {'bare':>8} {'recorded':>9} {'profiler':>8}"
    print(f"{titles} {'range without':>18}")
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, script, options in scripts(arguments.device):
            if kind not in inside or (arguments.only and name not in arguments.only):
                continue
            with recording.steps_of(script, arguments.device, False) as step:
                options = arguments.options or options
                found = list(measure(name, step, options, arguments, pathlib.Path(folder)))
            rows += found
            inside[kind].append(is_inside(print_middle(found)))
    for kind, results in inside.items():
        print(f"{kind}: {sum(results)} of {len(results)} ranges hold the bare time")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows))


if __name__ == "__main__":
    main()
