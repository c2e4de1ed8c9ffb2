"""Measures peak rates of this machine for `pyrometer doctor --calibrate`, through torch.

Products by type, attention, matrix-vector products, elementwise ops, reductions, copies and
launches, on the host and on one GPU of each name; kernels over sizes (calibrate_kernels.py), sums
over two processes, and what recording costs. src/hardware/peaks.c and src/map/calibration.c read
the file."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

SCHEMA = "pyrometer.peaks/2"
BUDGET_S = 0.3  # per rate
LONGEST_CALL_S = 0.5  # larger sizes are not tried
LEAST_CALLS = 5  # unless they take seconds: another process may disturb one
STREAM_BYTES = {"cpu": 64 << 20, "cuda": 1 << 30}  # more than caches hold
SIZES = {"cpu": (256, 1536), "cuda": (1024, 4096, 8192)}
TYPES = ("float64", "float32", "tf32", "float16", "bfloat16", "float8", "int8")
LAUNCHES = 1000

Rates = dict[str, Any]


def peaks_path() -> pathlib.Path:
    """One file per host: machines may share a home."""
    data = os.environ.get("XDG_DATA_HOME", "")
    folder = pathlib.Path(data) if data.startswith("/") else pathlib.Path.home() / ".local/share"
    return folder / "pyrometer" / f"peaks-{os.uname().nodename}.json"


def read() -> Rates:
    """The stored rates as pyrometer.peaks/2, whatever their version. Raises OSError, ValueError."""
    stored = json.loads(peaks_path().read_text())
    if not isinstance(stored, dict):
        raise ValueError("not an object")
    if "devices" in stored:
        return stored
    about = ("schema", "host", "measured", "torch")
    rates = {key: value for key, value in stored.items() if key not in about}
    host = {"device": "cpu", "name": platform.processor() or platform.machine(), **rates}
    return {key: stored.get(key) for key in about} | {"schema": SCHEMA, "devices": [host]}


class Bench:
    """Times calls on one device. The shortest time counts: a peak is the undisturbed speed."""

    def __init__(
        self,
        torch: Any,
        device: str,
        budget_s: float = BUDGET_S,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.torch = torch
        self.clock = clock  # of the host: a busy machine is measured by the time of this process
        self.device = torch.device(device)
        self.kind = self.device.type
        self.budget_s = budget_s

    def best_s(self, run: Callable[[], Any]) -> float:
        if self.kind == "cuda":
            return self._best_on_device_s(run)
        run()
        return self._shortest_s(lambda: self._call_s(run))

    def _shortest_s(self, measure: Callable[[], float]) -> float:
        times: list[float] = []
        end = time.perf_counter() + self.budget_s
        while time.perf_counter() < end or (len(times) < LEAST_CALLS and sum(times) < 1):
            times.append(measure())
        return min(times)

    def _call_s(self, run: Callable[[], Any]) -> float:
        begin = self.clock()
        run()
        return self.clock() - begin

    def _best_on_device_s(self, run: Callable[[], Any]) -> float:
        """Between events of the device, over groups of calls: a single one could be shorter than
        its launch, and then the host would be measured."""
        cuda = self.torch.cuda
        with cuda.device(self.device):
            run()
            once = self._group_s(run, 1)
            calls = max(1, min(200, int(0.01 / max(once, 1e-7))))
            return self._shortest_s(lambda: self._group_s(run, calls) / calls)

    def _group_s(self, run: Callable[[], Any], calls: int) -> float:
        cuda = self.torch.cuda
        begin, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1000

    def empty(self, *sizes: int, dtype: Any) -> Any:
        return self.torch.empty(*sizes, dtype=dtype, device=self.device)

    def random(self, *sizes: int, dtype: Any) -> Any:
        return self.torch.randn(*sizes, device=self.device).to(dtype)


@contextlib.contextmanager
def _precision(torch: Any, name: str) -> Iterator[None]:
    """tf32: float32 products may round their inputs; else they may not."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _product(bench: Bench, name: str, size: int) -> Callable[[], Any]:
    torch = bench.torch
    if name == "int8":
        left = torch.ones(size, size, dtype=torch.int8, device=bench.device)
        return lambda: torch._int_mm(left, left.t())
    if name == "float8":
        left = bench.random(size, size, dtype=torch.bfloat16).to(torch.float8_e4m3fn)
        one = torch.ones((), device=bench.device)
        return lambda: torch._scaled_mm(
            left, left.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16
        )
    dtype = torch.float32 if name == "tf32" else getattr(torch, name)
    left, right = bench.random(size, size, dtype=dtype), bench.random(size, size, dtype=dtype)
    out = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=out)


