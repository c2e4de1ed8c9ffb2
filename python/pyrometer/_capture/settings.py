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
# Size limit of the recording behind metrics, which are counted as it is written.
METRICS_ROOM_BYTES = 64 << 20
# Size limit of an unnamed recording, which is deleted once its passes are files.
PASS_ROOM_BYTES = 1 << 30
MAX_FILES = 10


@dataclasses.dataclass
class Settings:
    """What a session records, and where."""

    path: str
    flags: int = EVERYTHING
    max_bytes: int = 0
    keep_last: bool = False
    overwrite: bool = False
    temporary: bool = False
    unnamed: bool = False  # of a whole program, for its metrics; no file stays
    counts_steps: bool = False  # for metrics
    devices: bool = True
    gpu: str | None = None  # how kernels are recorded: one of WAYS
    one_file: bool = False  # no kernels rather than those of torch.profiler, in a second file
    keep: str | None = None  # how much is kept: a time, or a number of steps
    triggers: str | None = None  # of the flight recorder
    max_files: int = MAX_FILES  # per trigger
    quiet: bool = False  # do not report files of triggers
    nvtx: bool = False  # make layers NVTX ranges
    gpu_sampling: float | None = None  # seconds between samples of power and clocks; 0: none
    warmup: bool = False  # discard what is recorded before Session.begin()

    @property
    def has_oom_trigger(self) -> bool:
        options = _core.flight_options(self.keep, self.triggers)
        return self.triggers is not None and bool(options["oom"])

    @property
    def allows_torch(self) -> bool:
        """Whether torch.profiler may record kernels in the collector's place."""
        return not self.is_bounded and not self.one_file

    @property
    def is_bounded(self) -> bool:
        """Whether memory must not grow with the run: torch.profiler, which keeps everything until
        its end, cannot take the place of an observer."""
        return self.keep is not None or self.triggers is not None or self.unnamed
