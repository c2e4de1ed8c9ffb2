"""Recomputes the steps of traces in whole nanoseconds; every part must be equal."""

import gzip
import json
import os
import pathlib
import subprocess
from decimal import Decimal

import pytest

TOOL = os.environ.get("PYRO_TOOL", "build/pyrometer")
ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = pathlib.Path(os.environ.get("PYRO_TRACES", ROOT.parent / "shared" / "traces"))
FILES = ROOT / "tests" / "files" / "trace"
# Our traces, one per dialect, and other people's if available.
OURS = [*sorted(FILES.glob("good-*.json*")), *sorted(FILES.glob("h200_*.json.gz"))]
TRACES = OURS + sorted(FOLDER.glob("*.json.gz"))
COLLECTIVES = ("nccl", "multimem_all_reduce")
KERNELS, COPIES, MEMSETS = ("kernel", "Kernel"), ("gpu_memcpy", "Memcpy"), ("gpu_memset", "Memset")


def nanoseconds(text):
    return int(Decimal(text) * 1000)


def union(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def covered(intervals, start, end):
    return sum(max(0, min(e, end) - max(s, start)) for s, e in intervals)


def read_device_events(path):
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "replace")
    trace = json.loads(text, strict=False, parse_float=str)
    for event in trace["traceEvents"] if isinstance(trace, dict) else trace:
        if event.get("ph") == "X" and event.get("cat") in KERNELS + COPIES + MEMSETS:
            start = nanoseconds(event["ts"])
            yield event.get("cat"), event["name"], start, start + nanoseconds(event.get("dur", 0))


def read_work(path):
    compute, collectives, copies = [], [], []
    for category, name, start, end in read_device_events(path):
        if category in KERNELS and any(word in name for word in COLLECTIVES):
            collectives.append((start, end))
        elif category in KERNELS + MEMSETS:
            compute.append((start, end))
        elif category in COPIES:
            copies.append((start, end))
    return compute, collectives, copies


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_steps_are_exact(path):
    run = subprocess.run([TOOL, "trace", path, "--format", "json"], capture_output=True, check=True)
    answer = json.loads(run.stdout)
    compute, collectives, copies = read_work(path)
    work = compute + collectives + copies
    assert answer["device_total_ns"] == sum(end - start for start, end in work)
    assert answer["device_busy_ns"] == sum(end - start for start, end in union(work))
    busy, not_copies = union(work), union(compute + collectives)
    compute, collectives, copies = union(compute), union(collectives), union(copies)
    assert answer["steps"]
    for step in answer["steps"]:
        window = step["start_ns"], step["start_ns"] + step["span_ns"]
        assert step["compute_ns"] == covered(compute, *window)
        assert step["communication_ns"] == covered(collectives, *window)
        assert step["copy_ns"] == covered(copies, *window)
        exposed = covered(not_copies, *window) - step["compute_ns"]
        assert step["communication_exposed_ns"] == exposed
        assert step["copy_exposed_ns"] == covered(busy, *window) - covered(not_copies, *window)
        assert step["idle_ns"] == step["span_ns"] - covered(busy, *window)
