"""The observers of a session: layers always; ops and memory by the observer built on first use, or
by torch.profiler if that cannot be built."""

from __future__ import annotations

import os
import platform
import socket
import sys
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _env
from pyrometer._rank import rank_info

if TYPE_CHECKING:
    from pyrometer._capture.registration import Registration
    from pyrometer._capture.settings import Settings

_is_watching = False


def watch_modules() -> None:
    """Installs the layer hook permanently; it costs a few ns per call while not recording."""
    global _is_watching
    if _is_watching:
        return
    from torch import nn

    _core.layers_install(nn.Module._call_impl, nn.Module)
    _is_watching = True


def watch_inputs() -> None:
    """Records the inputs of layers, with the observer if available. Call before ops are observed:
    it creates tensors."""
    import torch

    from pyrometer._capture import observer_build

    _core.inputs_install(
        *observer_build.tensor_access(),
        (torch.empty(2, 3, device="cpu"), torch.empty(5, device="cpu")),
        torch._C.TensorBase,
        torch._C.DisableTorchFunction,
        torch._C._get_tracing_state,
        torch._C._len_torch_function_stack,
    )


class Observers:
    """The observers of one session."""

    def __init__(self, settings: Settings) -> None:
        from pyrometer._capture import compiled_code, observer_build

        watch_modules()
        self._ops: Any = None
        self._has_stacks = bool(settings.flags & _core.RECORD_STACKS)
        self._devices: Any = None
        self._device_memory: Any = None
        self._gpu_samples: Any = None
        self._exits: Any = None
        self._ranges: Any = None
        self.description = "layers"
        if self._has_stacks:
            if not _core.stacks_install(observer_build.stack_functions()):
                _env.say(f"stacks are not recorded in Python {platform.python_version()}")
        if settings.flags & _core.RECORD_SHAPES:
            watch_inputs()
        if settings.flags & (_core.RECORD_OPS | _core.RECORD_MEMORY):
            self._observe_ops(settings)
        if settings.has_oom_trigger:
            self._watch_failures(settings)
        if self._ops is None or self._ops is observer_build:  # else torch.profiler sees devices too
            self._device_memory = _watch_device_memory(settings)
            self._devices = _observe_devices(settings)
        self._compiled_code = compiled_code.Watch()
        if settings.nvtx:
            from pyrometer._capture import ranges

            self._ranges = ranges.SessionRanges()
        self._gpu_samples = _sample_gpus(settings)

    def _observe_ops(self, settings: Settings) -> None:
        from pyrometer._capture import observer_build, tensor_exits

        try:
            observer_build.start(settings.flags)
            self._ops = observer_build
            self.description = "layers, ops by the observer"
            if settings.flags & _core.RECORD_STORAGES:
                self._exits = tensor_exits.Watch()
        except observer_build.Unavailable as error:
            self._fall_back(settings, str(error))

    def _watch_failures(self, settings: Settings) -> None:
        """For the trigger `oom`, if memory is not recorded."""
        from pyrometer._capture import observer_build

        is_observed = self._ops is observer_build
        if is_observed and settings.flags & _core.RECORD_MEMORY:
            return
        try:
            if not is_observed:
                observer_build.start(0)
                self._ops = observer_build
            observer_build.watch_failures()
        except observer_build.Unavailable as error:
            _env.say(
                "on the CPU the trigger oom does not see a failed allocation whose exception the "
                f"program catches: {error} (details: pyrometer doctor)"
            )

    def _fall_back(self, settings: Settings, reason: str) -> None:
        from pyrometer._capture import torch_profiler

        if settings.is_bounded:
            _env.say(f"ops are not recorded: {reason} (details: pyrometer doctor)")
            _core.recorder_property("missing", f"ops ({reason})")
            _core.recorder_property("ops", "missing")
            return
        lost = ", ".join([*torch_profiler.missing(settings.flags), "ops of other threads"])
        _env.say(
            f"ops come from torch.profiler, which costs more and does not record {lost}: "
            f"{reason} (details: pyrometer doctor)"
        )
        self._ops = torch_profiler.start(settings)
        self.description = "layers, ops by torch.profiler"

    def rest(self, rests: bool) -> None:
        """Pauses or resumes all recording."""
        from pyrometer._capture import observer_build

        _core.recorder_rest(rests)
        if self._ops is observer_build:
            observer_build.rest(rests)

    def begin(self) -> None:
        """Ends a warm-up."""
        for one in (self._devices, self._ops):
            if hasattr(one, "begin"):
                one.begin()

    def stop(self) -> None:
        self._compiled_code.stop()
        if self._exits is not None:
            self._exits.stop()
        if self._ranges is not None:
            self._ranges.stop()
        try:
            if self._devices is not None:
                self._devices.stop()
        finally:
            if self._device_memory is not None:
                self._device_memory.stop()
            if self._gpu_samples is not None:  # after the last kernel has ended
                self._gpu_samples.stop()
            if self._ops is not None:
                self._ops.stop()


