"""The flight recorder's triggers that only Python sees: uncaught exceptions, optimizer steps, calls
of the CUDA profiler. The library writes the files; this reports them."""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _env
from pyrometer._capture import cuda_profiler

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from pyrometer._capture.settings import Settings

LONGEST_MESSAGE = 200
MOST_FILES = 9999  # per trigger


def keep_text(keep_last: bool | str | float) -> str | None:
    """The text that the library reads; None for a limit by size only."""
    if isinstance(keep_last, bool):
        return None
    if isinstance(keep_last, str):
        return keep_last
    try:
        return f"{keep_last:f}s"
    except TypeError:
        raise TypeError(
            'keep_last must be True, seconds, or a text such as "30s" or "200 steps", not '
            f"{keep_last!r}"
        ) from None


def trigger_text(on: str | Sequence[str] | None) -> str | None:
    if on is None or isinstance(on, str):
        return on
    words = list(on) if isinstance(on, Iterable) else [None]
    if not all(isinstance(word, str) for word in words):
        raise TypeError(f'on must be a trigger such as "slow-step", or a list of them, not {on!r}')
    return ",".join(words)


def size_limit(max_size: int | str | None) -> int:
    """Bytes; 0: no limit."""
    if max_size is None:
        return 0
    if not isinstance(max_size, str):
        try:
            max_size = operator.index(max_size)
        except TypeError:
            raise TypeError(
                f'max_size must be bytes or a text such as "500M", not {max_size!r}'
            ) from None
    try:
        return _core.recorder_size(str(max_size)) if max_size else 0
    except ValueError as error:
        raise ValueError(f"max_size: {error}") from None


def files_limit(max_files: int) -> int:
    if not isinstance(max_files, int) or not 1 <= max_files <= MOST_FILES:
        raise ValueError(f"max_files must be a number from 1 to {MOST_FILES}, not {max_files!r}")
    return max_files


class _SignalHandlers:
    """Tells the library of handlers that the program installs, so that no signal is missed. They
    stay the program's own: the library's runs in front of them, below Python."""

    def __init__(self) -> None:
        original = signal.signal

        @functools.wraps(original)
        def install(*args: Any, **kwargs: Any) -> Any:
            before = original(*args, **kwargs)
            _core.flight_handlers_changed()
            return before

        self._original: Any = original
        self._install: Any = install
        signal.signal = install

    def stop(self) -> None:
        if signal.signal is self._install:  # else the program has wrapped it, and ours does nothing
            signal.signal = self._original


class Flight:
    """The triggers of one session."""

    def __init__(self, settings: Settings) -> None:
        self.files: list[str] = []
        self._options = _core.flight_options(settings.keep, settings.triggers)
        self._is_quiet = settings.quiet
        self._hook: Any = None
        self._window: cuda_profiler.Watch | None = None
        self._handlers: _SignalHandlers | None = None
        self._earlier = _last_exception()
        self._reported: BaseException | None = None
        self._excepthook, self._thread_hook = sys.excepthook, threading.excepthook
        if settings.triggers is not None:
            _core.set_flight_saved(self._on_saved)
        if self._options["steps"] or settings.counts_steps:
            self._hook = _watch_optimizers()
        if self._options["exception"] or self._options["oom"]:
            sys.excepthook = self._on_uncaught
            threading.excepthook = self._on_uncaught_in_thread
        if self._options["cuda_profiler"]:
            self._watch_windows()
        if self._options["signals"]:
            self._handlers = _SignalHandlers()

    def _watch_windows(self) -> None:
        from pyrometer._capture import observer_build

        self._window = cuda_profiler.Watch(_core.flight_window)
        if self._options["rests"]:  # nothing is recorded outside of the program's windows
            _core.recorder_on_rest(observer_build.rest_function())
            _core.recorder_rest(True)

    def _on_saved(self, path: str, text: str, error: str | None) -> None:
        """Called on the thread that writes the files."""
        if error is not None:
            _env.say(f"cannot save the recording ({text}): {error}")
            return
        self.files.append(path)
        if not self._is_quiet:
            _env.say(f"saved {shown(path)}: {text}")

    def _on_uncaught(
        self, kind: type[BaseException], value: BaseException, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(Exception):
            self.report(value)
        self._excepthook(kind, value, trace)

    def _on_uncaught_in_thread(self, arguments: Any) -> None:
        if arguments.exc_value is not None:
            with contextlib.suppress(Exception):
                self.report(arguments.exc_value)
        self._thread_hook(arguments)

    def report(self, error: BaseException) -> None:
        """An exception that nothing caught: saves a file and waits for it, as the program ends."""
        if error is self._reported or not isinstance(error, Exception):
            return
        self._reported = error
        if self._options["oom"] and _is_out_of_memory(error):
            _core.flight_wait()
            # The observer of memory has usually fired this trigger.
            if not any(".oom-" in os.path.basename(path) for path in self.files):
                _core.flight_trigger("oom", _describe(error), True)
        elif self._options["exception"]:
            _core.flight_trigger("exception", _describe(error), True)

    def end(self) -> None:
        """Called before the recorder stops."""
        last = _last_exception()
        if last is not None and last is not self._earlier and self._options["exception"]:
            self.report(last)  # the program has replaced the hook
        if sys.excepthook == self._on_uncaught:
            sys.excepthook = self._excepthook
        if threading.excepthook == self._on_uncaught_in_thread:
            threading.excepthook = self._thread_hook
        if self._handlers is not None:
            self._handlers.stop()
        if self._hook is not None:
            self._hook.remove()
        if self._window is not None:
            self._window.stop()

    def finish(self) -> None:
        """Called after it: all files are written."""
        _core.set_flight_saved(None)
        _core.recorder_on_rest(0)


def _watch_optimizers() -> Any:
    from torch.optim import optimizer

    register = getattr(optimizer, "register_optimizer_step_post_hook", None)
    return register(_core.optimizer_stepped) if register is not None else None


def _last_exception() -> BaseException | None:
    """The uncaught exception that the interpreter printed last."""
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def _is_out_of_memory(error: BaseException) -> bool:
    torch = sys.modules.get("torch")
    kind = getattr(torch, "OutOfMemoryError", None) or getattr(
        getattr(torch, "cuda", None), "OutOfMemoryError", None
    )
    return (kind is not None and isinstance(error, kind)) or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    )


def _describe(error: BaseException) -> str:
    """ "ValueError: message, at train.py(12): step": the innermost frame outside of torch."""
    lines = str(error).strip().splitlines()
    message = f": {lines[0][:LONGEST_MESSAGE]}" if lines else ""
    frames = traceback.extract_tb(error.__traceback__)
    torch = sys.modules.get("torch")
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    libraries = (ours, os.path.dirname(torch.__file__) if torch is not None else ours)
    own = [frame for frame in frames if not frame.filename.startswith(libraries)]
    at = (own or frames)[-1:]
    where = f", at {at[0].filename}({at[0].lineno}): {at[0].name}" if at else ""
    return f"{type(error).__name__}{message}{where}"


def shown(path: str) -> str:
    """A path for messages: relative if it is below the current folder."""
    import shlex

    relative = os.path.relpath(path)
    return shlex.quote(path if relative.startswith("..") else relative)
