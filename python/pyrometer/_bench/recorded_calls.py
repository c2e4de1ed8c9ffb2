"""Analyses a recording of a few calls of a model: layers, operators, memory, waits."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyrometer import _core
from pyrometer._capture.block import capture
from pyrometer._helper.example_inputs import Inputs

TABLE_ROWS = 15
RECORDING_SECONDS = 2.0  # time limit for recordings of the same call


@dataclass
class Recorded:
    """A recording of `calls` calls, as `pyrometer trace --format json` writes it."""

    data: dict[str, Any]
    calls: int
    core: _core.Trace

    @property
    def layers(self) -> list[dict[str, Any]]:
        return self.data["layers"]

    @property
    def host_ns(self) -> int:
        """Duration of the calls on the host."""
        return self.call(False).host_ns

    def call(self, on_gpu: bool) -> Call:
        return Call(*self.core.recorded_call(on_gpu))


class Call(NamedTuple):
    """The library's summary of a recording."""

    host_ns: int
    outside: float  # share of the layers' time outside of operators
    activation_bytes: int  # -1: unknown
    allocations: int
    allocated_bytes: int


def record(engine: Any, placed: Inputs, calls: int) -> Recorded:
    """Runs once unrecorded, then records `calls` calls."""
    run, wait = engine.bind(placed), engine.synchronize() or (lambda: None)
    with engine.running():
        run()
        wait()
        with capture(with_stack=False) as recording:
            for _ in range(calls):
                run()
            wait()
    trace = recording.trace()
    return Recorded(trace.to_dict(), calls, trace._core)


def record_undisturbed(engine: Any, placed: Inputs, tries: int) -> Recorded:
    """The quickest of several recordings of one call: in a single call, an interruption of a few
    milliseconds makes an operator that does nothing look like the largest. Long calls, where that
    is negligible, are recorded less often."""
    start = time.perf_counter()
    best = record(engine, placed, 1)
    for _ in range(tries - 1):
        if time.perf_counter() - start > RECORDING_SECONDS:
            break
        other = record(engine, placed, 1)
        if other.host_ns < best.host_ns:
            best = other
    return best


def mark(engine: Any, placed: Inputs) -> None:
    """Runs once with every operator marked for Nsight Systems. Not during a recording: torch marks
    for one profiler at a time."""
    import torch

    run, wait = engine.bind(placed), engine.synchronize() or (lambda: None)
    with engine.running(), torch.autograd.profiler.emit_nvtx(record_shapes=True):
        run()
        wait()


def activation_bytes(recorded: Recorded, engine: Any) -> int | None:
    """Peak bytes of tensors created by the call, without weights and inputs."""
    held = recorded.call(engine.on_gpu).activation_bytes
    return None if held < 0 else held


def _layer(recorded: Recorded, index: int, flops: Mapping[str, int]) -> dict[str, Any]:
    row = recorded.layers[index]
    calls, forward_ns, share, _ = recorded.core.sum_layers([index])
    return {
        "path": row["path"] or "(model)",
        "class": row["class"],
        "calls": calls,
        "mean_ms": forward_ns / max(calls, 1) / 1e6,
        "total_ms": forward_ns / 1e6,
        "share": share,
        "allocated_bytes": row["allocated_bytes"],
        "flops": flops.get(row["path"], row["flops"]),
        "shapes": row["shapes"],
    }


def layers_by_name(
    recorded: Recorded, names: Sequence[str] | None, calls: int, flops: Mapping[str, int]
) -> dict[str, Any]:
    """One entry per name, with the matching layers and their sums; a layer inside another match is
    listed but not added again."""
    rows = recorded.layers
    if names is None:
        chosen = {row["path"] or "(model)": [index] for index, row in enumerate(rows)}
    else:
        chosen = {name: recorded.core.layers_named(name) for name in names}
    found: dict[str, Any] = {}
    for name, indices in chosen.items():
        outer_calls, forward_ns, share, on_device = recorded.core.sum_layers(indices)
        found[name] = {
            "layers": [_layer(recorded, index, flops) for index in indices],
            "calls": outer_calls,
            "mean_ms": forward_ns / calls / 1e6,
            "share": share,
            "clock": "device" if on_device else "host",
        }
        if not indices:
            found[name]["note"] = f"no layer has this in its path or class; there are {_some(rows)}"
    return found


