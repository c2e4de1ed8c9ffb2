"""profiler() and step_profiler(): records scheduled training steps and summarizes them."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _env
from pyrometer._capture import passes
from pyrometer._capture.ranges import Ranges
from pyrometer._capture.session import session
from pyrometer._capture.settings import Settings
from pyrometer._rank import RankInfo
from pyrometer._training import nsight
from pyrometer._training.files import Files, Window, worker_name
from pyrometer._training.options import WINDOW_BYTES, Options
from pyrometer._training.schedule import NEVER, Action, Schedule

if TYPE_CHECKING:
    from types import TracebackType

_RECORDING = (Action.RECORD, Action.RECORD_AND_SAVE)

_lock = threading.Lock()
_current: Run | None = None  # of this process


def profiler(
    enabled: Any = True,
    output_dir: str | os.PathLike[str] = "./profiler_logs",
    skip_first: int = 1,
    wait: int = 1,
    warmup: int = 1,
    active: int = 3,
    repeat: int = 1,
    with_stack: bool = False,
    with_flops: bool = True,
    with_modules: bool = False,
    nsight_enabled: bool = False,
    nsight_output: str = "nsight_profile",
    history: str | os.PathLike[str] | bool | None = None,
) -> Any:
    """Profiles scheduled steps of a training run, on every rank.

    Use it as a decorator, with or without parentheses, of a function that calls step_profiler() at
    the end of each step; or around a block:

        with profiler(active=5) as p:
            for batch in loader:
                ...
                p.step()

    The schedule is that of torch.profiler.schedule: skip_first once, then wait, warmup and active,
    repeat times (0: until the end). For the active steps each rank writes
    `{output_dir}/trace_rank_{rank}.json` (from the second cycle on `..._{cycle}.json`), and
    TensorBoard files to `{output_dir}/rank_{rank}/`. Rank 0 prints a summary.

    The function's result or exception passes through unchanged, even if profiling fails.

    Args:
        enabled: False returns the function unchanged.
        with_stack: record the Python stacks of ops.
        with_flops: record shapes, and compute FLOPs from them.
        with_modules: add a table of layers to the summary.
        nsight_enabled: make the active steps the capture range of nsys, with NVTX ranges.
        nsight_output: output name in the nsys command that is printed.
        history: add step times of rank 0 to the history of results: True for the default one, or
            its file or address, as for pyrometer.history().

    Raises:
        ValueError: a number of the schedule is invalid.
        RuntimeError: on entry, if this process is already being profiled.
    """
    function = enabled if callable(enabled) else None
    options = Options(
        enabled=True if function is not None else bool(enabled),
        output_dir=os.fspath(output_dir),
        schedule=Schedule(skip_first, wait, warmup, active, repeat),
        with_stack=bool(with_stack),
        with_flops=bool(with_flops),
        with_modules=bool(with_modules),
        nsight_enabled=bool(nsight_enabled),
        nsight_output=os.fspath(nsight_output),
        history=history if history is None or isinstance(history, bool) else os.fspath(history),
    )
    profile = TrainingProfiler(options)
    return profile if function is None else profile(function)


# Marks the end of a training step; does nothing without an active profiler. It calls Run.advance()
# only at the steps where the schedule changes, so that all other steps cost next to nothing.
step_profiler = _core.step_profiler


class TrainingProfiler:
    """The result of profiler(): a decorator, and a context manager with step()."""

    __module__ = "pyrometer"

    def __init__(self, options: Options) -> None:
        self._options = options
        self._run: Run | None = None

    def __call__(self, function: Callable[..., Any]) -> Any:
        if not callable(function):
            raise TypeError(f"profiler can only decorate functions, not {function!r:.100}")
        return function if not self._options.enabled else _wrap(function, self._options)

    def __enter__(self) -> TrainingProfiler:
        if self._options.enabled:
            self._run = Run.begin(self._options)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.end(kind)

    def step(self) -> None:
        """Marks the end of a training step."""
        if self._run is not None:
            step_profiler()


def _wrap(function: Callable[..., Any], options: Options) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def profiled(*args: Any, **kwargs: Any) -> Any:
            with TrainingProfiler(options):
                return await function(*args, **kwargs)

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def profiled(*args: Any, **kwargs: Any) -> Any:
            with TrainingProfiler(options):
                return (yield from function(*args, **kwargs))

    else:

        @functools.wraps(function)
        def profiled(*args: Any, **kwargs: Any) -> Any:
            with TrainingProfiler(options):
                return function(*args, **kwargs)

    profiled.output_dir = options.output_dir  # pyrometer.ray fetches the files from there
    return profiled


class Run:
    """A training run that is being profiled. A failure is reported once; it ends the profiling but
    never the training."""

    @classmethod
    def begin(cls, options: Options) -> Run:
        global _current
        with _lock:
            if _current is not None:
                raise RuntimeError(
                    "profiler: this process is already profiling a training run; "
                    "profilers cannot be nested"
                )
            _current = run = cls(options)
        run.advance(0)
        return run

    def __init__(self, options: Options) -> None:
        # Relative to the folder where the run starts, which under pyrometer.ray is another machine.
        folder = os.path.abspath(options.output_dir)
        self.options = dataclasses.replace(options, output_dir=folder)
        self.step_number = 0
        self._action = Action.NONE
        self._cycles = 0
        self._files: Files | None = None
        self._window: Window | None = None  # the one being recorded
        self._place = RankInfo(0, 1, "")
        self._is_inside_program = False  # `pyrometer run` records the whole program
        self._ranges: Ranges | None = None
        self._has_failed = self._has_asked_nsight = False

    def end(self, raised: type[BaseException] | None) -> None:
        """Writes the recorded steps and waits until they are written."""
        global _current
        try:
            self.step_number = _core.steps_done()
            _core.set_steps(None, 0)
            self._attempt(self._close, raised)
            if self._files is not None:
                self._attempt(self._files.finish)
        finally:
            with _lock:
                if _current is self:
                    _current = None
        if not self._has_failed:
            self._say_what_is_missing()

    def _attempt(self, function: Callable[..., None], *args: Any) -> None:
        try:
            function(*args)
        except Exception as error:
            self._fail(error)

    def advance(self, step: int) -> None:
        """Called at the beginning of a step where the schedule changes."""
        self.step_number = step
        due = NEVER
        try:
            self._change(self._action, self.options.schedule.action(step))
            due = self.options.schedule.next_due(step)
        except Exception as error:
            self._fail(error)
        if self._files is not None and self._files.failure is not None:
            due = NEVER
        _core.set_steps(self.advance, due - step)

    def _change(self, before: Action, action: Action) -> None:
        self._action = action
        self._renew_place()
        if before in _RECORDING:
            self._end_step()
        if before is Action.RECORD_AND_SAVE:
            self._save(None)
        if action is not Action.NONE and self._window is None:
            self._start(is_warmup=action is Action.WARMUP)
        if action in _RECORDING:
            if before is not Action.RECORD:
                self._activate(self._window)
            self._begin_step()

    def _start(self, is_warmup: bool) -> None:
        self._place = self._place.renewed()
        if self._place.is_certain:
            self._open_files()
        self._open_nsight()
        self._cycles += 1
        window = self._make_window()
        settings = Settings(
            path=window.recording,
            flags=self.options.flags,
            max_bytes=WINDOW_BYTES,
            overwrite=True,
            warmup=is_warmup,
            devices=not (self._ranges is not None and nsight.is_attached()),
        )
        self._is_inside_program = passes.leave_session()
        try:
            session.start(settings)
        except BaseException:
            self._resume_program()
            raise
        self._window = window
        self._write_place()

    def _open_files(self) -> Files:
        if self._files is None:
            self._files = Files(self.options, self._place)
        return self._files

    def _make_window(self) -> Window:
        """The recording lies beside the folders of ranks while the rank is unknown."""
        folder, worker = self.options.output_dir, worker_name()
        if self._files is not None:
            folder, worker = self._files.folder, self._files.worker
        os.makedirs(folder, exist_ok=True)
        return Window(self._cycles, os.path.join(folder, f"{worker}.cycle{self._cycles}.pyro"))

    def _renew_place(self) -> None:
        """The function may create the process group, and destroy it before it returns."""
        known, self._place = self._place, self._place.renewed()
        if self._place != known and self._window is not None:
            self._write_place()

    def _write_place(self) -> None:
        for key, value in self._place._asdict().items():
            if value != "":
                _core.recorder_property(key, str(value))

    def _open_nsight(self) -> None:
        if not self.options.nsight_enabled or self._has_asked_nsight:
            return
        self._has_asked_nsight = True
        is_first = self._place.rank == 0
        self._ranges = nsight.ranges(self.options.nsight_output, is_first)
        if self._ranges is None or not is_first:
            return
        if nsight.is_attached():
            _env.say("nsys records the kernels; the traces contain none")
        else:
            line = nsight.command_line(self.options.nsight_output)
            passes.print_table(f"nsys is not attached; to capture these steps, run:\n{line}\n")

    def _activate(self, window: Window | None) -> None:
        if window is None:
            return
        if self.options.schedule.warmup:
            session.begin()
        window.first_step = self.step_number
        if self._ranges is not None:
            self._ranges.start()

    def _begin_step(self) -> None:
        name = f"ProfilerStep#{self.step_number}"
        _core.mark_begin(name)
        if self._ranges is not None:
            self._ranges.begin_step(name)

    def _end_step(self) -> None:
        if self._ranges is not None:
            self._ranges.end_step()
        _core.mark_end()
        if self._window is not None:
            self._window.add_step(self.step_number - 1)

    def _close(self, raised: type[BaseException] | None) -> None:
        """Called at the end of the run, at any point of the schedule."""
        window, action, self._action = self._window, self._action, Action.NONE
        if window is None:
            return
        self._renew_place()
        if action in _RECORDING:
            self._end_last_step(window, raised)
        if window.steps:
            self._save(raised)
        else:
            self._stop_recording()
            window.remove()

    def _end_last_step(self, window: Window, raised: type[BaseException] | None) -> None:
        """Work after the last step_profiler() counts as a step only if an exception ended it, or if
        the schedule needs a single step and the block is that step; and only if something ran."""
        is_all = self.step_number == 0 and self.options.schedule.needed_steps == 1
        is_step = raised is not None or is_all
        if not is_step or _core.mark_is_empty():
            _core.mark_drop()
            return
        _core.mark_end()
        if not window.steps:
            window.add_step(self.step_number)

    def _save(self, raised: type[BaseException] | None) -> None:
        window = self._window
        self._stop_recording()
        if window is not None:
            window.raised = raised.__name__ if raised is not None else None
            window.state = session.last_status
            self._open_files().write(window)

    def _stop_recording(self) -> None:
        self._window = None
        try:
            if self._ranges is not None:
                self._ranges.stop()
        finally:
            session.stop()
            self._resume_program()

    def _resume_program(self) -> None:
        if self._is_inside_program:
            self._is_inside_program = False
            session.whole_program.resume()

    def _fail(self, error: Exception) -> None:
        self._action = Action.NONE
        had_failed, self._has_failed = self._has_failed, True
        if not had_failed:
            _env.say(f"rank {self._place.rank}: cannot profile the training: {error}")
        try:
            if self._window is not None:
                window = self._window
                self._stop_recording()
                window.remove()
        except Exception as later:
            _env.debug(f"after a failure: {later}")

    def _say_what_is_missing(self) -> None:
        schedule, files = self.options.schedule, self._files
        if self._place.renewed().rank != 0 or (files is not None and files.failure is not None):
            return
        written = files.step_count if files is not None else 0
        need = f"the schedule needs {schedule.needed_steps} steps ({schedule})"
        calls = f"step_profiler() was called {self.step_number} times"
        if self.step_number == 0:
            calls += "; call it at the end of every step"
        if not written:
            _env.say(f"nothing was profiled: {need}, and {calls}")
        elif written < schedule.active:
            _env.say(
                f"only {written} of {schedule.active} active steps were profiled: {need}, "
                f"and {calls}"
            )

    def forget_in_child(self) -> None:
        """A forked process does not train: remove its recording."""
        _core.set_steps(None, 0)
        if self._window is None:
            return
        path = _core.recorder_path()
        session.settings = None
        _core.recorder_stop()
        if path and path != self._window.recording:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _in_child() -> None:
    global _current, _lock
    _lock = threading.Lock()
    run, _current = _current, None
    if run is not None:
        run.forget_in_child()


os.register_at_fork(after_in_child=_in_child)