def _is_supported(bench: Bench, name: str) -> bool:
    if bench.kind == "cpu":
        return name not in ("tf32", "float8")
    major, minor = bench.torch.cuda.get_device_capability(bench.device)
    needs = {"tf32": (8, 0), "bfloat16": (8, 0), "float8": (8, 9)}
    return (major, minor) >= needs.get(name, (0, 0))


def product_rate(bench: Bench, name: str) -> float | None:
    """Operations per second of square products; None if torch does not support the type here. A
    type without optimized code would take minutes at a large size."""
    best: float | None = None
    if not _is_supported(bench, name):
        return None
    with _precision(bench.torch, name):
        for size in SIZES[bench.kind]:
            if best is not None and 2 * size**3 / best > LONGEST_CALL_S:
                break
            try:
                rate = 2 * size**3 / bench.best_s(_product(bench, name, size))
            except (AttributeError, RuntimeError, TypeError, ValueError):
                break  # torch has no code for it here, or too little memory
            best = max(best or 0, rate)
    return best


def attention_rate(bench: Bench) -> float | None:
    """FLOPs per second of scaled_dot_product_attention without a mask: two products."""
    torch = bench.torch
    batch, heads, tokens, width = (4, 16, 4096, 128) if bench.kind == "cuda" else (1, 8, 512, 64)
    dtype = torch.float32
    if bench.kind == "cuda":
        dtype = torch.bfloat16 if _is_supported(bench, "bfloat16") else torch.float16
    attention = torch.nn.functional.scaled_dot_product_attention
    try:
        query = bench.random(batch, heads, tokens, width, dtype=dtype)
        seconds = bench.best_s(lambda: attention(query, query, query))
    except RuntimeError:
        return None
    return 4 * batch * heads * tokens * tokens * width / seconds


