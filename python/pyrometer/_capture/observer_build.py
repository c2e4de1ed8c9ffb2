"""Builds observer.cpp against the torch that is installed, keeps the result, and tries it out.

There is no C interface to torch's ops, and a library built for one torch loads into another and
silently sees nothing, so each torch gets its own: made on first use, kept in the user's cache."""

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
    "-fno-tree-slp-vectorize",  # it makes what every op runs longer
)
_BUILD_SECONDS = 300
# Older ones lack what the allocator's wrapper needs; newer ones are tried, and tried out.
_OLDEST_TORCH = (2, 3)


class Unavailable(Exception):
    """Why ops cannot be observed here; its text is for people.

    `remedy` is what the user can do. An expected reason (no compiler, an old torch, switched off)
    leaves capturing as good as it can be there; any other one is a defect, here or in Pyrometer."""

    def __init__(self, reason: str, remedy: str = "", *, expected: bool = False) -> None:
        super().__init__(reason)
        self.remedy = remedy
        self.expected = expected

    def copy(self) -> Unavailable:
        """One without a traceback, whose frames would keep what they hold alive."""
        return Unavailable(str(self), self.remedy, expected=self.expected)


def include_folder() -> Path:
    """The folder that holds pyrometer/capture.h: in the package, or in the source tree."""
    for place in (_PACKAGE, *_PACKAGE.parents[1:3]):
        folder = place / "include"
        if (folder / "pyrometer" / "capture.h").is_file():
            return folder
    raise Unavailable("the observer's headers are not installed", "reinstall pyrometer")


def compiler() -> list[str]:
    """The C++ compiler as the start of a command: $CXX, or one that is on the path."""
    wanted = shlex.split(os.environ.get("CXX", ""))
    for command in [wanted] if wanted else [["c++"], ["g++"], ["clang++"]]:
        if shutil.which(command[0]):
            return command
    what = f"$CXX ({wanted[0]}) is not there" if wanted else "there is no C++ compiler"
    remedy = "install one (Debian: g++) or set CXX"
    raise Unavailable(f"{what}; {remedy}", remedy, expected=True)


def _torch_version() -> tuple[int, int]:
    import torch

    try:
        major, minor = torch.__version__.split(".")[:2]
        return int(major), int(minor)
    except ValueError:
        raise Unavailable(f"torch {torch.__version__} has no version that is known here") from None


