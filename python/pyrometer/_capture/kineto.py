"""The only torch.profiler of this process: either ours or the program's, never both.

Torch crashes when a second profiler starts on another thread, when a profiler is stopped on another
thread than it was started on, and when one starts while another warms up. So all our profilers
start and stop here, one at a time, each on its own thread, and yield to the program's."""

from __future__ import annotations

import atexit
import contextlib
import gc
import inspect
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from pyrometer import _core, _env

# How long a profiler of the program waits for a forward pass on another thread.
LONGEST_WAIT_S = 10.0


class Busy(Exception):
    """torch.profiler is not available now; the text is a message for users."""


class _State:
    lock = threading.RLock()  # held while a profiler starts or stops, never longer
    held: Held | None = None  # our running profiler
    others: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()  # the program's, warm-ups included
    is_watching = False
    has_looked = False  # for profilers that were warming up before
    before_others: ClassVar[list[Callable[[], None]]] = []
    # Per thread: .calls is true while it starts or stops our profiler; .end stops its profiler.
    own = threading.local()


class Held:
    """Our profiler, running or warming up."""

    def __init__(self, profile: Any, is_pass: bool, is_warm: bool) -> None:
        self.profile = profile
        self.is_pass = is_pass
        self.is_warm = is_warm  # prepared, not started
        self.thread = threading.get_ident()
        self.process = os.getpid()
        self.is_stopped = False
        self.reason = ""  # why nothing, or not everything, was recorded

    @property
    def is_running_here(self) -> bool:
        here = self.process == os.getpid() and self.thread == threading.get_ident()
        return here and not self.is_stopped

    def stop(self) -> Any:
        """The stopped profile, or None with `reason` set. Never raises."""
        if self.process != os.getpid():
            self.reason = "torch.profiler does not follow a fork"
            return None
        with _State.lock:
            if self.is_stopped:
                return self.profile
            if self.thread != threading.get_ident():
                # It runs until its thread starts the next one, or ends.
                self.reason = "torch.profiler must be stopped by the thread that started it"
                return None
            return self._stop()

    def _stop(self) -> Any:
        self.is_stopped = True
        try:
            with _own_call():
                if self.is_warm:
                    self.profile.start_trace()  # a prepared one can stop only after it started
                self.profile.stop()
        except Exception as error:
            self.reason = f"torch.profiler did not stop: {error}"
            self.profile = None
        finally:
            _core.set_marks(None)
            if _State.held is self:
                _State.held = None
        return self.profile


class _AtThreadEnd:
    """Stops a profiler when its thread ends: torch would crash later if it still ran."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def __del__(self) -> None:
        if self._held.is_running_here:
            self._held.stop()


def _is_warming_up(profile: Any) -> bool:
    return getattr(getattr(profile, "current_action", None), "name", "") == "WARMUP"


@contextlib.contextmanager
def _own_call() -> Iterator[None]:
    before = getattr(_State.own, "calls", False)
    _State.own.calls = True
    try:
        yield
    finally:
        _State.own.calls = before


def quiet_options() -> dict[str, Any]:
    """Suppresses torch's note that a profiler forgets its earlier cycles: ours have one cycle
    each."""
    import torch

    known = inspect.signature(torch.profiler.profile.__init__).parameters
    return {"acc_events": True} if "acc_events" in known else {}


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Silences Kineto, which from torch 2.13 on writes two lines to standard error per profile. It
    reads its log level once, when the first profile of the process starts."""
    name = "KINETO_LOG_LEVEL"
    if name in os.environ:
        yield
        return
    os.environ[name] = "99"
    try:
        yield
    finally:
        del os.environ[name]


def start(options: dict[str, Any], *, is_pass: bool, is_warmup: bool = False) -> Held:
    """Starts a profiler, or only its warm-up. A pass does not wait for others. Raises Busy."""
    import torch

    if not _State.lock.acquire(blocking=not is_pass):
        raise Busy("torch.profiler was starting or stopping on another thread")
    try:
        _watch_others()
        _find_warm_others()
        _finish_own(is_pass)
        if _State.held is not None:
            raise Busy("torch.profiler was recording another pass, on another thread")
        if _has_other():
            raise Busy("the program's own torch.profiler was running")
        with _own_call(), quiet_start():
            profile = torch.profiler.profile(**options, **quiet_options())
            if is_warmup:
                profile.prepare_trace()
            else:
                profile.start()
        held = _State.held = Held(profile, is_pass, is_warmup)
        if not is_pass:
            _State.own.end = _AtThreadEnd(held)
        return held
    except Busy:
        raise
    except Exception as error:
        raise Busy(f"torch.profiler did not start: {error}") from error
    finally:
        _State.lock.release()


