"""Planted traces of the rows of advice.def: findings in runs that use something, or could."""

import copy

from arithmetic import attention, chains
from make import (
    BF16,
    FP32,
    GIB,
    LOADER,
    MAP,
    PRODUCT,
    V100,
    Trace,
    before_first,
    dry,
    dry_often,
    launch_overhead,
    layouts,
    products,
    python_time,
    queued,
    retries,
    roofline,
    short_kernels,
)

REGION = "Torch-Compiled Region: 0/0"
ENGINE = "execute_1_context_1(sq888sk888sqsq788544sqsk788544)_generation_0(sq0sk0sqsq0sqsk0)"
NHWC = "sm90_xmma_fprop_implicit_gemm_bf16bf16_nhwc_tensor16x8x16"


def using(trace, *uses):
    """The trace with events that show what the run uses."""
    t = copy.deepcopy(trace)
    at = 1
    for use in uses:
        if use == "graphs":
            t.work("kernel", "in_graph", "cudaGraphLaunch", at + 3, 1, stream=30)
        elif use == "compile":
            t.op(REGION, at, 1)
        elif use == "sdpa":
            t.op("aten::scaled_dot_product_attention", at, 1)
        elif use == "optimizer":
            t.add("user_annotation", "Optimizer.step#SGD.step", at, 2)
        elif use == "stacks":
            t.frame("train.py(12): step", 0, 9999)
        elif use == "pinned":
            t.copy(at + 3, 1, 64, stream=31)
    return t


def loading(kind):
    t = Trace()
    t.step(1, 0, 10000)
    t.add("user_annotation", LOADER.format(kind), 0, 600)
    t.kernel(600, 9400)
    return t


def first_call(length):
    """One launch of many loads code, while the device waits."""
    t = Trace()
    t.step(1, 0, 10000)
    t.kernel(10, 4000)
    t.kernel(4020 + length, 5970 - length, launched=4015, launch=length)
    return t


def first_use():
    """The first call of the runtime creates the context of the device."""
    t = Trace()
    t.step(1, 0, 10000)
    t.add("cuda_runtime", "cudaMalloc", 5, 1200)
    t.kernel(1220, 8760)
    return t


def python_without_stacks():
    t = python_time(6200)
    t.events = [event for event in t.events if event["cat"] != "python_function"]
    return t


def served():
    t = dry_often(1100)
    t.add("user_annotation", ENGINE, 0, 10000)
    t.events = [e for e in t.events if not e["name"].startswith("ProfilerStep")]
    return t


def collective(name):
    t = Trace()
    t.step(1, 0, 10000)
    t.kernel(10, 5000)
    t.kernel(5010, 1200, f"ncclDevKernel_{name}(ncclDevKernelArgs)", stream=9)
    return t


def plain_half(count):
    """Products in 16 bits, some of them in kernels without tensor cores."""
    return products(count, BF16, "cutlass_80_simt_hgemm_128x64_8x5_nt_align1")


def channels_last(count):
    """Convolutions in channels_last beside one whose input the library converts."""
    t = layouts(300)
    t.kernel(1400, 500, NHWC, launched=110)
    for i in range(count):
        t.op("aten::conv2d", 200 + i * 50, 30, [[8, 64, 56, 56], [64, 64, 3, 3]])
        t.kernel(2000 + i * 100, 100, NHWC, launched=210 + i * 50)
    return t


def attention_and_chain():
    """Elementwise kernels beside an attention that is not fused: both would be fused."""
    t = attention()
    for i in range(12):
        t.kernel(9000 + i * 25, 20, MAP)
    return t


def full_and_retried():
    t = retries(True)
    t.memory(20, 73 * GIB, 73 * GIB, 73 * GIB)
    return t


def late_optimizer():
    """The host is late inside of the optimizer."""
    t = dry_often(1100)
    t.add("user_annotation", "Optimizer.step#SGD.step", 1, 9990)
    for i in range(1, 11):
        t.op("aten::addcmul_", 10 + i * 907 - 105, 103)
    return t


def large_optimizer():
    """Products that bandwidth limits, and updates that take a part of the device time."""
    t = roofline((16, 4096, 4096), 12)
    t.add("user_annotation", "Optimizer.step#SGD.step", 400, 100)
    t.op("aten::addcmul_", 405, 20)
    t.kernel(420, 30, MAP, launched=410)
    return t


def with_frame(trace):
    t = copy.deepcopy(trace)
    t.frame("train.py(12): step", 0, 9999)
    return t


def convolutions_of_amd():
    t = layouts(150)
    t.device |= {"name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4}
    return t


def served_in(trace):
    t = copy.deepcopy(trace)
    t.op("vllm::unified_attention", 1, 1)
    return t


HOST_BOUND = dry_often(1100)
PLANTED = {
    "input-pipeline.hit2": loading("SingleProcess"),
    "input-pipeline.hit3": using(loading("MultiProcessing"), "pinned"),
    "host-bound.hit2": first_call(1200),
    "host-bound.hit3": served(),
    "host-bound.hit4": using(HOST_BOUND, "graphs", "optimizer", "stacks"),
    "host-bound.hit5": using(HOST_BOUND, "compile"),
    "host-bound.hit6": late_optimizer(),
    "host-bound.hit7": with_frame(dry(1100)),
    "host-bound.hit8": HOST_BOUND,
    "before-first-kernel.hit2": first_use(),
    "before-first-kernel.hit4": before_first(1200, "cpu_op", "aten::mm"),
    "before-first-kernel.hit5": before_first(1200, "python_function", "nn.Module: Encoder_0"),
    "python-time.hit2": python_without_stacks(),
    "kernel-gaps.hit2": using(queued(40), "graphs"),
    "short-kernels.hit2": using(short_kernels(5), "graphs"),
    "short-kernels.hit3": using(short_kernels(5), "compile"),
    "launch-overhead.hit2": using(launch_overhead(40), "graphs"),
    "launch-overhead.hit3": using(launch_overhead(40), "compile"),
    "fusible-chains.hit2": using(chains(3), "compile"),
    "unfused-attention.hit2": attention_and_chain(),
    "memory-bound.hit2": using(roofline((16, 4096, 4096), 12), "compile", "sdpa", "optimizer"),
    "memory-bound.hit3": using(large_optimizer(), "compile", "sdpa"),
    "memory-nearly-full.hit2": full_and_retried(),
    "no-tensor-cores.hit2": plain_half(3),
    "no-tensor-cores.hit3": served_in(plain_half(3)),
    "full-precision.hit3": served_in(products(10, FP32, PRODUCT)),
    "layout-conversions.hit4": convolutions_of_amd(),
    "full-precision.hit2": products(10, FP32, MAP.replace("elementwise", "gemm_s884"), **V100),
    "communication.hit2": collective("AllGather_RING_LL"),
    "communication.hit3": collective("AllToAll_RING_LL"),
    "layout-conversions.hit2": channels_last(2),
    "layout-conversions.hit3": channels_last(1),
}
