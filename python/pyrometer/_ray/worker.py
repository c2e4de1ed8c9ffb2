"""Actors of pyrometer.ray on the nodes of a Ray cluster: one per rank, which calls the function;
and one agent per node, which outlives its ranks and serves the files that they wrote."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import socket
import struct
import sys
import tempfile
import traceback
from typing import Any

from pyrometer import _env
from pyrometer._capture.session import session

# Set for every rank and its child processes: there the function runs directly, not on Ray.
INSIDE = "PYROMETER_RAY_WORKER"
_SIOCGIFADDR = 0x8915


class Rank:
    """The process of one rank; it makes one call of run()."""

    def __init__(self) -> None:
        self._port: socket.socket | None = None
        self._is_running = False
        self._is_cancelled = False  # interrupted, possibly before the function was called

    def describe(self) -> dict[str, Any]:
        import ray

        return {
            "address": ray.util.get_node_ip_address(),
            "process": os.getpid(),
            "gpus": [str(one) for one in ray.get_gpu_ids()],
        }

    def open_port(self) -> int:
        """Reserves a port for MASTER_PORT. It stays bound without listening, so that no other
        process gets it; torch.distributed can still bind it (SO_REUSEADDR)."""
        self._port = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._port.bind(("", 0))
        return self._port.getsockname()[1]

    def run(self, orders: dict[str, Any], call: bytes) -> dict[str, Any]:
        """Calls the function in a separate folder; returns its value or exception, pickled."""
        os.environ.update(orders["environment"])
        if orders["is_spread"]:
            # gloo would use the address of the host name, which often is a loopback address.
            interface = _interface_of(orders["address"])
            if interface is not None:
                os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
        sys.path.extend(one for one in orders["search_path"] if one not in sys.path)
        enter(orders["folder"], orders["output_dir"])
        signal.signal(signal.SIGINT, self._on_interrupt)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # Ray's processes block it
        try:
            return self._call(call, orders["wants_value"])
        finally:
            _finish_recordings()
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()

    def _call(self, call: bytes, wants_value: bool) -> dict[str, Any]:
        from ray import cloudpickle

        try:
            function, arguments, keywords = cloudpickle.loads(call)
            self._is_running = True
            if self._is_cancelled:
                raise KeyboardInterrupt
            value = function(*arguments, **keywords)
            self._is_running = False
        except BaseException as error:
            self._is_running = False
            return _describe_error(error)
        if not wants_value:
            return {"data": None}
        try:
            return {"data": cloudpickle.dumps(value)}
        except Exception as error:
            kind = type(value).__name__
            return {"summary": f"cannot send its value of type {kind}: {error}"}

    def _on_interrupt(self, number: int, frame: Any) -> None:
        is_first, self._is_cancelled = not self._is_cancelled, True
        if is_first and self._is_running:  # once, so that `finally` blocks run to the end
            raise KeyboardInterrupt


def _describe_error(error: BaseException) -> dict[str, Any]:
    from ray import cloudpickle

    text = "".join(traceback.format_exception(error))
    summary = "".join(traceback.format_exception_only(error)).strip()
    try:
        data = cloudpickle.dumps(error)
    except Exception:
        data = None
    is_interrupt = isinstance(error, KeyboardInterrupt)
    return {"error": data, "text": text, "summary": summary, "interrupted": is_interrupt}


def _finish_recordings() -> None:
    """Completes the files that are still being written before the driver requests them."""
    try:
        session.stop()
    except Exception as error:
        _env.say(f"cannot finish the recording: {error}")


def enter(folder: str, output_dir: str) -> None:
    """Changes to `folder`. Links in it make the content of the previous folder readable; only
    `output_dir`, if relative, is a new folder."""
    parts = [] if os.path.isabs(output_dir) else os.path.normpath(output_dir).split(os.sep)
    _mirror(os.getcwd(), folder, [part for part in parts if part != "."])
    os.chdir(folder)


def _mirror(source: str, target: str, parts: list[str]) -> None:
    try:
        names = os.listdir(source)
    except OSError:
        names = []
    for name in names:
        if name not in parts[:1]:
            os.symlink(os.path.join(source, name), os.path.join(target, name))
    if parts:
        target = os.path.join(target, parts[0])
        os.mkdir(target)
        if parts[1:]:  # files of earlier runs in output_dir itself are not linked
            _mirror(os.path.join(source, parts[0]), target, parts[1:])


def _interface_of(address: str) -> str | None:
    """The name of the network interface that has this IPv4 address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            with contextlib.suppress(OSError):
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
                if socket.inet_ntoa(answer[20:24]) == address:
                    return name
    return None


class NodeAgent:
    """Owns the folders of a node's ranks."""

    def __init__(self) -> None:
        self._root = ""
        self._sources: dict[int, str] = {}  # folder of files by rank
        self._before: dict[str, tuple[int, int]] = {}

    def prepare(self, ranks: list[int], output_dir: str, token: str | None) -> dict[int, str]:
        """Creates one folder per rank. A relative output_dir lies in each of them. An absolute one
        is the node's; its files are copied only if the driver's token is missing there, which
        means that the driver does not share it."""
        self._root = tempfile.mkdtemp(prefix="pyrometer-ray-")
        folders = {rank: os.path.join(self._root, f"rank_{rank}") for rank in ranks}
        for folder in folders.values():
            os.mkdir(folder)
        if not os.path.isabs(output_dir):
            self._sources = {
                rank: os.path.normpath(os.path.join(folder, output_dir))
                for rank, folder in folders.items()
            }
        elif token is not None and not os.path.exists(os.path.join(output_dir, token)):
            self._sources = {min(ranks): output_dir}
            self._before = {name: stamp for name, _, stamp in _walk(output_dir)}
        return folders

    def interrupt(self, processes: list[int]) -> None:
        for process in processes:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGINT)

    def files(self) -> list[tuple[int, str, int]]:
        """Rank, name and bytes of all written files, sorted by rank and name."""
        return [
            (rank, name, stamp[0])
            for rank, folder in sorted(self._sources.items())
            for name, _, stamp in sorted(_walk(folder))
            if self._before.get(name) != stamp
        ]

    def read(self, rank: int, name: str, offset: int, size_bytes: int) -> bytes:
        with open(os.path.join(self._sources[rank], name), "rb") as file:
            file.seek(offset)
            return file.read(size_bytes)

    def remove(self) -> list[str]:
        """Removes the folders, except files outside of output_dir, whose names it returns."""
        left = []
        for name, path, _ in _walk(self._root):
            if not any(path.startswith(os.path.join(one, "")) for one in self._sources.values()):
                left.append(name)
        if left:
            for folder in self._sources.values():
                if folder.startswith(self._root):
                    shutil.rmtree(folder, ignore_errors=True)
        else:
            shutil.rmtree(self._root, ignore_errors=True)
        return left


def _walk(folder: str) -> list[tuple[str, str, tuple[int, int]]]:
    """Regular files below a folder: relative name, path, (bytes, time of the last change)."""
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with contextlib.suppress(OSError):
                if not os.path.islink(path) and os.path.isfile(path):
                    status = os.stat(path)
                    stamp = status.st_size, status.st_mtime_ns
                    found.append((os.path.relpath(path, folder), path, stamp))
    return found