def begin(held: Held) -> None:
    """Ends the warm-up of a profiler that was started with one."""
    with _State.lock, _own_call():
        if _State.held is held and held.is_warm:
            held.is_warm = False
            held.profile.start_trace()


def _finish_own(is_pass: bool) -> None:
    """Stops a profiler of this thread that was left running: another thread tried to stop it, or an
    interrupt came between its start and its pass. Forgets one whose thread has ended."""
    held = _State.held
    if held is None:
        return
    if held.thread == threading.get_ident():
        if held.reason or (held.is_pass and is_pass):  # passes of one thread do not nest
            held._stop()
    elif not any(thread.ident == held.thread for thread in threading.enumerate()):
        _State.held = None


def before_others(callback: Callable[[], None]) -> None:
    """Calls back before a profiler of the program that records devices starts."""
    with _State.lock:
        _watch_others()
        if callback not in _State.before_others:
            _State.before_others.append(callback)


def forget(callback: Callable[[], None]) -> None:
    with _State.lock:
        if callback in _State.before_others:
            _State.before_others.remove(callback)


def _has_other() -> bool:
    import torch

    return bool(
        _State.others
        or torch._C._autograd._profiler_enabled()
        or getattr(torch.autograd.profiler, "_is_profiler_enabled", False)
    )


def _watch_others() -> None:
    """Tracks the program's profilers from now on; ours stop when they start."""
    if _State.is_watching:
        return
    _State.is_watching = True
    from torch.autograd.profiler import profile

    prepare, leave = profile._prepare_trace, profile.__exit__

    def _prepare_trace(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not getattr(_State.own, "calls", False):
            if getattr(self, "use_device", None) or getattr(self, "use_cuda", False):
                for callback in list(_State.before_others):
                    callback()
            _make_way(self)
        return prepare(self, *args, **kwargs)

    def __exit__(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return leave(self, *args, **kwargs)
        finally:
            _State.others.discard(self)

    profile._prepare_trace, profile.__exit__ = _prepare_trace, __exit__


def _find_warm_others() -> None:
    """Torch reports a warming-up profiler as idle, but crashes when another one starts. Looks once,
    at all objects of the process."""
    import torch

    if _State.has_looked:
        return
    _State.has_looked = True
    for one in gc.get_objects():
        if issubclass(type(one), torch.profiler.profile) and _is_warming_up(one):
            inner = getattr(one, "profiler", None)
            if inner is not None:
                _State.others.add(inner)


def _make_way(other: Any) -> None:
    """The program starts a profiler: stops ours on this thread, or waits for another thread's."""
    until = time.monotonic() + LONGEST_WAIT_S
    while True:
        with _State.lock:
            held = _State.held
            if held is not None and held.thread == threading.get_ident():
                held._stop()
                held.reason = "the program's own torch.profiler started meanwhile"
                held = None
            if held is None:
                _State.others.add(other)
                return
        if not held.is_pass or time.monotonic() > until:
            raise RuntimeError(
                "pyrometer records with torch.profiler on another thread, and torch allows one per "
                "process; with a C++ compiler pyrometer records without it (pyrometer doctor)"
            )
        time.sleep(0.005)


def _in_child() -> None:
    """Ends the child's unused copy of the parent's profile, whose memory would grow. That is safe
    on the thread that forked, unless a GPU is in use."""
    _State.lock = threading.RLock()
    held, _State.held = _State.held, None
    _core.set_marks(None)
    if held is None or held.thread != threading.get_ident():
        return
    cuda = sys.modules.get("torch.cuda")
    if cuda is not None and cuda.is_initialized():
        return
    try:
        with _own_call():
            import torch

            torch._C._autograd._disable_profiler()
            torch.autograd.profiler._is_profiler_enabled = False
    except Exception as error:
        _env.debug(f"cannot end the parent's profile in the child: {error}")


def _at_exit() -> None:
    held = _State.held
    if held is not None and held.is_running_here:
        held.stop()


def _before_fork() -> None:
    _State.lock.acquire()


def _in_parent() -> None:
    _State.lock.release()


atexit.register(_at_exit)
os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
