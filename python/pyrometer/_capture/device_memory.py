"""Memory of GPUs: what torch's CUDA allocator allocates and frees, by the library, whether or not
kernels are recorded."""

from __future__ import annotations

from pyrometer import _core

_current: Watch | None = None  # of the running session


class Watch:
    """The GPU memory of one session. Does not initialize CUDA."""

    def __init__(self, is_recorded: bool) -> None:
        """Without records, failed allocations are a trigger nevertheless."""
        global _current
        self.is_recorded = _core.device_memory_start(is_recorded) and is_recorded
        _current = self

    def stop(self) -> None:
        global _current
        _core.device_memory_stop()
        if _current is self:
            _current = None


def is_left_to_torch(flags: int) -> bool:
    """Whether a torch.profiler beside the recording records memory: the library does not, as on
    ROCm."""
    is_recorded = _current is not None and _current.is_recorded
    return bool(flags & _core.RECORD_MEMORY) and not is_recorded
