"""Adds metrics besides latency to a result: memory, utilization, rates; and the knee of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from pyrometer import _core
from pyrometer._bench import language_model, recorded_calls
from pyrometer._bench.results import BenchmarkResults
from pyrometer._error import Error
from pyrometer._helper.example_inputs import Inputs


def add_memory(bench: Any, index: int, engine: Any, sampler: Any, reset: bool) -> dict[str, Any]:
    if engine.on_gpu:
        stats = torch.cuda.memory_stats(engine.device)
        peak = stats["allocated_bytes.all.peak"]
        reserved = stats["reserved_bytes.all.peak"]
        average = _core.mean(sampler.gpu_allocated) if sampler.gpu_allocated else None
        fragmentation = 1 - peak / reserved if reserved else None
        what = "of tensors on the GPU, weights included; fragmentation: reserved but not allocated"
    else:
        peak = _core.peak_bytes()
        average = sampler.resident_mean
        fragmentation = _core.heap_unused_share()
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
    """Memory per additional sample: the slope of a call's memory, inputs included, over two batch
    sizes. Constant parts, such as the weights, do not count."""
    batch = placed.batch_size()
    sizes = (batch // 2, batch) if batch > 1 else (1, 2)
    try:
        small, large = (_call_bytes(engine, placed, size) for size in sizes)
        slope = (large - small) / (sizes[1] - sizes[0])
        if slope < 0:
            raise Error(f"a batch of {sizes[1]} took no more memory than one of {sizes[0]}")
    except Exception as error:  # a fixed batch, out of memory, or allocations are not visible
        lines = str(error).strip().splitlines() or [type(error).__name__]
        bench.fact(index, "no memory per sample", lines[0])
        return
    bench.metric(index, "memory_per_sample", "bytes", False, slope)
    text = f"the slope from a batch of {sizes[0]} to one of {sizes[1]}, inputs included"
    bench.fact(index, "memory per sample is", text)


def _call_bytes(engine: Any, placed: Inputs, batch: int) -> int:
    """Peak memory of one call with this batch, inputs included."""
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
            run()  # libraries allocate their workspaces in the first call
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
    """Peak memory of the process; the only measure where torch does not allocate."""
    run = engine.bind(inputs)
    run()
    if not _core.reset_peak():
        raise Error("the kernel does not reset the peak of memory")
    run()
    peak = _core.peak_bytes()
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
        mean = _core.mean(sampler.gpu_percent)
        bench.metric(index, "gpu", "%", True, mean)
    elif sampler.gpu_reason:
        bench.fact(index, "no gpu use", sampler.gpu_reason)
    names = ("cpu_percent", "waiting", "disk_read_bytes")
    return {"gpu_percent": mean, **{name: used[name] for name in names}}


def add_rates(bench: Any, index: int, placed: Inputs) -> None:
    """Tokens or images per second, if the inputs are tokens or images."""
    tokens = language_model.prompt_of(placed)
    if tokens is not None:
        bench.rate(
            index,
            "latency",
            "tokens_per_second",
            "tokens/s",
            int(tokens.shape[0] * tokens.shape[1]),
        )
    for _, tensor in placed.tensors():
        if len(tensor.shape) == 4 and tensor.shape[1] in (1, 3, 4):
            bench.rate(index, "latency", "images_per_second", "images/s", int(tensor.shape[0]))
            break


def find_knee(results: BenchmarkResults) -> dict[str, Any] | None:
    """Among configurations that differ only by batch: the smallest batch whose doubling gains less
    than 10% throughput. None if fewer than two batches ran."""
    by_precision: dict[Any, list[tuple[int, float]]] = {}
    for result in results:
        rate = result["throughput"]["samples_per_second"]
        size = result["parameters"].get("batch_size")
        if rate is not None and size is not None:
            key = (result["precision"]["asked"], result["device"])
            by_precision.setdefault(key, []).append((int(size), rate))
    knees: dict[str, Any] = {}
    for (precision, device), points in by_precision.items():
        found = _core.find_knee(points)
        if found is not None:
            knees[f"{precision} {device}"] = {
                "batch_size": found[0],
                "reached": found[1],
                "throughput": dict(sorted(points)),
            }
    return knees or None


def tell_knee(bench: Any, results: BenchmarkResults, knee: Mapping[str, Any] | None) -> None:
    """Marks the result that is the knee of its precision and device."""
    for index, result in enumerate(results):
        found = (knee or {}).get(f"{result['precision']['asked']} {result['device']}")
        if found is None or result["parameters"].get("batch_size") != str(found["batch_size"]):
            continue
        points = [(size, rate) for size, rate in found["throughput"].items()]
        text = _core.find_knee(points)[2]
        bench.fact(index, "knee", text)
