"""Records ops and memory with torch.profiler where the observer cannot be built: for a whole
recording into a file beside it, or for one pass. The reader joins its events to the layers.

Marks at both ends of every layer, in the profiler's own events, assign ops to layers. Unlike the
observer, it records no output shapes, no stacks and no tensor identities, sees only the starting
thread and its backward, and costs more."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _env
from pyrometer._capture import devices, kineto

if TYPE_CHECKING:
    from pyrometer._capture.settings import Settings

_CLOCK = "pyrometer: clock"  # src/trace/recording/devices.h
_CLOCK_MARKS = 8  # at either end: the thread may be preempted within one
current: Fallback | None = None  # replaces the observer in the running session


def _label_class() -> Any:
    import torch

    fast = getattr(torch._C._profiler, "_RecordFunctionFast", None)
    return torch.autograd.profiler.record_function if fast is None else fast


def _options(flags: int) -> dict[str, Any]:
    import torch

    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    # Not profile_all_threads: it would see ops of other threads, but no memory at all.
    return {
        "activities": activities,
        "record_shapes": bool(flags & _core.RECORD_SHAPES),
        "profile_memory": bool(flags & _core.RECORD_MEMORY),
    }


def _start(flags: int, is_pass: bool) -> kineto.Held:
    held = kineto.start(_options(flags), is_pass=is_pass)
    label = _label_class()
    with label(f"{_CLOCK} 0"):  # the first label of a process is slow: milliseconds
        pass
    _core.set_marks(label)
    return held


def _mark_clock(first: int) -> None:
    """Adds spans that both recorders see, to align their clocks even without layers."""
    label = _label_class()
    for number in range(first, first + _CLOCK_MARKS):
        name = f"{_CLOCK} {number}"
        one = label(name)

        def run(one: Any = one) -> None:
            with one:
                pass

        _core.recorder_span(name, run)


def missing(flags: int) -> list[str]:
    """Requested data that torch.profiler does not record."""
    wanted = (
        (_core.RECORD_OUTPUTS, "output shapes"),
        (_core.RECORD_STACKS, "Python stacks"),
        (_core.RECORD_STORAGES, "identities of tensors, which graphs need"),
    )
    return [name for flag, name in wanted if flags & flag]


def _ops_of(flags: int) -> str:
    return "ops and memory" if flags & _core.RECORD_MEMORY else "ops"


class Fallback:
    """Replaces the observer for one session. Each pass has its own profile, because the events of a
    profile are available only after it has stopped."""

    def __init__(self, settings: Settings) -> None:
        global current
        self.path = settings.path
        self.flags = settings.flags
        self.has_passes_only = settings.temporary
        self._process = os.getpid()
        self._held: kineto.Held | None = None
        if not settings.temporary:
            _remove(self.path + devices.SUFFIX)  # of an earlier run
            _core.recorder_property("ops", "torch.profiler")  # ops are in that file
        self._report_missing()
        if not settings.temporary and not settings.warmup:
            self.begin()
        current = self

    def _report_missing(self, reason: str = "") -> None:
        parts = missing(self.flags)
        if reason:
            parts.insert(0, f"{_ops_of(self.flags)} ({reason})")
            _core.recorder_property("ops", "missing")
        if parts:
            _core.recorder_property("missing", ", ".join(parts))

    def _lose(self, reason: str) -> None:
        _env.say(f"no ops were recorded: {reason}")
        self._report_missing(reason)

    @property
    def is_forked(self) -> bool:
        return self._process != os.getpid()

    def begin(self) -> None:
        """Starts the profile, at the end of a warm-up if there is one."""
        try:
            self._held = _start(self.flags, is_pass=False)
        except kineto.Busy as error:
            self._lose(str(error))
        else:
            _mark_clock(1)

    def stop(self) -> None:
        global current
        current = None
        held, self._held = self._held, None
        if held is None or self.is_forked:
            return  # the reader reports the missing file of a child
        if held.is_running_here:
            _mark_clock(1 + _CLOCK_MARKS)
        profile = held.stop()
        try:
            if profile is None:
                raise RuntimeError(held.reason)
            profile.export_chrome_trace(self.path + devices.SUFFIX)
        except Exception as error:
            self._lose(str(error))
            return
        if held.reason:
            _env.say(f"not all ops were recorded: {held.reason}")
            self._report_rest(held.reason)

    def _report_rest(self, reason: str) -> None:
        parts = [f"later {_ops_of(self.flags)} ({reason})", *missing(self.flags)]
        _core.recorder_property("missing", ", ".join(parts))


class Pass(devices.DevicePass):
    """The ops of one pass."""

    def __init__(self, flags: int, held: kineto.Held | None, reason: str) -> None:
        super().__init__(held)
        self._flags = flags
        if reason:
            self._lose(reason)

    def _lose(self, reason: str, later: str = "") -> None:
        self.lacks_ops = True
        lost = f"{later}{_ops_of(self._flags)} ({reason})"
        self.missing = ", ".join([lost, *missing(self._flags)])


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def start(settings: Settings) -> Fallback:
    return Fallback(settings)


def begin_pass(fallback: Fallback, flags: int) -> Pass | None:
    """Starts the profile of a pass, or returns a Pass with the reason why it has no profile."""
    if not flags & (_core.RECORD_OPS | _core.RECORD_MEMORY):
        return None
    if not fallback.has_passes_only:
        return Pass(flags, None, f"they are in the recording, {fallback.path}")
    try:
        return Pass(flags, _start(flags, is_pass=True), "")
    except kineto.Busy as error:
        Pass.say_once(f"some passes have no ops: {error}")
        return Pass(flags, None, str(error))
