"""Marks in a recording around the Python functions of torch.nn.functional, so that one that calls
several operators can stand for them."""

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
    """The functions mark themselves in this block, and are the same objects as before after it."""
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
