"""Output files of profiled steps. Owns their names, the writer thread, and the file limit."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import re
import shutil
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _env
from pyrometer._capture import devices, passes
from pyrometer._capture.file_locks import file_locks, of_other_process
from pyrometer._history.history import history
from pyrometer._trace.trace import trace

if TYPE_CHECKING:
    from pyrometer._rank import RankInfo
    from pyrometer._training.options import Options

# With repeat=0, keep the files of the first cycle and of the most recent cycles.
KEPT_CYCLES = 16
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def memory() -> tuple[int, int, int]:
    """Bytes in use on the host and on the device, and the device's peak; -1 where unknown."""
    host = device = peak = -1
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/statm") as file:
        host = int(file.read().split()[1]) * _PAGE_BYTES
    if devices.is_in_use():
        import torch

        device, peak = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
    return host, device, peak


def worker_name() -> str:
    """A name of this process that is unique among all writers to one storage."""
    host = re.sub(r"[^\w.-]", "_", socket.gethostname())
    return f"{host}_{os.getpid()}"


class Window:
    """The active steps of one cycle."""

    def __init__(self, cycle: int, recording: str) -> None:
        self.cycle = cycle
        self.recording = recording
        self.first_step = 0
        self.steps: list[tuple[int, int, int, int]] = []  # number and memory of finished steps
        self.raised: str | None = None
        self.state: dict[str, Any] = {}  # of the recorder at the end of the window

    def add_step(self, number: int) -> None:
        self.steps.append((number, *memory()))

    def remove(self) -> None:
        """Removes the files that only this process needs; a killed process leaves them behind."""
        for path in (self.recording, self.recording + ".devices.json"):
            with contextlib.suppress(OSError):
                os.unlink(path)


