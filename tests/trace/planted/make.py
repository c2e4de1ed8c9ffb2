"""Writes the planted traces: for every row of findings.def and every cause of lost time one that
triggers it (<id>.hit.json) and near misses that do not (<id>.miss.json, miss2, miss3). `make.py`
rewrites them, `make.py --check` compares."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
GIB = 1 << 30
PRODUCT = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute"
PLAIN_PRODUCT = "ampere_sgemm_128x128_tn"
MAP = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
)
LOADER = "enumerate(DataLoader)#_{}DataLoaderIter.__next__"
BF16, FP32 = "c10::BFloat16", "float"


class Trace:
    """Builds a trace; times are whole microseconds."""

    def __init__(self, device="NVIDIA H100 80GB HBM3", major=9, memory=80 * GIB):
        self.events = []
        self.correlation = 0
        self.device = {
            "id": 0,
            "name": device,
            "totalGlobalMem": memory,
            "computeMajor": major,
            "computeMinor": 0,
            "maxThreadsPerMultiprocessor": 2048,
            "numSms": 132,
        }

    def add(self, category, name, start, length, pid=1, tid=1, **args):
        event = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid}
        self.events.append(event | {"ts": start, "dur": length, "args": args})

    def step(self, number, start, length):
        self.add("user_annotation", f"ProfilerStep#{number}", start, length)

    def op(self, name, start, length, shapes=None, types=None, values=None):
        args = {}
        if shapes is not None:
            args["Input Dims"] = shapes
            args["Input type"] = types or [FP32 if s else "" for s in shapes]
            args["Concrete Inputs"] = values or ["" for _ in shapes]
        self.add("cpu_op", name, start, length, **args)

    def work(self, category, name, call, start, length, launched=None, launch=2, stream=7, **args):
        """Device work and the call that launches it, by default right before it starts."""
        self.correlation += 1
        launched = start - launch if launched is None else launched
        self.add("cuda_runtime", call, launched, launch, correlation=self.correlation)
        args |= {"device": 0, "stream": stream, "correlation": self.correlation}
        self.add(category, name, start, length, 0, stream, **args)

    def kernel(self, start, length, name=PRODUCT, grid=(264, 1, 1), **rest):
        self.work("kernel", name, "cudaLaunchKernel", start, length, grid=list(grid),
                  block=[128, 1, 1], **rest)  # fmt: skip

    def copy(self, start, length, size, name="Memcpy HtoD (Pinned -> Device)", **rest):
        self.work("gpu_memcpy", name, "cudaMemcpyAsync", start, length, bytes=size, **rest)

    def product(self, start, length, name=PRODUCT, dtype=BF16, sizes=(1024, 1024, 1024)):
        m, k, n = sizes
        self.op("aten::mm", start - 5, 6, [[m, k], [k, n]], [dtype, dtype])
        self.kernel(start, length, name)

    def memory(self, at, size, allocated, reserved, address=64):
        args = {"Device Type": 1, "Device Id": 0, "Addr": address, "Bytes": size}
        args |= {"Total Allocated": allocated, "Total Reserved": reserved}
        event = {
            "ph": "i",
            "cat": "cpu_instant_event",
            "s": "t",
            "name": "[memory]",
            "pid": 1,
            "tid": 1,
        }
        self.events.append(event | {"ts": at, "args": args})

    def counter(self, at, name, **series):
        event = {"ph": "C", "name": name, "pid": 0, "tid": 0, "ts": at}
        self.events.append(event | {"args": series})

    def frame(self, name, start, length):
        self.add("python_function", name, start, length)

    def text(self):
        devices = [self.device] if self.device else []
        head = {"schemaVersion": 1, "deviceProperties": devices}
        lines = ",\n".join(json.dumps(e) for e in self.events)
        return json.dumps(head)[:-1] + ', "traceEvents": [\n' + lines + "\n]}\n"


def loading(uncovered):
    t = Trace()
    t.step(1, 0, 10000)
    t.add(
        "user_annotation",
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        0,
        uncovered,
    )
    t.kernel(uncovered, 10000 - uncovered)
    return t


def single_process(length):
    t = Trace()
    t.step(1, 0, 10000)
    t.add(
        "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 10, length
    )
    t.kernel(100, 9800)
    return t


def before_first(length, category="python_function", name="infer.py(12): preprocess"):
    """Preprocessing before the first launch, in a frame."""
    t = Trace()
    t.step(1, 0, 10000)
    t.add(category, name, 5, length - 10)
    t.kernel(length, 9990 - length)
    return t


def before_first_behind_cupti(length):
    """A part of the time is CUPTI's: it asks for memory for its records."""
    t = before_first(1200)
    t.add("overhead", "Activity Buffer Request", 100, length, pid=-1, tid=0)
    return t


