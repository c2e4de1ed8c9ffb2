"""cudaProfilerStart and cudaProfilerStop: noticing the program's calls, and calling them for tools
that record between them (nsys --capture-range=cudaProfilerApi)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

_NAMES = (("cudaProfilerStart", True), ("cudaProfilerStop", False))


class Watch:
    """Calls `window(True)` before the program starts the CUDA profiler, and `window(False)` after
    it stops it. Calls from C are seen by the collector."""

    def __init__(self, window: Callable[[bool], None]) -> None:
        import torch.cuda.profiler

        self._window = window
        self._wrapped: list[tuple[Any, str, Any, Any]] = []
        cudart = getattr(torch._C, "_cudart", None)
        if cudart is not None:
            for name, begins in _NAMES:
                self._wrap(cudart, name, begins)
        else:  # without CUDA the program's calls fail, as they do without us
            self._wrap(torch.cuda.profiler, "start", True)
            self._wrap(torch.cuda.profiler, "stop", False)

    def _wrap(self, owner: Any, name: str, begins: bool) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if begins:
                self._window(True)
            try:
                return original(*args, **kwargs)
            finally:
                if not begins:
                    self._window(False)

        setattr(owner, name, call)
        self._wrapped.append((owner, name, call, original))

    def stop(self) -> None:
        for owner, name, call, original in self._wrapped:
            if getattr(owner, name) is call:
                setattr(owner, name, original)
        self._wrapped = []


class Window:
    """What a tool records: from start() to stop()."""

    def __init__(self) -> None:
        self._is_open = False

    def start(self) -> None:
        import torch

        cuda = torch.cuda
        cuda.check_error(cuda.cudart().cudaProfilerStart())
        self._is_open = True

    def stop(self) -> None:
        """Safe at any time, also after a failed start()."""
        import torch

        if self._is_open:
            self._is_open = False
            torch.cuda.cudart().cudaProfilerStop()
