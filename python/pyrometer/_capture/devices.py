"""Records kernels and device memory with torch.profiler, for one pass or beside a recording.

It starts only once the program has used CUDA, and never initializes CUDA itself: a process that has
done so can no longer fork and use it in the child."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import weakref
from collections.abc import Callable
from typing import Any, ClassVar

from pyrometer import _env
from pyrometer._capture import kineto

SUFFIX = ".devices.json"  # src/trace/recording/devices.h


def is_in_use() -> bool:
    cuda = sys.modules.get("torch.cuda")
    return cuda is not None and cuda.is_initialized()


def _options(with_memory: bool) -> dict[str, Any]:
    import torch

    activities = [
        torch.profiler.ProfilerActivity.CPU,  # ops show how the clocks differ
        torch.profiler.ProfilerActivity.CUDA,
    ]
    return {"activities": activities, "profile_memory": with_memory}


class DevicePass:
    """The kernels of one pass: started, stopped and exported on the model's thread, joined on
    another. The export cannot wait for the next pass: only there Kineto converts device times to
    wall clock, with the clock data of the latest profiler of the process."""

    _said: ClassVar[set[str]] = set()

    def __init__(self, held: kineto.Held | None) -> None:
        self._held = held
        self.exported: str | None = None  # the file, removed by the pass's writer
        self.missing: str | None = None
        self.lacks_ops = False

    @classmethod
    def say_once(cls, message: str) -> None:
        if message not in cls._said:
            cls._said.add(message)
            _env.say(message)

    @classmethod
    def begin(cls, with_memory: bool) -> DevicePass | None:
        if not is_in_use():
            return None
        try:
            return cls(kineto.start(_options(with_memory), is_pass=True))
        except kineto.Busy as error:
            cls.say_once(f"some passes have no kernels: {error}")
            one = cls(None)
            one._lose(str(error))
            return one

    def _lose(self, reason: str, later: str = "") -> None:
        """`later`: only the later part is lost."""
        self.missing = f"{later}kernels ({reason})"

    def stop(self) -> None:
        """Stops the profile and exports it; sets `missing` on failure."""
        held, self._held = self._held, None
        if held is None:
            return
        profile = held.stop()
        if profile is None:
            self._lose(held.reason)
            return
        handle, path = tempfile.mkstemp(prefix="pyrometer-", suffix=".json")
        os.close(handle)
        try:
            profile.export_chrome_trace(path)
            self.exported = path
        except Exception as error:
            os.unlink(path)
            self._lose(f"torch.profiler did not export: {error}")
        else:
            if held.reason:
                self._lose(held.reason, "later ")

    def discard(self) -> None:
        """Drops the profile of a pass that is not written."""
        self.stop()
        if self.exported is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.exported)
            self.exported = None


# Torch never drops a call that waits for CUDA, and keeps a stack of some kilobytes with each. So
# only one call waits there, and this list drops recordings that have ended.
_waiting: list[weakref.WeakMethod] = []
_is_queued = False


def when_cuda_is_used(method: Callable[[], None]) -> None:
    """Calls a method now if CUDA is in use, else on its first use if its object lives; never
    without CUDA."""
    global _is_queued
    import torch

    if torch.cuda.is_initialized():
        method()  # not by _lazy_call(), which would hold torch's lock meanwhile
        return
    _waiting[:] = [one for one in _waiting if one() is not None]
    _waiting.append(weakref.WeakMethod(method))
    if not _is_queued:
        _is_queued = True
        torch.cuda._lazy_call(_call_waiting)


def _call_waiting() -> None:
    waiting = [one() for one in _waiting]
    _waiting.clear()
    for method in waiting:
        if method is not None:
            method()


class DeviceRecording:
    """The kernels of a whole recording, in a file beside it that its reader looks up."""

    def __init__(
        self, path: str, with_memory: bool, is_warmup: bool = False, is_cuda_used: bool = False
    ) -> None:
        """`is_cuda_used`: known to be so, as in a call of when_cuda_is_used(), which must not be
        nested: torch's lock may be held."""
        self.path = path + SUFFIX
        self.with_memory = with_memory
        self.is_warmup = is_warmup
        self.held: kineto.Held | None = None
        self.is_over = False
        if os.path.exists(self.path):
            os.unlink(self.path)
        if is_cuda_used:
            self._begin()
        else:
            when_cuda_is_used(self._begin)

    def _begin(self) -> None:
        if self.is_over or self.held is not None:
            return
        try:
            self.held = kineto.start(
                _options(self.with_memory), is_pass=False, is_warmup=self.is_warmup
            )
        except kineto.Busy as error:
            _env.say(f"cannot record kernels: {error}")

    def begin(self) -> None:
        """Ends the warm-up."""
        was_warmup, self.is_warmup = self.is_warmup, False
        if was_warmup and self.held is not None:
            kineto.begin(self.held)

    def stop(self) -> None:
        self.is_over = True
        held, self.held = self.held, None
        if held is None:
            return
        profile = held.stop()
        if self.is_warmup:
            return
        try:
            if profile is None:
                raise RuntimeError(held.reason)
            profile.export_chrome_trace(self.path)
        except Exception as error:
            _env.say(f"the recording has no kernels: {error}")
