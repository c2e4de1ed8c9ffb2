"""What a session records, and where to."""

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
)
# Of a recording without a name, which lives only until its passes are files.
PASS_ROOM_BYTES = 1 << 30


@dataclasses.dataclass
class Settings:
    """What a session records, and where to."""

    path: str
    flags: int = EVERYTHING
    max_bytes: int = 0
    keep_last: bool = False
    overwrite: bool = False
    temporary: bool = False
    devices: bool = True
    warmup: bool = False  # what comes before Session.begin() is not part of it
