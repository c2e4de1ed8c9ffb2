"""Records, with storages, which tensors go to numpy or another library: work there is not an
operator, so that the graph lacks its edges."""

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
    """Makes methods of torch.Tensor record their calls, until stop()."""

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
