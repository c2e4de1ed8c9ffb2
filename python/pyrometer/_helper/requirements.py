"""Checks the requirements of a request: packages, and operators of torchvision."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Sequence


class Missing(Exception):
    """Required packages are not installed."""

    def __init__(self, packages: Sequence[str]) -> None:
        super().__init__(", ".join(packages))
        self.packages = list(packages)


class Unusable(Exception):
    """The requested file, function or result is missing or is not a model."""


def require(packages: Sequence[str]) -> None:
    """Raises Missing for packages that cannot be imported."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise Missing(missing)


def declare_operators() -> None:
    """Makes torchvision importable where it is installed without its library."""
    if importlib.util.find_spec("torchvision") is None:
        return
    with contextlib.suppress(Exception):
        from .torchvision_ops import declare  # imports torch

        declare()
