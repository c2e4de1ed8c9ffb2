"""Runs inside a program that `pyrometer run` or `pyrometer python` started. Starts recording once
torch is imported, and ends with the process."""

from __future__ import annotations

import atexit
import importlib.abc
import os
import re
import struct
import sys
import tempfile
import time
from typing import Any

from pyrometer import _env


def begin() -> None:
    """Called once, before the program starts."""
    path = os.environ.get("PYROMETER_RECORD")
    if not path:
        _env.debug("capturing models under @capture_model")
        return
    recording = Recording(path)
    if not recording.begin_metrics():
        return
    atexit.register(recording.at_exit)
    if "torch" in sys.modules:
        recording.start()
    else:
        sys.meta_path.insert(0, AfterImport("torch", recording.start))


class Recording:
    """The recording of the whole process."""

    def __init__(self, path: str) -> None:
        self.given = path
        self.settings = _parse(os.environ.get("PYROMETER_RECORD_SETTINGS", ""))
        self.is_first = os.environ.get("PYROMETER_RECORD_PROCESS") == str(os.getpid())
        self.process = os.getpid()
        self.begun = time.time() - 1  # file systems round timestamps
        self.path: str | None = None
        self.parts = 0
        self.failed = False
        self.is_unnamed = bool(self.settings.get("unnamed", 0))  # for metrics alone
        self.has_metrics = False

    def begin_metrics(self) -> bool:
        """Begins to serve metrics, if they are wanted; False if there is nothing else to do."""
        address = os.environ.get("PYROMETER_METRICS")
        if address:
            from pyrometer._capture import metrics

            quiet = bool(self.settings.get("quiet", 0))
            self.has_metrics = metrics.begin(address, self.is_first, quiet)
        return self.has_metrics or not self.is_unnamed

    def suspend(self) -> bool:
        """Pauses while a block of the program records to its own file; False if not recording."""
        from pyrometer._capture.session import session

        if session.settings is None or session.settings.path != self.path:
            return False
        session.stop()
        return True

    def resume(self) -> None:
        """Continues in the next part after such a block."""
        self.parts += 1
        self.start()

    def start(self) -> None:
        """Never lets our own failure reach the program."""
        from pyrometer._capture import observers
        from pyrometer._capture.session import session
        from pyrometer._capture.settings import MAX_FILES, METRICS_ROOM_BYTES, Settings

        path = self._next_path()
        session.whole_program = self
        get = self.settings.get
        flags = observers.flags(
            ops=get("ops", 1), shapes=get("shapes", 1), outputs=get("outputs", 1),
            memory=get("memory", 1), stacks=get("stacks", 1),
        )  # fmt: skip
        settings = Settings(
            path=path,
            flags=flags,
            max_bytes=METRICS_ROOM_BYTES if self.is_unnamed else get("max_bytes", 0),
            keep_last=bool(get("keep_last", 0)),
            overwrite=bool(get("overwrite", 0)) or not self.is_first,
            keep=os.environ.get("PYROMETER_KEEP_LAST") or None,
            triggers=os.environ.get("PYROMETER_ON") or None,
            max_files=get("max_files", MAX_FILES),
            quiet=bool(get("quiet", 0)),
            nvtx=bool(get("nvtx", 0)),
            unnamed=self.is_unnamed,
            counts_steps=self.has_metrics,
        )
        try:
            session.start(settings)
        except Exception as error:
            self.failed = True
            _env.say(f"cannot record the program: {error}")
        else:
            self.path = path

    def _next_path(self) -> str:
        if self.is_unnamed:
            return os.path.join(tempfile.gettempdir(), f"pyrometer-metrics-{os.getpid()}.pyro")
        path = self.given if self.is_first else _child_path(self.given)
        if self.parts:
            path = f"{path.removesuffix('.pyro')}.part{self.parts + 1}.pyro"
        return path

    def at_exit(self) -> None:
        """Registered first, so called last except for the session, which it ends itself."""
        from pyrometer import _core
        from pyrometer._capture.session import session

        if os.getpid() != self.process or self.failed:
            return
        if self.path is None:
            if self.is_first:
                what = "counted" if self.is_unnamed else "recorded"
                _env.say(f"nothing was {what}: the program did not import torch")
            return
        try:
            session.stop()
        except Exception as error:
            _env.say(f"{self.path}: cannot finish the recording: {error}")
            return
        if self.has_metrics:
            from pyrometer._capture import metrics

            metrics.end()
        status = session.last_status
        if self.is_unnamed:
            if status["lost_records"]:
                _env.say(f"{status['lost_records']:,} records were lost: metrics lack them")
            return
        if status["state"] == _core.RECORDING_DISK_FULL:
            _env.say(f"{self.path}: the disk is full; the rest is not recorded")
        elif status["state"] == _core.RECORDING_FULL:
            _env.say(f"{self.path}: --max-size was reached; the rest is not recorded")
        elif status["dropped_chunks"] and not os.environ.get("PYROMETER_ON"):
            _env.say(f"{self.path}: only the last part was kept (--keep-last)")
        if status.get("skipped_triggers"):
            _env.say(f"{status['skipped_triggers']:,} triggers beyond --max-files saved nothing")
        if status["lost_records"]:
            _env.say(f"{self.path}: {status['lost_records']:,} records were lost")
        if self.is_first:
            self._write_perfetto()
        if self.is_first and not self.settings.get("quiet", 0):
            self._say_what_was_recorded()

    def _write_perfetto(self) -> None:
        """Writes the trace that `pyrometer run --perfetto` asks for, if something was recorded."""
        from pyrometer import _core

        path = os.environ.get("PYROMETER_PERFETTO")
        if not path or not _has_records(self.given):
            return
        try:
            _core.write_perfetto(self.given, None, path)
        except Exception as error:
            _env.say(f"{_shown(path)}: cannot write the Perfetto trace: {error}")
        else:
            if not self.settings.get("quiet", 0):
                _env.say(f"wrote {_shown(path)} (Perfetto trace)")

    def _say_what_was_recorded(self) -> None:
        path, has_triggers = _shown(self.given), bool(os.environ.get("PYROMETER_ON"))
        if has_triggers and self._say_what_was_saved():
            return
        if not self.parts and not _has_records(self.given):
            # A launcher: its child processes wrote separate files.
            children = _Children(self.given, self.begun)
            _env.say(children.summary() if children.paths else _why_empty(path))
            return
        if has_triggers:
            _env.say(f"no trigger fired; {path} has the end of the run")
            return
        more = f" and {self.parts} more parts after captured blocks" if self.parts else ""
        _env.say(
            f"recorded {path}{more}; next: pyrometer trace {path}, or pyrometer serve for a browser"
        )

    def _say_what_was_saved(self) -> bool:
        from pyrometer._capture.session import session

        files = session.last_status.get("saved_files", [])
        if files:
            _env.say(
                f"saved {len(files)} file{'s' * (len(files) > 1)}: {_list(files)}; "
                f"next: pyrometer trace {_shown(files[0])}"
            )
        return bool(files)


