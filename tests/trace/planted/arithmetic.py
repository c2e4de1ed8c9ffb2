"""Planted traces of the rules about arithmetic: precision, sizes, fusion, needless work."""

from make import BF16, FP32, MAP, PRODUCT, Trace

CUTLASS = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align{}>"
DEVICE_COPY = "Memcpy DtoD (Device -> Device)"
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false>(float*)"


def unaligned(sizes, name=PRODUCT, dtype=BF16):
    """Ten products, of which one has these sizes."""
    t = Trace()
    for i in range(10):
        if i == 0:
            t.product(100, 100, name, dtype, sizes)
        else:
            t.product(100 + i * 110, 100)
    return t


def unaligned_triton():
    """A pointwise kernel inside of a product, whose name lists the product."""
    t = unaligned((1024, 1024, 1024))
    t.op("aten::mm", 2000, 6, [[1024, 1001], [1001, 1024]], [BF16, BF16])
    t.kernel(2005, 100, "triton_poi_fused_addmm_gelu_view_6")
    return t


def chains(run, between=PRODUCT, product=PRODUCT):
    """Runs of elementwise kernels; `between` ends each."""
    t = Trace()
    at = 100
    for i in range(12):
        t.kernel(at, 20, MAP if i % (run + 1) < run else between)
        at += 25
    t.kernel(at, 20, product)
    return t


def doubles(count, dims=(1024, 1024)):
    """Ten maps of which `count` are on float64 tensors; one conversion makes the first."""
    t = Trace()
    dims = list(dims)
    t.frame("model.py(7): forward", 90, 2000)
    t.op("aten::to", 95, 4, [dims, []], [FP32, "Scalar"], ["", "7"])
    for i in range(10):
        kind = "double" if i < count else FP32
        t.op("aten::add", 100 + i * 110, 6, [dims, dims, []], [kind, kind, "Scalar"])
        t.kernel(105 + i * 110, 100, MAP)
    return t


def doubles_without_dims():
    """Numbers as float64 tensors without dims do not widen the tensors beside them."""
    t = Trace()
    for i in range(10):
        t.op("aten::mul", 100 + i * 110, 6, [[1024, 1024], []], [FP32, "double"])
        t.kernel(105 + i * 110, 100, MAP)
    return t


def attention(
    last="aten::matmul", between=("aten::div", "aten::softmax", "aten::dropout"), scores=128
):
    """Products with a softmax between; `scores` is the last size of the softmax's input."""
    t = Trace()
    batch = [4, 8, 128]
    t.frame("model.py(21): attend", 90, 400)
    ops = [("aten::matmul", [[*batch, 64], [4, 8, 64, 128]], PRODUCT)]
    ops += [
        (name, [[*batch, scores], []], SOFTMAX if "softmax" in name else MAP) for name in between
    ]
    ops += [(last, [[*batch, 128], [4, 8, 128, 64]], PRODUCT)]
    for i, (name, shapes, kernel) in enumerate(ops):
        t.op(name, 100 + i * 50, 20, shapes)
        t.kernel(500 + i * 50, 50, kernel, launched=105 + i * 50)
    return t


def clones(after, count=3):
    """Clones of activations, each followed by the op `after`."""
    t = Trace()
    t.frame("model.py(33): block", 90, 900)
    for i in range(count):
        t.op("aten::clone", 100 + i * 200, 20, [[1024, 1024], []], [FP32, ""])
        t.copy(
            2000 + i * 200, 20, 1 << 22, "Memcpy DtoD (Device -> Device)", launched=105 + i * 200
        )
        t.op("aten::view", 130 + i * 200, 5, [[1024, 1024], []], [FP32, "ScalarList"])
        t.op(after, 150 + i * 200, 20, [[1024, 1024]], [FP32])
        t.kernel(2020 + i * 200, 100, MAP, launched=155 + i * 200)
    return t


def conversions(second):
    """float32 to bfloat16 (15), then to the type of number `second`."""
    t = Trace()
    for i, (kind, target) in enumerate([(FP32, "15"), (BF16, second)]):
        t.op("aten::to", 100 + i * 50, 20, [[64, 64], [], [], [], []], [kind, "Scalar", "", "", ""],
             ["", target, "False", "False", ""])  # fmt: skip
        t.kernel(500 + i * 50, 20, MAP, launched=105 + i * 50)
    t.kernel(700, 100)
    return t


def collectives(count, elements):
    """All-reduces of a step, each with a number of float32 elements."""
    t = Trace()
    t.step(1, 0, 10000)
    t.kernel(10, 8000)
    for i in range(count):
        t.add("cpu_op", "record_param_comms", 100 + i * 20, 10,
              **{"Collective name": "allreduce", "dtype": "Float", "In msg nelems": elements,
                 "Out msg nelems": elements, "Group size": 8})  # fmt: skip
        t.kernel(8100 + i * 60, 50, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)",
                 launched=102 + i * 20, stream=9,
                 **{"Collective name": "allreduce", "dtype": "Float", "In msg nelems": elements,
                    "Out msg nelems": elements, "Group size": 8})  # fmt: skip
    return t


def loop(name, values, between=1, shapes=None):
    """Calls of an op on one tensor with other ops between; `values` are the last inputs."""
    t = Trace()
    t.frame("train.py(5): collect", 90, 20000)
    at = 100
    for value in values:
        t.op(name, at, 5, shapes or [[64, 8], [], []], [FP32, "Scalar", "Scalar"], ["", "0", value])
        for _ in range(between):
            at += 20
            t.op("aten::relu", at, 5, [[8]])
        at += 20
    t.kernel(at + 1000, 100)
    return t


SCATTERED = [str(i * 7 % 64) for i in range(12)]
PLANTED = {
    "unaligned-sizes": (
        unaligned((1024, 1001, 1024)),
        unaligned((1001, 1024, 1024)),  # M does not matter
        unaligned((1024, 1001, 1024), CUTLASS.format(8)),  # the kernel's name decides
        unaligned_triton(),
    ),
    "fusible-chains": (
        chains(3),
        chains(2),
        chains(2, SOFTMAX),  # softmax is no map over elements
    ),
    "double-precision": (doubles(2), doubles(0), doubles_without_dims()),
    "unfused-attention": (
        attention(),
        attention("aten::linear"),  # a layer, not a product with the scores
        attention(between=("aten::div",)),  # no softmax
        attention(scores=10),  # the second product has other operands
    ),
    "needless-copies": {
        "hit": clones("aten::relu"),
        "hit2": conversions("6"),
        "miss": clones("aten::add_"),  # the clone is written to
        "miss2": conversions("5"),  # to another type than it had
    },
    "small-collectives": (
        collectives(12, 1024),
        collectives(9, 1024),
        collectives(12, 1 << 20),  # large ones
    ),
    "repeated-selects": (
        loop("aten::select", SCATTERED),
        loop("aten::select", SCATTERED[:9]),
        loop("aten::select", ["0"] * 12),  # always the same element, as in one step after another
        loop("aten::select", SCATTERED, between=20),  # other work between
    ),
    "items-in-loops": (
        loop("aten::item", [""] * 12, shapes=[[]]),
        loop("aten::item", [""] * 9, shapes=[[]]),
        loop("aten::item", [""] * 12, between=40, shapes=[[]]),
    ),
}
