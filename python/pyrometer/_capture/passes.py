"""Passes: chooses the file of each forward, and owns the thread that prints its table."""

from __future__ import annotations

import atexit
import os
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

from pyrometer import _core, _env
from pyrometer._capture.file_locks import file_locks, of_other_process
from pyrometer._capture.session import session
from pyrometer._error import Error
from pyrometer._output_files import refuse_inputs
from pyrometer._trace.trace import before_opening, trace

if TYPE_CHECKING:
    from pyrometer._capture.registration import Registration


class Pass:
    """A forward pass; the argument of on_trace_ready. Like torch.profiler's profile it has
    step_num, export_chrome_trace() and key_averages()."""

    __module__ = "pyrometer"

    def __init__(self, registration: Registration, number: int, path: str) -> None:
        self.model_name = registration.model_name
        self.number = number
        self.path = path
        self.raised: str | None = None
        self.missing = ""  # data that could not be recorded
        self._registration = registration
        self._begun = 0
        self._device: Any = None

    @property
    def title(self) -> str:
        raised = f", which raised {self.raised}" if self.raised else ""
        return f"{self.model_name} ({os.path.basename(self.path)}){raised}"

    @property
    def step_num(self) -> int:
        return self.number - 1

    def export_chrome_trace(self, path: str, **unused: Any) -> None:
        """Copies the file of the pass; ignores further arguments, which torch's handlers pass.

        Raises:
            ValueError: `path` is the file of the pass itself.
        """
        import shutil

        refuse_inputs(path, self.path)
        if str(path).endswith(".gz"):
            import gzip

            with open(self.path, "rb") as source, gzip.open(path, "wb") as target:
                shutil.copyfileobj(source, target)
        else:
            shutil.copyfile(self.path, path)

    def trace(self) -> Any:
        return trace(self.path)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> Any:
        from pyrometer._trace.key_averages import key_averages

        return key_averages(self.path, group_by_input_shape, group_by_stack_n)

    def __repr__(self) -> str:
        return f"<pyrometer.Pass {self.number} of {self.model_name}: {self.path}>"


def begin(registration: Registration, module: Any) -> Pass | None:
    """Called by the layer hook at the beginning of a decorated model's forward."""
    if module.__dict__.get("_is_replica"):
        return None  # the pass is DataParallel's call, which waits for its replicas
    registration.renew_in_child()
    number = next(registration.passes)
    if not _is_wanted(registration, number):
        return None
    if not session.ensure(registration.flags):
        return None
    folder = registration.options.get("output_dir") or os.environ.get("PYROMETER_OUTPUT_DIR")
    one = Pass(registration, number, os.path.abspath(folder) if folder else os.getcwd())
    session.open_pass()
    try:
        one._device = _begin_devices(registration)
        one._begun = _core.pass_begin()
    finally:
        if not one._begun:
            session.close_pass()
    if not one._begun and one._device is not None:
        one._device.discard()
    return one if one._begun else None


def _begin_devices(registration: Registration) -> Any:
    from pyrometer._capture import observers

    return observers.begin_device_pass(registration)


def _is_wanted(registration: Registration, number: int) -> bool:
    options = registration.options
    every, most = options.get("every") or 1, options.get("max_passes")
    if (number - 1) % every:
        return False
    schedule = options.get("schedule")
    if schedule is not None and getattr(schedule(number - 1), "name", "") not in (
        "RECORD",
        "RECORD_AND_SAVE",
    ):
        return False
    if most is None:
        return True
    count = next(registration.written)
    registration.is_over = count >= most
    return count <= most


def end(one: Pass, raised: type | None) -> None:
    """Called by the layer hook at the end of that forward, after its last record."""
    try:
        _end(one, raised)
    except BaseException:
        _core.pass_abandon(one._begun)
        raise
    finally:
        session.close_pass()
    if finisher.is_ending:
        finisher.finish()


