"""Settings of a session: what it records, and where."""

from __future__ import annotations

import dataclasses

from pyrometer import _core

EVERYTHING = (
    _core.RECORD_LAYERS
    | _core.RECORD_OPS
    | _core.RECORD_SHAPES
    | _core.RECORD_OUTPUTS
    | _core.RECORD_MEMORY
    | _core.RECORD_STACKS
    | _core.RECORD_DEVICES
)
# How kernels are recorded: by the library's collector, or by torch.profiler.
WAYS = ("auto", "collector", "torch", "none")
# Size limit of an unnamed recording, which is deleted once its passes are files.
PASS_ROOM_BYTES = 1 << 30


@dataclasses.dataclass
class Settings:
    """What a session records, and where."""

    path: str
    flags: int = EVERYTHING
    max_bytes: int = 0
    keep_last: bool = False
    overwrite: bool = False
    temporary: bool = False
    devices: bool = True
    gpu: str | None = None  # how kernels are recorded: one of WAYS
    gpu_sampling: float | None = None  # seconds between samples of power and clocks; 0: none
    warmup: bool = False  # discard what is recorded before Session.begin()
