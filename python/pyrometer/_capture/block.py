"""pyrometer.capture(): records a block of code and reports on the recording."""

from __future__ import annotations

import contextlib
import html
import os
import tempfile
import weakref
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _env
from pyrometer._capture import passes
from pyrometer._capture.session import session
from pyrometer._capture.settings import MAX_FILES, Settings
from pyrometer._error import Error
from pyrometer._graph.graph import Graph
from pyrometer._output_files import refuse_inputs
from pyrometer._trace.trace import Table, Trace, trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType


def capture(
    path: str | os.PathLike[str] | None = None,
    *,
    record_shapes: bool = True,
    record_outputs: bool = True,
    profile_memory: bool = True,
    with_stack: bool = True,
    ops: bool = True,
    storages: bool = False,
    max_size: int | str | None = None,
    keep_last: bool | str | float = False,
    on: str | Sequence[str] | None = None,
    max_files: int = MAX_FILES,
    overwrite: bool = True,
    gpu: str | None = None,
    nvtx: bool = False,
    gpu_sampling: float | None = None,
) -> Capture:
    """Records what PyTorch does in a block of code, on all threads.

        with pyrometer.capture("run.pyro") as c:
            model(x).sum().backward()
        c.layers()

    Args:
        path: file of the recording, readable by `pyrometer trace`; without it, the recording is
            deleted together with the returned Capture.
        record_shapes: record shapes and types of the inputs and outputs of ops.
        record_outputs: False leaves out the outputs, as torch.profiler does; slightly cheaper for
            models of tiny ops.
        profile_memory: record allocations and frees.
        with_stack: record the Python stacks of ops.
        ops: False records layers only.
        storages: record which tensors go from op to op, for graph() and `pyrometer graph`.
        max_size: stop recording at this size, in bytes or as a text ("500M", "2G").
        keep_last: True: at max_size drop the oldest part instead of stopping. A time or a number of
            steps ("30s", "2m", "200 steps"; a number is seconds): keep only that much, and at
            most max_size, by default 512 MiB.
        on: triggers that save the last part to a file of its own, beside `path`, while recording
            goes on: "slow-step" (more than twice the median; "slow-step:1.5x", "slow-step:250ms"),
            "oom", "exception", "signal" (SIGUSR2; or "SIGUSR1", ...), "cuda-profiler". Keeps 30 s
            unless keep_last says otherwise. run.pyro gives run.slow-step-1.pyro.
        max_files: files per trigger, at most 9999.
        overwrite: False raises ValueError if the file exists.
        gpu: how kernels are recorded: "collector" by CUPTI into the recording; "torch" by
            torch.profiler into FILE.devices.json; "none". Default "auto", or PYROMETER_GPU: the
            collector; torch.profiler on ROCm, or if another profiler of this process uses CUPTI.
        nvtx: make every call of a layer an NVTX range, and the block a range of the CUDA profiler,
            for nsys.
        gpu_sampling: seconds between samples of the GPU's power, energy, clocks, temperature and
            use, from 0.001 to 60; 0 for none. Default 0.1, or PYROMETER_GPU_SAMPLING.

    Raises:
        Error: capturing does not work in this version of Python.
        ModuleNotFoundError: torch is not installed.
        ValueError: the value of an argument is invalid, or triggers have no path.
        TypeError: an argument is of another type.

    Raises, at the start of the block:
        Error: a recording is already running, or the file cannot be created.
        ValueError: the file is source code of this program, or exists and `overwrite` is False.
    """
    # An interpreter that is never captured in comes first: installing torch would not help.
    problem = _env.why_no_capture()
    if problem is not None:
        raise Error(problem)
    _env.require_torch("pyrometer.capture()")
    from pyrometer._capture import collector, flight, gpu_samples, observers

    keep, triggers = flight.keep_text(keep_last), flight.trigger_text(on)
    _core.flight_options(keep, triggers)  # raises ValueError
    if triggers is not None and path is None:
        raise ValueError("triggers need a path: the names of their files are derived from it")
    max_bytes = flight.size_limit(max_size)
    if keep_last is True and not max_bytes and triggers is None:
        raise ValueError("keep_last requires a size limit: set max_size, or a time such as '30s'")
    flags = observers.flags(
        ops=ops,
        shapes=record_shapes,
        outputs=record_outputs,
        memory=profile_memory,
        stacks=with_stack,
        storages=storages,
    )
    collector.way(gpu)  # raises ValueError
    collector.records()  # so does this
    gpu_samples.interval(gpu_sampling)  # the same
    return Capture(
        path,
        flags,
        max_bytes,
        keep_last is True,
        overwrite,
        gpu,
        gpu_sampling,
        keep=keep,
        triggers=triggers,
        max_files=flight.files_limit(max_files),
        nvtx=nvtx,
    )


