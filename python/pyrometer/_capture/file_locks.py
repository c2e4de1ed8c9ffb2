"""Tracks which process writes which output file, so that concurrent processes neither overwrite
each other's files nor mistake them for files of an earlier run."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import tempfile
import threading

# Enough bytes from the start of our file to find the process that wrote it.
_HEAD_BYTES = 16384
_PROCESS = re.compile(rb'"process": ?"(\d+)"')
_EVENT_PROCESS = re.compile(rb'"pid": ?(\d+)')


class FileLocks:
    """Names under which this process writes, each locked by a file in the temporary folder. Locks
    end with the process, even if it is killed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, int] = {}  # lock paths with their descriptors

    def take(self, folder: str, name: str) -> bool:
        """False if another process has the name. True also where locks are unsupported."""
        key = f"{os.path.realpath(folder)}\0{name}".encode(errors="surrogateescape")
        digest = hashlib.sha256(key).hexdigest()[:24]
        path = os.path.join(tempfile.gettempdir(), f"pyrometer-{os.getuid()}-{digest}.lock")
        with self._lock:
            if path in self._held:
                return True
            try:
                descriptor = _lock_file(path)
            except BlockingIOError:
                return False
            except OSError:
                return True
            self._held[path] = descriptor
        return True

    def forget(self) -> None:
        """For a forked process, which uses other names: the parent keeps the locks."""
        self._lock = threading.Lock()
        held, self._held = self._held, {}
        for descriptor in held.values():
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def release(self) -> None:
        """Removes the lock files at the end of the process."""
        with self._lock:
            held, self._held = self._held, {}
            for path, descriptor in held.items():
                with contextlib.suppress(OSError):
                    os.unlink(path)
                os.close(descriptor)


def _lock_file(path: str) -> int:
    """Locks a file and returns its descriptor; BlockingIOError if another process holds it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its owner removed it meanwhile


def of_other_process(path: str) -> bool:
    """Whether a concurrent process wrote the file, such as a child that has ended."""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
            written = os.fstat(file.fileno()).st_mtime
    except OSError:
        return False
    notes, _, events = head.partition(b'"traceEvents":')
    found = _PROCESS.search(notes.partition(b'"pyrometer":')[2])
    if found is None and b'"Module path"' in events:  # files joined with devices lack the notes
        found = _EVENT_PROCESS.search(events)
    return found is not None and int(found[1]) != os.getpid() and written > _started()


def _started() -> float:
    """Start time of this process, in seconds since 1970; infinite if unknown."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/stat", "rb") as file:
            boot = next(line for line in file if line.startswith(b"btime"))
        # The kernel rounds both down, but writing a file takes far longer than the error.
        return int(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK") + 1
    except (OSError, ValueError, IndexError, StopIteration):
        return float("inf")


file_locks = FileLocks()


def _begin() -> None:
    import atexit

    atexit.register(file_locks.release)
    os.register_at_fork(after_in_child=file_locks.forget)


_begin()
