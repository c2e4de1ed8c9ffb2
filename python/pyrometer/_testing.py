"""Private names that the tests and benchmarks use, under one roof.

Tests import public names from `pyrometer` and everything else from here, so that moving a private
module changes this file and no test. A name is looked up when it is asked for: importing this
module needs no torch.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

# Name here: the module, or the module and one object in it.
_PLACES = {
    "Evidence": "pyrometer._advice:Evidence",
    "MOST_ROWS": "pyrometer._show:MOST_ROWS",
    "NEVER": "pyrometer._schedule:NEVER",
    "Pass": "pyrometer._passes:Pass",
    "Schedule": "pyrometer._schedule:Schedule",
    "as_inputs": "pyrometer._inputs:as_inputs",
    "core": "pyrometer._core",
    "doctor": "pyrometer._doctor",
    "env": "pyrometer._switch",
    "engines": "pyrometer._engines",
    "evidence": "pyrometer._evidence",
    "export": "pyrometer._live",
    "frame": "pyrometer._show:frame",
    "graph_profiler": "pyrometer._profiler",
    "kineto": "pyrometer._kineto",
    "launch": "pyrometer._launch",
    "metrics": "pyrometer._measured",
    "observer_build": "pyrometer._observer",
    "observers": "pyrometer._observe",
    "passes": "pyrometer._passes",
    "precision": "pyrometer._precision",
    "ray_files": "pyrometer._ray_files",
    "ray_group": "pyrometer._ray_group",
    "ray_worker": "pyrometer._ray_worker",
    "recommendations": "pyrometer._advice",
    "session": "pyrometer._session:session",
    "table": "pyrometer._show:table",
    "timing": "pyrometer._timing",
    "training": "pyrometer._training",
    "training_files": "pyrometer._training_files",
    "variants": "pyrometer._variants",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _PLACES[name].partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:
    return sorted([*_PLACES, "find_tool", "finish_passes", "stop_watching"])


def find_tool() -> str:
    """The command line tool that belongs to this package."""
    from pyrometer.__main__ import find_tool

    return find_tool()


def finish_passes() -> None:
    """Waits until every captured pass has its file."""
    __getattr__("passes").finisher.finish()


def stop_watching() -> None:
    """Stops the session and takes the hooks away, which captured passes keep for the next one."""
    session_module = _PLACES["session"].partition(":")[0]
    if session_module not in sys.modules:
        return
    __getattr__("session").stop()
    observers = __getattr__("observers")
    if observers._is_watching:
        __getattr__("core").layers_remove()
        observers._is_watching = False
