"""Builds the module that a user's function, file or folder describes."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import os
import pathlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .config_folder import build_folder
from .export_errors import Broken
from .requirements import Missing, Unusable

if TYPE_CHECKING:
    import torch


def load(spec: str) -> Callable[[], Any]:
    """The function that "file.py:function" or "package.module:function" names."""
    place, colon, name = spec.rpartition(":")
    if not colon:
        place, name = spec, ""
    if place.endswith(".py"):
        path = pathlib.Path(place)
        if not path.is_file():
            raise Unusable(f"{place}: no such file")
        sys.path.insert(0, str(path.resolve().parent))
        found = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(found)
        sys.modules[path.stem] = module
        runner = lambda: found.loader.exec_module(module)  # noqa: E731
    else:
        sys.path.insert(0, os.getcwd())
        runner = lambda: importlib.import_module(place)  # noqa: E731
    try:
        imported = runner()
    except ModuleNotFoundError as error:
        if error.name and f"{place}.".startswith(f"{error.name}."):
            raise Unusable(f"{place}: no such file or module") from error
        if error.name and importlib.util.find_spec(error.name.partition(".")[0]) is None:
            raise Missing([error.name.partition(".")[0]]) from error
        raise Broken("import", error) from error
    except Exception as error:
        raise Broken("import", error) from error
    module = imported or sys.modules[pathlib.Path(place).stem if place.endswith(".py") else place]
    target: Any = module
    for part in name.split(".") if name else ():
        target = getattr(target, part, None)
    if not name or target is None:
        names = ", ".join(builders(module)) or "none"
        wrong = f"has no {name}" if name else "name a function of it"
        raise Unusable(f"{place}: {wrong}; it has: {names}")
    if not callable(target):
        raise Unusable(f"{spec}: not a function")
    return target


def builders(module: Any) -> list[str]:
    """The functions without arguments and the module classes that a file defines."""
    names = []
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__
        if name.startswith("_") or not own or not callable(value):
            continue
        with contextlib.suppress(TypeError, ValueError):
            parameters = inspect.signature(value).parameters.values()
            if all(p.default is not p.empty or p.kind in (2, 4) for p in parameters):
                names.append(name)
    return names


def build(make: Callable[[], Any]) -> tuple[torch.nn.Module, Any]:
    """The module that a function returns, in eval mode, and its example inputs or None."""
    import torch

    try:
        made = make()
    except Exception as error:
        raise Broken("build", error) from error
    inputs = None
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], torch.nn.Module):
        made, inputs = made
    if not isinstance(made, torch.nn.Module):
        raise Unusable(
            "expected an nn.Module, or an nn.Module and a tuple of its inputs, but "
            f"{type(made).__name__} was returned"
        )
    return made.eval(), inputs


def build_spec(spec: str, device: str | None = None) -> tuple[torch.nn.Module, Any]:
    """Builds the module of a function or of a folder of transformers or timm; returns it with its
    example inputs or None."""
    if os.path.isdir(spec):
        return build_folder(spec, device or "meta")
    module, inputs = build(load(spec))
    return module if device is None else module.to(device), inputs