def _watch_device_memory(settings: Settings) -> Any:
    """Records GPU memory, or watches it for the trigger `oom`; None if neither is wanted."""
    from pyrometer._capture import collector, device_memory

    is_recorded = settings.flags & _core.RECORD_MEMORY and collector.way(settings.gpu) != "none"
    if not is_recorded and not settings.has_oom_trigger:
        return None
    return device_memory.Watch(bool(is_recorded))


def _observe_devices(settings: Settings) -> Any:
    """What records kernels; None if nothing does, or if every pass has its own torch.profiler."""
    from pyrometer._capture import collector, device_memory, devices

    way = collector.way(settings.gpu) if settings.devices else "none"
    if way in ("auto", "collector"):
        return collector.Collector(settings, way == "auto" and settings.allows_torch)
    if way == "torch" and settings.is_bounded:
        return collector.NoKernels("torch.profiler would keep all of them in memory")
    if way == "torch" and not settings.temporary:
        with_memory = device_memory.is_left_to_torch(settings.flags)
        return devices.DeviceRecording(settings.path, with_memory, settings.warmup)
    return None


def _sample_gpus(settings: Settings) -> Any:
    """Samples of power and clocks; None where no kernels are wanted."""
    from pyrometer._capture import collector, gpu_samples

    if not settings.devices or collector.way(settings.gpu) == "none":
        return None
    return gpu_samples.Samples(settings)


def start(settings: Settings) -> Observers:
    return Observers(settings)


def flags(
    *,
    ops: Any = 1,
    shapes: Any = 1,
    outputs: Any = 1,
    memory: Any = 1,
    stacks: Any = 1,
    storages: Any = 0,
) -> int:
    """The RECORD_* flags of the requested data; layers and kernels are always included."""
    chosen = _core.RECORD_LAYERS | _core.RECORD_DEVICES
    if ops:
        chosen |= _core.RECORD_OPS
        chosen |= _core.RECORD_SHAPES if shapes else 0
        chosen |= _core.RECORD_OUTPUTS if shapes and outputs else 0
        chosen |= _core.RECORD_STACKS if stacks else 0
        chosen |= _core.RECORD_MEMORY if memory else 0
        chosen |= _core.RECORD_STORAGES if storages else 0
    return chosen


def describe() -> dict[str, str]:
    """Properties of the recording: program, versions, machine, rank."""
    import torch

    properties = {
        "program": " ".join(sys.argv)[:1000] if getattr(sys, "argv", None) else "",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "pyrometer": _core.version,
        "host": socket.gethostname(),
        "machine": platform.machine(),
        "processor": _core.processor_model(),
        "threads": str(torch.get_num_threads()),
        "process": str(os.getpid()),
    }
    rank, world_size, backend = rank_info()
    if world_size > 1:
        properties |= {"rank": str(rank), "world_size": str(world_size)}
    if backend:
        properties["backend"] = backend
    return properties


def begin_device_pass(registration: Registration) -> Any:
    """Starts collecting the kernels of one pass, and its ops without an observer; None if there is
    nothing to collect."""
    from pyrometer._capture import collector, device_memory, devices, torch_profiler

    if torch_profiler.current is not None:
        return torch_profiler.begin_pass(torch_profiler.current, registration.flags)
    if not registration.devices:
        return None
    if collector.current is not None and not collector.current.uses_torch:
        return None  # the recording has them
    return devices.DevicePass.begin(device_memory.is_left_to_torch(registration.flags))


def examine() -> tuple[str, str, str]:
    """For doctor: state, text, and how to fix it."""
    from pyrometer._capture import observer_build

    status = observer_build.status()
    if status["ok"]:
        how = "built now" if status["built"] else "built before"
        return "ok", f"{how} and tested: {status['library']}", ""
    return (
        "note" if status["expected"] else "problem",
        f"ops come from torch.profiler, which costs more: {status['reason']}",
        status["remedy"],
    )


def cache_folder() -> str:
    from pyrometer._capture import observer_build

    return str(observer_build.cache_folder())
