"""Resource use of a process while a model runs: peaks, samples of memory, and of a GPU."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from pyrometer import _core

SAMPLE_SECONDS = 0.002


def reset_peaks(engine: Any) -> bool:
    """Resets the peaks of this process and of the device that a model runs on; False if the kernel
    does not permit the first."""
    if engine.on_gpu:
        import torch

        torch.cuda.reset_peak_memory_stats(engine.device)
    return _core.reset_peak()


class Sampler:
    """Samples memory a few hundred times per second: of this process in a thread of the library; on
    a GPU that of torch, and the GPU's use."""

    def __init__(self, engine: Any) -> None:
        self.device: str = engine.device
        self.resident_mean: float | None = None
        self.gpu_percent: list[float] = []
        self.gpu_allocated: list[int] = []
        self._gpu = engine.gpu()
        self.gpu_reason: str | None = engine.gpu_reason
        self._stop = threading.Event()

    def _sample_gpu(self) -> None:
        import torch

        while not self._stop.is_set():
            self.gpu_allocated.append(torch.cuda.memory_allocated(self.device))
            busy = self._gpu.read()["busy_percent"] if self._gpu is not None else None
            if busy is not None:
                self.gpu_percent.append(busy)
            self._stop.wait(SAMPLE_SECONDS)

    @contextlib.contextmanager
    def sampling(self) -> Iterator[Sampler]:
        thread = threading.Thread(target=self._sample_gpu, daemon=True)
        sampler = _core.sample_memory()
        if self.device.startswith("cuda"):
            thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            if thread.ident is not None:
                thread.join()
            self.resident_mean, _ = _core.sampled_memory(sampler)


def is_out_of_memory(error: BaseException) -> bool:
    """Recognizes CUDA's class, Python's, and the messages of the CPU allocator."""
    import torch

    if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(
        words in text
        for words in ("can't allocate memory", "not enough memory", "out of memory", "bad_alloc",
                      "status_alloc_failed",
                      "invalid buffer size", "storage size calculation overflowed")
    )  # fmt: skip
