"""Marks calls of torch.nn.functional in a recording, so that a function that calls several
operators can be one node."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Iterator
from typing import Any

from pyrometer import _core


def _marked(name: str, function: Any) -> Any:
    label = f"function:torch.nn.functional.{name}"

    @functools.wraps(function)
    def marked(*args: Any, **kwargs: Any) -> Any:
        _core.mark_begin(label)
        try:
            return function(*args, **kwargs)
        finally:
            _core.mark_end()

    return marked


@contextlib.contextmanager
def marks() -> Iterator[None]:
    """Replaces the functions by marking ones in this block, and restores the originals after it."""
    from torch.nn import functional

    originals = {
        name: function
        for name, function in vars(functional).items()
        if isinstance(function, types.FunctionType)
        and not name.startswith("_")
        and function.__module__ == "torch.nn.functional"
    }
    try:
        for name, function in originals.items():
            setattr(functional, name, _marked(name, function))
        yield
    finally:
        for name, function in originals.items():
            setattr(functional, name, function)
