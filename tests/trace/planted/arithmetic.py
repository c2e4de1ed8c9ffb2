"""Planted traces of the rules about arithmetic: precision, sizes, fusion, needless work."""

from make import BF16, MAP, PRODUCT, Trace

CUTLASS = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align{}>"
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
}
