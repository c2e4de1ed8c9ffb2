"""Planted traces of what a first screen got wrong once: a finding that is right in one run and
wrong in another that looks like it."""

from advice import using
from arithmetic import attention
from make import (
    BF16,
    FP32,
    GIB,
    MAP,
    PLAIN_PRODUCT,
    Trace,
    dry_often,
    layouts,
    memory_peak,
    products,
    roofline,
)

TF32_PRODUCT = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1"
TF32_CONVOLUTION = "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc"
PLAIN_CONVOLUTION = "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3>(int, int, int)"
TRITON_PRODUCT = "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1"


def capture(length, ends=True):
    """A graph is captured between two kernels."""
    t = Trace()
    t.step(1, 0, 10000)
    t.kernel(10, 4000)
    t.add("cuda_runtime", "cudaStreamBeginCapture", 4020, 2)
    for i in range(10):
        t.add("cuda_runtime", "cudaLaunchKernel", 4030 + i * 10, 3, correlation=1000 + i)
    if ends:
        t.add("cuda_runtime", "cudaStreamEndCapture", 4020 + length - 5, 5)
    t.kernel(4030 + length, 5960 - length)
    return t


def replayed(name, count=10, dtype=None):
    """Kernels of a graph, whose types no op tells."""
    t = Trace()
    t.step(1, 0, 10000)
    t.correlation += 1
    t.add("cuda_runtime", "cudaGraphLaunch", 10, 20, correlation=1)
    for i in range(count):
        args = {"device": 0, "stream": 7, "correlation": 1, "graph id": 4, "graph node id": 10 + i}
        t.add("kernel", name, 40 + i * 900, 890, 0, 7, grid=[264, 1, 1], block=[128, 1, 1], **args)
    return t


def products_in_float32():
    """Products of Triton, whose names do not tell the cores that they use."""
    t = Trace()
    for i in range(10):
        t.product(100 + i * 110, 100, "triton_matmul_kernel_0d1d", FP32)
    return t


def served_memory():
    t = memory_peak(73 * GIB)
    t.op("vllm::moe_forward", 1, 5)
    return t


def trained_memory():
    t = memory_peak(73 * GIB)
    t.op("AddmmBackward0", 1, 5)
    return t


def library_starts():
    """An op uses a library for the first time, which allocates and frees."""
    t = Trace()
    t.op("aten::cudnn_convolution", 100, 500)
    t.add("cuda_runtime", "cudaStreamCreateWithFlags", 105, 4)
    t.add("cuda_runtime", "cudaMalloc", 110, 50)
    t.add("cuda_runtime", "cudaFree", 170, 100)
    t.add("cuda_runtime", "cudaMalloc", 280, 50)
    t.kernel(700, 100)
    return t


def other_runtime(length):
    """Calls of a runtime that last until their work is done."""
    t = Trace()
    t.device = None
    for i in range(20):
        t.correlation += 1
        start = 100 + i * 100
        t.add("cuda_runtime", "runtimeCreateJob", start, length, correlation=t.correlation)
        args = {"device": 0, "stream": 7, "correlation": t.correlation}
        t.add("kernel", "fc-dtype_Float", start + 5, 2, 0, 7, **args)
    return t


def busy_with_short_kernels():
    """Kernels are shorter than their launches, but the device hardly waits for them."""
    t = Trace()
    t.kernel(10, 9000)
    for i in range(20):
        t.kernel(9010 + i * 4, 3, launched=100 + i * 20, launch=5)
    return t


def disturbed():
    """One of ten equal products runs as it should; another process slows the others."""
    t = Trace()
    for i in range(10):
        t.product(100 + i * 1000, 900 if i else 220, sizes=(4096, 4096, 4096))
    return t


