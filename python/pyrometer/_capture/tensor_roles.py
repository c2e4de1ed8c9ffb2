"""Records which tensors are weights and inputs of a model and which leave torch, for its graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyrometer import _core
from pyrometer._capture import observer_build

_PARAMETER, _BUFFER, _INPUT, _LEAVING = range(4)


def _note(name: str, kind: int, tensor: Any) -> None:
    """Uses the ids of the tensor and its storage that the observer of ops writes too."""
    try:
        number, storage = observer_build.numbers(tensor)
        item, values = tensor.element_size(), tensor.numel()
        _core.recorder_weight(
            name,
            kind,
            number,
            storage,
            tensor.storage_offset() * item,
            values,
            values * item,
        )
    except Exception:  # lazy, nested, sparse and foreign tensor classes have no storage
        return


def note_weights(model: Any) -> None:
    """Called by the layer hook for every model of a recording with storages."""
    import torch

    with torch._C.DisableTorchFunction():
        for name, tensor in model.named_parameters():
            _note(name, _PARAMETER, tensor)
        for name, tensor in model.named_buffers():
            _note(name, _BUFFER, tensor)


def _tensors(name: str, value: Any) -> Iterable[tuple[str, Any]]:
    import torch

    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors(f"{name}.{key}", item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _tensors(f"{name}.{index}", item)


def note_inputs(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Records the inputs of the next call, by the names of the model's parameters."""
    import inspect

    import torch

    try:
        bound = inspect.signature(model.forward).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {**{f"input{index}": value for index, value in enumerate(args)}, **kwargs}
    with torch._C.DisableTorchFunction():
        for name, value in bound.items():
            for path, tensor in _tensors(name, value):
                _note(path, _INPUT, tensor)


def note_leaving(tensor: Any, how: str) -> None:
    """Records that a tensor's data leave the observed operators."""
    import torch

    with torch._C.DisableTorchFunction():
        _note(how, _LEAVING, tensor)
