"""The recording session of this process (at most one). Owns its users, observers and end."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import tempfile
import threading
import weakref
from typing import Any

from pyrometer import _core, _env
from pyrometer._capture.settings import PASS_ROOM_BYTES, Settings
from pyrometer._error import Error
from pyrometer._output_files import refuse_inputs


class Session:
    """`lock` guards all of it; a model's thread takes the lock where a session or a pass begins
    and ends."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.settings: Settings | None = None  # of the running session
        self.wanted_by_passes = 0  # flags
        self.gpu_of_passes: str | None = None  # the latest way that a decorated class wants
        self.watchers: weakref.WeakSet[Any] = weakref.WeakSet()  # registrations
        self.whole_program: Any = None  # the recording of `pyrometer run`
        self.failure: str | None = None  # why passes cannot be recorded, reported once
        self.last_status: dict[str, Any] = {}  # of the recorder when it stopped
        self.flight: Any = None  # the flight recorder's triggers
        self._observers: Any = None
        self._open_passes = 0
        self._is_registered = False

    @property
    def is_running(self) -> bool:
        return self.settings is not None

    def start(self, settings: Settings) -> None:
        """Begins the session. Raises the errors of the recorder and the observers."""
        with self.lock:
            if self.settings is not None and self.settings.temporary and not settings.temporary:
                self.stop()  # a pass of another thread has begun it
            if self.settings is not None:
                raise Error(
                    f"a recording is already running: {self.settings.path or '(passes)'}",
                    "argument",
                    "",
                    None,
                )
            problem = _env.why_no_capture()
            if problem is not None:
                raise Error(problem)
            from pyrometer._capture import observers

            self._register()
            if settings.overwrite and not (settings.temporary or settings.unnamed):
                refuse_inputs(settings.path)
            _core.recorder_start(
                settings.path,
                settings.flags,
                settings.max_bytes,
                settings.keep_last,
                settings.overwrite,
                settings.temporary or settings.unnamed,
                settings.keep,
                settings.triggers,
                settings.max_files,
            )
            try:
                self._observers = observers.start(settings)
                self.flight = _flight(settings)
            except BaseException:
                self._abandon()
                raise
            self.settings = settings
            self._rest_between_passes()
            for key, value in observers.describe().items():
                _core.recorder_property(key, value)
            _env.debug(f"recording to {settings.path or 'memory'}: {self._observers.description}")

    def _abandon(self) -> None:
        observers, self._observers = self._observers, None
        try:
            if observers is not None:
                observers.stop()
        finally:
            _core.recorder_stop()

    def begin(self) -> None:
        """Ends the warm-up and discards what it recorded."""
        with self.lock:
            if self.settings is not None:
                self._observers.begin()
                _core.recorder_discard()

    def stop(self) -> None:
        """Ends the session and writes the recording to disk. Does nothing without a session."""
        with self.lock:
            if self.settings is None:
                return
            observers, self._observers = self._observers, None
            self.settings = None
            flight, self.flight = self.flight, None
            try:
                if flight is not None:
                    flight.end()
            finally:
                try:
                    observers.stop()
                finally:
                    self._stop_recorder(flight)

    def _stop_recorder(self, flight: Any) -> None:
        self.last_status = _core.recorder_status()
        skipped = _core.flight_status()["skipped"]
        with contextlib.suppress(Error):
            _core.recorder_wait()  # failed passes have reported their errors themselves
        _core.recorder_stop()
        self.last_status["running"] = False
        if flight is not None:
            flight.finish()
            self.last_status |= {"saved_files": flight.files, "skipped_triggers": skipped}

    def want_passes(self, flags: int, gpu: str | None = None) -> None:
        """Called for every decorated class: a session for its passes records at least `flags`."""
        with self.lock:
            self.wanted_by_passes |= flags
            self.gpu_of_passes = gpu or self.gpu_of_passes

    def ensure(self, flags: int) -> bool:
        """Ensures a session for passes; returns False, reported once, if that is impossible."""
        settings = self.settings
        if settings is not None and flags & ~settings.flags == 0:
            return True
        with self.lock:
            if self.settings is not None:
                if not self.settings.temporary or flags & ~self.settings.flags == 0:
                    return True  # the passes lack what this session does not record
                self.stop()
            if self.failure is not None:
                return False
            try:
                self.start(self._of_passes())
            except Exception as error:
                self.failure = str(error)
                _env.say(f"cannot capture forward passes: {error}")
                return False
            return True

    def open_pass(self) -> None:
        """A session that exists only for passes records only during passes."""
        with self.lock:
            self._open_passes += 1
            if self._open_passes == 1:
                self._rest_between_passes()

    def close_pass(self) -> None:
        with self.lock:
            self._open_passes -= 1
            if self._open_passes == 0:
                self._rest_between_passes()

    def _rest_between_passes(self) -> None:
        if self.settings is not None and self.settings.temporary:
            self._observers.rest(self._open_passes == 0)

    def rest(self) -> None:
        """Ends a session that no decorated class needs any more."""
        with self.lock:
            if self.settings is not None and self.settings.temporary:
                if all(watcher.is_over for watcher in self.watchers):
                    self.stop()

    def _of_passes(self) -> Settings:
        return Settings(
            path=os.path.join(tempfile.gettempdir(), f"pyrometer-{os.getpid()}.pyro"),
            flags=self.wanted_by_passes,
            max_bytes=PASS_ROOM_BYTES,
            keep_last=True,
            overwrite=True,
            temporary=True,
            gpu=self.gpu_of_passes,
        )

    def _register(self) -> None:
        if not self._is_registered:
            self._is_registered = True
            atexit.register(self._at_exit)
            os.register_at_fork(after_in_child=self._in_child)

    def _at_exit(self) -> None:
        try:
            self.stop()
        except Exception as error:
            _env.say(f"cannot finish the recording: {error}")

    def _in_child(self) -> None:
        # The recorder continues in a separate file of the child; locks may be held by lost threads.
        self.lock = threading.RLock()
        self.failure = None


def _flight(settings: Settings) -> Any:
    if settings.triggers is None and settings.keep is None and not settings.counts_steps:
        return None
    from pyrometer._capture import flight

    return flight.Flight(settings)


session = Session()


def has_torch() -> bool:
    return "torch" in sys.modules
