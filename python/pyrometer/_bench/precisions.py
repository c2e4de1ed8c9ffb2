"""Precisions: quantising a module with an engine that works here, and seeing which types the
operators of a call really run in."""

from __future__ import annotations

import collections
import contextlib
import copy
import platform
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from pyrometer._error import Error

TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "int8"}

# Operators whose type is what a precision is about; what surrounds them may stay wider.
PRODUCTS = (
    "mm", "linear", "conv1d", "conv2d", "conv3d", "convolution", "conv_transpose", "matmul",
    "attention", "einsum", "lstm", "gru", "rnn", "encoder_layer", "addmv", "dot", "mv",
)  # fmt: skip
EIGHT_BITS = ("torch.int8", "torch.uint8", "torch.qint8", "torch.quint8")


def quantise(module: Any, device: str) -> tuple[Any, str]:
    """A copy with linear and recurrent layers in int8, and how; also where the module itself is
    such a layer. ValueError where nothing could be quantised."""
    import torch

    if device != "cpu":
        raise ValueError('precision "int8" is dynamic quantisation, which runs on device="cpu"')
    from torch.ao.quantization import quantize_dynamic

    kinds = {torch.nn.Linear, torch.nn.LSTM, torch.nn.GRU}
    if not any(type(layer) in kinds for layer in module.modules()):
        raise ValueError('precision "int8" quantises linear and recurrent layers; there are none')
    # quantize_dynamic() replaces layers in what holds them: the module itself needs a holder too.
    holder = torch.nn.Sequential(copy.deepcopy(module).eval().float())
    with _working_engine() as engine, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_dynamic(holder, kinds, dtype=torch.qint8, inplace=True)
    count = sum(_is_quantised(layer) for layer in holder.modules())
    if count == 0:
        raise ValueError('precision "int8": torch quantised no layer of this module')
    layers = "layer" if count == 1 else "layers"
    how = f"dynamic quantisation of {count} linear and recurrent {layers} to int8 ({engine})"
    return holder[0], how


def _is_quantised(layer: Any) -> bool:
    return type(layer).__module__.startswith("torch.ao.nn.quantized.dynamic")


def _candidates() -> list[str]:
    """Engines of torch for quantised operators, those first that suit this processor."""
    import torch

    quantized = torch.backends.quantized
    x86 = platform.machine().lower() in ("x86_64", "amd64", "i686")
    order = ["x86", "fbgemm", "onednn", "qnnpack"]
    # Elsewhere the one that torch has set may be made for x86, or end the process (onednn on an
    # AArch64 processor that it does not know).
    names = [quantized.engine, *order] if x86 else ["qnnpack", quantized.engine, *reversed(order)]
    names += quantized.supported_engines
    return [
        name
        for name in dict.fromkeys(names)
        if name in quantized.supported_engines and name != "none"
    ]


def _probe() -> None:
    """Quantises and runs one layer; raises where the present engine cannot, or computes badly."""
    import torch

    generator = torch.Generator().manual_seed(0)
    holder = torch.nn.Sequential(torch.nn.Linear(16, 16))
    values = torch.randn(4, 16, generator=generator)
    with torch.no_grad():
        expected = holder(values)
        torch.ao.quantization.quantize_dynamic(
            holder, {torch.nn.Linear}, dtype=torch.qint8, inplace=True
        )
        error = (holder(values) - expected).abs().max()
    if not error < 0.2:
        raise RuntimeError(f"wrong by {float(error):.2g}")


@contextlib.contextmanager
def _working_engine() -> Iterator[str]:
    """Sets the first engine that works on this processor; torch lists some that do not (fbgemm on
    AArch64). The one that was set before is set again."""
    import torch

    quantized = torch.backends.quantized
    before = quantized.engine
    failed = []
    try:
        for name in _candidates():
            try:
                quantized.engine = name
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    _probe()
            except Exception as error:
                lines = str(error).strip().splitlines() or [type(error).__name__]
                failed.append(f"{name}: {lines[0][:80]}")
                continue
            yield name
            return
        raise ValueError(
            'precision "int8": this torch has no engine for quantised layers that works on this '
            f"processor ({'; '.join(failed) or 'it was built without any'})"
        )
    finally:
        quantized.engine = before


class Types:
    """Types that the operators of one call ran in, with how often: of products (matrices,
    convolutions, attention, recurrent layers), and of all others that compute."""

    def __init__(self) -> None:
        self.products: collections.Counter[str] = collections.Counter()
        self.others: collections.Counter[str] = collections.Counter()

    def see(self, name: str, types: list[str]) -> None:
        base = name.split(".")[1] if "." in name else name
        if "quantized" in name or any(kind in EIGHT_BITS for kind in types):
            found = "int8"
        else:
            floating = [kind for kind in types if "float" in kind]
            if not floating:
                return
            found = floating[0].removeprefix("torch.")
        is_product = any(part in base for part in PRODUCTS)
        (self.products if is_product else self.others)[found] += 1

    @property
    def counted(self) -> collections.Counter[str]:
        return self.products or self.others

    def share(self, kind: str) -> float | None:
        """Of the products, else of the other operators; None: nothing was seen."""
        whole = sum(self.counted.values())
        return self.counted[kind] / whole if whole else None

    def describe(self) -> str:
        """ "float32", or "int8 in 12 of 13 products, float32 in 1"."""
        counted = self.counted
        if len(counted) < 2:
            return next(iter(counted), "unknown")
        what = "products" if self.products else "operators"
        whole = sum(counted.values())
        (first, count), *rest = counted.most_common()
        parts = [f"{first} in {count} of {whole} {what}"]
        return ", ".join(parts + [f"{kind} in {number}" for kind, number in rest])


def _names_of(values: Any) -> Iterator[str]:
    import torch

    for value in values:
        if isinstance(value, torch.Tensor):
            yield str(value.dtype)
        elif isinstance(value, list | tuple):
            yield from _names_of(value)


def observe(run: Callable[[], Any]) -> Types:
    """Calls once and notes the type of every operator below autocast and above kernels. What is
    compiled runs as it was written, whose types it shares."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = Types()

    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None):
            seen.see(str(func), list(_names_of(args)))
            return func(*args, **(kwargs or {}))

    stance = getattr(torch.compiler, "set_stance", None)
    eager = stance("force_eager") if stance is not None else contextlib.nullcontext()
    with eager, Watching():
        run()
    return seen


def of_weights(module: Any) -> Types:
    """Where operators cannot be seen: the types of the parameters."""
    seen = Types()
    for parameter in module.parameters():
        seen.see("weight", [str(parameter.dtype)])
    return seen


def check(asked: str, seen: Types, how: str) -> str | None:
    """What to warn of where only a part runs in the precision that was asked for; an Error where
    nothing does."""
    if asked == "fp32":
        return None
    kind = TYPES[asked]
    share = seen.share(kind)
    if share is None:
        raise Error(
            f'precision "{asked}" was asked for ({how}), but no operator of torch was seen in a '
            'call: what it computes in cannot be converted from here; precision="fp32" measures '
            "it as it is",
            "unsupported",
        )
    if share == 0:
        raise Error(
            f'precision "{asked}" was asked for ({how}), but what runs is {seen.describe()}: '
            "the model sets its own types; convert it before, and measure it as it is with "
            'precision="fp32"',
            "unsupported",
        )
    return f"precision {asked}: {seen.describe()}" if share < 0.5 else None
