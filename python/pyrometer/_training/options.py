"""The arguments of profiler()."""

from __future__ import annotations

import dataclasses

from pyrometer import _core
from pyrometer._training.schedule import Schedule

# Size limit of one window's recording; the JSON is about ten times as large.
WINDOW_BYTES = 256 << 20


@dataclasses.dataclass(frozen=True)
class Options:
    """The arguments of profiler()."""

    enabled: bool
    output_dir: str
    schedule: Schedule
    with_stack: bool
    with_flops: bool
    with_modules: bool
    nsight_enabled: bool
    nsight_output: str
    history: str | bool | None = None

    @property
    def flags(self) -> int:
        flags = _core.RECORD_LAYERS | _core.RECORD_OPS | _core.RECORD_DEVICES
        flags |= _core.RECORD_SHAPES if self.with_flops else 0
        return flags | (_core.RECORD_STACKS if self.with_stack else 0)