def after_last(length):
    t = Trace()
    t.step(1, 0, 10000)
    t.kernel(10, 9990 - length)
    t.add("python_function", "infer.py(20): postprocess", 10000 - length, length - 5)
    return t


def unrecorded(wait):
    """A decode step: its first copy waits behind a step that is not in the file."""
    t = Trace()
    t.step(1, 0, 10000)
    t.copy(50 + wait, 5, 4096, launched=50)
    t.kernel(60 + wait, 9930 - wait, launched=70)
    return t


def dry(gap):
    """The second kernel is launched when the first has ended, `gap` before it starts."""
    t = Trace()
    t.step(1, 0, 10000)
    t.kernel(10, 4000)
    t.kernel(4010 + gap, 5980 - gap, launched=4010 + gap - 5)
    return t


def dry_often(gap, count=10):
    """`count` times a kernel is launched when the one before has ended, idle for `gap` in all."""
    t = Trace()
    t.step(1, 0, 10000)
    pitch = 9980 // (count + 1)
    t.kernel(10, pitch - gap // count)
    for i in range(1, count + 1):
        t.kernel(10 + i * pitch, pitch - gap // count * (i < count), launched=5 + i * pitch)
    return t


def queued(gap):
    t = Trace()
    t.step(1, 0, 10000)
    for i in range(10):
        t.kernel(100 + i * 900, 900 - gap, launched=10 + i * 3)
    return t


def short_kernels(count):
    t = Trace()
    for i in range(20):
        t.kernel(100 + i * 20, 2 if i < count else 12, launched=90 + i * 20, launch=5)
    return t


def launch_overhead(length):
    """The device waits for every launch call."""
    t = Trace()
    t.step(1, 0, 10000)
    for i in range(10):
        t.kernel(100 + i * 900, 900 - length, launched=100 + i * 900 - length, launch=length)
    return t


def slow_launches(count):
    """The device waits for every launch; `count` of the calls are slow."""
    t = Trace()
    for i in range(100):
        t.kernel(200 + i * 100, 20, launch=60 if i < count else 5)
    return t


def queue(count):
    t = Trace()
    for i in range(count):
        t.kernel(4000 + i, 1, "k", launched=10 + i * 3, launch=1)
    return t


def waits(gap):
    """Ten kernels, after each of which the host fetches a number and launches `gap` late."""
    t = Trace()
    t.step(1, 0, 10000)
    t.add("python_function", "train.py(30): log", 1, 9998)
    for i in range(10):
        start = 20 + i * 990
        t.kernel(start, 990 - gap, launched=start - 4, launch=2)
        t.op("aten::item", start + 10, 984 - gap)
        t.add("cuda_runtime", "cudaStreamSynchronize", start + 20, 972 - gap)
    return t


def pageable(name, size):
    t = Trace()
    t.kernel(10, 5000)
    for i in range(4):
        t.copy(6000 + i * 100, 50, size, name)
    return t


def copy_time(length):
    t = Trace()
    t.step(1, 0, 10000)
    t.copy(10, length, 1 << 20)
    t.kernel(10 + length, 9980 - length)
    return t


def copy_count(count, duration=8):
    t = Trace()
    t.step(1, 0, 10000)
    t.kernel(10, 9900)
    for i in range(count):
        t.copy(100 + i * 20, duration, 4096, stream=8)
    return t


def fill_then_copy(on_host):
    t = Trace()
    t.op("aten::zeros", 100, 20, [[], []], ["ScalarList", "Scalar"], ["[1024]", "6"])
    if not on_host:
        t.kernel(120, 5, MAP, launched=110)
    t.op("aten::to", 130, 30, [[1024], []], [FP32, "Scalar"], ["", "6"])
    t.copy(160, 10, 4096, launched=140)
    return t


def products(plain, dtype, name=PLAIN_PRODUCT, sizes=(1024, 1024, 1024), **device):
    """Ten equal products, `plain` of them of that kind, the others on tensor cores in 16 bits."""
    t = Trace(**device)
    for i in range(10):
        if i < plain:
            t.product(100 + i * 110, 100, name, dtype, sizes)
        else:
            t.product(100 + i * 110, 100)
    return t


def layouts(length):
    t = Trace()
    t.op("aten::conv2d", 90, 30, [[8, 64, 56, 56], [64, 64, 3, 3]])
    t.kernel(120, length, "void cudnn::ops::nchwToNhwcKernel<float, float>(float*)", launched=100)
    t.kernel(400, 1000, "sm90_xmma_fprop_implicit_gemm_tf32f32_tensor16x8x8", launched=105)
    return t


def grids(count, blocks=16):
    t = Trace()
    for i in range(10):
        t.kernel(100 + i * 110, 100, grid=(blocks if i < count else 264, 1, 1))
    return t


def roofline(sizes, length, count=10):
    t = Trace()
    for i in range(count):
        t.product(100 + i * (length + 10), length, sizes=sizes)
    return t


def communication(length, overlap):
    t = Trace()
    t.step(1, 0, 10000)
    t.kernel(10, 5000)
    start = 5010 - overlap
    t.kernel(start, length, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", stream=9)
    return t


def memory_peak(size, reserved=None, memory=80 * GIB):
    t = Trace(memory=memory)
    t.kernel(10, 100)
    t.memory(20, size, size, reserved or size)
    return t


def retries(again):
    t = Trace()
    t.op("aten::empty", 100, 500)
    t.add("cuda_runtime", "cudaMalloc", 110, 50)
    if again:
        t.add("cuda_runtime", "cudaFree", 170, 100)
        t.add("cuda_runtime", "cudaMalloc", 280, 50)
    t.kernel(700, 100)
    return t


def growth(leak):
    t = Trace()
    total = GIB
    t.memory(1, total, total, 2 * GIB)
    for i in range(10):
        t.step(i, 10 + i * 1000, 1000)
        t.kernel(100 + i * 1000, 500)
        total += leak
        t.memory(200 + i * 1000, leak, total, 2 * GIB, address=128 + i)
    return t


def throttled(count, **state):
    """Ten steps of 100 ms, sampled every 10 ms; `count` samples have the state."""
    t = Trace()
    for i in range(10):
        t.step(i, i * 100_000, 100_000)
        t.kernel(i * 100_000 + 10, 99_980)
    for i in range(101):
        at, is_on = i * 10_000, 42 <= i < 42 + count
        t.counter(at, "GPU power", W=600 if is_on else 400)
        t.counter(at, "GPU energy", J=1000 + i * 4)
        t.counter(at, "GPU clock", **{"SM MHz": 1410 if is_on else 1980, "memory MHz": 3201})
        off = {"heat": 0, "hardware": 0, "power cap": 0, "clock setting": 0}
        t.counter(at, "GPU throttle", **(off | state if is_on else off))
    return t


def optimizer(count):
    t = Trace()
    t.step(1, 0, 10000)
    t.add("user_annotation", "Optimizer.step#SGD.step", 100, 5000)
    for i in range(count):
        t.op("aten::add_", 110 + i * 20, 15, [[64], [64], []], [FP32, FP32, "Scalar"])
        t.kernel(6000 + i * 10, 5, MAP, launched=112 + i * 20)
    return t


def zero_grad(name):
    t = Trace()
    t.add("user_annotation", "Optimizer.zero_grad#SGD.zero_grad", 100, 100)
    t.op(name, 110, 20, [[64]])
    t.kernel(300, 100)
    return t


def bias_before(bias, norm="aten::batch_norm"):
    t = Trace()
    shapes = [[8, 3, 32, 32], [16, 3, 3, 3], bias, [], [], [], []]
    t.op("aten::conv2d", 100, 50, shapes)
    t.op("aten::add_", 160, 5, [[], [], []], ["long int", "Scalar", "Scalar"])
    t.op(norm, 170, 50, [[8, 16, 30, 30], [16], [16], [16], [16], [], [], [], []])
    t.kernel(300, 100)
    return t


def small_ops(count, length, pitch=12):
    """Ops one after the other on a host without a device."""
    t = Trace()
    t.device = None
    t.step(1, 0, 5000)
    t.frame("train.py(4): normalize", 10, 4900)
    for i in range(count):
        t.op("aten::div", 20 + i * pitch, length)
    return t


def python_time(length):
    """A function in Python between ops, on a host without a device."""
    t = Trace()
    t.device = None
    t.step(1, 0, 10000)
    t.frame("train.py(9): tokenize", 10, length)
    t.op("aten::mm", 10 + length, 9980 - length)
    return t


def compilation(length):
    """torch.compile at work in a step, on a host without a device."""
    t = Trace()
    t.device = None
    t.step(1, 0, 10000)
    t.op("_compile.compile_inner (dynamo_timed)", 10, length)
    t.op("aten::mm", 10 + length, 9980 - length)
    return t


def early_compilation(length):
    """torch.compile at work before the first of the steps, which are ranges of the program. It
    traces the backward too, which is no backward of the steps."""
    t = Trace()
    t.device = None
    t.op("dynamo", 0, length)
    node = {"Sequence number": 5, "Fwd thread id": 1}
    name = "autograd::engine::evaluate_function: AddmmBackward0"
    t.add("cpu_op", name, 10, length // 2, **node)
    for i in range(4):
        t.add("user_annotation", "request", length + 1000 * i, 900)
        t.op("Torch-Compiled Region: 0/0", length + 1000 * i + 100, 700)
    return t


def dry_behind_profiler(events):
    """The device waits for 11% of the step, a part of it for the recording of ops."""
    t = dry(1100)
    kernels = [event for event in t.events if event["cat"] == "kernel"]
    idle_from = kernels[0]["ts"] + kernels[0]["dur"]
    for i in range(events):
        t.op("aten::view", idle_from + 2 + i * 4, 1)
    return t


PAGEABLE = "Memcpy HtoD (Pageable -> Device)"
V100 = {"device": "Tesla V100-SXM2-32GB", "major": 7, "memory": 32 * GIB}
PLANTED = {
    "input-pipeline": (loading(600), loading(400)),
    "single-process-loading": (single_process(200), single_process(90)),
    "before-first-kernel": (before_first(1200), before_first(900), before_first_behind_cupti(400)),
    "after-last-kernel": (after_last(1200), after_last(900)),
    "unrecorded-work": (unrecorded(800), unrecorded(90)),
    "host-bound": (dry(1100), dry(900), dry_behind_profiler(270)),
    "small-ops": (small_ops(200, 6), small_ops(200, 11), small_ops(60, 6)),
    "python-time": (python_time(6200), python_time(5800)),
    "compilation": {"hit": compilation(1200), "miss": compilation(800),
                    "hit2": early_compilation(1200), "miss2": early_compilation(300)},
    "kernel-gaps": (queued(40), queued(25)),
    "short-kernels": (short_kernels(5), short_kernels(3)),
    "launch-overhead": (launch_overhead(40), launch_overhead(25)),
    "slow-launches": (slow_launches(3), slow_launches(1)),
    "launch-queue-full": (queue(1010), queue(990)),
    "synchronizing-calls": (waits(40), waits(10)),
    "pageable-copies": (pageable(PAGEABLE, 1 << 19), pageable(PAGEABLE, 4096)),
    "copy-time": (copy_time(600), copy_time(400)),
    "copy-count": (copy_count(11), copy_count(10), copy_count(11, 2)),
    "fill-then-copy": (fill_then_copy(True), fill_then_copy(False)),
    "no-tensor-cores": (products(3, FP32, "volta_sgemm_128x64_tn", **V100),
                        products(1, FP32, "volta_sgemm_128x64_tn", **V100)),
    "tf32-off": (products(1, FP32), products(1, FP32, PRODUCT)),
    "full-precision": (products(10, FP32, PRODUCT), products(8, FP32, PRODUCT)),
    "layout-conversions": (layouts(150), layouts(90)),
    # Products that leave 20 multiprocessors to collectives are not small.
    "small-grids": (grids(3), grids(1), grids(10, 112)),
    "memory-bound": (roofline((16, 4096, 4096), 12), roofline((4096, 4096, 4096), 200)),
    "far-from-roofline": (roofline((4096, 4096, 4096), 450), roofline((4096, 4096, 4096), 380)),
    "communication": (communication(700, 0), communication(450, 0)),
    "communication-overlap": (communication(2000, 1000), communication(2000, 1500)),
    "memory-nearly-full": (memory_peak(73 * GIB), memory_peak(71 * GIB)),
    "allocation-retries": (retries(True), retries(False)),
    "fragmentation": (memory_peak(40 * GIB, 60 * GIB), memory_peak(50 * GIB, 60 * GIB)),
    "gpu-throttled": (throttled(6, heat=1, hardware=1), throttled(50, **{"power cap": 1}),
                      throttled(1, heat=1)),
    "memory-growth": (growth(32 << 20), growth(4 << 20)),
    "single-tensor-optimizer": (optimizer(25), optimizer(15)),
    "zero-grad": (zero_grad("aten::zero_"), zero_grad("aten::detach")),
    "bias-before-norm": (bias_before([16]), bias_before([])),
}  # fmt: skip


def main():
    from advice import PLANTED as advice  # these import this file
    from arithmetic import PLANTED as arithmetic
    from causes import PLANTED as causes
    from judged import PLANTED as judged

    files = advice | judged
    for finding, traces in (PLANTED | arithmetic | causes).items():
        kinds = ("hit", "miss", "miss2", "miss3")
        named = traces if isinstance(traces, dict) else dict(zip(kinds, traces, strict=False))
        files |= {f"{finding}.{kind}": trace for kind, trace in named.items()}
    stale = []
    for name, trace in files.items():
        path = HERE / f"{name}.json"
        if "--check" not in sys.argv[1:]:
            path.write_text(trace.text())
        elif not path.exists() or path.read_text() != trace.text():
            stale.append(path.name)
    if stale:
        sys.exit(f"make.py: out of date, run make.py: {', '.join(stale)}")


if __name__ == "__main__":
    main()
