"""Refuses to overwrite inputs. Two names, links included, are the same file if device and inode
agree."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

RECORDING_MAGIC = b"PYROREC1"
MOST_ENTRIES = 100_000  # per folder


def refuse_inputs(path: str | os.PathLike[str], *inputs: Any) -> None:
    """Raises ValueError if `path` is one of `inputs`, which are files, folders or FILE:NAME, or
    code of the running program. Ignores inputs that are not paths."""
    target = _identity(os.fspath(path))
    if target is None:
        return
    for name in inputs:
        if isinstance(name, str | os.PathLike):
            for file in _files_of(os.fspath(name)):
                if _identity(file) == target:
                    raise ValueError(_message(path, file))
    if not _is_recording(path):
        refuse_code(path)


def refuse_code(path: str | os.PathLike[str]) -> None:
    """Raises ValueError if a module of this process was loaded from `path`."""
    target = _identity(os.fspath(path))
    for module in list(sys.modules.values()) if target is not None else ():
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and _identity(file) == target:
            raise ValueError(_message(path, file))


def _message(path: str | os.PathLike[str], file: str) -> str:
    return f"{os.fspath(path)}: would overwrite its input {file}; name another file"


def _identity(path: str | bytes) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _is_recording(path: str | os.PathLike[str]) -> bool:
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(len(RECORDING_MAGIC)) == RECORDING_MAGIC
    except OSError:
        return False


def _files_of(name: str) -> Iterator[str]:
    """The files that a name refers to, with those beside a recording or in a folder."""
    if not os.path.exists(name) and ":" in name:
        name = name.rpartition(":")[0]
    yield name
    yield name + ".devices.json"
    if os.path.isdir(name):
        left = MOST_ENTRIES
        for folder, _, files in os.walk(name):
            for file in files[:left]:
                yield os.path.join(folder, file)
            left -= len(files)
            if left <= 0:
                return
