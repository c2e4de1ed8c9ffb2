"""key_averages(): the library's rows as torch's EventList, so that table() looks like torch's."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from pyrometer import _core
from pyrometer._trace.trace import trace


def key_averages(
    path: str | os.PathLike[str], group_by_input_shape: bool, group_by_stack_n: int
) -> Any:
    """Builds a torch.autograd.profiler_util.EventList of averages."""
    from torch.autograd.profiler_util import EventList

    recording = trace(path)
    rows = _core.averages(path, group_by_input_shape, group_by_stack_n)
    flops = _flops(recording, group_by_input_shape)
    uses_device = any(row[6] for row in rows)
    averages = [_average(row, flops, uses_device) for row in rows]
    averages += [_device_average(*row) for row in _device_rows(recording)]
    return EventList(
        averages,
        use_device="cuda" if uses_device else None,
        profile_memory=any(row[8] or row[9] or row[10] or row[11] for row in rows),
    )


def _flops(recording: Any, by_shape: bool) -> dict[tuple[str, str], int]:
    table = recording.ops_by_shape if by_shape else recording.ops
    keys = zip(table["name"], table["shapes"], strict=True)
    return {key: flops for key, flops in zip(keys, table["flops"], strict=True) if flops > 0}


def _device_rows(recording: Any) -> Iterator[tuple[str, int, int]]:
    """Separate rows for device work: torch adds up the device time from them."""
    kernels, copies = recording.kernels, recording.copies
    yield from zip(kernels["name"], kernels["calls"], kernels["total_ns"], strict=True)
    for kind, calls, total_ns in zip(
        copies["kind"], copies["calls"], copies["total_ns"], strict=True
    ):
        yield "Memset" if kind == "memset" else f"Memcpy {kind}", calls, total_ns


def _shapes(text: str) -> list[Any]:
    try:
        return json.loads(text)
    except ValueError:
        return []


def _device_average(name: str, calls: int, total_ns: int) -> Any:
    from torch.autograd import DeviceType

    average = _average((name, "", "", calls, 0, 0, total_ns, total_ns, 0, 0, 0, 0), {}, True)
    average.device_type = DeviceType.CUDA
    return average


def _average(row: tuple[Any, ...], flops: dict[tuple[str, str], int], uses_device: bool) -> Any:
    from torch.autograd import DeviceType
    from torch.autograd.profiler_util import FunctionEventAvg

    name, shapes, stack, calls, host, host_self, device, device_self, *memory = row
    average = FunctionEventAvg()
    average.key = name
    average.count = calls
    average.node_id = -1
    average.is_async = average.is_remote = average.is_legacy = False
    average.is_user_annotation = False
    average.use_device = "cuda" if uses_device else None
    average.device_type = DeviceType.CPU
    average.input_shapes = _shapes(shapes)
    average.stack = [frame for frame in stack.split(";") if frame]
    average.scope = 0
    average.cpu_time_total = host / 1000
    average.self_cpu_time_total = host_self / 1000
    average.device_time_total = device / 1000
    average.self_device_time_total = device_self / 1000
    average.cpu_memory_usage, average.self_cpu_memory_usage = memory[:2]
    average.device_memory_usage, average.self_device_memory_usage = memory[2:]
    average.flops = flops.get((name, shapes), 0)
    return average