class Files:
    """The files of one rank. File names contain the global rank, and in the rank's folder the host
    and the process, so that several machines can share the storage."""

    def __init__(self, options: Options, place: RankInfo) -> None:
        self.options = options
        self.place = place
        self.failure: str | None = None
        self.step_count = 0  # of the written window with the most steps
        self.worker = f"{worker_name()}_rank{place.rank}"
        self.suffix = ""  # in the name of the trace
        self.folder = os.path.join(options.output_dir, f"rank_{place.rank}")
        os.makedirs(self.folder, exist_ok=True)
        self._scalars: Any = None
        self._thread: threading.Thread | None = None
        self._written: collections.deque[tuple[str, str]] = collections.deque()
        self._move_older_aside()

    def write(self, window: Window) -> None:
        """Writes a window on a separate thread; waits only for the previous window."""
        self.finish()
        thread = threading.Thread(target=self._write, args=(window,), name="pyrometer-files")
        try:
            thread.start()
        except RuntimeError:  # the interpreter is about to end
            self._write(window)
        else:
            self._thread = thread

    def finish(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def _move_older_aside(self) -> None:
        """Renames traces of an earlier run that have this rank's name, and on rank 0 those of ranks
        beyond the world size. Files of a running process stay unchanged."""
        rank = self.place.rank
        path = os.path.join(self.options.output_dir, f"trace_rank_{rank}.json")
        is_ours = file_locks.take(self.options.output_dir, os.path.basename(path))
        if not is_ours or of_other_process(path):
            self.suffix = f"_pid{os.getpid()}"
            _env.say(
                f"another process writes {_shown(path)}; this one writes "
                f"trace_rank_{rank}{self.suffix}.json"
            )
            return
        names = f"{rank}" if rank else rf"(0|{_at_least(self.place.world_size)})"
        with contextlib.suppress(FileNotFoundError):
            pattern = re.compile(rf"trace_rank_{names}(_\d+)?\.json")
            passes.move_aside(self.options.output_dir, pattern, is_silent=rank != 0)

    def _write(self, window: Window) -> None:
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        try:
            self._write_window(window)
        except Exception as error:
            self._fail(window, error)

    def _write_window(self, window: Window) -> None:
        path = os.path.join(self.options.output_dir, self._name(window))
        shown = os.path.join(self.folder, f"{self.worker}.{time.time_ns()}.pt.trace.json")
        unfinished = f"{path}.{self.worker}.tmp"
        if self._scalars is None:
            self._scalars = _core.Scalars(self.folder, f"rank_{self.place.rank}")
        try:
            summary, layers = _core.training_files(
                window.recording,
                unfinished,
                self._scalars,
                self._title(window),
                window.first_step,
                window.steps[-1][0],
                self.options.with_flops,
                self.options.with_modules,
                window.steps,
            )
            _same_file(unfinished, shown)
            os.replace(unfinished, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
            raise
        window.remove()
        self.step_count = max(self.step_count, len(window.steps))
        self._forget_oldest(path, shown)
        self._say_state(window)
        if self.place.rank == 0:
            passes.print_table(summary + (layers or "") + self._places(path))
            if self.options.history:
                self._remember(path)

    def _remember(self, path: str) -> None:
        """Adds the steps of a window to the history, as one line per output folder."""
        try:
            document = trace(path).to_dict()
            name = os.path.basename(os.path.abspath(self.options.output_dir))
            document["file"] = f"{name} rank {self.place.rank}"
            document["environment"] = _environment()
            db = None if self.options.history is True else self.options.history
            history(db).add(document)
        except Exception as error:
            _env.say(
                f"the steps are not in the history: {error}; "
                f"pyrometer trace {_shown(path)} --history adds them"
            )

    def _name(self, window: Window) -> str:
        number = f"_{window.cycle}" if window.cycle > 1 else ""
        return f"trace_rank_{self.place.rank}{self.suffix}{number}.json"

    def _title(self, window: Window) -> str:
        first, last = window.first_step, window.steps[-1][0]
        steps = f"Step {first}" if first == last else f"Steps {first} to {last}"
        of = f" of {self.place.world_size}" if self.place.world_size > 1 else ""
        cycle = f", cycle {window.cycle}" if self.options.schedule.repeat != 1 else ""
        raised = f"; the training raised {window.raised}" if window.raised else ""
        return f"{steps}, rank {self.place.rank}{of}{cycle}{raised}"

    def _places(self, path: str) -> str:
        folder = _shown(self.options.output_dir)
        return (
            f"Trace: {_shown(path)} (Perfetto, chrome://tracing, pyrometer trace)\n"
            f"TensorBoard: tensorboard --logdir {folder}\n"
        )

    def _forget_oldest(self, path: str, shown: str) -> None:
        if self.options.schedule.repeat:
            return
        self._written.append((path, shown))
        if len(self._written) > KEPT_CYCLES:
            for old in self._written[1]:
                with contextlib.suppress(OSError):
                    os.unlink(old)
            del self._written[1]

    def _say_state(self, window: Window) -> None:
        state = window.state.get("state")
        if state == _core.RECORDING_FULL:
            reason = "the recording reached its limit"
        elif state == _core.RECORDING_DISK_FULL:
            reason = "the disk is full"
        else:
            return
        _env.say(
            f"rank {self.place.rank}: {reason}: the last active steps are incomplete; "
            "use fewer active steps"
        )

    def _fail(self, window: Window, error: Exception) -> None:
        self.failure = str(error)
        kept = ""
        if os.path.exists(window.recording):
            kept = f"; to read the recording: pyrometer trace {_shown(window.recording)}"
        _env.say(f"rank {self.place.rank}: cannot write the profile: {error}{kept}")


def _environment() -> dict[str, Any]:
    """This machine, as results of benchmarks describe it."""
    import torch

    bench = _core.Bench()
    bench.environment("torch", torch.__version__)
    bench.finish()
    return json.loads(bench.report("json"))["environment"]


def _same_file(existing: str, path: str) -> None:
    """Hard-links the file where the file system supports it, otherwise copies it atomically."""
    try:
        os.link(existing, path)
    except OSError:
        unfinished = path + ".tmp"
        shutil.copyfile(existing, unfinished)
        os.replace(unfinished, path)


def _at_least(least: int) -> str:
    """A pattern that matches decimal numbers from `least` up."""
    text = str(least)
    parts = [rf"\d{{{len(text) + 1},}}", text]
    for i, digit in enumerate(text):
        if digit != "9":
            parts.append(rf"{text[:i]}[{int(digit) + 1}-9]\d{{{len(text) - i - 1}}}")
    return "|".join(parts)


def _shown(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