class _Children:
    """Recordings of the processes that a program started; their names derive from its own."""

    def __init__(self, given: str, begun: float) -> None:
        self.folder = os.path.dirname(given)
        self.stem = os.path.basename(given).removesuffix(".pyro")
        pattern = re.compile(re.escape(self.stem) + r"(?:_rank(\d+))?\.\d+(?:\.part\d+)?\.pyro")
        self.paths: list[str] = []
        self.ranks: dict[int, str] = {}
        found = ((name, pattern.fullmatch(name)) for name in sorted(os.listdir(self.folder)))
        for name, match in found:
            path = os.path.join(self.folder, name)
            if match is None or os.path.getmtime(path) < begun or not _has_records(path):
                continue
            self.paths.append(path)
            rank = int(match[1]) if match[1] else None
            # A restarted rank: use its last attempt.
            if rank is not None and _is_newer(path, self.ranks.get(rank)):
                self.ranks[rank] = path

    def summary(self) -> str:
        ranks = [self.ranks[rank] for rank in sorted(self.ranks)]
        if len(ranks) < 2:
            files = f"recorded {len(self.paths)} child process{'es' * (len(self.paths) > 1)}"
            return f"{files}: {_list(self.paths)}; next: pyrometer trace {_shown(self.paths[0])}"
        return (
            f"recorded {len(ranks)} ranks: {_list(ranks)}; next: pyrometer ranks {self._all(ranks)}"
        )

    def _all(self, ranks: list[str]) -> str:
        """Arguments: a pattern if it matches only these files, else their names."""
        prefix = f"{self.stem}_rank"
        alike = [name for name in os.listdir(self.folder) if name.startswith(prefix)]
        if len(ranks) > 4 and len(alike) == len(ranks):
            return _shown(os.path.join(self.folder, prefix)) + "*.pyro"
        return " ".join(_shown(path) for path in ranks)


