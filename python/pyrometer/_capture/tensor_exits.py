"""Notes in a recording with storages which tensors go to numpy or another library: what is done
with them there is no operator, and their graph has no edge for it."""

from __future__ import annotations

import functools
from typing import Any

from pyrometer._capture import tensor_roles

_METHODS = ("numpy", "tolist", "__dlpack__")


def _watched(name: str, method: Any) -> Any:
    @functools.wraps(method)
    def watched(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        tensor_roles.note_leaving(tensor, f"Tensor.{name}")
        return method(tensor, *args, **kwargs)

    return watched


class Watch:
    """Methods of torch.Tensor say that they are called, until stop()."""

    def __init__(self) -> None:
        import torch

        self._class = torch.Tensor
        self._own = {name: vars(torch.Tensor).get(name) for name in _METHODS}
        for name in _METHODS:
            setattr(torch.Tensor, name, _watched(name, getattr(torch.Tensor, name)))

    def stop(self) -> None:
        for name, method in self._own.items():
            if method is None:
                delattr(self._class, name)
            else:
                setattr(self._class, name, method)
        self._own = {}
