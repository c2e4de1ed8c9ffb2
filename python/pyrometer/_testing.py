"""Private names that the tests and benchmarks use, in one place.

Tests import public names from `pyrometer` and everything else from here, so that moving a private
module changes this file and no test. A name is looked up on first use: importing this module does
not import torch.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

# Maps a name to a module, or to a module and an object in it.
_PLACES = {
    "Evidence": "pyrometer._bench.recommendations:Evidence",
    "MOST_ROWS": "pyrometer._display:MOST_ROWS",
    "NEVER": "pyrometer._training.schedule:NEVER",
    "Pass": "pyrometer._capture.passes:Pass",
    "Schedule": "pyrometer._training.schedule:Schedule",
    "archive": "pyrometer._helper.archive",
    "as_inputs": "pyrometer._helper.example_inputs:as_inputs",
    "calibrate": "pyrometer._capture.calibrate",
    "collector": "pyrometer._capture.collector",
    "compiled_code": "pyrometer._capture.compiled_code",
    "devices": "pyrometer._capture.devices",
    "core": "pyrometer._core",
    "doctor": "pyrometer._capture.doctor",
    "engine": "pyrometer._bench.engine",
    "engines": "pyrometer._bench.engines",
    "env": "pyrometer._env",
    "evidence": "pyrometer._bench.evidence",
    "frame": "pyrometer._display:frame",
    "gpu_samples": "pyrometer._capture.gpu_samples",
    "graph_profiler": "pyrometer._capture.graph_profiler",
    "kineto": "pyrometer._capture.kineto",
    "launch": "pyrometer._capture.launch",
    "metrics": "pyrometer._bench.metrics",
    "nsight": "pyrometer._training.nsight",
    "observer_build": "pyrometer._capture.observer_build",
    "observers": "pyrometer._capture.observers",
    "passes": "pyrometer._capture.passes",
    "precisions": "pyrometer._bench.precisions",
    "ray_files": "pyrometer._ray.files",
    "ray_group": "pyrometer._ray.group",
    "ray_worker": "pyrometer._ray.worker",
    "recommendations": "pyrometer._bench.recommendations",
    "session": "pyrometer._capture.session:session",
    "table": "pyrometer._display:table",
    "timing": "pyrometer._bench.timing",
    "torchvision_ops": "pyrometer._helper.torchvision_ops",
    "training": "pyrometer._training.profiler",
    "training_files": "pyrometer._training.files",
    "variants": "pyrometer._bench.variants",
    "without_password": "pyrometer._history.history:_without_password",
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
    from pyrometer._tool import find_tool

    return find_tool()


def finish_passes() -> None:
    """Waits until every captured pass has its file."""
    __getattr__("passes").finisher.finish()


def stop_watching() -> None:
    """Stops the session and removes the hooks, which captured passes keep for the next one."""
    session_module = _PLACES["session"].partition(":")[0]
    if session_module not in sys.modules:
        return
    __getattr__("session").stop()
    observers = __getattr__("observers")
    if observers._is_watching:
        __getattr__("core").layers_remove()
        observers._is_watching = False
