"""Recommendations: what the measurements and the model's cost suggest, with evidence and gain."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyrometer import _recorded

COLUMNS = ["subject", "recommendation", "evidence", "gain", "try"]

CONTRACTIONS = ("mm", "linear", "conv", "attention", "matmul", "mkldnn")
ELEMENTWISE = (
    "add", "mul", "sub", "div", "relu", "gelu", "silu", "sigmoid", "tanh", "norm", "softmax",
    "dropout", "clamp", "exp", "pow", "copy_", "hardswish", "hardtanh", "where", "mean", "rsqrt",
)  # fmt: skip


@dataclass
class Evidence:
    """What is known of a model after profiling it."""

    engine: Any
    batch_size: int
    call_ms: float
    doubled_ms: float | None  # with a batch twice as large
    cost: Any
    recorded: _recorded.Recorded | None

    def share(self, words: tuple[str, ...]) -> tuple[float, int]:
        """Of operators' own time, and calls, of those whose name has one of the words."""
        if self.recorded is None:
            return 0.0, 0
        rows, _ = _recorded.op_shares(self.recorded)
        found = [row for row in rows if any(word in row[0].split("::")[-1] for word in words)]
        return sum(row[1] for row in found), sum(row[2] for row in found)

    def elementwise(self) -> tuple[float, int]:
        if self.recorded is None:
            return 0.0, 0
        rows, _ = _recorded.op_shares(self.recorded)
        found = [
            row
            for row in rows
            if any(word in row[0] for word in ELEMENTWISE)
            and not any(word in row[0].split("::")[-1] for word in CONTRACTIONS)
        ]
        return sum(row[1] for row in found), sum(row[2] for row in found)


def processor_flags() -> set[str]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(("flags", "Features")):
                    return set(line.partition(":")[2].split())
    except OSError:
        pass
    return set()


def _mebibytes(size: float) -> str:
    return f"{size / 2**20:.1f} MiB"


def _batch(evidence: Evidence) -> Iterator[list[str]]:
    if evidence.doubled_ms is None or evidence.doubled_ms <= 0:
        return
    gain = 2 * evidence.call_ms / evidence.doubled_ms - 1
    size = evidence.batch_size
    seen = (
        f"batch {size}: {evidence.call_ms:.3g} ms, batch {2 * size}: {evidence.doubled_ms:.3g} ms"
    )
    if gain >= 0.10:
        yield [
            "batch size", f"raise the batch above {size}; benchmark() finds the knee", seen,
            f"{gain:.0%} throughput (measured)", f"batch={2 * size}",
        ]  # fmt: skip
        if size <= 4:
            yield [
                "dynamic batching", "collect requests that arrive together into one call", seen,
                f"{gain:.0%} throughput at twice the load (measured)", "",
            ]  # fmt: skip


def _precision(evidence: Evidence) -> Iterator[list[str]]:
    engine = evidence.engine
    if engine.precision != "fp32" or engine.kind == "onnx":
        return
    share, calls = evidence.share(CONTRACTIONS)
    if share < 0.3:
        return
    if engine.on_gpu:
        can, why = "fp16", "this GPU has tensor cores"
        import torch

        if torch.cuda.get_device_capability(engine.device)[0] < 7:
            return
    else:
        flags = processor_flags() & {"avx512_bf16", "amx_bf16", "bf16"}
        if not flags:
            return
        can, why = "bf16", f"this processor has {sorted(flags)[0]}"
    yield [
        "precision", f'precision="{can}"',
        f"{share:.0%} of the operators' time in {calls} products and convolutions; {why}",
        f"up to {share / 2:.0%} of the time (estimate)", f"precision={can}",
    ]  # fmt: skip


def _quantisation(evidence: Evidence) -> Iterator[list[str]]:
    engine = evidence.engine
    weights = engine.weight_bytes()
    if engine.precision != "fp32" or engine.on_gpu or engine.kind not in ("module", "huggingface"):
        return
    share, _ = evidence.share(("addmm", "linear", "bmm", "::mm"))
    if weights is None or share < 0.5:
        return
    yield [
        "quantisation", 'precision="int8": linear layers are quantised as they run',
        f"{share:.0%} of the operators' time in linear layers; weights are {_mebibytes(weights)}",
        f"up to {_mebibytes(weights * 0.75)} of memory (estimate); check the accuracy",
        "precision=int8",
    ]  # fmt: skip


