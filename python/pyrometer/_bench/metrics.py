"""Amounts beside latency into a result: memory, use of the machine, rates; and a sweep's knee."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping
from typing import Any

import torch

from pyrometer._bench import language_model, recorded_calls, resources
from pyrometer._bench.recommendations import KNEE_GAIN
from pyrometer._bench.results import BenchmarkResults
from pyrometer._error import Error
from pyrometer._helper.example_inputs import Inputs


def add_memory(bench: Any, index: int, engine: Any, sampler: Any, reset: bool) -> dict[str, Any]:
    if engine.on_gpu:
        stats = torch.cuda.memory_stats(engine.device)
        peak = stats["allocated_bytes.all.peak"]
        reserved = stats["reserved_bytes.all.peak"]
        average = statistics.fmean(sampler.gpu_allocated) if sampler.gpu_allocated else None
        fragmentation = 1 - peak / reserved if reserved else None
        what = "of tensors on the GPU, weights included; fragmentation: reserved but not allocated"
    else:
        peak = resources.peak_bytes()
        average = sum(sampler.resident) / len(sampler.resident) if sampler.resident else None
        fragmentation = resources.heap_fragmentation()
        what = "resident memory of this process; fragmentation: free but held in the C heap"
        if not reset:
            what += "; the peak is that of the whole process, as the kernel does not reset it"
    for name, unit, value in (
        ("memory", "bytes", peak),
        ("memory_average", "bytes", average),
        ("memory_fragmentation", "share", fragmentation),
    ):
        if value is not None:
            bench.metric(index, name, unit, False, value)
    bench.fact(index, "memory is", what)
    return {"peak": peak, "fragmentation": fragmentation}


def add_memory_per_sample(bench: Any, index: int, engine: Any, placed: Inputs) -> None:
    """What one more sample takes: the slope of a call's memory, its inputs included, over two
    batches. What is there once, say the weights, is in no sample."""
    batch = placed.batch_size()
    sizes = (batch // 2, batch) if batch > 1 else (1, 2)
    try:
        small, large = (_call_bytes(engine, placed, size) for size in sizes)
        slope = (large - small) / (sizes[1] - sizes[0])
        if slope < 0:
            raise Error(f"a batch of {sizes[1]} took no more memory than one of {sizes[0]}")
    except Exception as error:  # a fixed batch, memory is out, or nobody sees the allocations
        lines = str(error).strip().splitlines() or [type(error).__name__]
        bench.fact(index, "no memory per sample", lines[0])
        return
    bench.metric(index, "memory_per_sample", "bytes", False, slope)
    text = f"the slope from a batch of {sizes[0]} to one of {sizes[1]}, inputs included"
    bench.fact(index, "memory per sample is", text)


def _call_bytes(engine: Any, placed: Inputs, batch: int) -> int:
    """The most that one call of this batch holds at once, its inputs included."""
    inputs = placed.resized(batch)
    if inputs.batch_size() != batch:
        raise Error("the inputs have no batch")
    inputs = engine.place(inputs)
    held = sum(_tensor_bytes(tensor) for _, tensor in inputs.tensors())
    if engine.kind == "onnx":
        return _resident_bytes(engine, inputs)
    if engine.on_gpu:
        run = engine.bind(inputs)
        with engine.running():
            run()  # libraries take their workspaces in the first call
            torch.cuda.synchronize(engine.device)
            before = torch.cuda.memory_allocated(engine.device)
            torch.cuda.reset_peak_memory_stats(engine.device)
            run()
            torch.cuda.synchronize(engine.device)
        return held + torch.cuda.max_memory_allocated(engine.device) - before
    made = recorded_calls.activation_bytes(recorded_calls.record(engine, inputs, 1), engine)
    if made is None:
        raise Error("no allocations of torch were seen")
    return held + made


def _tensor_bytes(tensor: Any) -> int:
    if isinstance(tensor, torch.Tensor):
        return tensor.numel() * tensor.element_size()
    return int(tensor.nbytes)


def _resident_bytes(engine: Any, inputs: Inputs) -> int:
    """Peak of the process; of what torch does not allocate nothing finer is known."""
    run = engine.bind(inputs)
    run()
    if not resources.reset_peak():
        raise Error("the kernel does not reset the peak of memory")
    run()
    peak = resources.peak_bytes()
    if peak is None:
        raise Error("the kernel does not tell the peak of memory")
    return peak


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
    names = ("cpu_percent", "waiting", "disk_read_bytes")
    return {"gpu_percent": mean, **{name: used[name] for name in names}}


def add_rates(bench: Any, index: int, placed: Inputs, loop: Any) -> None:
    """Tokens or images a second, where the inputs are such."""
    latencies = loop.latency_ms()
    calls_per_s = 1000 * len(latencies) / sum(latencies) if sum(latencies) > 0 else 0
    tokens = language_model.prompt_of(placed)
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