def on_amd():
    """Products at 42% of the data sheet's rate, which is usual there."""
    t = roofline((4096, 4096, 4096), 250)
    t.device |= {"name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4}
    return t


def small_products():
    """Products of which each is a kernel of some microseconds, in ops that are just long enough."""
    t = Trace()
    for i in range(10):
        t.op("aten::mm", 100 + i * 100, 60, [[512, 512], [512, 512]], [BF16, BF16])
        for k in range(5):
            t.kernel(110 + i * 100 + k * 6, 5, launched=101 + i * 100 + k * 5)
    return t


def batched_products():
    """Products of attention over 3137 tokens."""
    t = Trace()
    for i in range(10):
        t.op("aten::bmm", 95 + i * 110, 6, [[96, 3137, 64], [96, 64, 3137]], [BF16, BF16])
        t.kernel(100 + i * 110, 100, "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1")
    return t


def waits_elsewhere(op):
    """The host waits in one function and is late in another."""
    t = Trace()
    t.step(1, 0, 10000)
    t.frame("train.py(1): run", 1, 9998)
    for i in range(10):
        start = 20 + i * 990
        t.kernel(start, 890, launched=start - 4, launch=2)
        t.frame("train.py(30): fetch", start + 5, 890)
        t.op(op, start + 10, 884)
        t.add("cuda_runtime", "cudaStreamSynchronize", start + 20, 872)
        t.frame("train.py(40): prepare", start + 900, 80)
    return t


def preprocessing(count):
    """`count` functions share the time before the first launch."""
    t = Trace()
    t.step(1, 0, 10000)
    for i in range(count):
        t.frame(f"infer.py({10 + i}): part{i}", 5 + i * (2000 // count), 2000 // count - 1)
    t.kernel(2010, 7980)
    return t


def copied_ahead():
    """Five steps whose inputs are copied ahead on a stream of their own, behind a step that is not
    in the file."""
    t = Trace()
    t.add("kernel", MAP, 3100, 900, 0, 7, device=0, stream=7, correlation=999)
    for i in range(5):
        t.step(i, i * 100, 100)
        t.copy(20 + i * 600, 600, 1 << 20, stream=20, launched=5 + i * 100)
        t.kernel(4000 + i * 1000, 1000, launched=20 + i * 100)
    return t


def one_reduction(overlap):
    t = Trace()
    t.step(1, 0, 10000)
    t.kernel(10, 5000)
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)"
    t.kernel(5010 - overlap, 2000, name, stream=9)
    return t


def trained_attention():
    t = attention()
    t.op("aten::_softmax_backward_data", 9600, 20)
    t.kernel(9610, 50, MAP, launched=9602)
    return t


def compiled_frames():
    """Code that torch generated launches, called by the program."""
    t = dry_often(1100)
    t.frame("generate.py(20): decode", 0, 9999)
    t.frame("torch/_dynamo/eval_frame.py(5): _fn", 1, 9997)
    t.frame("/tmp/torchinductor_user/ab/cab.py(1252): call", 2, 9995)
    return t


def compiled_backward():
    """Generated code and torch around it, in a layer, without a line of the program."""
    t = dry_often(1100)
    t.frame("nn.Module: Decoder_0", 0, 9999)
    t.frame("torch/_inductor/output_code.py(5): __call__", 1, 9997)
    t.frame("/tmp/torchinductor_user/ab/cab.py(1252): call", 2, 9995)
    return t


def with_tf32(plain, kernel):
    """Products in TF32, and others that no such kernel serves."""
    t = products(plain, FP32, kernel)
    t.kernel(2000, 10, TF32_CONVOLUTION if kernel == PLAIN_CONVOLUTION else TF32_PRODUCT)
    return t


def batch_norms(layout):
    """Layouts change around convolutions; a batch norm takes a hundred times its bytes' time."""
    t = layouts(150)
    sizes = [8, 64, 56, 56]
    t.op("aten::native_batch_norm", 2000, 6, [sizes, [64], [64], [64], [64]])
    t.kernel(
        2005, 1000, f"void at::native::batch_norm_collect_statistics{layout}_kernel<float>(int)"
    )
    return t


def leak_of_idle_device():
    """Memory doubles within fifty steps, and the device works for a tenth of the time."""
    t = Trace()
    total = GIB
    t.memory(1, total, total, 2 * GIB)
    for i in range(10):
        t.step(i, 10 + i * 1000, 1000)
        t.kernel(500 + i * 1000, 100)
        t.memory(600 + i * 1000, 32 << 20, total := total + (32 << 20), 2 * GIB, address=128 + i)
    return t


def copied_beside():
    """Copies have a stream of their own, on which they take longer than the kernels."""
    t = Trace()
    t.step(1, 0, 10000)
    for i in range(10):
        t.copy(10 + i * 1000, 990, 1 << 20, stream=8, launched=1)
        t.kernel(10 + i * 1000, 900, launched=2)
    return t


def double_products():
    """Products of float64 in a run whose other products are TF32."""
    t = Trace()
    for i in range(10):
        is_wide = i < 5
        name = "sm90_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize64x64x16" if is_wide else TF32_PRODUCT
        t.product(100 + i * 110, 100, name, "double" if is_wide else FP32)
    return t


def items_that_wait():
    """Numbers are fetched in a loop, and the device idles after each wait for one."""
    t = Trace()
    t.step(1, 0, 10000)
    for i in range(20):
        t.kernel(10 + i * 400, 100)
        t.frame("train.py(9): log", 100 + i * 400, 30) if i == 0 else None
        t.op("aten::item", 100 + i * 400, 30, [[]], [FP32])
        t.add("cuda_runtime", "cudaStreamSynchronize", 105 + i * 400, 20, correlation=900 + i)
    t.kernel(8010, 1980)
    return t


def graph_with_optimizer():
    """A whole step is a graph: the optimizer runs in it, and no range of it is on the host."""
    t = using(dry_often(1100), "graphs")
    t.add("user_annotation", "Optimizer.step#Adam.step", -50, 20)
    return t


PLANTED = {
    "graph-capture.hit": capture(1000),
    "graph-capture.miss": capture(300),
    "graph-capture.miss2": capture(1000, ends=False),
    "host-bound.miss3": capture(1500),
    "host-bound.hit9": compiled_frames(),
    "host-bound.hit10": graph_with_optimizer(),
    "host-bound.hit11": compiled_backward(),
    "tf32-off.miss3": with_tf32(10, PLAIN_PRODUCT),
    "tf32-off.miss4": with_tf32(10, PLAIN_CONVOLUTION),
    "no-tensor-cores.hit4": with_tf32(10, PLAIN_PRODUCT),
    "layout-conversions.hit5": batch_norms(""),
    "layout-conversions.hit6": batch_norms("_channels_last"),
    "copy-time.hit2": copied_beside(),
    "memory-growth.hit2": leak_of_idle_device(),
    "double-precision.hit2": double_products(),
    "items-in-loops.hit2": items_that_wait(),
    "no-tensor-cores.miss2": replayed(TRITON_PRODUCT),
    "tf32-off.hit2": replayed(PLAIN_PRODUCT),
    "tf32-off.miss2": products_in_float32(),
    "memory-nearly-full.miss2": served_memory(),
    "memory-nearly-full.hit3": trained_memory(),
    "allocation-retries.miss2": library_starts(),
    "short-kernels.miss2": other_runtime(60),
    "short-kernels.miss3": busy_with_short_kernels(),
    "slow-launches.miss2": other_runtime(60),
    "far-from-roofline.miss2": disturbed(),
    "far-from-roofline.miss3": on_amd(),
    "far-from-roofline.miss4": small_products(),
    "unaligned-sizes.miss4": batched_products(),
    "synchronizing-calls.hit2": waits_elsewhere("aten::nonzero"),
    "synchronizing-calls.hit3": waits_elsewhere("aten::copy_"),
    "synchronizing-calls.hit4": waits_elsewhere("aten::equal"),
    "before-first-kernel.hit3": preprocessing(8),
    "copy-time.miss2": copied_ahead(),
    "communication.hit4": one_reduction(0),
    "communication.hit5": one_reduction(900),
    "unfused-attention.hit3": trained_attention(),
}
