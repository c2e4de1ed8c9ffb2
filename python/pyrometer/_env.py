"""Whether capturing is switched on, and what the debugging variables let us say."""

from __future__ import annotations

import importlib.util
import os
import sys

_YES = ("1", "true", "yes", "on")


def _is_set(*names: str) -> bool:
    return any(os.environ.get(name, "").strip().lower() in _YES for name in names)


def is_on() -> bool:
    """PYROMETER=1, CHISEL_BACKEND_RUN=1, or under `pyrometer run` or `pyrometer python`."""
    return _is_set("PYROMETER", "CHISEL_BACKEND_RUN")


def is_debugging() -> bool:
    return _is_set("PYROMETER_DEBUG", "CHISEL_DEBUG")


def require_torch(what: str) -> None:
    """Raises one clear line where torch is not installed."""
    try:
        found = importlib.util.find_spec("torch") is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise ModuleNotFoundError(
            f"{what} needs torch, which is not installed: pip install torch", name="torch"
        )


def say(message: str) -> None:
    """A line for people, on standard error; a program without one goes on."""
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
    """ "_rank3" where several processes train one model, else "" ."""
    try:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            return f"_rank{int(os.environ.get('RANK', os.environ.get('LOCAL_RANK', '0')))}"
    except ValueError:
        pass
    return ""
