"""Exports the user's module as an archive without weights, with as many sizes open as possible."""

from __future__ import annotations

import contextlib
import inspect
import os
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._error import Error
from .archive import export, slow_attention_path, tied_parameters, write_archive
from .build import build_spec
from .example_inputs import as_arguments, from_first_layer
from .export_errors import Broken, hint_for, quiet
from .requirements import require

if TYPE_CHECKING:
    import torch


DEFAULT_SHAPE = (1, 3, 224, 224)


def example(module: torch.nn.Module, shape: Sequence[int] | None) -> torch.Tensor:
    """A tensor of that shape, with the type of the module's first layer; without a shape, an input
    of that layer."""
    import torch

    parameter = next(iter(module.parameters()), None)
    device = parameter.device if parameter is not None else "cpu"
    if shape is None:
        with contextlib.suppress(Error):
            return from_first_layer(module, 1).args[0].to(device)
        shape = DEFAULT_SHAPE
    first = next((layer for layer in module.modules() if not list(layer.children())), None)
    if isinstance(first, (torch.nn.Embedding, torch.nn.EmbeddingBag)):
        return torch.zeros(tuple(shape), dtype=torch.int64, device=device)
    dtype = parameter.dtype if parameter is not None else torch.float32
    return torch.zeros(
        tuple(shape), dtype=dtype if dtype.is_floating_point else torch.float32, device=device
    )


def with_batch_of_two(value: Any) -> Any:
    """A tensor with 2 where its first size is 1: export would fix a size of 1."""
    import torch

    if not isinstance(value, torch.Tensor) or value.ndim == 0 or value.shape[0] != 1:
        return value
    return torch.cat([value, value])


def open_sizes(value: Any) -> Any:
    """The argument for torch.export that leaves as many sizes of a tensor open as possible."""
    import torch

    if not isinstance(value, torch.Tensor):
        return None
    return {axis: torch.export.Dim.AUTO for axis in range(value.ndim)}


def run_plainly(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises Broken if the model does not run with these inputs."""
    import torch

    try:
        with torch.no_grad():
            module(*args, **kwargs)
    except Exception as error:
        raise Broken("forward", error, hint_for(error, module)) from error


def export_module(module: torch.nn.Module, inputs: Any, shape: Sequence[int] | None) -> bytes:
    """A module as an archive without weights, with as many sizes open as possible."""
    import torch
    from torch.utils import _pytree as pytree

    if inputs is None:
        inputs = example(module, shape)
    args, kwargs = as_arguments(inputs)
    label = type(module).__name__
    program = None
    with quiet(hide_warnings=True), torch.no_grad(), slow_attention_path():
        if hasattr(torch.export, "Dim") and hasattr(torch.export.Dim, "AUTO"):
            wider = pytree.tree_map(with_batch_of_two, (args, kwargs))
            sizes = pytree.tree_map(open_sizes, wider)
            names = list(inspect.signature(module.forward).parameters)
            by_name = dict(zip(names, sizes[0], strict=False)) | sizes[1]
            dynamic = by_name if kwargs else tuple(sizes[0])
            with contextlib.suppress(Exception):
                program = export(module, *wider, dynamic, False)
        if program is None:
            try:
                program = export(module, args, kwargs, None, False)
            except Broken:
                run_plainly(module, args, kwargs)
                raise
        shapes = default_shapes(program, pytree.tree_leaves((args, kwargs)))
        return write_archive(program, label, tied_parameters(module), shapes)


def default_shapes(program: Any, given: Sequence[Any]) -> dict[str, list[int]]:
    """Each input tensor of a program, by name, with its given shape."""
    import torch

    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    names = [name for name in program.graph_signature.user_inputs if isinstance(name, str)]
    tensors = [name for name in names if isinstance(values.get(name), torch.Tensor)]
    shapes = [list(leaf.shape) for leaf in given if isinstance(leaf, torch.Tensor)]
    return dict(zip(tensors, shapes, strict=True)) if len(tensors) == len(shapes) else {}


def with_shape(module: torch.nn.Module, inputs: Any, shape: Sequence[int] | None) -> Any:
    """Example inputs with the requested shape, if the only input is a tensor. With several inputs,
    the first gets its size when the program is priced."""
    import torch
    from torch.utils import _pytree as pytree

    if shape is None:
        return inputs
    if inputs is None:
        return example(module, shape)
    leaves, structure = pytree.tree_flatten(inputs)
    if len(leaves) != 1 or not isinstance(leaves[0], torch.Tensor):
        return inputs
    resized = torch.zeros(tuple(shape), dtype=leaves[0].dtype, device=leaves[0].device)
    return pytree.tree_unflatten([resized], structure)


def export_spec(spec: str, shape: Sequence[int] | None, archive: str) -> dict[str, Any]:
    """Exports "file.py:function", "package.module:function" or a folder into a file."""
    require(["torch"])
    module, inputs = build_spec(spec)
    inputs = with_shape(module, inputs, shape)
    pathlib.Path(archive).write_bytes(export_module(module, inputs, shape))
    if os.path.isdir(spec):
        return {"label": type(module).__name__, "builder": str(pathlib.Path(spec).resolve())}
    place, _, name = spec.rpartition(":")
    known = str(pathlib.Path(place).resolve()) if place.endswith(".py") else place
    return {"label": type(module).__name__, "builder": f"{known}:{name}"}
