"""Ops and memory from torch.profiler, where the observer cannot be built: of a whole recording in a
file beside it that its reader joins to the layers, or of one pass, joined to the pass's file.

Marks that both clocks see say how they differ. Against the observer's, these recordings have no
shapes of outputs and no stacks, see only the thread that began and its backward, and cost more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyrometer import _core, _devices, _switch

if TYPE_CHECKING:
    from pyrometer._session import Settings

_MARK = "pyrometer: clock"  # src/trace/devices.h
is_active = False  # the running session has this in the observer's place


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
        **_devices.quiet_options(),
    }


def _mark(number: int) -> None:
    import torch

    label = getattr(torch._C._profiler, "_RecordFunctionFast", None)
    if label is None:
        return
    name = f"{_MARK} {number}"
    one = label(name)

    def run() -> None:
        with one:
            pass

    _core.recorder_span(name, run)


class Profile(_devices.DevicePass):
    """A running torch.profiler with a mark at both ends."""

    @classmethod
    def start(cls, flags: int) -> Profile:
        import torch

        if torch._C._autograd._profiler_enabled():
            raise RuntimeError("another torch.profiler is running")
        profile = torch.profiler.profile(**_options(flags))
        profile.start()
        _mark(1)
        return cls(profile)

    def halt(self) -> None:
        _mark(2)
        self.profile.stop()


class Fallback:
    """In the observer's place for one session. Passes have a profile each, because what a profile
    saw is known only when it has stopped."""

    def __init__(self, settings: Settings) -> None:
        global is_active
        self._path = settings.path + ".devices.json"
        self._flags = settings.flags
        self._profile: Profile | None = None
        if not settings.temporary and not settings.warmup:
            self.begin()
        is_active = settings.temporary

    def begin(self) -> None:
        """Starts the profile; at the end of a warm-up where there is one."""
        self._profile = Profile.start(self._flags)

    def stop(self) -> None:
        global is_active
        is_active = False
        profile, self._profile = self._profile, None
        if profile is None:
            return
        try:
            profile.halt()
            profile.profile.export_chrome_trace(self._path)
        except Exception as error:
            _switch.say(f"no ops were recorded: {error}")


def start(settings: Settings) -> Fallback:
    return Fallback(settings)


def begin_pass(flags: int) -> Profile | None:
    try:
        return Profile.start(flags)
    except RuntimeError as error:
        if not Profile.said:
            Profile.said = True
            _switch.say(f"some passes have no ops: {error}")
        return None