def compile_command(source: Path, target: Path, *definitions: str) -> list[str]:
    """The command that builds a library against the installed torch."""
    import torch

    version = _torch_version()
    if version < _OLDEST_TORCH:
        raise Unavailable(
            f"torch {torch.__version__} is too old: ops are observed from 2.3 on",
            "install a newer torch",
            expected=True,
        )
    folder = Path(torch.__file__).resolve().parent
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    return [
        *compiler(),
        *_FLAGS,
        "-std=c++20" if version >= (2, 13) else "-std=c++17",
        # Without it torch asserts at every look at an op's inputs.
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
    """Where the library for this torch is kept; its name says all that it depends on."""
    import torch

    digest = hashlib.sha256()
    include = include_folder()
    sources = [_SOURCE, *sorted(_FOLDER.glob("*.hpp"))]
    for path in (*sources, *(include / "pyrometer" / name for name in _HEADERS)):
        digest.update(path.read_bytes())
    digest.update(" ".join(_FLAGS).encode())
    # Two torches of one version may still be built differently.
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
    """Several processes that start together build once."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compile_library(source: Path, target: Path) -> None:
    """Builds into a file of its own and renames it: a half-written library is never seen."""
    handle, name = tempfile.mkstemp(prefix=".building-", suffix=".so", dir=target.parent)
    os.close(handle)
    try:
        # What needs a member that torch keeps to itself is left out where that is not there.
        for definitions in (("-DPYROMETER_READS_PRIVATE_FIELDS",), ()):
            command = compile_command(source, Path(name), *definitions)
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=_BUILD_SECONDS
            )
            if done.returncode == 0:
                break
        else:
            errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
            said = (errors or done.stderr.splitlines() or ["it said nothing"])[0][:200]
            raise Unavailable(
                f"{command[0]} could not build the observer: {said}",
                "set CXX to another C++ compiler (Debian: g++) that knows C++20",
            )
        os.chmod(name, 0o755)
        os.replace(name, target)
    except subprocess.TimeoutExpired:
        raise Unavailable(
            f"{compiler()[0]} took over {_BUILD_SECONDS} s to build the observer",
            "try again on a machine that is less busy, or set CXX to another compiler",
        ) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _built() -> Path:
    target = library_path()
    if target.is_file():
        return target
    compiler()  # says what is missing before anything is made
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _locked(target.with_suffix(".lock")):
            if not target.is_file():
                compile_library(_SOURCE, target)
    except OSError as error:
        raise Unavailable(
            f"{target.parent}: {error.strerror or error}",
            "set XDG_CACHE_HOME to a folder that can be written",
        ) from None
    return target


def _load(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
        library.pyro_observer_torch.restype = ctypes.c_char_p
        library.pyro_observer_start.restype = ctypes.c_char_p
        library.pyro_observer_start.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
        library.pyro_observer_stop.restype = None
        library.pyro_observer_wait_for.restype = None
        library.pyro_observer_wait_for.argtypes = [ctypes.c_uint64, ctypes.c_void_p]
        library.pyro_observer_rest.restype = None
        library.pyro_observer_rest.argtypes = [ctypes.c_int]
        library.pyro_observer_numbers.restype = ctypes.c_int
        library.pyro_observer_numbers.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        library.pyro_observer_try.restype = ctypes.c_char_p
        library.pyro_observer_tried.restype = ctypes.c_size_t
        library.pyro_observer_tried.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    except (OSError, AttributeError) as error:
        raise Unavailable(
            f"the observer does not load: {error}",
            f"remove {path} so that it is built again; if it still does not load, report this line",
        ) from None
    return library


def _tensor_words(code: int, *sizes: int) -> str:
    return "".join(f" {word:x}" for word in (1 | code << 8 | len(sizes) << 32, *sizes))


def _try_out(library: ctypes.CDLL) -> None:
    """One product whose types, shapes, sequence number and memory are known beforehand."""
    import torch

    left = torch.ones(3, 5, dtype=torch.float64, requires_grad=True)
    right = torch.ones(5, 7, dtype=torch.float64)
    reason = library.pyro_observer_try()
    if reason:
        raise Unavailable(reason.decode())
    try:
        with torch.enable_grad():
            product = torch.mm(left, right)
        # AccumulateGrad's has none: the number is the node's of the product.
        node = product.grad_fn
        sequence = node._sequence_nr() if node is not None else -1
        del product
    finally:
        text = ctypes.create_string_buffer(1 << 16)
        library.pyro_observer_tried(text, len(text))
    seen = text.value.decode().splitlines()
    double = 7  # c10's number of float64
    inputs = _tensor_words(double, 3, 5) + _tensor_words(double, 5, 7)
    wanted = f"aten::mm|{sequence}|{inputs}|{_tensor_words(double, 3, 7)}|ended"
    for line in (wanted, f"memory|{3 * 7 * 8}", f"memory|-{3 * 7 * 8}"):
        if line not in seen:
            raise Unavailable(
                f"the observer does not see torch {torch.__version__} as it is: "
                f"{line!r} is not among {seen[:4]!r}",
                "install a release of torch that this version of pyrometer was tested with",
            )


# A function of each of torch's files that Python runs ops from.
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
    """For _core.stacks_install(): those that are imported, of which none need be there."""
    found = (
        getattr(sys.modules.get(module), name, None) for module, name in _STACK_FUNCTIONS.items()
    )
    return [function for function in found if function is not None]


class _State:
    library: ctypes.CDLL | None = None
    reason: Unavailable | None = None  # why there is none, once that is known


def load() -> ctypes.CDLL:
    """The library, built, loaded and tried out once a process; raises Unavailable."""
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
                    path.unlink()  # the next process builds it anew
                raise
            _State.library = library
        except Unavailable as error:
            _State.reason = error.copy()
            raise
    return _State.library


def status() -> dict[str, Any]:
    """For `pyrometer doctor`: whether ops can be observed, by what, or why not."""
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
    """Every op that a program calls waits for devices, a bit each, once it is started: its time
    has what it left to them. `wait` is a C function of a device's number that does it instead."""
    library = load()
    library.pyro_observer_wait_for(devices, wait and ctypes.cast(wait, ctypes.c_void_p))
    try:
        yield
    finally:
        library.pyro_observer_wait_for(0, None)


def start(flags: int) -> None:
    """Ops and memory go to the recorder from now on; raises Unavailable."""
    reason = load().pyro_observer_start(_core.recorder_api(), flags)
    if reason:
        raise Unavailable(reason.decode())


def numbers(tensor: Any) -> tuple[int, int]:
    """Those that a tensor and its storage have where ops write them down; raises Unavailable."""
    pair = (ctypes.c_uint64 * 2)()
    if not load().pyro_observer_numbers(tensor._cdata, pair):
        raise Unavailable("the tensor has no storage")
    return pair[0], pair[1]


def describe_function() -> int:
    """The address of what reads a tensor's sizes, for _core.inputs_install(); 0 without it."""
    try:
        function = load().pyro_observer_tensor
    except Unavailable:
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def rest(rests: bool) -> None:
    """Ops are not announced for a while; fine when it was not started."""
    if _State.library is not None:
        _State.library.pyro_observer_rest(rests)


def stop() -> None:
    """Fine when it was not started."""
    if _State.library is not None:
        _State.library.pyro_observer_stop()
