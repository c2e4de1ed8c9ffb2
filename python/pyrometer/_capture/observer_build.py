"""Builds observer.cpp against the installed torch, caches the result, and tests it.

Torch has no C interface to its ops, and a library built for one torch loads into another and
silently records nothing. So each torch gets its own library, built on first use."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyrometer import _core

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDER = _PACKAGE / "_capture" / "observer"
_SOURCE = _FOLDER / "observer.cpp"
_HEADERS = ("recording.h", "capture.h", "error.h")
_FLAGS = (
    "-shared",
    "-fPIC",
    "-O2",
    "-w",
    "-fvisibility=hidden",
    "-fno-semantic-interposition",
    "-fno-plt",
    "-fno-tree-slp-vectorize",  # it lengthens the hot path of every op
)
_BUILD_SECONDS = 300
# Older versions lack what the allocator's wrapper needs; newer ones are tried and tested.
_OLDEST_TORCH = (2, 3)


class Unavailable(Exception):
    """Ops cannot be observed here; the text is a message for users.

    `remedy` is what the user can do. An expected reason (no compiler, an old torch, switched off)
    is a limit of the environment; any other reason is a defect, there or in Pyrometer."""

    def __init__(self, reason: str, remedy: str = "", *, expected: bool = False) -> None:
        super().__init__(reason)
        self.remedy = remedy
        self.expected = expected

    def copy(self) -> Unavailable:
        """A copy without a traceback, whose frames would keep objects alive."""
        return Unavailable(str(self), self.remedy, expected=self.expected)


def include_folder() -> Path:
    """The folder that holds pyrometer/capture.h: in the package, or in the source tree."""
    for place in (_PACKAGE, *_PACKAGE.parents[1:3]):
        folder = place / "include"
        if (folder / "pyrometer" / "capture.h").is_file():
            return folder
    raise Unavailable("the observer's headers are not installed", "reinstall pyrometer")


def compiler() -> list[str]:
    """The C++ compiler as the start of a command: $CXX, or one on the path."""
    wanted = shlex.split(os.environ.get("CXX", ""))
    for command in [wanted] if wanted else [["c++"], ["g++"], ["clang++"]]:
        if shutil.which(command[0]):
            return command
    what = f"$CXX ({wanted[0]}) was not found" if wanted else "no C++ compiler was found"
    remedy = "install one (Debian: g++) or set CXX"
    raise Unavailable(f"{what}; {remedy}", remedy, expected=True)


def _torch_version() -> tuple[int, int]:
    import torch

    try:
        major, minor = torch.__version__.split(".")[:2]
        return int(major), int(minor)
    except ValueError:
        raise Unavailable(f"torch {torch.__version__} has an unknown version format") from None


def compile_command(source: Path, target: Path, *definitions: str) -> list[str]:
    """The command that builds a library against the installed torch."""
    import torch

    version = _torch_version()
    if version < _OLDEST_TORCH:
        raise Unavailable(
            f"torch {torch.__version__} is too old: observing ops requires 2.3",
            "install a newer torch",
            expected=True,
        )
    folder = Path(torch.__file__).resolve().parent
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    return [
        *compiler(),
        *_FLAGS,
        "-std=c++20" if version >= (2, 13) else "-std=c++17",
        # Without it torch runs an assertion at every access to an op's inputs.
        "-DNDEBUG",
        *definitions,
        f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
        f"-I{_FOLDER}",
        f"-I{include_folder()}",
        f"-I{folder / 'include'}",
        f"-I{folder / 'include' / 'torch' / 'csrc' / 'api' / 'include'}",
        str(source),
        *("-o", str(target), f"-L{folder / 'lib'}", "-ltorch_cpu", "-lc10"),
    ]


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "pyrometer"


def library_path() -> Path:
    """The path of the library for this torch; its name contains all its dependencies."""
    import torch

    digest = hashlib.sha256()
    include = include_folder()
    sources = [_SOURCE, *sorted(_FOLDER.glob("*.hpp"))]
    for path in (*sources, *(include / "pyrometer" / name for name in _HEADERS)):
        digest.update(path.read_bytes())
    digest.update(" ".join(_FLAGS).encode())
    # Two builds of one torch version may still differ.
    digest.update(str(getattr(torch.version, "git_version", "")).encode())
    parts = (
        torch.__version__,
        f"abi{int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        platform.machine(),
        sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag,
        digest.hexdigest()[:16],
    )
    return cache_folder() / ("observer-" + "-".join(parts).replace("/", "_") + ".so")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Makes processes that start together build only once."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compile_library(source: Path, target: Path) -> None:
    """Builds into a temporary file and renames it, so that no partial library is ever visible."""
    handle, name = tempfile.mkstemp(prefix=".building-", suffix=".so", dir=target.parent)
    os.close(handle)
    try:
        # Code that needs a private member of torch is left out where torch lacks the member.
        for definitions in (("-DPYROMETER_READS_PRIVATE_FIELDS",), ()):
            command = compile_command(source, Path(name), *definitions)
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=_BUILD_SECONDS
            )
            if done.returncode == 0:
                break
        else:
            errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
            said = (errors or done.stderr.splitlines() or ["no output"])[0][:200]
            raise Unavailable(
                f"{command[0]} could not build the observer: {said}",
                "set CXX to another C++ compiler (Debian: g++) that supports C++20",
            )
        os.chmod(name, 0o755)
        os.replace(name, target)
    except subprocess.TimeoutExpired:
        raise Unavailable(
            f"{compiler()[0]} took more than {_BUILD_SECONDS} s to build the observer",
            "try again on a less busy machine, or set CXX to another compiler",
        ) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _built() -> Path:
    target = library_path()
    if target.is_file():
        return target
    compiler()  # reports a missing compiler before anything is created
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target.with_suffix(".lock")):
            if not target.is_file():
                compile_library(_SOURCE, target)
    except OSError as error:
        raise Unavailable(
            f"{target.parent}: {error.strerror or error}",
            "set XDG_CACHE_HOME to a writable folder",
        ) from None
    return target


def _load(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
        library.pyro_observer_torch.restype = ctypes.c_char_p
        library.pyro_observer_start.restype = ctypes.c_char_p
        library.pyro_observer_start.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
        library.pyro_observer_watch_failures.restype = ctypes.c_char_p
        library.pyro_observer_stop.restype = None
        library.pyro_observer_wait_for.restype = None
        library.pyro_observer_wait_for.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
        library.pyro_observer_rest.restype = None
        library.pyro_observer_rest.argtypes = [ctypes.c_int]
        library.pyro_observer_tensor_fields.restype = ctypes.c_void_p
        library.pyro_observer_numbers.restype = ctypes.c_int
        library.pyro_observer_numbers.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        library.pyro_observer_try.restype = ctypes.c_char_p
        library.pyro_observer_tried.restype = ctypes.c_size_t
        library.pyro_observer_tried.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    except (OSError, AttributeError) as error:
        raise Unavailable(
            f"cannot load the observer: {error}",
            f"remove {path} to rebuild it; if it still does not load, report this line",
        ) from None
    return library


def _tensor_words(code: int, *sizes: int) -> str:
    return "".join(f" {word:x}" for word in (1 | code << 8 | len(sizes) << 32, *sizes))


def _try_out(library: ctypes.CDLL) -> None:
    """Observes one product with known types, shapes, sequence number and memory."""
    import torch

    left = torch.ones(3, 5, dtype=torch.float64, requires_grad=True)
    right = torch.ones(5, 7, dtype=torch.float64)
    reason = library.pyro_observer_try()
    if reason:
        raise Unavailable(reason.decode())
    try:
        with torch.enable_grad():
            product = torch.mm(left, right)
        # AccumulateGrad has no number: this is the number of the product's node.
        node = product.grad_fn
        sequence = node._sequence_nr() if node is not None else -1
        del product
    finally:
        text = ctypes.create_string_buffer(1 << 16)
        library.pyro_observer_tried(text, len(text))
    seen = text.value.decode().splitlines()
    double = 7  # c10's code of float64
    inputs = _tensor_words(double, 3, 5) + _tensor_words(double, 5, 7)
    wanted = f"aten::mm|{sequence}|{inputs}|{_tensor_words(double, 3, 7)}|ended"
    for line in (wanted, f"memory|{3 * 7 * 8}", f"memory|-{3 * 7 * 8}"):
        if line not in seen:
            raise Unavailable(
                f"the observer does not match torch {torch.__version__}: "
                f"{line!r} is not among {seen[:4]!r}",
                "install a release of torch that this version of pyrometer was tested with",
            )


# One function from each torch file from which Python runs ops.
_STACK_FUNCTIONS = {
    "torch.nn.functional": "relu",
    "torch.functional": "einsum",
    "torch._tensor": "_rebuild_from_type",
    "torch.autograd": "backward",
    "torch.autograd.graph": "_engine_run_backward",
    "torch.autograd.function": "once_differentiable",
    "torch.optim.optimizer": "_use_grad_for_differentiable",
    "torch.utils.checkpoint": "checkpoint",
}


def stack_functions() -> list[Any]:
    """The functions for _core.stacks_install() whose modules are imported; may be empty."""
    found = (
        getattr(sys.modules.get(module), name, None) for module, name in _STACK_FUNCTIONS.items()
    )
    return [function for function in found if function is not None]


class _State:
    library: ctypes.CDLL | None = None
    reason: Unavailable | None = None  # why the library is unavailable, once known


def load() -> ctypes.CDLL:
    """The library, built, loaded and tested once per process; raises Unavailable."""
    if _State.reason is not None:
        raise _State.reason.copy()
    if _State.library is None:
        try:
            if os.environ.get("PYROMETER_OBSERVER") == "off":
                raise Unavailable("PYROMETER_OBSERVER=off", "unset it", expected=True)
            path = _built()
            library = _load(path)
            try:
                _try_out(library)
            except Unavailable:
                with contextlib.suppress(OSError):
                    path.unlink()  # the next process rebuilds it
                raise
            _State.library = library
        except Unavailable as error:
            _State.reason = error.copy()
            raise
    return _State.library


def status() -> dict[str, Any]:
    """For `pyrometer doctor`: whether ops can be observed, with which library, or why not."""
    try:
        path = library_path()
        was_there = path.is_file()
        load()
        return {"ok": True, "library": str(path), "built": not was_there}
    except Unavailable as error:
        return {
            "ok": False,
            "reason": str(error),
            "remedy": error.remedy,
            "expected": error.expected,
        }


@contextlib.contextmanager
def waiting_for(devices: int, wait: Any = None) -> Iterator[None]:
    """Makes every op that the program calls wait for the devices (a bit mask) after it starts, so
    that its time includes its device work. `wait`: a C function of a device index, used instead."""
    library = load()
    library.pyro_observer_wait_for(devices, wait and ctypes.cast(wait, ctypes.c_void_p))
    try:
        yield
    finally:
        library.pyro_observer_wait_for(0, None)


def start(flags: int) -> None:
    """Sends ops and memory events to the recorder from now on; raises Unavailable."""
    reason = load().pyro_observer_start(_core.recorder_api(), flags)
    if reason:
        raise Unavailable(reason.decode())


def watch_failures() -> None:
    """After start() without memory: reports failed allocations on the CPU. Raises Unavailable."""
    reason = load().pyro_observer_watch_failures()
    if reason:
        raise Unavailable(reason.decode())


def numbers(tensor: Any) -> tuple[int, int]:
    """The ids of a tensor and its storage as recorded with ops; raises Unavailable."""
    pair = (ctypes.c_uint64 * 2)()
    if not load().pyro_observer_numbers(tensor._cdata, pair):
        raise Unavailable("the tensor has no storage")
    return pair[0], pair[1]


def tensor_access() -> tuple[int, int]:
    """The addresses of the function that reads tensor sizes, and of the description of the fields
    that it reads, for _core.inputs_install(); each may be 0."""
    try:
        library = load()
    except Unavailable:
        return 0, 0
    describe = ctypes.cast(library.pyro_observer_tensor, ctypes.c_void_p).value
    return describe or 0, library.pyro_observer_tensor_fields() or 0


def rest_function() -> int:
    """Address of the C function that pauses the op callback; 0 without an observer."""
    if _State.library is None:
        return 0
    return ctypes.cast(_State.library.pyro_observer_rest, ctypes.c_void_p).value or 0


def rest(rests: bool) -> None:
    """Pauses or resumes the recording of ops; does nothing if not started."""
    if _State.library is not None:
        _State.library.pyro_observer_rest(rests)


def stop() -> None:
    """Stops recording; does nothing if not started."""
    if _State.library is not None:
        _State.library.pyro_observer_stop()
