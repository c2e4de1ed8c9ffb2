"""NVTX ranges of layers and steps, and the range of the CUDA profiler around them, for nsys."""

from __future__ import annotations

import contextlib
import os

from pyrometer import _core, _env
from pyrometer._capture import cuda_profiler, devices


def is_attached() -> bool:
    """Whether a tool listens to ranges in this process."""
    return "NVTX_INJECTION64_PATH" in os.environ


class Ranges:
    """From start() to stop() every call of a layer is a range. The recorder must be running."""

    def __init__(self) -> None:
        self._window = cuda_profiler.Window()
        self._has_step = False

    def start(self) -> None:
        self._window.start()
        _core.ranges_enable(True)

    def begin_step(self, name: str) -> None:
        _core.range_begin(name)
        self._has_step = True

    def end_step(self) -> None:
        if self._has_step:
            self._has_step = False
            _core.range_end()

    def stop(self) -> None:
        """Safe at any time, also after a failed start() or while an exception propagates."""
        _core.ranges_enable(False)
        try:
            self.end_step()
        finally:
            self._window.stop()


class SessionRanges:
    """Ranges of a whole session. The CUDA profiler starts once the program has used CUDA."""

    def __init__(self) -> None:
        self._window: cuda_profiler.Window | None = None
        self._is_over = False
        if not _core.ranges_enable(True):
            _env.say(
                "nvtx has no effect: no tool listens (run under nsys profile, which sets "
                "NVTX_INJECTION64_PATH)"
            )
        devices.when_cuda_is_used(self._begin)

    def _begin(self) -> None:
        if self._is_over or self._window is not None:
            return
        self._window = cuda_profiler.Window()
        with contextlib.suppress(Exception):  # the program's own use of CUDA shows what is wrong
            self._window.start()

    def stop(self) -> None:
        self._is_over = True
        _core.ranges_enable(False)
        if self._window is not None:
            self._window.stop()
