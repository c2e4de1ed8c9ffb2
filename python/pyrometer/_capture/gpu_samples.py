"""Samples power, clocks and use of GPUs into the recording while the program uses CUDA.

A thread of the library takes the samples; this module decides when, and reports what is missing."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _env
from pyrometer._capture import devices

if TYPE_CHECKING:
    from pyrometer._capture.settings import Settings

USUAL_INTERVAL_S = 0.1
SHORTEST_INTERVAL_S = 0.001
LONGEST_INTERVAL_S = 60
_OFF = ("0", "off", "none", "no", "false")
_said: set[str] = set()


def interval(wanted: Any) -> float:
    """Seconds between samples: as wanted, else as PYROMETER_GPU_SAMPLING says; 0: no samples."""
    name, given = "gpu_sampling", wanted
    if wanted is None:
        name, text = "PYROMETER_GPU_SAMPLING", os.environ.get("PYROMETER_GPU_SAMPLING", "").strip()
        if text.lower() in _OFF:
            return 0.0
        given = text or USUAL_INTERVAL_S
    seconds = _number(given)
    if seconds is None or not (
        seconds == 0 or SHORTEST_INTERVAL_S <= seconds <= LONGEST_INTERVAL_S
    ):
        raise ValueError(
            f"{name} must be seconds between samples, from {SHORTEST_INTERVAL_S} to "
            f"{LONGEST_INTERVAL_S}, or 0 for none, not {given!r}"
        )
    return seconds


def _number(given: Any) -> float | None:
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError):
        return None


def _say_once(message: str) -> None:
    if message not in _said:
        _said.add(message)
        _env.say(message)


class Samples:
    """The samples of one session. They begin when the program uses CUDA."""

    def __init__(self, settings: Settings) -> None:
        torch: Any = sys.modules.get("torch")
        self._interval_s = interval(settings.gpu_sampling)
        self._process = os.getpid()
        self._is_on = self._is_over = False
        # A pass is shorter than an interval; NVML knows no GPU of AMD.
        if self._interval_s and not settings.temporary and not (torch and torch.version.hip):
            devices.when_cuda_is_used(self._begin)

    def _begin(self) -> None:
        is_on_here = self._is_on and self._process == os.getpid()
        if self._is_over or is_on_here:
            return
        self._process = os.getpid()  # a forked child that uses CUDA, unlike its parent
        self._is_on = True
        _core.gpu_sampling_start(self._interval_s)

    def stop(self) -> None:
        self._is_over = True
        if not self._is_on or self._process != os.getpid():
            return
        self._is_on = False
        _core.gpu_sampling_stop()
        status = _core.gpu_sampling_status()
        if status["state"] != "off":
            _say_once(f"power and clocks of the GPU are not recorded: {status['reason']}")
        elif status["missing"]:
            _say_once(f"the NVIDIA driver does not report, so not recorded: {status['missing']}")
        _env.debug(f"{status['samples']} samples of GPUs, {status['cost_ns'] / 1e6:.1f} ms in all")