def _fusion(evidence: Evidence) -> Iterator[list[str]]:
    share, calls = evidence.elementwise()
    outside = 0.0
    if evidence.recorded is not None:
        _, outside = _recorded.op_shares(evidence.recorded)
    if share >= 0.10 and calls >= 5:
        yield [
            "operator fusion", "torch.compile: chains of elementwise operators become one",
            f"{share:.0%} of the operators' time in {calls} elementwise and norm calls",
            f"up to {share / 2:.0%} of the time (estimate)", "compile",
        ]  # fmt: skip
    elif outside >= 0.3:
        yield [
            "dispatch", "torch.compile, or a larger batch: the model is small for its calls",
            f"{outside:.0%} of a call is outside of operators",
            f"up to {outside:.0%} of the time (estimate)", "compile",
        ]  # fmt: skip


def _layout(evidence: Evidence) -> Iterator[list[str]]:
    share, calls = evidence.share(("conv",))
    layers = evidence.recorded.layers if evidence.recorded is not None else []
    if share >= 0.3 and any(row["class"] == "Conv2d" for row in layers):
        yield [
            "memory layout", "model.to(memory_format=torch.channels_last), inputs too",
            f"{share:.0%} of the operators' time in {calls} convolutions", "not estimated",
            "channels_last",
        ]  # fmt: skip


def _threads(evidence: Evidence) -> Iterator[list[str]]:
    import torch

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    threads = torch.get_num_threads()
    if not evidence.engine.on_gpu and threads != usable:
        word = "raise" if threads < usable else "lower"
        yield [
            "threads", f"{word} torch.set_num_threads() to {usable}",
            f"{threads} threads on {usable} usable processors", "not estimated",
            f"threads={usable}",
        ]  # fmt: skip


def _memory(evidence: Evidence) -> Iterator[list[str]]:
    engine = evidence.engine
    weights = engine.weight_bytes() or 0
    if evidence.recorded is None:
        return
    activations = _recorded.activation_bytes(evidence.recorded, engine) or 0
    memory = evidence.recorded.device_memory(engine.on_gpu)
    seen = f"activations {_mebibytes(activations)}, weights {_mebibytes(weights)}"
    if activations > weights > 0:
        yield [
            "gradient checkpointing", "torch.utils.checkpoint on repeated blocks where it trains",
            seen, "most of the activations kept for the backward, for a second forward (estimate)",
            "",
        ]  # fmt: skip
    total = _device_bytes(engine)
    if total and weights + activations > 0.9 * total:
        yield [
            "model sharding", "spread the weights over several devices (FSDP, tensor parallel)",
            f"{seen}, of {_mebibytes(total)}", "fits (estimate)", "",
        ]  # fmt: skip
    if memory is not None and activations > 0:
        again = memory["allocated_bytes"] / activations
        if memory["allocations"] >= 100 and again >= 10:
            how = (
                "CUDA graphs, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
                if engine.on_gpu
                else "an allocator that keeps blocks (jemalloc, tcmalloc by LD_PRELOAD)"
            )
            yield [
                "memory pooling", how,
                f"{memory['allocations']} allocations a call, {again:.0f} times the peak in all",
                "not estimated", "",
            ]  # fmt: skip


def _device_bytes(engine: Any) -> int | None:
    if engine.on_gpu:
        import torch

        return torch.cuda.get_device_properties(engine.device).total_memory
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _findings(evidence: Evidence) -> Iterator[list[str]]:
    """What the analysis of traces found in the recording."""
    if evidence.recorded is None:
        return
    for finding in evidence.recorded.data["findings"]:
        gain = finding["gain_ns"]
        yield [
            finding["title"], finding["advice"], finding["evidence"],
            "not estimated" if gain is None else f"{gain / 1e6:.3g} ms (estimate)", "",
        ]  # fmt: skip


RULES = (
    _batch, _precision, _quantisation, _fusion, _layout, _threads, _memory, _findings,
)  # fmt: skip


def recommend(evidence: Evidence) -> list[list[str]]:
    return [row for rule in RULES for row in rule(evidence)]
