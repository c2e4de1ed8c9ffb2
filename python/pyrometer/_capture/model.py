"""capture_model(): every forward of a model as a file and a table; capture(): a block of code."""

from __future__ import annotations

import inspect
import itertools
import os
import types
import weakref
from typing import Any

from pyrometer import _core, _env
from pyrometer._capture import passes
from pyrometer._capture.session import session

# Under this name a decorated class holds its registration, and its subclasses find it.
MARKER = "__pyrometer_capture__"

# Arguments of torch.profiler.profile that mean nothing here unless they are left at this.
_REFUSED: dict[str, tuple[Any, str]] = {
    "experimental_config": (None, "Kineto, which it configures, is not what records"),
    "execution_trace_observer": (None, "execution traces are not recorded"),
    "acc_events": (False, "every pass has a file of its own"),
    "custom_trace_id_callback": (None, "traces have no id"),
    "post_processing_timeout_s": (None, "nothing is processed at the end"),
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
    "every",
    "max_passes",
)


class Registration:
    """A decorated class or a chosen module: what to record, and how many passes there were."""

    def __init__(self, model_name: str, options: dict[str, Any]) -> None:
        self.model_name = model_name
        self.options = options
        self.flags = _flags(options)
        self.devices = _wants_devices(options)
        self.passes = itertools.count(1)
        self.written = itertools.count(1)
        self.process = self.home = os.getpid()
        self.is_over = False  # max_passes were recorded
        session.watchers.add(self)

    def __reduce__(self):
        # A class that is pickled by value (cloudpickle) brings its registration with it.
        return _restore, (self.model_name, self.options)

    def renew_in_child(self) -> None:
        """A forked process counts for itself."""
        if self.process != os.getpid():
            self.process = os.getpid()
            self.passes, self.written = itertools.count(1), itertools.count(1)


def _restore(model_name: str, options: dict[str, Any]) -> Registration:
    registration = Registration(model_name, options)
    if _env.is_on():
        _activate(registration)
    return registration


def capture_model(
    model_name: Any = None,
    record_shapes: bool = True,
    profile_memory: bool = True,
    **profiler_kwargs: Any,
) -> Any:
    """Captures every forward pass of a model.

    As a decorator of a class, with or without parentheses, or on a module:

        @capture_model(model_name="MyModel")
        class MyModel(nn.Module): ...

        model = capture_model(model)

    Each forward writes `{model_name}_forward_{n:03d}.json`, a Chrome trace, and prints a table of
    its layers. Nothing happens, and what was given comes back as it is, unless PYROMETER=1 (or
    CHISEL_BACKEND_RUN=1) is set or the program runs under `pyrometer run` or `pyrometer python`.

    Args:
        model_name: of the files and the table; the name of the class by default.
        record_shapes: shapes and types of what ops take and give.
        profile_memory: allocations and frees.
        output_dir: where the files go; PYROMETER_OUTPUT_DIR, else the current folder.
        every: only every N-th pass is recorded, the first one included.
        max_passes: no more than this many are recorded.
        with_stack: Python stacks of ops; on by default.
        with_flops: FLOPs in the table too.
        activities: as torch.profiler's: without CPU no ops, without CUDA no kernels.
        schedule: as torch.profiler's, with passes for steps.
        on_trace_ready: called with each pass after its file was written, in order, on a thread
            of its own; it can export_chrome_trace() and key_averages().

    Raises:
        TypeError: an argument that torch.profiler does not have either, or no module.
        ValueError: one that it has, with a value that cannot be honoured.
    """
    options = {
        "record_shapes": bool(record_shapes),
        "profile_memory": bool(profile_memory),
        **profiler_kwargs,
    }
    _check(options)
    if model_name is None or isinstance(model_name, str):

        def decorate(target: Any) -> Any:
            return _register(target, model_name, options)

        return decorate
    return _register(model_name, None, options)


def _is_module_class(target: Any) -> bool:
    return isinstance(target, type) and any(
        base.__name__ == "Module" and base.__module__ == "torch.nn.modules.module"
        for base in target.__mro__
    )


def _register(target: Any, model_name: str | None, options: dict[str, Any]) -> Any:
    is_class = _is_module_class(target)
    if not is_class and not _is_module_class(type(target)):
        raise TypeError(
            f"capture_model is for torch.nn.Module classes and modules, not {target!r:.100}"
        )
    kind = target if is_class else type(target)
    if not _env.is_on():
        return target
    registration = Registration(model_name or kind.__name__, options)
    _activate(registration)
    watch_forward(kind)
    if is_class:
        setattr(target, MARKER, registration)
        _follow_subclasses(target)
    else:
        _watch(target, registration)
    _env.debug(f"every forward of {registration.model_name} is captured")
    return target


_instances: dict[int, Registration] = {}


def _watch(module: Any, registration: Registration) -> None:
    key = id(module)
    _instances[key] = registration
    weakref.finalize(module, _instances.pop, key, None).atexit = False


def watch_forward(kind: type) -> None:
    """A call of `forward` itself is a pass as a call of the module is."""
    forward = inspect.getattr_static(kind, "forward", None)
    if isinstance(forward, types.FunctionType):
        _core.forward_watch(forward)


def _follow_subclasses(kind: type) -> None:
    """Classes that are derived from a decorated one have a `forward` of their own."""
    own = vars(kind).get("__init_subclass__")

    def __init_subclass__(cls: type, **kwargs: Any) -> None:
        if own is None:
            super(kind, cls).__init_subclass__(**kwargs)
        else:
            own.__get__(None, cls)(**kwargs)
        watch_forward(cls)

    kind.__init_subclass__ = classmethod(__init_subclass__)  # type: ignore[assignment]


def _activate(registration: Registration) -> None:
    from torch import nn

    from pyrometer._capture import observers

    session.want_passes(registration.flags)
    _core.set_passes(passes.begin, passes.end, MARKER, _instances)
    observers.watch_modules()
    watch_forward(nn.DataParallel)  # which runs copies of the model on other threads


def _check(options: dict[str, Any]) -> None:
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
                f"capture_model: {name} is a whole number of at least 1, not {value!r}"
            )
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
    return flags


def _wants_devices(options: dict[str, Any]) -> bool:
    return "CUDA" in _activity_names(options)
