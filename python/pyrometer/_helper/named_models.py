"""Builds the tool's named models with their packages and random weights, or loads them."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .requirements import Unusable, declare_operators
from .torchvision_weights import without_downloads

if TYPE_CHECKING:
    import torch


def make_named(package: str, builder: str, device: str) -> torch.nn.Module:
    """Builds a built-in model with its package, by the tool's expression."""
    import torch

    if "..." in builder:
        raise Unusable("its stored builder is incomplete")
    declare_operators()
    downloads = without_downloads() if package == "torchvision" else contextlib.nullcontext()
    names = {"torch": torch, package: importlib.import_module(package)}
    with downloads, torch.device(device):
        module = eval(builder, names).eval()
    if type(getattr(module, "transform", None)).__name__ == "GeneralizedRCNNTransform":
        raise Unusable(
            "a detector selects boxes by their values; its graph is priced with their number as an "
            "input, which other counters do not support"
        )
    # Disable the cache: it was not requested, and is not a tensor.
    config = getattr(module, "config", None)
    if package == "transformers" and config is not None:
        config.use_cache = False
    return module


def open_program(path: str) -> Any:
    """The exported program of "file.pt2", or of "file.pt2:name" if the file has several."""
    import torch

    if pathlib.Path(path).is_dir():
        path = str(next(pathlib.Path(path).glob("*.pt2")))
    if pathlib.Path(path).exists():
        return torch.export.load(path)
    file, _, name = path.rpartition(":")
    from torch.export.pt2_archive._package import load_pt2

    return load_pt2(file).exported_programs[name]


def named_inputs(
    module: torch.nn.Module, inputs: Sequence[Mapping[str, Any]], device: str
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Zeros of the requested sizes: by name if forward has these names, else in order."""
    import torch

    tensors = {
        given["name"]: torch.zeros(
            tuple(given["shape"]), dtype=getattr(torch, given["dtype"]), device=device
        )
        for given in inputs
    }
    known = inspect.signature(module.forward).parameters
    if len(tensors) > 1 and all(name in known for name in tensors):
        return (), tensors
    return tuple(tensors.values()), {}


def available_bytes() -> int:
    """Memory available to a new process."""
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    return sys.maxsize
