"""capture_model(): every forward pass of a model as a file and a table."""

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

# Under this name a decorated class holds its registration, and its subclasses find it.
MARKER = "__pyrometer_capture__"


def _make_registration(model_name: str, options: dict[str, Any]) -> Registration:
    registration = Registration(model_name, options)
    session.watchers.add(registration)
    if _env.is_on():
        _activate(registration)
    return registration


# A class that is pickled by value (cloudpickle) brings its registration with it.
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
            f"capture_model is for torch.nn.Module classes and modules, not {target!r:.100}"
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
