"""What a request needs and may lack: packages, and operators of torchvision."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Sequence


class Missing(Exception):
    """A package is not there."""

    def __init__(self, packages: Sequence[str]) -> None:
        super().__init__(", ".join(packages))
        self.packages = list(packages)


class Unusable(Exception):
    """What was asked for is not there or is no model: a file, a function, a result of it."""


def require(packages: Sequence[str]) -> None:
    """Raises Missing for those that cannot be imported."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise Missing(missing)


def declare_operators() -> None:
    """Lets other packages import torchvision where it is installed without its library."""
    if importlib.util.find_spec("torchvision") is None:
        return
    with contextlib.suppress(Exception):
        from .torchvision_ops import declare  # imports torch

        declare()
