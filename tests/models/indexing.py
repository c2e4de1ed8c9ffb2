"""Predicts what a model raises on real integers, without real weights.

On the meta device tensors have no values, so a lookup of a row beyond the end of a table raises no
error. This mode tracks values: tensors computed from tokens and counts, and not from weights, have
them attached, and every lookup is checked as the CPU kernels check it.
"""

import contextlib

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

aten = torch.ops.aten
# Positions have fewer elements than this; masks of long sequences are not tracked.
_MOST_VALUES = 1 << 18
_LOOKUPS = {
    aten.embedding.default: lambda args: [(args[0].shape[0], args[1])],
    aten.gather.default: lambda args: [(args[0].shape[args[1]], args[2])],
    aten.index_select.default: lambda args: [(args[0].shape[args[1]], args[2])],
    aten.index.Tensor: lambda args: [
        (size, index)
        for size, index in zip(args[0].shape, args[1], strict=False)
        if index is not None and index.dtype == torch.int64
    ],
}


@contextlib.contextmanager
def _on_real_tensors():
    """Leaves every mode, also those of fake tensors and counters."""
    with unset_fake_temporarily(), _disable_current_modes():
        yield


class CheckedIndices(TorchDispatchMode):
    """Raises IndexError where a real model would; `values` are those of its inputs."""

    def __init__(self, values: list[tuple[torch.Tensor, torch.Tensor]]):
        super().__init__()
        self._kept: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        for tensor, value in values:
            self._keep(tensor, value)

    def _keep(self, tensor: torch.Tensor, value: torch.Tensor) -> None:
        # Keeps the tensor too, so that no other can get its id.
        self._kept[id(tensor)] = (tensor, value)

    def _value(self, tensor: torch.Tensor) -> torch.Tensor | None:
        kept = self._kept.get(id(tensor))
        return kept[1] if kept else None

    def _check(self, func, args) -> None:
        for size, index in _LOOKUPS[func](args) if func in _LOOKUPS else ():
            value = self._value(index)
            if value is None or not value.numel():
                continue
            with _on_real_tensors():
                least, most = int(value.min()), int(value.max())
            if least < -size or most >= size:
                raise IndexError("index out of range in self")

    def _follow(self, func, args, kwargs, result) -> None:
        """Also computes a result's values, if all its inputs have values."""
        if not isinstance(result, torch.Tensor) or result.numel() > _MOST_VALUES:
            return
        given = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if _is_tensor(leaf)]
        if any(self._value(tensor) is None for tensor in given):
            return

        def real(leaf):
            return self._value(leaf) if _is_tensor(leaf) else leaf

        args, kwargs = pytree.tree_map(real, (args, kwargs))
        if "device" in kwargs:
            kwargs = {**kwargs, "device": "cpu"}
        with _on_real_tensors():
            value = func(*args, **kwargs)
        if isinstance(value, torch.Tensor) and value.shape == result.shape:
            self._keep(result, value)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self._check(func, args)
        result = func(*args, **kwargs)
        self._follow(func, args, kwargs, result)
        return result


def _is_tensor(leaf) -> bool:
    return isinstance(leaf, torch.Tensor)


def checked_indices(args: tuple, kwargs: dict, highs: list[int]) -> CheckedIndices:
    """The mode for one run: integer arguments have the largest value allowed."""
    values = []
    integers = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if _is_tensor(leaf)]
    for tensor, high in zip(integers, highs, strict=True):
        if not tensor.is_floating_point():
            with _on_real_tensors():
                value = torch.full(tensor.shape, high - 1, dtype=tensor.dtype, device="cpu")
            values.append((tensor, value))
    return CheckedIndices(values)
