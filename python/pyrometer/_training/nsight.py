"""Nsight Systems: the range that nsys captures, and NVTX ranges of steps and layers in it."""

from __future__ import annotations

import os
import shlex
import sys
import weakref
from typing import Any

from pyrometer import _env


def is_attached() -> bool:
    """Whether this process runs under nsys."""
    return "NSYS_PROFILING_SESSION_ID" in os.environ


def has_device() -> bool:
    import torch

    return torch.cuda.is_available()


def command_line(output: str) -> str:
    """The command that captures the profiled steps of this program with nsys."""
    nsys = [
        "nsys", "profile", "-o", output, "--capture-range=cudaProfilerApi",
        "--capture-range-end=stop", "--trace=cuda,nvtx,osrt",
    ]  # fmt: skip
    return shlex.join(nsys + _program())


def _program() -> list[str]:
    words = list(getattr(sys, "orig_argv", None) or [sys.executable, *sys.argv])
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return ["python", *words[1:]]
    arguments = [word for word in words[1:] if word != "-u"]
    processes = os.environ.get("LOCAL_WORLD_SIZE", "1")
    return ["torchrun", f"--nproc-per-node={processes}", *arguments]


class Ranges:
    """nsys captures from start() to stop(); steps and layer forwards become NVTX ranges."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []
        self._has_step = self._has_started = False
        self._open_layers = 0

    def start(self) -> None:
        hooks = self._torch.nn.modules.module
        cuda = self._torch.cuda
        cuda.check_error(cuda.cudart().cudaProfilerStart())
        self._has_started = True
        self._handles = [
            hooks.register_module_forward_pre_hook(self._enter),
            hooks.register_module_forward_hook(self._leave, always_call=True),
        ]

    def begin_step(self, name: str) -> None:
        self._torch.cuda.nvtx.range_push(name)
        self._has_step = True

    def end_step(self) -> None:
        if self._has_step:
            self._has_step = False
            self._torch.cuda.nvtx.range_pop()

    def stop(self) -> None:
        """Safe at any time, also after a failed start() or while an exception propagates."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        try:
            for _ in range(self._open_layers):
                self._torch.cuda.nvtx.range_pop()
            self._open_layers = 0
            self.end_step()
        finally:
            if self._has_started:
                self._has_started = False
                self._torch.cuda.cudart().cudaProfilerStop()

    def _enter(self, module: Any, arguments: Any) -> None:
        name = self._names.get(module)
        if name is None:
            for path, child in module.named_modules():
                self._names.setdefault(child, path or type(child).__name__)
            name = self._names[module]
        self._open_layers += 1
        self._torch.cuda.nvtx.range_push(name)

    def _leave(self, module: Any, arguments: Any, output: Any) -> None:
        if self._open_layers:
            self._open_layers -= 1
            self._torch.cuda.nvtx.range_pop()


def ranges(output: str, is_first_rank: bool) -> Ranges | None:
    """Returns None, with one warning, on a machine without a GPU."""
    if not has_device():
        if is_first_rank:
            _env.say("nsight_enabled has no effect: no GPU found; training continues")
        return None
    return Ranges()