def _some(rows: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(sorted({row["class"] for row in rows})[:12])


def memory(
    recorded: Recorded, allocations: bool, deallocations: bool, snapshots: bool
) -> dict[str, Any]:
    """Memory by device, with the requested parts."""
    devices = {}
    for device in recorded.data["memory"].get("devices", ()):
        entry: dict[str, Any] = {
            "peak": device["peak_bytes"],
            "peak_reserved": device["peak_reserved_bytes"],
            "holders": device["holders"],
        }
        if allocations:
            entry["allocations"] = device["allocations"]
            entry["allocated_bytes"] = device["allocated_bytes"]
        if deallocations:
            entry["deallocations"] = device["frees"]
            entry["not_freed"] = device["allocations"] - device["frees"]
        if snapshots:
            entry["snapshots"] = device["curve"]
        devices[device["device"]] = entry
    by_layer = sorted(
        (
            {"path": row["path"] or "(model)", "allocated_bytes": row["allocated_bytes"]}
            for row in recorded.layers
            if row["allocated_bytes"]
        ),
        key=lambda row: -row["allocated_bytes"],
    )
    peak = max((entry["peak"] for entry in devices.values()), default=None)
    return {"peak": peak, "unit": "bytes", "devices": devices, "layers": by_layer}


def gpu(recorded: Recorded, kernels: bool, transfers: bool) -> dict[str, Any]:
    """Device time, with kernels and copies if requested."""
    data = recorded.data
    found = {
        "device": data["device"],
        "span_ms": data["span_ns"] / 1e6,
        "busy_ms": data["device_busy_ns"] / 1e6,
        "busy_share": data["device_busy_ns"] / data["span_ns"] if data["span_ns"] else None,
        "gaps": data["gaps"],
        "synchronizations": data["synchronizations"],
        "launch": data["launch"],
        "findings": data["findings"],
    }
    if kernels:
        found["kernels"] = data["kernels"]
    if transfers:
        found["memory_transfers"] = data["copies"]
    return found


def op_shares(recorded: Recorded) -> tuple[list[tuple[str, float, int]], float]:
    """(name, share of all operators' own time, calls), largest first; and the share of the calls'
    time outside of operators: Python, and the framework between them."""
    return recorded.core.op_shares(), recorded.call(False).outside


def add_tables(bench: Any, index: int, recorded: Recorded) -> None:
    """Adds layers, operators and waits to a result, the largest first."""
    rows = recorded.layers
    bench.table(
        index,
        "Layers",
        ["layer", "class", "calls", "own ms", "share"],
        [
            [rows[layer]["path"] or "(model)", rows[layer]["class"], str(rows[layer]["calls"]),
             f"{own_ns / 1e6:.3f}", f"{share:.1%}"]
            for layer, own_ns, share in recorded.core.layer_shares()[:TABLE_ROWS]
        ],
    )  # fmt: skip
    shares, outside = op_shares(recorded)
    bench.table(
        index,
        "Operators",
        ["operator", "calls", "share"],
        [[name, str(calls), f"{share:.1%}"] for name, share, calls in shares[:TABLE_ROWS]],
    )
    bench.fact(
        index, "outside of operators", f"{outside:.1%} of a call: Python, dispatch and waiting"
    )
    waits = [
        [row.get("name") or row.get("call") or "", str(row.get("calls", 1)),
         f"{row.get('total_ns', row.get('host_ns', 0)) / 1e6:.3f}"]
        for row in recorded.data["synchronizations"][:TABLE_ROWS]
    ]  # fmt: skip
    bench.table(index, "Blocking", ["call that waits", "calls", "ms"], waits)
