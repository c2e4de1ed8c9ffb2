"""Nsight Systems: whether nsys is attached, and the command that captures profiled steps."""

from __future__ import annotations

import os
import shlex
import sys

from pyrometer import _env
from pyrometer._capture.ranges import Ranges


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


def ranges(output: str, is_first_rank: bool) -> Ranges | None:
    """Returns None, with one warning, on a machine without a GPU."""
    if not has_device():
        if is_first_rank:
            _env.say("nsight_enabled has no effect: no GPU found; training continues")
        return None
    return Ranges()
