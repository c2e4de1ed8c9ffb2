"""Amounts beside latency into a result: memory, use of the machine, rates; and a sweep's knee."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping
from typing import Any

import torch

from pyrometer import _language, _resources
from pyrometer._inputs import Inputs
from pyrometer._results import BenchmarkResults

KNEE_GAIN = 0.10  # a doubling of the batch that gains less is past the knee


def add_memory(
    bench: Any, index: int, engine: Any, samples: int, sampler: Any, reset: bool
) -> dict[str, Any]:
    if engine.on_gpu:
        stats = torch.cuda.memory_stats(engine.device)
        peak = stats["allocated_bytes.all.peak"]
        reserved = stats["reserved_bytes.all.peak"]
        average = statistics.fmean(sampler.gpu_allocated) if sampler.gpu_allocated else None
        fragmentation = 1 - peak / reserved if reserved else None
        what = "of tensors on the GPU, weights included; fragmentation: reserved but not allocated"
    else:
        peak = _resources.peak_bytes()
        average = sum(sampler.resident) / len(sampler.resident) if sampler.resident else None
        fragmentation = _resources.heap_fragmentation()
        what = "resident memory of this process; fragmentation: free but held in the C heap"
        if not reset:
            what += "; the peak is that of the whole process, as the kernel does not reset it"
    for name, unit, value in (
        ("memory", "bytes", peak),
        ("memory_average", "bytes", average),
        ("memory_per_sample", "bytes", None if peak is None else peak / max(samples, 1)),
        ("memory_fragmentation", "share", fragmentation),
    ):
        if value is not None:
            bench.metric(index, name, unit, False, value)
    bench.fact(index, "memory is", what)
    return {"peak": peak, "fragmentation": fragmentation}


def add_use(bench: Any, index: int, used: Mapping[str, Any], sampler: Any) -> dict[str, Any]:
    for name, unit, key in (
        ("cpu", "%", "cpu_percent"),
        ("disk_read", "bytes", "disk_read_bytes"),
        ("disk_written", "bytes", "disk_written_bytes"),
        ("network_received", "bytes", "network_received_bytes"),
        ("network_sent", "bytes", "network_sent_bytes"),
    ):
        if used[key] is not None:
            bench.metric(index, name, unit, False, used[key])
    bench.fact(index, "network is", "of all programs that share this network")
    mean = None
    if sampler.gpu_percent:
        mean = sum(sampler.gpu_percent) / len(sampler.gpu_percent)
        bench.metric(index, "gpu", "%", True, mean)
    elif sampler.gpu_reason:
        bench.fact(index, "no gpu use", sampler.gpu_reason)
    names = ("cpu_percent", "disk_read_bytes")
    return {"gpu_percent": mean, **{name: used[name] for name in names}}


def add_rates(bench: Any, index: int, placed: Inputs, loop: Any) -> None:
    """Tokens or images a second, where the inputs are such."""
    latencies = loop.latency_ms()
    calls_per_s = 1000 * len(latencies) / sum(latencies) if sum(latencies) > 0 else 0
    tokens = _language.prompt_of(placed)
    if tokens is not None:
        rate = int(tokens.shape[0] * tokens.shape[1]) * calls_per_s
        bench.metric(index, "tokens_per_second", "tokens/s", True, rate)
    for _, tensor in placed.tensors():
        if len(tensor.shape) == 4 and tensor.shape[1] in (1, 3, 4):
            rate = int(tensor.shape[0]) * calls_per_s
            bench.metric(index, "images_per_second", "images/s", True, rate)
            break


def find_knee(results: BenchmarkResults) -> dict[str, Any] | None:
    """Of the configurations that differ by batch alone: the smallest batch whose doubling gains
    less than 10% throughput. None where fewer than two batches ran."""
    by_precision: dict[Any, list[tuple[float, float]]] = {}
    for result in results:
        rate = result["throughput"]["samples_per_second"]
        size = result["parameters"].get("batch_size")
        if rate is not None and size is not None:
            key = (result["precision"]["asked"], result["device"])
            by_precision.setdefault(key, []).append((float(size), rate))
    knees: dict[str, Any] = {}
    for (precision, device), points in by_precision.items():
        points.sort()
        if len(points) < 2:
            continue
        knee, reached = points[-1][0], False
        for (size, rate), (next_size, next_rate) in itertools.pairwise(points):
            doublings = max(_log2(next_size / size), 1e-9)
            if (next_rate / rate) ** (1 / doublings) < 1 + KNEE_GAIN:
                knee, reached = size, True
                break
        knees[f"{precision} {device}"] = {
            "batch_size": int(knee),
            "reached": reached,
            "throughput": dict((int(size), rate) for size, rate in points),
        }
    return knees or None


def tell_knee(bench: Any, results: BenchmarkResults, knee: Mapping[str, Any] | None) -> None:
    """A fact of the result that is the knee of its precision and device."""
    for index, result in enumerate(results):
        found = (knee or {}).get(f"{result['precision']['asked']} {result['device']}")
        if found is None or result["parameters"].get("batch_size") != str(found["batch_size"]):
            continue
        text = (
            f"a doubling of this batch gains less than {KNEE_GAIN:.0%}"
            if found["reached"]
            else "not reached: the largest batch that was run still gains"
        )
        bench.fact(index, "knee", text)


def _log2(number: float) -> float:
    return math.log2(number) if number > 0 else 0.0
