"""Kernels and device memory, from torch.profiler underneath: for one pass, or beside a recording.

It runs only once the program has used CUDA, which is never touched from here: a process that has
may not fork and use it again."""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import threading
from typing import Any

from pyrometer import _core, _switch

_lock = threading.Lock()  # there is one Kineto a process


def is_in_use() -> bool:
    cuda = sys.modules.get("torch.cuda")
    return cuda is not None and cuda.is_initialized()


def quiet_options() -> dict[str, Any]:
    """Torch's note that a profiler forgets its earlier cycles is not for the user's program: ours
    have one cycle each."""
    import torch

    known = inspect.signature(torch.profiler.profile.__init__).parameters
    return {"acc_events": True} if "acc_events" in known else {}


def _start(with_memory: bool, is_warmup: bool = False) -> Any:
    """A running profile, or one that only warms up; None where it cannot be had. Holds the lock
    until _stop()."""
    if not _lock.acquire(blocking=False):
        return None
    try:
        import torch

        if torch._C._autograd._profiler_enabled():
            _lock.release()
            return None
        activities = [
            torch.profiler.ProfilerActivity.CPU,  # ops tell how the clocks differ
            torch.profiler.ProfilerActivity.CUDA,
        ]
        profile = torch.profiler.profile(
            activities=activities, profile_memory=with_memory, **quiet_options()
        )
        if is_warmup:
            profile.prepare_trace()
        else:
            profile.start()
        return profile
    except Exception as error:
        _lock.release()
        _switch.debug(f"kernels are not recorded: {error}")
        return None


def _stop(profile: Any) -> Any:
    try:
        profile.stop()
        return profile
    finally:
        _lock.release()


class DevicePass:
    """The kernels of one pass: started, stopped and exported on the model's thread, joined on
    another. Kineto turns the device's times into wall clock only while it exports, with what the
    latest profiler of the process knows about the clock: it cannot wait for the next pass."""

    said = False

    def __init__(self, profile: Any) -> None:
        self.profile = profile
        self.exported = ""

    @classmethod
    def begin(cls, with_memory: bool) -> DevicePass | None:
        if not is_in_use():
            return None
        profile = _start(with_memory)
        if profile is None and not cls.said:
            cls.said = True
            _switch.say("some passes have no kernels: another profiler, or pass, has the device")
        return None if profile is None else cls(profile)

    def halt(self) -> None:
        """Stops the profile, which keeps what it saw."""
        _stop(self.profile)

    def stop(self) -> DevicePass | None:
        handle, self.exported = tempfile.mkstemp(prefix="pyrometer-", suffix=".json")
        os.close(handle)
        try:
            self.halt()
            self.profile.export_chrome_trace(self.exported)
        except Exception as error:
            os.unlink(self.exported)
            _switch.debug(f"what torch.profiler saw of a pass is lost: {error}")
            return None
        self.profile = None
        return self

    def add_to(self, path: str) -> None:
        """Puts the kernels into the file of the pass, which is replaced when that is done."""
        joined = f"{path}.{os.getpid()}.tmp"
        try:
            _core.write_chrome(path, self.exported, joined)
            os.replace(joined, path)
        finally:
            for name in (self.exported, joined):
                if os.path.exists(name):
                    os.unlink(name)


class DeviceRecording:
    """The kernels of a whole recording, in a file beside it that its reader looks for."""

    def __init__(self, path: str, with_memory: bool, is_warmup: bool = False) -> None:
        self.path = path + ".devices.json"
        self.with_memory = with_memory
        self.is_warmup = is_warmup
        self.profile: Any = None
        self.is_over = False
        if os.path.exists(self.path):
            os.unlink(self.path)
        import torch

        # At once where CUDA is in use, else when it first is; never where there is none.
        torch.cuda._lazy_call(self._begin)

    def _begin(self) -> None:
        if not self.is_over and self.profile is None:
            self.profile = _start(self.with_memory, self.is_warmup)
            if self.profile is None:
                _switch.say("no kernels are recorded: another profiler has the device")

    def begin(self) -> None:
        """The end of the warm-up."""
        was_warmup, self.is_warmup = self.is_warmup, False
        if was_warmup and self.profile is not None:
            self.profile.start_trace()

    def stop(self) -> None:
        self.is_over = True
        profile, self.profile = self.profile, None
        if profile is None:
            return
        if self.is_warmup:
            self._abandon(profile)
            return
        try:
            _stop(profile)
            profile.export_chrome_trace(self.path)
        except Exception as error:
            _switch.say(f"the recording has no kernels: {error}")

    def _abandon(self, profile: Any) -> None:
        """A profile that was prepared ends only after it has been started."""
        try:
            try:
                profile.start_trace()
            finally:
                _stop(profile)
        except Exception as error:
            _switch.debug(f"a profile that was not used did not end well: {error}")
