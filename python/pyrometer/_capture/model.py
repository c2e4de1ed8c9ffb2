"""capture_model(): writes every forward pass of a model as a file and prints a table."""

from __future__ import annotations

import copyreg
import inspect
import types
import weakref
from typing import Any

from pyrometer import _core, _env
from pyrometer._capture import passes
from pyrometer._capture.registration import Registration, check_options
from pyrometer._capture.session import session

# Attribute of a decorated class that holds its registration; subclasses inherit it.
MARKER = "__pyrometer_capture__"


def _make_registration(model_name: str, options: dict[str, Any]) -> Registration:
    registration = Registration(model_name, options)
    session.watchers.add(registration)
    if _env.is_on():
        _activate(registration)
    return registration


# A class that cloudpickle pickles by value carries its registration with it.
copyreg.pickle(Registration, lambda one: (_make_registration, (one.model_name, one.options)))


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
    its layers. Unless PYROMETER=1 (or CHISEL_BACKEND_RUN=1) is set or the program runs under
    `pyrometer run` or `pyrometer python`, capture_model returns its argument unchanged.

    Args:
        model_name: name in the files and the table; the name of the class by default.
        record_shapes: record shapes and types of the inputs and outputs of ops.
        profile_memory: record allocations and frees.
        output_dir: folder of the files; default: PYROMETER_OUTPUT_DIR, else the current folder.
        every: record only every N-th pass, starting with the first.
        max_passes: record at most this many passes.
        with_stack: record the Python stacks of ops; on by default.
        with_flops: add FLOPs to the table.
        gpu: how kernels are recorded, as in capture().
        activities: as in torch.profiler: without CPU no ops, without CUDA no kernels.
        schedule: as in torch.profiler, with passes as steps.
        on_trace_ready: called for each pass after its file is written, in order, on a separate
            thread. The pass has export_chrome_trace() and key_averages().

    Raises:
        TypeError: an argument that torch.profiler does not have either, or not a module.
        ValueError: an argument of torch.profiler with an unsupported value.
    """
    options = {
        "record_shapes": bool(record_shapes),
        "profile_memory": bool(profile_memory),
        **profiler_kwargs,
    }
    check_options(options)
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
            f"capture_model expects a torch.nn.Module class or module, not {target!r:.100}"
        )
    kind = target if is_class else type(target)
    if not _env.is_on():
        return target
    registration = _make_registration(model_name or kind.__name__, options)
    watch_forward(kind)
    if is_class:
        setattr(target, MARKER, registration)
        _follow_subclasses(target)
    else:
        _watch(target, registration)
    _env.debug(f"capturing every forward of {registration.model_name}")
    return target


_instances: dict[int, Registration] = {}


def _watch(module: Any, registration: Registration) -> None:
    key = id(module)
    _instances[key] = registration
    weakref.finalize(module, _instances.pop, key, None).atexit = False


def watch_forward(kind: type) -> None:
    """Makes a direct call of `forward` a pass, like a call of the module."""
    forward = inspect.getattr_static(kind, "forward", None)
    if isinstance(forward, types.FunctionType):
        _core.forward_watch(forward)


def _follow_subclasses(kind: type) -> None:
    """Watches the `forward` of classes derived from a decorated class."""
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

    session.want_passes(registration.flags, registration.options.get("gpu"))
    _core.set_passes(passes.begin, passes.end, MARKER, _instances)
    observers.watch_modules()
    watch_forward(nn.DataParallel)  # which runs copies of the model on other threads
