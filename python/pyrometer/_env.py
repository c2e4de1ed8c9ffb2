"""Whether capturing is switched on, and what the debugging variables let us say."""

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
    """Why this interpreter cannot be captured in, as one sentence; None when it can.

    The layer hook and the stacks rely on the layout that functions and frames have in the versions
    that it was tested with. Models and traces are read by every version.
    """
    if has_gil is None:
        has_gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
    name = f"Python {version[0]}.{version[1]}"
    if not has_gil:
        return f"capturing needs an interpreter with a global lock; this is a free-threaded {name}"
    if version[:2] > NEWEST_CAPTURED:
        newest = ".".join(map(str, NEWEST_CAPTURED))
        return f"capturing works in Python 3.11 to {newest}; this is {name}"
    return None


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
