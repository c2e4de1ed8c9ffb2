"""Gathers the evidence for recommendations from an engine, its recording and its measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyrometer import _core
from pyrometer._bench import recorded_calls
from pyrometer._bench.recommendations import Evidence
from pyrometer._helper.example_inputs import Inputs


def gather(
    engine: Any,
    placed: Inputs,
    call_ms: float,
    batch_ms: Mapping[int, float],
    cost: Any,
    recorded: recorded_calls.Recorded | None,
    measured: Mapping[str, Any],
) -> Evidence:
    """`batch_ms`: milliseconds per call by batch, the current one included. `measured`: amounts of
    the timed calls, named like the fields of Evidence; "peak" is the peak memory."""
    import torch

    found = Evidence(
        kind=engine.kind,
        precision=engine.precision,
        on_gpu=engine.on_gpu,
        batch_size=placed.batch_size(),
        call_ms=call_ms,
        batch_ms=dict(batch_ms),
        half_type=_half_type(engine),
        channels_last=_is_channels_last(engine, placed),
        weight_bytes=engine.weight_bytes(),
        zero_share=_zero_share(engine),
        device_bytes=_device_bytes(engine),
        threads=torch.get_num_threads(),
        usable=_core.usable_cpus(),
    )
    if cost is not None:
        found.flops, found.moved_bytes = cost.total_flops, cost.total_memory
    if recorded is not None:
        _add_recording(found, recorded, engine)
    _add_measured(found, measured)
    _add_language(found, engine, placed)
    return found


def _half_type(engine: Any) -> tuple[str, str] | None:
    """The 16-bit type that is fast here, and why; None if there is no such type."""
    if engine.on_gpu:
        import torch

        capability = torch.cuda.get_device_capability(engine.device)[0]
        return ("fp16", "this GPU has tensor cores") if capability >= 7 else None
    extension = _core.bfloat16_extension()
    return ("bf16", f"this processor has {extension}") if extension else None


def _is_channels_last(engine: Any, placed: Inputs) -> bool:
    """Whether convolution weights or image inputs already have that layout."""
    import torch

    tensors = [tensor for _, tensor in placed.tensors() if isinstance(tensor, torch.Tensor)]
    if isinstance(engine.module, torch.nn.Module):
        tensors += list(engine.module.parameters())
    return any(
        tensor.dim() == 4
        and min(tensor.shape[1:]) > 1
        and tensor.is_contiguous(memory_format=torch.channels_last)
        for tensor in tensors
    )


def _zero_share(engine: Any) -> float | None:
    """Share of zeros in weights with at least two dims; biases and scales are often 0 by design."""
    import torch

    if not isinstance(engine.module, torch.nn.Module) or engine.kind == "torchscript":
        return None
    weights = [p for p in engine.module.parameters() if p.dim() >= 2 and p.is_floating_point()]
    whole = sum(p.numel() for p in weights)
    if whole == 0:
        return None
    with torch.no_grad():
        zeros = sum(p.numel() - int(torch.count_nonzero(p)) for p in weights)
    return zeros / whole


def _device_bytes(engine: Any) -> int | None:
    if engine.on_gpu:
        import torch

        return torch.cuda.get_device_properties(engine.device).total_memory
    return _core.machine_memory_bytes()


def _add_recording(found: Evidence, recorded: recorded_calls.Recorded, engine: Any) -> None:
    found.ops, found.outside = recorded_calls.op_shares(recorded)
    found.classes = frozenset(row["class"] for row in recorded.layers)
    found.activation_bytes = recorded_calls.activation_bytes(recorded, engine)
    found.findings = list(recorded.data["findings"])
    call = recorded.call(engine.on_gpu)
    found.allocations, found.allocated_bytes = call.allocations, call.allocated_bytes


def _add_measured(found: Evidence, measured: Mapping[str, Any]) -> None:
    for name in ("cpu_percent", "waiting", "gpu_percent", "disk_read_bytes", "calls_timed",
                 "fragmentation", "stages_ms", "first_token_ms", "token_ms"):  # fmt: skip
        if measured.get(name) is not None:
            setattr(found, name, measured[name])
    found.peak_bytes = measured.get("peak") or 0


def _add_language(found: Evidence, engine: Any, placed: Inputs) -> None:
    config = getattr(engine.module, "config", None)
    if config is None:
        return
    found.attention = getattr(config, "_attn_implementation", None)
    if found.token_ms is not None:
        found.caches = getattr(config, "use_cache", None)
        found.cache_bytes = _cache_bytes(config, engine, placed)


def _cache_bytes(config: Any, engine: Any, placed: Inputs) -> int | None:
    """Bytes of keys and values of every layer, for the measured tokens."""
    from pyrometer._bench.language_model import prompt_of

    prompt = prompt_of(placed)
    layers = getattr(config, "num_hidden_layers", None)
    heads = getattr(config, "num_attention_heads", None)
    hidden = getattr(config, "hidden_size", None)
    if prompt is None or not layers or not heads or not hidden:
        return None
    groups = getattr(config, "num_key_value_heads", None) or heads
    width = getattr(config, "head_dim", None) or hidden // heads
    size = next(iter(engine.module.parameters())).element_size()
    return 2 * layers * groups * width * prompt.numel() * size