class Capture:
    """A recorded block of code; after it, reports what it cost."""

    __module__ = "pyrometer"

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        flags: int,
        max_bytes: int,
        keep_last: bool,
        overwrite: bool,
        gpu: str | None = None,
        gpu_sampling: float | None = None,
        **more: Any,
    ) -> None:
        """`more`: further Settings."""
        self._is_own = path is None
        if path is None:
            handle, path = tempfile.mkstemp(prefix="pyrometer-", suffix=".pyro")
            os.close(handle)
            weakref.finalize(self, _remove, path)
        self.path = os.path.abspath(os.fspath(path))
        self._settings = Settings(
            path=self.path,
            flags=flags,
            max_bytes=max_bytes,
            keep_last=keep_last,
            overwrite=overwrite or self._is_own,
            gpu=gpu,
            gpu_sampling=gpu_sampling,
            **more,
        )
        self._is_done = self._is_inside_run = False
        self.status: dict[str, Any] = {}

    def __enter__(self) -> Capture:
        self._is_inside_run = passes.leave_session()
        session.start(self._settings)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if value is not None and session.flight is not None:
            session.flight.report(value)
        session.stop()
        self.status = session.last_status
        self._is_done = True
        if self._is_inside_run:
            session.whole_program.resume()

    def save(self, text: str = "the program called save()") -> bool:
        """Saves the last part now, to a file like run.save-1.pyro; needs `on`. Recording goes on.
        Returns False if the limit of files is reached or there are no triggers."""
        return _core.flight_trigger("save", text, False)

    @property
    def saved_files(self) -> list[str]:
        """Files that triggers have written."""
        if session.flight is not None and session.settings is self._settings:
            return list(session.flight.files)
        return list(self.status.get("saved_files", ()))

    @cached_property
    def _trace(self) -> Trace:
        if not self._is_done:
            raise RuntimeError("the block is still running: read results after it has ended")
        return trace(self.path)

    def trace(self) -> Trace:
        """The whole recording, as pyrometer.trace() returns it."""
        return self._trace

    def layers(self) -> Table:
        return self._trace.layers

    def ops(self) -> Table:
        return self._trace.ops

    def summary(self) -> str:
        """The text that `pyrometer trace` prints for the recording."""
        return str(self._trace)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> Any:
        """Ops by name, like torch.profiler's key_averages(): returns torch's EventList, whose
        table(sort_by=, row_limit=) has torch's columns."""
        from pyrometer._trace.key_averages import key_averages

        if not self._is_done:
            raise RuntimeError("the block is still running: read results after it has ended")
        return key_averages(self.path, group_by_input_shape, group_by_stack_n)

    def graph(self, granularity: str = "module", level: str = "high") -> Graph:
        """The graph of the model that ran: "module", "layer" or "op". Requires storages=True."""
        if not self._is_done:
            raise RuntimeError("the block is still running: read results after it has ended")
        program = _core.program_of_recording(self.path)
        return Graph(program, granularity, level, inputs=(self.path,))

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes Chrome JSON, for Perfetto and chrome://tracing.

        Raises:
            ValueError: `path` is the recording itself.
        """
        refuse_inputs(path, self.path)
        _core.write_chrome(self.path, None, path)

    def export_perfetto_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes Perfetto's own format (.pftrace), with layers as nested tracks.

        Raises:
            ValueError: `path` is the recording itself.
        """
        refuse_inputs(path, self.path)
        _core.write_perfetto(self.path, None, path)

    def __repr__(self) -> str:
        state = "recorded" if self._is_done else "not finished"
        return f"<pyrometer.Capture {self.path}: {state}>"

    def _repr_html_(self) -> str:
        if not self._is_done:
            return f"<code>{html.escape(repr(self))}</code>"
        return self._trace._repr_html_()


def _remove(path: str) -> None:
    for name in (path, path + ".devices.json"):
        with contextlib.suppress(OSError):
            os.unlink(name)
