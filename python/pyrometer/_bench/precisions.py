"""Quantises modules with an engine that works on this machine, and observes the types in which the
operators of a call run."""

from __future__ import annotations

import collections
import contextlib
import copy
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from pyrometer._error import Error

TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "int8": "int8"}

# Operators that define a precision; the others may use wider types.
PRODUCTS = (
    "mm", "linear", "conv1d", "conv2d", "conv3d", "convolution", "conv_transpose", "matmul",
    "attention", "einsum", "lstm", "gru", "rnn", "encoder_layer", "addmv", "dot", "mv",
)  # fmt: skip
EIGHT_BITS = ("torch.int8", "torch.uint8", "torch.qint8", "torch.quint8")


def quantise(module: Any, device: str) -> tuple[Any, str]:
    """Returns a copy with linear and recurrent layers in int8, and a description; the module may
    itself be such a layer. Raises ValueError if nothing could be quantised."""
    import torch

    if device != "cpu":
        raise ValueError('precision "int8" is dynamic quantisation, which requires device="cpu"')
    from torch.ao.quantization import quantize_dynamic

    kinds = {torch.nn.Linear, torch.nn.LSTM, torch.nn.GRU}
    if not any(type(layer) in kinds for layer in module.modules()):
        raise ValueError('precision "int8" requires linear or recurrent layers; the model has none')
    # quantize_dynamic() replaces children of a module: the module itself needs a parent too.
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
    """Torch's engines for quantised operators, the best for this processor first."""
    import torch

    quantized = torch.backends.quantized
    x86 = platform.machine().lower() in ("x86_64", "amd64", "i686")
    order = ["x86", "fbgemm", "onednn", "qnnpack"]
    # On other processors torch's default may be made for x86, or crash the process (onednn on an
    # AArch64 processor that it does not know).
    names = [quantized.engine, *order] if x86 else ["qnnpack", quantized.engine, *reversed(order)]
    names += quantized.supported_engines
    return [
        name
        for name in dict.fromkeys(names)
        if name in quantized.supported_engines and name != "none"
    ]


def _probe() -> None:
    """Quantises and runs one layer; raises if the current engine fails or computes badly."""
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
    """Sets the first engine that works on this processor; torch also lists engines that do not
    (fbgemm on AArch64). Restores the previous engine."""
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
            f"processor ({'; '.join(failed) or 'built without any'})"
        )
    finally:
        quantized.engine = before


class Types:
    """Types in which the operators of one call ran, with counts: for products (matrices,
    convolutions, attention, recurrent layers), and for all other computing operators."""

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
        """Share of the products, else of the other operators; None: nothing was observed."""
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
    """Calls once and notes the type of every operator below autocast and above kernels. Compiled
    code runs in its original form, which uses the same types."""
    was_loaded = _is_compiler_loaded()
    seen = _observe(run)
    if _is_compiler_loaded() and not was_loaded:
        return _observe(run)  # the call itself compiled something
    return seen


def _is_compiler_loaded() -> bool:
    return "torch._dynamo" in sys.modules


def _observe(run: Callable[[], Any]) -> Types:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = Types()

    class Watching(TorchDispatchMode):
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return _is_compiler_loaded()  # True would load it, as set_stance() below

        def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None):
            seen.see(str(func), list(_names_of(args)))
            return func(*args, **(kwargs or {}))

    eager: Any = contextlib.nullcontext()
    # set_stance() would load the compiler, which takes longer than torch itself.
    if _is_compiler_loaded() and hasattr(torch.compiler, "set_stance"):
        eager = torch.compiler.set_stance("force_eager")
    with eager, Watching():
        run()
    return seen


def of_weights(module: Any) -> Types:
    """The types of the parameters, for models whose operators cannot be observed."""
    seen = Types()
    for parameter in module.parameters():
        seen.see("weight", [str(parameter.dtype)])
    return seen


def check(asked: str, seen: Types, how: str) -> str | None:
    """Returns a warning if only a part runs in the requested precision; raises an Error if nothing
    does."""
    if asked == "fp32":
        return None
    kind = TYPES[asked]
    share = seen.share(kind)
    if share is None:
        raise Error(
            f'requested precision "{asked}" ({how}), but no operator of torch was observed in a '
            'call, so the model cannot be converted; use precision="fp32" to measure '
            "it unchanged",
            "unsupported",
        )
    if share == 0:
        raise Error(
            f'requested precision "{asked}" ({how}), but the model runs in {seen.describe()}: '
            "it sets its own types; convert it first, and measure it unchanged with "
            'precision="fp32"',
            "unsupported",
        )
    return f"precision {asked}: {seen.describe()}" if share < 0.5 else None