def _end(one: Pass, raised: type | None) -> None:
    registration = one._registration
    one.raised = raised.__name__ if raised is not None else None
    device = one._device
    if device is not None:
        device.stop()
        one.missing = device.missing or ""
    try:
        is_forked = registration.home != os.getpid()
        one.path = files.take(one.path, registration.model_name, one.number, is_forked)
    except OSError as error:
        _core.pass_abandon(one._begun)
        _discard(device)
        finisher.say_once(f"cannot write passes: {error}")
        return
    finisher.prepare()
    with finisher.written:
        finisher.pending.add(one.path)
    try:
        _core.pass_end(
            one,
            one._begun,
            one.path,
            one.model_name,
            one.number,
            registration.flags,
            one.title,
            bool(registration.options.get("with_flops")),
            device and device.exported,
            one.missing or None,
            device is not None and device.lacks_ops,
        )
    except (Error, ValueError) as error:
        _discard(device)
        finisher.settle(one.path)
        finisher.say_once(f"cannot record a pass: {error}")


def _discard(device: Any) -> None:
    if device is not None:
        device.discard()


class Files:
    """File names in use by this process. Files of earlier runs are moved aside; files of other
    running processes stay unchanged."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process = os.getpid()
        self.taken: dict[tuple[str, str], set[int]] = {}  # by folder and stem
        self.stems: dict[tuple[str, str], str] = {}  # by folder and requested stem

    def take(self, folder: str, model_name: str, number: int, is_forked: bool = False) -> str:
        """The path of a pass; a model's first pass moves the files of an earlier run aside."""
        wish = re.sub(r"[/\0]", "_", model_name) + self._suffix(is_forked)
        with self.lock:
            if (folder, wish) not in self.stems:
                os.makedirs(folder, exist_ok=True)
                self.stems[folder, wish] = self._lock_stem(folder, wish)
            stem = self.stems[folder, wish]
            taken = self.taken.setdefault((folder, stem), set())
            if number in taken:  # two classes with the same name
                number = max(taken) + 1
            taken.add(number)
        return os.path.join(folder, f"{stem}_forward_{number:03d}.json")

    def _lock_stem(self, folder: str, stem: str) -> str:
        """The stem, with this process's id appended if another process uses it."""
        pattern = re.compile(re.escape(stem) + r"_forward_\d{3,}\.json")
        names = sorted(name for name in os.listdir(folder) if pattern.fullmatch(name))
        is_ours = file_locks.take(folder, stem + "_forward")
        if is_ours and not any(of_other_process(os.path.join(folder, name)) for name in names):
            move_aside(folder, pattern)
            return stem
        own = f"{stem}_pid{os.getpid()}"
        _env.say(
            f"another process writes {stem}_forward_*.json in this folder; "
            f"this one writes {own}_forward_*.json"
        )
        return own

    def _suffix(self, is_forked: bool) -> str:
        """Ranks, forks and multiprocessing children get separate names, to not overwrite files."""
        if self.process != os.getpid():
            self.process, self.taken, self.stems = os.getpid(), {}, {}
        multiprocessing = sys.modules.get("multiprocessing.process")
        is_child = multiprocessing is not None and multiprocessing.parent_process() is not None
        return _env.rank_suffix() + (f"_pid{self.process}" if is_forked or is_child else "")


def move_aside(folder: str, pattern: re.Pattern[str], is_silent: bool = False) -> None:
    """Renames X_forward_001.json to X_forward_001.json.1, or to the next free number."""
    names = sorted(name for name in os.listdir(folder) if pattern.fullmatch(name))
    moved = []
    for name in names:
        number = 1
        while os.path.exists(os.path.join(folder, f"{name}.{number}")):
            number += 1
        try:
            os.rename(os.path.join(folder, name), os.path.join(folder, f"{name}.{number}"))
        except OSError as error:
            _env.say(f"cannot rename {name} of an earlier run: {error.strerror}")
        else:
            moved.append(f"{name} of an earlier run to {name}.{number}")
    if moved and not is_silent:
        more = f", and {len(moved) - 1} more" if len(moved) > 1 else ""
        _env.say(f"renamed {moved[0]}{more}")


