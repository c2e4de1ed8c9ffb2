"""Runs other FLOP counters, fvcore and torch's, on the models that the tool prices.

The command-line tool embeds this file and runs it in the user's Python.
"""

from __future__ import annotations

import contextlib
import logging
import pathlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .archive import slow_attention_path
from .build import build_spec
from .example_inputs import as_arguments
from .export_errors import Broken, first_line, locate
from .named_models import available_bytes, make_named, named_inputs, open_program
from .requirements import Missing, Unusable, require

if TYPE_CHECKING:
    import torch


@contextlib.contextmanager
def plain_paths() -> Iterator[None]:
    """Disables the fused paths, which torch's counter cannot look into."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with (
        slow_attention_path(),
        torch.no_grad(),
        sdpa_kernel(SDPBackend.MATH),
        torch.backends.mkldnn.flags(enabled=False),
    ):
        yield


Call = tuple[Any, tuple[Any, ...], dict[str, Any]]  # callable and arguments


def call_of_program(path: str, inputs: Sequence[Mapping[str, Any]]) -> Call:
    """An exported program, and zeros of the requested sizes in the structure of its inputs."""
    import torch
    from torch.export.graph_signature import ConstantArgument, InputKind
    from torch.utils import _pytree as pytree

    try:
        program = open_program(path)
    except Exception as error:
        raise Unusable(f"torch cannot load the file: {first_line(error)}") from error
    shapes = {given["name"]: given for given in inputs}
    leaves: list[Any] = []
    for given in program.graph_signature.input_specs:
        if given.kind is not InputKind.USER_INPUT:
            continue
        if isinstance(given.arg, ConstantArgument):
            leaves.append(given.arg.value)
        else:
            size = shapes[given.arg.name]
            leaves.append(torch.zeros(tuple(size["shape"]), dtype=getattr(torch, size["dtype"])))
    args, kwargs = pytree.tree_unflatten(leaves, program.call_spec.in_spec)
    module = program.module(check_guards=False)
    # Tracing counters cannot follow computed sizes: fix the sizes here.
    if program.range_constraints:
        with contextlib.suppress(Exception):
            module = torch.export.export(module, tuple(args), dict(kwargs)).module()
    return module, tuple(args), dict(kwargs)


def call_of_builder(spec: str, inputs: Sequence[Mapping[str, Any]], device: str) -> Call:
    """The module of the user's function or folder, with its own inputs at the requested sizes."""
    import torch
    from torch.utils import _pytree as pytree

    module, own = build_spec(spec, device)
    if own is None:
        return module, *named_inputs(module, inputs, device)
    leaves, structure = pytree.tree_flatten(as_arguments(own))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if len(tensors) != len(inputs):
        return module, *named_inputs(module, inputs, device)
    shapes = iter([tuple(given["shape"]) for given in inputs])

    def resized(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        shape = next(shapes)
        same = tuple(leaf.shape) == shape
        return leaf.to(device) if same else torch.zeros(shape, dtype=leaf.dtype, device=device)

    args, kwargs = pytree.tree_unflatten([resized(leaf) for leaf in leaves], structure)
    return module, args, kwargs


def file_of(model: Mapping[str, Any]) -> str:
    """The .pt2 file from which a registered model was added, if it exists; else ""."""
    builder = model["builder"]
    is_file = not model["package"] and pathlib.Path(builder).is_file()
    return builder if builder and is_file and not builder.endswith(".py") else ""


def call_of(model: Mapping[str, Any], device: str) -> Call:
    """The call to count: the model itself, and inputs of the requested sizes."""
    path = model["path"] or file_of(model)
    if path:
        if device != "cpu":
            raise Unusable("an exported program runs where its weights are")
        return call_of_program(path, model["inputs"])
    if not model["package"]:
        if not model["builder"]:
            raise Unusable("its builder is unknown")
        return call_of_builder(model["builder"], model["inputs"], device)
    module = make_named(model["package"], model["builder"], device)
    return module, *named_inputs(module, model["inputs"], device)


def of_tensors(module: Any, leaves: Sequence[Any], structure: Any) -> torch.nn.Module:
    """Wraps the module for tracing counters: it takes the tensors among `leaves` in order, and
    returns the tensors of its result, which may be a custom object."""
    import torch
    from torch.utils import _pytree as pytree

    def tensors_in(result: Any) -> list[torch.Tensor]:
        if isinstance(result, torch.Tensor):
            return [result]
        parts = list(result.values()) if isinstance(result, Mapping) else result
        if not isinstance(parts, (list, tuple)):
            return []
        return [tensor for part in parts for tensor in tensors_in(part)]

    class OfTensors(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            given = iter(tensors)
            filled = [next(given) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            args, kwargs = pytree.tree_unflatten(filled, structure)
            return tuple(tensors_in(self.module(*args, **kwargs)))

    made = OfTensors()
    # An exported program has no eval mode.
    with contextlib.suppress(NotImplementedError):
        made.eval()
    return made


def count_fvcore(model: Mapping[str, Any]) -> dict[str, Any]:
    """fvcore's total and operators. It runs the model with real weights, on the CPU."""
    import fvcore.nn
    import torch
    from torch.utils import _pytree as pytree

    needed = 4 * model["params"]
    if needed > available_bytes() * 0.7:
        raise RuntimeError(f"fvcore allocates all weights, here {needed / 2**30:.0f} GiB")
    module, args, kwargs = call_of(model, "cpu")
    leaves, structure = pytree.tree_flatten((args, kwargs))
    tensors = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
    traced = of_tensors(module, leaves, structure)
    analysis = fvcore.nn.FlopCountAnalysis(traced, tensors)
    analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    with slow_attention_path():
        return {
            "total": int(analysis.total()),
            "by_operator": {name: int(count) for name, count in analysis.by_operator().items()},
            "uncounted": {
                name.removeprefix("aten::"): int(count)
                for name, count in analysis.unsupported_ops().items()
            },
        }


def count_torch(model: Mapping[str, Any]) -> dict[str, Any]:
    """FlopCounterMode's total and operators, on the meta device if the model allows it."""
    from torch.utils.flop_counter import FlopCounterMode

    last: Exception | None = None
    for device in ("cpu",) if model["path"] or file_of(model) else ("meta", "cpu"):
        if device == "cpu" and 4 * model["params"] > available_bytes() * 0.7:
            break
        try:
            module, args, kwargs = call_of(model, device)
            with plain_paths(), FlopCounterMode(display=False) as counter:
                module(*args, **kwargs)
        except (Unusable, Missing):
            raise
        except Exception as error:
            last = error
            continue
        counts = counter.get_flop_counts().get("Global", {})
        return {
            "total": int(counter.get_total_flops()),
            "by_operator": {str(op).removeprefix("aten."): int(n) for op, n in counts.items()},
            "uncounted": {},
        }
    if last is None:
        raise Unusable(f"running it requires {4 * model['params'] / 2**30:.0f} GiB of memory")
    raise last


_COUNTERS = {"fvcore": count_fvcore, "torch": count_torch}


def count(request: Mapping[str, Any]) -> dict[str, Any]:
    """Runs each counter on each model; failures are part of the results."""
    packages = ["torch", *(name for name in request["against"] if name != "torch")]
    packages += [model["package"] for model in request["models"] if model["package"]]
    require(list(dict.fromkeys(packages)))
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    results = []
    for model in request["models"]:
        for counter in request["against"]:
            result = {"model": model["name"], "counter": counter}
            try:
                result |= _COUNTERS[counter](model)
            except Exception as error:
                result["error"] = reason_of(error)
            results.append(result)
    return {"results": results, "versions": versions(packages)}


def reason_of(error: Exception) -> str:
    """Why a counter failed, in one line with the place in the user's code."""
    if isinstance(error, Unusable):
        return str(error)
    if isinstance(error, Missing):
        return f"{error} is not installed"
    if isinstance(error, Broken):
        error = error.error
    place = locate(error)
    where = f" at {place['file']}:{place['line']}" if place["file"] else ""
    return f"{type(error).__name__}: {first_line(error)}{where}"


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The installed versions."""
    import importlib.metadata

    found = {}
    for name in dict.fromkeys(packages):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found
