"""Reads the environment variables that enable capturing and debugging, and prints messages."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig

_YES = ("1", "true", "yes", "on")
NEWEST_CAPTURED = (3, 13)


def _is_set(*names: str) -> bool:
    return any(os.environ.get(name, "").strip().lower() in _YES for name in names)


def is_on() -> bool:
    """PYROMETER=1, CHISEL_BACKEND_RUN=1, or under `pyrometer run` or `pyrometer python`."""
    return _is_set("PYROMETER", "CHISEL_BACKEND_RUN")


def is_debugging() -> bool:
    return _is_set("PYROMETER_DEBUG", "CHISEL_DEBUG")


def why_no_capture(
    version: tuple[int, ...] = tuple(sys.version_info), has_gil: bool | None = None
) -> str | None:
    """Why this interpreter does not support capturing, as one sentence; None if it does.

    The layer hook and the stacks rely on the layout of functions and frames in the tested versions.
    Every version can read models and traces.
    """
    if has_gil is None:
        has_gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
    name = f"Python {version[0]}.{version[1]}"
    if not has_gil:
        return f"capturing requires the global interpreter lock; this is a free-threaded {name}"
    if version[:2] > NEWEST_CAPTURED:
        newest = ".".join(map(str, NEWEST_CAPTURED))
        return f"capturing works in Python 3.11 to {newest}; this is {name}"
    return None


def require_torch(what: str) -> None:
    """Raises an error of one clear line if torch is not installed."""
    try:
        found = importlib.util.find_spec("torch") is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise ModuleNotFoundError(
            f"{what} requires torch, which is not installed: pip install torch", name="torch"
        )


def say(message: str) -> None:
    """Prints a message on standard error; does nothing without one."""
    from pyrometer._display import clean

    try:
        sys.stderr.write(f"pyrometer: {clean(message)}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass


def debug(message: str) -> None:
    if is_debugging():
        say(f"[{os.getpid()}] {message}")


def rank_suffix() -> str:
    """ "_rank3" if several processes train one model, else "" ."""
    try:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            return f"_rank{int(os.environ.get('RANK', os.environ.get('LOCAL_RANK', '0')))}"
    except ValueError:
        pass
    return ""