def leave_session() -> bool:
    """Ends the session of passes or of the whole program, so that another one can begin; True if
    the program's must be resumed afterwards."""
    if session.settings is not None and session.settings.temporary:
        finisher.finish()
        session.stop()  # while the other session runs, passes use that one
    whole = session.whole_program
    return whole is not None and whole.suspend()


class Finisher:
    """Prints the tables of passes in order once their files are written; never on a model's thread.

    A table is a single write that starts on a new line, so that it does not split program output.
    """

    def __init__(self) -> None:
        self.process = 0
        self.thread: threading.Thread | None = None
        self.reader = 0  # its number, or that of the last one
        self.is_over = False  # the interpreter ends: no thread can be started
        self.is_ending = False  # the process ends: finish() is not called after later passes
        self.said: set[str] = set()
        self.lock = threading.Lock()
        self.written = threading.Condition()
        self.pending: set[str] = set()  # paths of files that are not written yet

    def settle(self, path: str) -> None:
        with self.written:
            self.pending.discard(path)
            self.written.notify_all()

    def wait_for(self, path: str) -> None:
        """Returns once this process is not writing the file."""
        with self.written:
            while path in self.pending and self.process == os.getpid():
                self.written.wait(1)

    def prepare(self) -> None:
        """Starts the thread before the first pass ends."""
        if self.thread is not None and self.process == os.getpid():
            return
        with self.lock:
            if self.thread is not None and self.process == os.getpid():
                return
            if self.process != os.getpid():
                self.process, self.is_over, self.is_ending = os.getpid(), False, False
                atexit.register(self._finish_at_exit)
                _finish_in_worker(self.finish)
            self.reader = _core.open_passes()
            thread = threading.Thread(
                target=self._run, args=(self.reader,), name="pyrometer", daemon=True
            )
            try:
                thread.start()
            except RuntimeError:  # the interpreter is ending: finish() writes instead
                self.is_over = True
            else:
                self.thread = thread

    def finish(self) -> None:
        """Returns once the passes that have ended are written and printed; others may go on, with a
        thread of their own."""
        if self.process != os.getpid():
            return
        with self.lock:
            thread, self.thread = self.thread, None
            reader = self.reader
            _core.close_passes(reader)
        if thread is not None:
            thread.join()
        elif self.is_over:
            self._run(reader)

    def _finish_at_exit(self) -> None:
        self.is_ending = True
        self.finish()

    def _run(self, reader: int) -> None:
        while (item := _core.next_pass(reader)) is not None:
            one, table, failure = item
            try:
                self._finish(one, table, failure)
            except Exception as error:
                self.say_once(f"{os.path.basename(one.path)}: {type(error).__name__}: {error}")

    def _finish(self, one: Pass, table: str | None, failure: str | None) -> None:
        options = one._registration.options
        try:
            if failure is not None:
                self.say_once(f"cannot write a pass: {failure}")
                return
        finally:
            self.settle(one.path)
        if table:
            print_table(table + (f"Not recorded: {one.missing}.\n" if one.missing else ""))
        handler = options.get("on_trace_ready")
        if handler is not None:
            handler(one)
        if one._registration.is_over and not self.pending:
            session.rest()

    def say_once(self, message: str) -> None:
        if message not in self.said:
            self.said.add(message)
            _env.say(message)


def print_table(text: str) -> None:
    stream = sys.stdout
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except (LookupError, UnicodeEncodeError):
        text = text.replace("\N{BAR CHART} ", "").replace("\N{BOX DRAWINGS LIGHT HORIZONTAL}", "-")
        text = text.encode("ascii", "replace").decode()
    stream.write("\n" + text)
    stream.flush()


def _finish_in_worker(finish: Any) -> None:
    """Registers with multiprocessing, whose workers exit by os._exit after their finalizers."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, finish, exitpriority=0)


files = Files()
finisher = Finisher()
before_opening.append(finisher.wait_for)


def _in_child() -> None:
    _core.forget_passes()
    finisher.lock = threading.Lock()
    finisher.written = threading.Condition()
    finisher.pending = set()
    files.lock = threading.Lock()


os.register_at_fork(after_in_child=_in_child)
