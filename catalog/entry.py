"""Describes one model of the catalog or of the test zoo: its builder, inputs and variable sizes."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree


@dataclasses.dataclass(frozen=True)
class Input:
    """An input tensor of a model.

    `dynamic` lists the dims that export leaves symbolic, `other` is a second shape at which tests
    compute the cost, and integers are drawn from [0, `high`). For models of the catalog, `axes` is
    the meaning of each dim ("batch", "height", ...) and `bounds` the valid sizes (least, most) of a
    dim if export cannot know them.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    dynamic: tuple[int, ...] = ()
    other: tuple[int, ...] | None = None
    high: int = 2
    axes: tuple[str, ...] = ()
    bounds: Mapping[str, tuple[int, int | None]] = dataclasses.field(default_factory=dict)

    def export_shape(self) -> tuple[int, ...]:
        """The shape for export, with 2 for symbolic dims of size 1: export would fix them at 1."""
        return tuple(
            2 if size == 1 and dim in self.dynamic else size for dim, size in enumerate(self.shape)
        )

    def tensor(self, shape: tuple[int, ...], device: str) -> torch.Tensor:
        """An example of that shape, with deterministic values."""
        if device == "meta":
            return torch.empty(shape, dtype=self.dtype, device=device)
        values = torch.arange(math.prod(shape), device=device).reshape(shape)
        if self.dtype.is_floating_point or self.dtype.is_complex:
            return torch.sin(values.to(torch.float32)).to(self.dtype)
        return (values % self.high).to(self.dtype)


# Arguments of a forward by name: inputs, nested lists and dicts of them, or plain values.
Arguments = Mapping[str, Any]


def _is_input(value: Any) -> bool:
    return isinstance(value, Input)


@dataclasses.dataclass(frozen=True)
class Entry:
    """A named model.

    `build` runs under the entry's default device and returns a module. Arguments are passed by
    position or, with `by_name`, as forward(**arguments). `weights` is the torchvision weights entry
    whose published numbers the model must match. `plain` builds a module that does the same work
    without constructs that other counters do not support, such as a loop in the graph.
    """

    name: str
    display_name: str
    family: str
    package: str
    builder: str
    build: Callable[[], torch.nn.Module]
    arguments: Arguments
    by_name: bool = False
    device: str = "meta"
    weights: str | None = None
    plain: Callable[[], torch.nn.Module] | None = None

    def module(self) -> torch.nn.Module:
        """Builds the model in eval mode, with deterministic weights."""
        torch.manual_seed(0)
        with torch.device(self.device):
            return self.build().eval()

    def shapes(self, which: str) -> dict[str, Any]:
        """The arguments with every input replaced by its "default", "export" or "other" shape."""

        def shape_of(leaf: Any) -> Any:
            if not _is_input(leaf):
                return leaf
            if which == "export":
                return leaf.export_shape()
            return (leaf.other or leaf.shape) if which == "other" else leaf.shape

        return pytree.tree_map(shape_of, dict(self.arguments), is_leaf=_is_input)

    def example(self, which: str, device: str | None = None) -> tuple[tuple, dict]:
        """Positional and named example arguments at the "default", "export" or "other" shapes."""

        def tensor_of(leaf: Any) -> Any:
            if not _is_input(leaf):
                return leaf
            shapes = {"export": leaf.export_shape(), "other": leaf.other or leaf.shape}
            return leaf.tensor(shapes.get(which, leaf.shape), device or self.device)

        values = pytree.tree_map(tensor_of, dict(self.arguments), is_leaf=_is_input)
        return ((), values) if self.by_name else (tuple(values.values()), {})

    def inputs(self) -> list[Input]:
        """Its input tensors, in the order of an exported program's inputs."""
        leaves = pytree.tree_leaves(dict(self.arguments), is_leaf=_is_input)
        return [leaf for leaf in leaves if _is_input(leaf)]

    def is_dynamic(self) -> bool:
        """Whether any size of its inputs is variable."""
        return any(leaf.dynamic for leaf in self.inputs())

    def dynamic_shapes(self) -> Any:
        """The dynamic_shapes argument of torch.export; None if all sizes are fixed."""
        if not self.is_dynamic():
            return None

        def dims_of(leaf: Any) -> Any:
            return {dim: Dim.AUTO for dim in leaf.dynamic} if _is_input(leaf) else None

        dims = pytree.tree_map(dims_of, dict(self.arguments), is_leaf=_is_input)
        return dims if self.by_name else tuple(dims.values())


def ties(module: torch.nn.Module) -> dict[str, str]:
    """Further names of tied parameters, mapped to their first name."""
    first: dict[int, str] = {}
    tied: dict[str, str] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        if first.setdefault(id(parameter), name) != name:
            tied[name] = first[id(parameter)]
    return tied


def unique_parameters(module: torch.nn.Module) -> int:
    """Number of parameter values of the module; tied ones count once."""
    return sum(parameter.numel() for parameter in module.parameters())