def stream_rates(bench: Bench) -> Rates:
    """Bytes per second: every byte of the tensors is read or written once."""
    torch = bench.torch
    total = STREAM_BYTES[bench.kind]
    if bench.kind == "cuda":
        total = min(total, torch.cuda.mem_get_info(bench.device)[0] // 8)
    dtype = torch.bfloat16 if _is_supported(bench, "bfloat16") else torch.float16
    if bench.kind == "cpu":
        dtype = torch.float32
    count = total // dtype.itemsize
    left, right = bench.empty(count, dtype=dtype).fill_(1), bench.empty(count, dtype=dtype).fill_(2)
    out = torch.empty_like(left)
    side = int(count**0.5) // 64 * 64
    matrix, vector = left[: side * side].view(side, side), bench.empty(side, dtype=dtype).fill_(1)
    product = torch.empty_like(vector)
    bytes_of = dtype.itemsize
    return {
        "bytes_per_s": 2 * count * bytes_of / bench.best_s(lambda: out.copy_(left)),
        "gemv_bytes_per_s": side
        * side
        * bytes_of
        / bench.best_s(lambda: torch.mv(matrix, vector, out=product)),
        "elementwise_bytes_per_s": 3
        * count
        * bytes_of
        / bench.best_s(lambda: torch.add(left, right, out=out)),
        "reduction_bytes_per_s": count * bytes_of / bench.best_s(lambda: left.sum()),
    }


def launch_ns(bench: Bench) -> float:
    """Host time between two launches of the smallest op; on the host, the time of that op."""
    torch = bench.torch
    one = torch.ones(1, device=bench.device)
    best = float("inf")
    for _ in range(5):
        if bench.kind == "cuda":
            torch.cuda.synchronize(bench.device)
        begin = time.perf_counter()
        for _ in range(LAUNCHES):
            one.add_(0)
        best = min(best, (time.perf_counter() - begin) / LAUNCHES)
    return best * 1e9


def measure(bench: Bench) -> Rates:
    """All rates of one device; null where torch has no code for it."""
    rates: Rates = {}
    with bench.torch.no_grad():
        for name in TYPES:
            key = f"{name}_{'ops' if name == 'int8' else 'flops'}_per_s"
            rates[key] = product_rate(bench, name)
            _release(bench)
        rates["attention_flops_per_s"] = attention_rate(bench)
        _release(bench)
        rates |= stream_rates(bench)
        _release(bench)
        rates["launch_ns"] = launch_ns(bench)
    return rates


# Two processes sum tensors of several sizes; the first prints the shortest times.
_SUMS = """
import json, sys, time, torch, torch.distributed as dist
rank, file, sizes = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method="file://" + file, rank=rank, world_size=2)
rows = []
for size in sizes:
    x, times = torch.ones(size // 4), []
    for _ in range(8):
        dist.barrier()
        begin = time.perf_counter()
        dist.all_reduce(x)
        times.append(time.perf_counter() - begin)
    rows.append((size, min(times)))
if rank == 0:
    print(json.dumps(rows))
dist.destroy_process_group()
"""
SUM_BYTES = (4 << 10, 256 << 10, 16 << 20)


def collectives(torch: Any) -> list[Rates]:
    """Sums over two processes of this machine by gloo: not what GPUs with their own links reach."""
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        return []
    with tempfile.TemporaryDirectory() as folder:
        words = [os.path.join(folder, "meet"), json.dumps(SUM_BYTES)]
        ranks = [
            subprocess.Popen(
                [sys.executable, "-c", _SUMS, str(rank), *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for rank in (0, 1)
        ]
        try:
            text = ranks[0].communicate(timeout=120)[0]
            ranks[1].communicate(timeout=120)
        except subprocess.TimeoutExpired:
            text = ""
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
    rows = json.loads(text) if text else []
    about = {"kind": "all_reduce", "backend": "gloo", "processes": 2}
    return [{**about, "bytes": size, "time_ns": round(1e9 * seconds)} for size, seconds in rows]


def _release(bench: Bench) -> None:
    if bench.kind == "cuda":
        bench.torch.cuda.empty_cache()


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _devices(torch: Any) -> Iterator[tuple[str, Rates]]:
    """torch's name of each device to measure, and what the file says about it."""
    yield "cpu", {"device": "cpu", "name": _processor(), "threads": torch.get_num_threads()}
    if not torch.cuda.is_available():
        return
    seen = set()
    for index in range(torch.cuda.device_count()):
        name = torch.cuda.get_device_name(index)
        if name not in seen:
            seen.add(name)
            yield f"cuda:{index}", {"device": "cuda", "name": name, "cuda": torch.version.cuda}


def calibrate(budget_s: float = BUDGET_S) -> Rates:
    """Measures all devices and what recording costs, and stores that; devices that are not here
    now keep their rates."""
    import torch

    from pyrometer._capture import calibrate_kernels, recorder_costs

    devices = []
    for where, about in _devices(torch):
        rates = measure(Bench(torch, where, budget_s))
        with torch.no_grad():
            kernels = calibrate_kernels.measure(Bench(torch, where, budget_s / 15), _precision)
        devices.append(about | rates | {"kernels": kernels})
    kept: list[Rates] = []
    with contextlib.suppress(OSError, ValueError):
        here = {(one["device"], one["name"]) for one in devices}
        kept = [
            one
            for one in read()["devices"]
            if one.get("device") != "cpu" and (one.get("device"), one.get("name")) not in here
        ]
    peaks = {
        "schema": SCHEMA,
        "host": os.uname().nodename,
        "measured": time.strftime("%Y-%m-%d"),
        "torch": torch.__version__,
        "devices": devices + kept,
        "collectives": collectives(torch),
    } | recorder_costs.measure(torch)
    path = peaks_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(peaks, indent=2) + "\n")
    temporary.replace(path)
    return peaks


def _scaled(rate: float, unit: str) -> str:
    scale, letter = (1e12, "T") if rate >= 1e12 else (1e9, "G")
    return f"{rate / scale:.3g} {letter}{unit}"


def describe(peaks: Rates) -> str:
    """The rates of each device in a few words, for doctor."""
    texts = []
    for device in peaks.get("devices", []):
        products = ", ".join(
            f"{key.split('_')[0]} {_scaled(value, 'FLOP/s')}"
            for key, value in device.items()
            if key.endswith("ops_per_s") and value and not key.startswith("attention")
        )
        copied = _scaled(device.get("bytes_per_s") or 0, "B/s")
        texts.append(f"{device.get('name')}: {products}, copy {copied}")
    return f"{'; '.join(texts)} ({peaks.get('measured')})"
