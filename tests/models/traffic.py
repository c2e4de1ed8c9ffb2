"""Counts the bytes that a live run moves: every operator that torch calls, from its real tensors.

Shares no code with the tool. An operator reads each of its tensors once and writes each output
once (docs/reference/conventions.md). Whether it copies or returns a view follows from the storage
of its output, not from its name.
"""

import collections
import math

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

# Operators that only allocate, and operators that write without reading.
_ALLOCATED = ("empty", "empty_like", "empty_strided", "new_empty")
_CREATED = (
    "arange",
    "full",
    "full_like",
    "new_ones",
    "ones",
    "ones_like",
    "scalar_tensor",
    "zeros",
    "zeros_like",
)
# Of a table, only the returned rows are read; of a target, as much is written as is given.
_LOOKED_UP = ("embedding", "gather", "index", "index_select")
_OVERWRITTEN = ("copy_", "index_copy_", "index_put_")
# Functions of torch.nn.functional that run several operators, one with outputs for the backward.
_WHOLE = {
    torch.nn.functional.scaled_dot_product_attention: "scaled_dot_product_attention",
    torch.nn.functional.layer_norm: "layer_norm",
    torch.nn.functional.rms_norm: "rms_norm",
    torch.nn.functional.softmax: "softmax",
}


def _size(tensor: torch.Tensor) -> int:
    return math.prod(tensor.shape) * tensor.element_size()


def _tensors(value) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


class _Whole(TorchFunctionMode):
    """Counts a call as one operator, whatever it calls."""

    def __init__(self, record: "Record"):
        super().__init__()
        self.record = record

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func not in _WHOLE or self.record.inside:
            return func(*args, **kwargs)
        self.record.inside += 1
        try:
            result = func(*args, **kwargs)
            if result.is_meta and func is torch.nn.functional.scaled_dot_product_attention:
                # Kernels write the heads of a token side by side; the meta device has no kernel.
                result = result.transpose(1, 2).contiguous().transpose(1, 2)
        finally:
            self.record.inside -= 1
        self.record.add(_WHOLE[func], _tensors((args, kwargs)), _tensors(result))
        return result


class Record(TorchDispatchMode):
    """Counts bytes read and written per operator while active."""

    def __init__(self):
        super().__init__()
        self.inside = 0
        self.bytes = collections.Counter()
        self.calls: list[tuple[str, list, list, int]] = []
        self._whole = _Whole(self)

    def __enter__(self):
        self._whole.__enter__()
        return super().__enter__()

    def __exit__(self, *failure):
        super().__exit__(*failure)
        self._whole.__exit__(*failure)

    def add(self, name: str, read: list, written: list, total: int | None = None) -> None:
        if total is None:
            distinct = {id(tensor): tensor for tensor in read}.values()
            total = sum(map(_size, distinct)) + sum(map(_size, written))
        self.bytes[name] += total
        self.calls.append(
            (name, [tuple(t.shape) for t in read], [tuple(t.shape) for t in written], total)
        )

    @property
    def total(self) -> int:
        return sum(self.bytes.values())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if not self.inside:
            self._count(func.overloadpacket, args, kwargs, result)
        return result

    def _count(self, operator, args, kwargs, result) -> None:
        name = str(operator).removeprefix("aten.")
        read, made = _tensors((args, kwargs)), _tensors(result)
        storages = {_storage(tensor) for tensor in read}
        new = [tensor for tensor in made if _storage(tensor) not in storages]
        if name in _ALLOCATED or name == "as_strided_":
            return
        if name in _CREATED:
            self.add(name, [], new)
        elif name in _LOOKED_UP:
            self.add(name, read, new, sum(map(_size, read[1:])) + 2 * sum(map(_size, new)))
        elif name in _OVERWRITTEN:
            self.add(name, read, new, sum(map(_size, read[1:])) + _size(read[-1]))
        elif name == "scatter_" and len(read) == 2:
            self.add(name, read, new, _size(read[1]) + read[1].numel() * read[0].element_size())
        elif name.endswith("_") and not name.endswith("__"):
            self.add(name, read, made)
        elif new:
            self.add(name, read, new)


def record(module: torch.nn.Module, *args, **kwargs) -> Record:
    """Bytes that one call of a module moves."""
    with torch.no_grad(), Record() as found:
        module(*args, **kwargs)
    return found
