"""The registration of a decorated class: its checked options, and its number of passes."""

from __future__ import annotations

import itertools
import os
from typing import Any

from pyrometer import _core
from pyrometer._capture.settings import WAYS

# Arguments of torch.profiler.profile that are supported only with this value.
_REFUSED: dict[str, tuple[Any, str]] = {
    "experimental_config": (None, "it configures Kineto, which is not used"),
    "execution_trace_observer": (None, "execution traces are not recorded"),
    "acc_events": (False, "every pass has a separate file"),
    "custom_trace_id_callback": (None, "traces have no id"),
    "post_processing_timeout_s": (None, "there is no post-processing"),
}
_KNOWN = (
    "with_stack",
    "with_flops",
    "with_modules",
    "activities",
    "schedule",
    "on_trace_ready",
    "use_cuda",
    "use_gpu",
    "output_dir",
    "gpu",
    "every",
    "max_passes",
)


class Registration:
    """A decorated class or a chosen module: what to record, and how many passes it had."""

    def __init__(self, model_name: str, options: dict[str, Any]) -> None:
        self.model_name = model_name
        self.options = options
        self.flags = _flags(options)
        self.devices = bool(self.flags & _core.RECORD_DEVICES)
        self.passes = itertools.count(1)
        self.written = itertools.count(1)
        self.process = self.home = os.getpid()
        self.is_over = False  # max_passes reached

    def renew_in_child(self) -> None:
        """A forked process counts its own passes."""
        if self.process != os.getpid():
            self.process = os.getpid()
            self.passes, self.written = itertools.count(1), itertools.count(1)


def check_options(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if name in _REFUSED:
            accepted, reason = _REFUSED[name]
            if value is not accepted:
                raise ValueError(f"capture_model: {name} is not supported: {reason}")
        elif name not in _KNOWN and name not in ("record_shapes", "profile_memory"):
            raise TypeError(f"capture_model() got an unexpected keyword argument {name!r}")
    for name in ("every", "max_passes"):
        value = options.get(name)
        if value is not None and (
            not isinstance(value, int) or isinstance(value, bool) or value < 1
        ):
            raise ValueError(
                f"capture_model: {name} must be an integer of at least 1, not {value!r}"
            )
    gpu = options.get("gpu")
    if gpu is not None and gpu not in WAYS:
        raise ValueError(f"capture_model: gpu must be one of {', '.join(WAYS)}, not {gpu!r}")
    for name in ("schedule", "on_trace_ready"):
        if options.get(name) is not None and not callable(options[name]):
            raise TypeError(f"capture_model: {name} must be callable")
    _activity_names(options)


def _activity_names(options: dict[str, Any]) -> set[str]:
    activities = options.get("activities")
    if activities is None:
        uses_cuda = options.get("use_cuda", options.get("use_gpu"))
        return {"CPU"} if uses_cuda is not None and not uses_cuda else {"CPU", "CUDA"}
    names = {getattr(activity, "name", str(activity)) for activity in activities}
    unknown = names - {"CPU", "CUDA"}
    if unknown or not names:
        raise ValueError(
            "capture_model: activities: CPU and CUDA are supported, not "
            + (", ".join(sorted(unknown)) or "nothing")
        )
    return names


def _flags(options: dict[str, Any]) -> int:
    flags = _core.RECORD_LAYERS
    if "CPU" in _activity_names(options):
        flags |= _core.RECORD_OPS
    if options["record_shapes"] or options.get("with_flops"):
        flags |= _core.RECORD_SHAPES | _core.RECORD_OUTPUTS
    if options["profile_memory"]:
        flags |= _core.RECORD_MEMORY
    if options.get("with_stack", True):
        flags |= _core.RECORD_STACKS
    if "CUDA" in _activity_names(options):
        flags |= _core.RECORD_DEVICES
    return flags
