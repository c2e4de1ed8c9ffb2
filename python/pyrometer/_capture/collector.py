"""Records kernels with the collector in the library, into the recording itself.

It starts only once the program has used CUDA: initializing CUDA here would keep the program from
using it in forked children."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _env
from pyrometer._capture import device_memory, devices, kineto
from pyrometer._capture.settings import WAYS

if TYPE_CHECKING:
    from pyrometer._capture.settings import Settings

current: Collector | None = None  # of the running session


def way(wanted: str | None) -> str:
    """How kernels are recorded: the wanted way, else that of PYROMETER_GPU, else "auto"."""
    chosen = wanted or os.environ.get("PYROMETER_GPU") or "auto"
    if chosen not in WAYS:
        raise ValueError(f"gpu must be one of {', '.join(WAYS)}, not {chosen!r}")
    torch = sys.modules.get("torch")
    if chosen == "auto" and torch is not None and torch.version.hip:
        return "torch"  # the collector knows NVIDIA's library only
    return chosen


# Records of device work beside kernels and copies, and their bits in the collector.
_RECORDS = {"memsets": 1, "synchronizations": 2, "overhead": 4}


def records() -> int | None:
    """The bits of PYROMETER_GPU_RECORDS: "all", "kernels", or names; None: as usual."""
    words = os.environ.get("PYROMETER_GPU_RECORDS", "").replace(",", " ").split()
    if not words:
        return None
    known = {**_RECORDS, "kernels": 0, "all": sum(_RECORDS.values())}
    wrong = [word for word in words if word not in known]
    if wrong:
        raise ValueError(
            f"PYROMETER_GPU_RECORDS must be some of {', '.join(known)}, not {wrong[0]!r}"
        )
    bits = 0
    for word in words:
        bits |= known[word]
    return bits


class Collector:
    """The kernels of one session."""

    def __init__(self, settings: Settings, is_replaceable: bool) -> None:
        """`is_replaceable`: torch.profiler may take its place."""
        global current
        self._settings = settings
        self._records = records()
        self._is_replaceable = is_replaceable
        self._instead: Any = None  # torch.profiler's recording
        self._process = os.getpid()
        self.is_on = False
        self.is_over = False
        self.uses_torch = False
        current = self
        with contextlib.suppress(OSError):
            os.unlink(settings.path + devices.SUFFIX)  # of an earlier run
        devices.when_cuda_is_used(self._begin)

    def _begin(self) -> None:
        is_on_here = self.is_on and self._process == os.getpid()
        if self.is_over or is_on_here:
            return
        self._process = os.getpid()  # a forked child that uses CUDA, unlike its parent
        kineto.before_others(self._make_way)
        status = _core.devices_start(*(() if self._records is None else (self._records,)))
        self.is_on = status["state"] == "on"
        if self.is_on:
            self._describe_devices()
        elif self._is_replaceable and status["state"] == "taken":
            self._use_torch(status["reason"])
        else:
            self._lose(status["reason"])

    def _lose(self, reason: str, later: str = "") -> None:
        instead = ""
        if self._settings.allows_torch:
            instead = '; gpu="torch" or --gpu torch tries torch.profiler'
        _env.say(f"{later}kernels are not recorded: {reason} (details: pyrometer doctor{instead})")
        _core.recorder_property("missing", f"{later}kernels ({reason})")

    def _use_torch(self, reason: str) -> None:
        devices.DevicePass.say_once(
            f"kernels come from torch.profiler, which costs more: {reason} "
            "(details: pyrometer doctor)"
        )
        self.uses_torch = True
        if not self._settings.temporary:
            self._instead = devices.DeviceRecording(
                self._settings.path,
                device_memory.is_left_to_torch(self._settings.flags),
                self._settings.warmup,
                is_cuda_used=True,
            )

    def _describe_devices(self) -> None:
        import torch

        for index in range(torch.cuda.device_count()):
            if not _has_context(index):
                continue
            found = torch.cuda.get_device_properties(index)
            _core.recorder_device(
                index,
                found.name,
                found.total_memory,
                found.multi_processor_count,
                getattr(found, "max_threads_per_multi_processor", 0),
                found.major,
                found.minor,
            )

    def _make_way(self) -> None:
        """The program starts its own torch.profiler, which needs what the collector holds."""
        if self.is_on:
            self._finish()
            self._lose("the program's own torch.profiler started meanwhile", "later ")

    def begin(self) -> None:
        """Ends the warm-up."""
        self._settings.warmup = False
        if self._instead is not None:
            self._instead.begin()

    def _finish(self) -> None:
        self.is_on = False
        wait_for_devices()
        _core.devices_stop()

    def stop(self) -> None:
        global current
        self.is_over = True
        if current is self:
            current = None
        kineto.forget(self._make_way)
        if self._instead is not None:
            self._instead.stop()
        if self.is_on and self._process == os.getpid():
            self._finish()


class NoKernels:
    """Reports that kernels are not recorded once the program uses CUDA."""

    def __init__(self, reason: str) -> None:
        self._reason = reason
        self._is_over = False
        devices.when_cuda_is_used(self._begin)

    def _begin(self) -> None:
        if not self._is_over:
            _env.say(f"kernels are not recorded: {self._reason}")
            _core.recorder_property("missing", f"kernels ({self._reason})")

    def stop(self) -> None:
        self._is_over = True


def _has_context(index: int) -> bool:
    import torch

    has = getattr(torch._C, "_cuda_hasPrimaryContext", None)
    return has is None or bool(has(index))


def wait_for_devices() -> None:
    """Waits for all work of this process: kernels that have not ended have no record. Does not wait
    while a graph is captured, which a wait would break; an error of the program's own work is left
    to the program."""
    if not devices.is_in_use():
        return
    import torch

    with contextlib.suppress(Exception):
        if torch.cuda.is_current_stream_capturing():
            return
        for index in range(torch.cuda.device_count()):
            if _has_context(index):
                torch.cuda.synchronize(index)
