"""Resource use of a process and its machine while a model runs: memory, CPU, GPU, disk, network."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

PAGE = os.sysconf("SC_PAGE_SIZE")
SAMPLE_SECONDS = 0.002


def resident_bytes() -> int | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * PAGE
    except (OSError, ValueError, IndexError):
        return None


def reset_peak() -> bool:
    """Resets the kernel's high-water mark; False if that is not permitted."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
        return True
    except OSError:
        return False


def reset_peaks(engine: Any) -> bool:
    """Also resets the peak of the device that a model runs on."""
    if engine.on_gpu:
        import torch

        torch.cuda.reset_peak_memory_stats(engine.device)
    return reset_peak()


def peak_bytes() -> int | None:
    """Peak resident memory since reset_peak()."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


class _Heap(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    ]  # fmt: skip


def heap_fragmentation() -> float | None:
    """Share of the C heap that is free but held; None where unknown."""
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return None
    mallinfo.restype = _Heap
    heap = mallinfo()
    whole = heap.arena + heap.hblkhd
    return heap.fordblks / whole if whole else None


def disk_bytes() -> tuple[int, int] | None:
    """Bytes that this process read from and wrote to disks."""
    try:
        with open("/proc/self/io", encoding="ascii") as file:
            fields = dict(line.split(": ") for line in file.read().splitlines())
        return int(fields["read_bytes"]), int(fields["write_bytes"])
    except (OSError, ValueError, KeyError):
        return None


def network_bytes() -> tuple[int, int] | None:
    """Bytes received and sent in this process's network namespace, without loopback."""
    received = sent = 0
    try:
        with open("/proc/self/net/dev", encoding="ascii") as file:
            for line in file.read().splitlines()[2:]:
                name, _, numbers = line.partition(":")
                if name.strip() != "lo":
                    fields = numbers.split()
                    received += int(fields[0])
                    sent += int(fields[8])
    except (OSError, ValueError, IndexError):
        return None
    return received, sent


def run_delay_s() -> float | None:
    """Time that the calling thread was runnable but did not have a processor."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


class Usage:
    """CPU, disk and network use from creation to stop(); costs nothing in between."""

    def __init__(self) -> None:
        self._disk, self._network = disk_bytes(), network_bytes()
        self._delay = run_delay_s()
        self._busy, self._start = time.process_time(), time.perf_counter()

    def stop(self) -> dict[str, Any]:
        wall = time.perf_counter() - self._start
        busy = time.process_time() - self._busy
        usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
        found: dict[str, Any] = {
            "cpu_percent": 100 * busy / wall if wall > 0 else None,
            "cpu_share_of_machine": busy / wall / usable if wall > 0 else None,
            "waiting": None,
        }
        delay = run_delay_s()
        if wall > 0 and delay is not None and self._delay is not None:
            # Time that other programs took from this thread is not time that it waited.
            found["waiting"] = max(0.0, 1 - (busy + delay - self._delay) / wall)
        for name, before, after in (
            ("disk", self._disk, disk_bytes()),
            ("network", self._network, network_bytes()),
        ):
            known = before is not None and after is not None
            words = ("read", "written") if name == "disk" else ("received", "sent")
            for index, word in enumerate(words):
                key = f"{name}_{word}_bytes"
                found[key] = max(after[index] - before[index], 0) if known else None
        return found


class Sampler:
    """Samples resident memory, and the GPU if used, a few hundred times per second."""

    def __init__(self, engine: Any) -> None:
        self.device: str = engine.device
        self.resident: list[int] = []
        self.gpu_percent: list[float] = []
        self.gpu_allocated: list[int] = []
        self._gpu = engine.gpu()
        self.gpu_reason: str | None = engine.gpu_reason
        self._stop = threading.Event()

    def _sample_gpu(self) -> None:
        import torch

        self.gpu_allocated.append(torch.cuda.memory_allocated(self.device))
        busy = self._gpu.read()["busy_percent"] if self._gpu is not None else None
        if busy is not None:
            self.gpu_percent.append(busy)

    def _sample(self) -> None:
        while not self._stop.is_set():
            now = resident_bytes()
            if now is not None:
                self.resident.append(now)
            if self.device.startswith("cuda"):
                self._sample_gpu()
            self._stop.wait(SAMPLE_SECONDS)

    @contextlib.contextmanager
    def sampling(self) -> Iterator[Sampler]:
        thread = threading.Thread(target=self._sample, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join()


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