def _why_empty(path: str) -> str:
    from pyrometer import _core

    get = os.environ.get
    if _core.flight_options(get("PYROMETER_KEEP_LAST") or None, get("PYROMETER_ON") or None)[
        "rests"
    ]:
        return (
            "nothing was recorded: the program opened no window with cudaProfilerStart; call "
            "torch.cuda.profiler.start() and stop() around what to record, or add --keep-last 30s "
            "to record the end of the run too"
        )
    return f"{path} is empty: no op was called"


def _list(paths: list[str]) -> str:
    more = f" and {len(paths) - 4} more" if len(paths) > 4 else ""
    return ", ".join(_shown(path) for path in paths[:4]) + more


def _is_newer(path: str, other: str | None) -> bool:
    return other is None or os.path.getmtime(path) > os.path.getmtime(other)


def _has_records(path: str) -> bool:
    """Whether a recording holds a chunk of records (docs/reference/recording-format.md)."""
    try:
        with open(path, "rb") as file:
            _, _, at, chunk_bytes = struct.unpack("<8sIII", file.read(20))
            while len(head := (file.seek(at), file.read(12))[1]) == 12:
                sequence, kind = struct.unpack("<QI", head)
                if sequence and kind == 1:
                    return True
                at += max(chunk_bytes, 64)
    except (OSError, struct.error):
        pass
    return False


def _shown(path: str) -> str:
    from pyrometer._capture.flight import shown

    return shown(path)


def _parse(text: str) -> dict[str, int]:
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {key: int(value) for key, _, value in pairs if value.isdigit()}


def _child_path(path: str) -> str:
    stem = path[: -len(".pyro")] if path.endswith(".pyro") else path
    return f"{stem}{_env.rank_suffix()}.{os.getpid()}.pyro"


class AfterImport(importlib.abc.MetaPathFinder):
    """Calls back once a module has been imported, then removes itself."""

    def __init__(self, name: str, callback: Any) -> None:
        self.name = name
        self.callback = callback

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name != self.name:
            return None
        sys.meta_path.remove(self)
        spec = None
        for finder in list(sys.meta_path):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                break
        if spec is None or spec.loader is None:
            sys.meta_path.insert(0, self)  # a later import may succeed
            return None
        spec.loader = _CallingLoader(spec.loader, self)
        return spec


class _CallingLoader(importlib.abc.Loader):
    def __init__(self, loader: Any, hook: AfterImport) -> None:
        self.loader = loader
        self.hook = hook

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self.loader
        try:
            self.loader.exec_module(module)
        except BaseException:
            sys.meta_path.insert(0, self.hook)
            raise
        self.hook.callback()
