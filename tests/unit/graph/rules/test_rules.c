/* Tests of graph/rules: values computed by hand and by other counters. */
#include "call_text.h"
#include "unit.h"

#define SAME PYRO_SAME

typedef struct row {
    const char *op, *text;
    int64_t macs, other_flops;
    int64_t torch_macs, fvcore_flops; /* SAME: the MACs */
} row;

static void expect_rows(const row *rows, size_t count)
{
    static call_text c;
    for (size_t i = 0; i < count; i++) {
        const row *r = &rows[i];
        if (!call_text_price(&c, r->op, r->text))
            fail_msg("%s does not understand: %s", r->op, r->text);
        int64_t torch_macs = r->torch_macs == SAME ? r->macs : r->torch_macs;
        int64_t fvcore_flops = r->fvcore_flops == SAME ? r->macs : r->fvcore_flops;
        if (c.price.macs != r->macs || c.price.other_flops != r->other_flops ||
            c.price.torch_macs != torch_macs || c.price.fvcore_flops != fvcore_flops)
            fail_msg("%s %s: %lld MACs + %lld, torch %lld, fvcore %lld", r->op, r->text,
                     (long long)c.price.macs, (long long)c.price.other_flops,
                     (long long)c.price.torch_macs, (long long)c.price.fvcore_flops);
    }
}

#define EXPECT(rows) expect_rows(rows, sizeof(rows) / sizeof *(rows))

static void expect_not_understood(const char *op, const char *text)
{
    static call_text c;
    if (call_text_price(&c, op, text))
        fail_msg("%s understands: %s", op, text);
}

/* The leading terms of LAPACK's counts, and the products of matrices that torch calls. */
static void test_linear_algebra(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"aten.linalg_cholesky", "self=t2x6x6 > t2x6x6", 0, 2 * 216 / 3, 0, 0},
        {"aten.linalg_lu_factor", "A=t6x6 > t6x6 t6", 0, 2 * 216 / 3, 0, 0},
        {"aten.linalg_lu_factor", "A=t9x3 > t9x3 t3", 0, 9 * 9 - 27 / 3, 0, 0},
        {"aten.linalg_lu_factor", "A=t3x9 > t3x9 t3", 0, 9 * 9 - 27 / 3, 0, 0},
        {"aten.linalg_det", "A=t2x3x3 > t2", 0, 2 * 18, 0, 0},
        {"aten.geqrf", "self=t9x3 > t9x3 t3", 0, 2 * (9 * 9 - 27 / 3), 0, 0},
        {"aten.linalg_qr", "A=t9x3 mode='reduced' > t9x3 t3x3", 0, 4 * (9 * 9 - 27 / 3), 0, 0},
        {"aten.linalg_qr", "A=t9x3 mode='r' > t0 t3x3", 0, 2 * (9 * 9 - 27 / 3), 0, 0},
        {"aten.linalg_inv", "A=t5x6x6 > t5x6x6", 0, 5 * 2 * 216, 0, 0},
        {"aten.cholesky_inverse", "self=t6x6 > t6x6", 0, 2 * 216 / 3, 0, 0},
        {"aten.linalg_solve", "A=t2x6x6 B=t2x6x3 > t2x6x3", 0, 2 * (144 + 2 * 36 * 3), 0, 0},
        {"aten.linalg_solve", "A=t6x6 B=t6 > t6", 0, 144 + 2 * 36, 0, 0},
        {"aten.linalg_solve_triangular", "self=t6x6 B=t6x3 > t6x3", 0, 36 * 3, 0, 0},
        {"aten.triangular_solve", "self=t6x3 A=t6x6 > t6x3 t6x6", 0, 36 * 3, 0, 0},
        {"aten.cholesky_solve", "self=t6x3 input2=t6x6 > t6x3", 0, 2 * 36 * 3, 0, 0},
        {"aten.linalg_lstsq", "self=t9x3 b=t9x2 > t3x2", 0, 2 * 72 + 4 * 18 * 3, 0, 0},
        {"aten.linalg_svdvals", "A=t9x3 > t3", 0, 4 * 81 - 4 * 27 / 3, 0, 0},
        {"aten.linalg_svd", "A=t9x3 > t9x9 t3 t3x3", 0, 14 * 81 + 8 * 27, 0, 0},
        {"aten.svd", "self=t9x3 compute_uv=false > t9x9 t3 t3x3", 0, 4 * 81 - 36, 0, 0},
        {"aten.linalg_matrix_rank", "A=t3x3 hermitian=true > t", 0, 4 * 27 / 3, 0, 0},
        {"aten.linalg_eigh", "A=t3x3 > t3 t3x3", 0, 9 * 27, 0, 0},
        {"aten._linalg_eigh", "A=t3x3 compute_v=false > t3 t3x3", 0, 4 * 27 / 3, 0, 0},
        {"aten.linalg_eigvals", "A=t3x3 > t3", 0, 10 * 27, 0, 0},
        {"aten.linalg_eig", "A=t3x3 > t3 t3x3", 0, 25 * 27, 0, 0},
        {"aten.linalg_pinv", "self=t9x3 > t3x9", 81, 14 * 81 + 8 * 27, 0, 0},
        {"aten.linalg_pinv", "self=t3x3 hermitian=true > t3x3", 27, 9 * 27, 0, 0},
        {"aten.orgqr", "self=t9x3 input2=t3 > t9x3", 0, 2 * 72, 0, 0},
        {"aten.ormqr", "self=t9x3 input2=t3 input3=t9x5 > t9x5", 0, 4 * 45 * 3, 0, 0},
        {"aten.linalg_matrix_power", "self=t2x3x3 n=0 > t2x3x3", 0, 0, 0, 0},
        {"aten.linalg_matrix_power", "self=t2x3x3 n=1 > t2x3x3", 0, 0, 0, 0},
        {"aten.linalg_matrix_power", "self=t2x3x3 n=5 > t2x3x3", 3 * 54, 0, SAME, 0},
        {"aten.linalg_matrix_power", "self=t2x3x3 n=-2 > t2x3x3", 54, 2 * 54, SAME, 0},
        {"aten.linalg_matrix_exp", "self=t3x3 > t3x3", 5 * 27, 0, 0, 0},
        {"aten.linalg_tensorinv", "self=t4x6x8x3 > t8x3x4x6", 0, 2 * 24 * 24 * 24, 0, 0},
        {"aten.linalg_tensorsolve", "self=t2x3x6 other=t2x3 > t6", 0, 144 + 2 * 36, 0, 0},
    };
    EXPECT(rows);
    expect_not_understood("aten.linalg_cholesky", "self=t6 > t6");
    expect_not_understood("aten.linalg_tensorinv", "self=t4x6x8 > t8x3");
    expect_not_understood("aten.linalg_lstsq", "self=t9x3 > t3x2");
}

/* 5 n log2(n) over the dims that are transformed. */
static void test_fourier(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"aten.fft_fft", "self=t4x16/complex64 > t4x16/complex64", 0, 5 * 64 * 4, SAME, SAME},
        {"aten.fft_fft", "self=t4x16/complex64 dim=0 > t4x16/complex64", 0, 5 * 64 * 2, SAME, SAME},
        {"aten.fft_fft2", "self=t2x4x16/complex64 > t2x4x16/complex64", 0, 5 * 128 * 6, SAME, SAME},
        {"aten.fft_fftn", "self=t2x4x16/complex64 > t2x4x16/complex64", 0, 5 * 128 * 7, SAME, SAME},
        {"aten.fft_fftn", "self=t2x4x16/complex64 s=[4,16] > t2x4x16/complex64", 0, 5 * 128 * 6,
         SAME, SAME},
        {"aten.fft_rfftn", "self=t2x4x16 > t2x4x9/complex64", 0, 5 * 128 * 7 / 2, SAME, SAME},
    };
    EXPECT(rows);
}

static void test_convolutions(void **unused)
{
    (void)unused;
    static const row rows[] = {
        /* 28,800 FLOPs to torch */
        {"aten.conv2d", "input=t2x3x6x6 weight=w6x3x4x4 padding=[1,1] > t2x6x5x5", 14400, 0, SAME,
         SAME},
        {"aten.conv2d", "input=t2x3x6x6 weight=w6x3x4x4 bias=w6 > t2x6x5x5", 14400, 300, SAME,
         SAME},
        {"aten.conv2d", "=t2x3x6x6 =w6x3x4x4 =w6 > t2x6x5x5", 14400, 300, SAME, SAME},
        {"aten.conv2d", "input=t3x6x6 weight=w6x3x4x4 > t6x5x5", 7200, 0, SAME, SAME},
        {"aten.conv2d", "input=t1x8x10x10 weight=w16x2x3x3 groups=4 > t1x16x8x8", 64 * 16 * 2 * 9,
         0, SAME, SAME},
        {"aten.conv2d", "input=t1x32x8x8 weight=w32x1x3x3 groups=32 > t1x32x8x8", 64 * 32 * 9, 0,
         SAME, SAME},
        {"aten.conv2d", "input=t2x3x6x6 weight=w6x3x3x3 padding='same' > t2x6x6x6", 2 * 36 * 162, 0,
         SAME, 0},
        {"aten.conv1d", "input=t2x4x10 weight=w8x4x3 > t2x8x8", 16 * 96, 0, SAME, SAME},
        {"aten.conv3d", "input=t1x2x4x4x4 weight=w3x2x2x2x2 > t1x3x3x3x3", 27 * 48, 0, SAME, SAME},
        {"aten.conv_transpose1d", "input=t2x4x5 weight=w4x6x3 > t2x6x7", 10 * 72, 0, SAME, SAME},
        {"aten.conv_transpose2d", "input=t2x4x5x5 weight=w4x6x3x3 bias=w6 > t2x6x7x7", 50 * 216,
         2 * 6 * 49, SAME, SAME},
        {"aten.conv_transpose2d", "input=t2x4x5x5 weight=w4x3x3x3 groups=2 > t2x6x11x11", 50 * 108,
         0, SAME, SAME},
        {"aten.conv_transpose3d", "input=t1x4x2x2x2 weight=w4x6x3x3x3 > t1x6x4x4x4", 8 * 648, 0,
         SAME, SAME},
        {"aten.convolution",
         "input=t2x3x6x6 weight=w6x3x4x4 bias=none stride=[1,1] padding=[1,1] dilation=[1,1] "
         "transposed=false output_padding=[0,0] groups=1 > t2x6x5x5",
         14400, 0, SAME, SAME},
        {"aten.convolution", "input=t2x4x5x5 weight=w4x6x3x3 transposed=true > t2x6x7x7", 50 * 216,
         0, SAME, SAME},
        {"aten.convolution",
         "=t2x4x5x5 =w4x6x3x3 =none =[1,1] =[0,0] =[1,1] =true =[0,0] =1 > t2x6x7x7", 50 * 216, 0,
         SAME, SAME},
        {"torchvision.deform_conv2d",
         "input=t2x3x6x6 weight=w6x3x3x3 offset=t2x18x4x4 mask=t2x9x4x4 bias=w6 > t2x6x4x4",
         32 * 162, 32 * 6 + 32 * 9 * 3 * 7, 0, 0},
        {"aten.convolution_backward",
         "grad_output=t2x6x5x5 input=t2x3x6x6 weight=w6x3x4x4 output_mask=[1,1,1] > t2x3x6x6",
         28800, 300, SAME, SAME},
    };
    EXPECT(rows);
    expect_not_understood("aten.conv2d", "input=t2x3x6x6 > t2x6x5x5");
    expect_not_understood("aten.conv2d", "input=t2x3x6x6 weight=w6x3x4x4 >");
    expect_not_understood("aten.conv2d", "input=t2x3x6x6 weight=w6x3 > t2x6x5x5");
    expect_not_understood("aten.conv2d", "input=t2x3x6x6 weight=w6x3x4x4 > t2x6x5x5x5");
    expect_not_understood("aten.conv2d", "input=t2x3x6x6 weight=w6x3x4x4 > t6");
}

static void test_products(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"aten.mm", "self=t4x5 mat2=t5x6 > t4x6", 120, 0, SAME, SAME}, /* 240 FLOPs to torch */
        {"aten.mm", "=t4x5 =t5x6 > t4x6", 120, 0, SAME, SAME},
        {"aten.bmm", "self=t3x4x5 mat2=t3x5x6 > t3x4x6", 360, 0, SAME, SAME},
        {"aten.addmm", "self=w6 mat1=t4x5 mat2=t5x6 > t4x6", 120, 24, SAME, SAME},
        {"aten.baddbmm", "self=t3x4x6 batch1=t3x4x5 batch2=t3x5x6 > t3x4x6", 360, 72, SAME, 0},
        {"aten.addbmm", "self=t4x6 batch1=t3x4x5 batch2=t3x5x6 > t4x6", 360, 24, 0, 0},
        {"aten.linear", "input=t2x5x8 weight=w16x8 > t2x5x16", 1280, 0, SAME, SAME},
        {"aten.linear", "input=t2x5x8 weight=w16x8 bias=w16 > t2x5x16", 1280, 160, SAME, SAME},
        {"aten.linear", "input=t8 weight=w16x8 > t16", 128, 0, SAME, SAME},
        {"aten.linear", "input=t4x8 weight=w8 > t4", 32, 0, 0, SAME},
        {"aten.matmul", "self=t2x3x4 other=t4x5 > t2x3x5", 120, 0, SAME, SAME},
        {"aten.matmul", "self=t7x4x5 other=t7x5x6 > t7x4x6", 840, 0, SAME, SAME},
        {"aten.matmul", "self=t1x4x5 other=t7x5x6 > t7x4x6", 840, 0, SAME, 120},
        {"aten.matmul", "self=t5 other=t5x6 > t6", 30, 0, SAME, SAME},
        {"aten.matmul", "self=t5 other=t5 > t", 5, 0, 0, SAME},
        {"aten.matmul", "self=t4x5 other=t5 > t4", 20, 0, 0, SAME},
        {"aten.matmul", "self=t3x4x5 other=t5 > t3x4", 60, 0, 0, SAME},
        {"aten.matmul", "self=v3x4x5 other=t5 > t3x4", 60, 0, SAME, SAME},
        {"aten.matmul", "self=v3x4x5 other=w5 > t3x4", 60, 0, 0, SAME},
        {"aten.matmul", "self=t5 other=t3x5x6 > t3x6", 90, 0, SAME, 30},
        {"aten.matmul", "self=w5 other=t3x5x6 > t3x6", 90, 0, 0, 30},
        {"aten.inner", "self=t4x5 other=t6x5 > t4x6", 120, 0, SAME, 0},
        {"aten.inner", "self=t5 other=t5 > t", 5, 0, 0, 0},
        {"aten.mv", "self=t4x5 vec=t5 > t4", 20, 0, 0, 0},
        {"aten.addmv", "self=t4 mat=t4x5 vec=t5 > t4", 20, 4, 0, 0},
        {"aten.dot", "self=t5 tensor=t5 > t", 5, 0, 0, 0},
        {"aten.linalg_vecdot", "x=t5 y=t3x5 > t3", 15, 0, 0, 0},
        {"aten.tensordot", "self=t3x4x5 other=t4x5x6 dims_self=[1,2] dims_other=[0,1] > t3x6", 360,
         0, SAME, 0},
        {"aten.tensordot", "self=t3x4x5 other=t4x5x6 dims_self=[-2,-1] dims_other=[0,1] > t3x6",
         360, 0, SAME, 0},
        {"aten.bilinear", "input1=t2x3 input2=t2x4 weight=w5x3x4 bias=w5 > t2x5", 160, 10, 0, 0},
        /* (ab)c and a(bc): 240 + 120 or 600 + 300 */
        {"aten.chain_matmul", "matrices=[t2x20,t20x6,t6x10] > t2x10", 240 + 120, 0, SAME, 0},
        {"aten.chain_matmul", "matrices=[t20x3,t3x40,t40x5] > t20x5", 600 + 300, 0, SAME, 0},
        {"aten.linalg_multi_dot", "tensors=[t3,t3x40,t40] > t", 120 + 3, 0, SAME, 0},
        {"aten._grouped_mm", "self=t10x8 mat2=w4x8x6 offs=t4/int32 > t10x6", 480, 0, 0, 0},
        {"aten._grouped_mm", "self=t6x10 mat2=t10x4 offs=t3/int32 > t3x6x4", 240, 0, 0, 0},
        {"aten._grouped_mm", "self=t2x3x4 mat2=w2x4x5 > t2x3x5", 120, 0, 0, 0},
        {"quantized.linear", "X=t2x8/uint8 W_prepack=none > t2x4/uint8", 64, 0, 0, 0},
        {"aten._weight_int4pack_mm", "self=t2x64 mat2=w1x4x32x4/int32 qGroupSize=32 > t2x8", 1024,
         0, 0, 0},
        {"aten.cdist", "x1=t2x3x4 x2=t2x5x4 > t2x3x5", 0, 360, SAME, SAME},
    };
    EXPECT(rows);
    expect_not_understood("aten.mm", "self=t4x5 > t4x6");
    expect_not_understood("aten.mm", "self=t5 mat2=t5x6 > t6");
    expect_not_understood("aten.linear", "input=t weight=w16x8 > t16");
    expect_not_understood("aten.tensordot", "self=t3x4 other=t4x5 dims_self=[2] > t3x5");
    expect_not_understood("aten.tensordot", "self=t3x4 other=t4x5 dims_self=[-3] > t3x5");
    expect_not_understood("aten.chain_matmul", "matrices=[t2x3] > t2x3");
    expect_not_understood("aten.chain_matmul", "matrices=[t2x3,none] > t2x3");
    expect_not_understood("aten.chain_matmul", "matrices=[t2x3,t3,t3x4] > t2x4");
}

/* "bhqd,bhkd->bhqk" and similar; torch's counter and fvcore see only matrix products. */
static void test_einsum(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"aten.einsum", "equation='ij,jk->ik' tensors=[t4x5,t5x6] > t4x6", 120, 0, SAME, SAME},
        {"aten.einsum", "equation='ij,jk' tensors=[t4x5,t5x6] > t4x6", 120, 0, SAME, SAME},
        {"aten.einsum", "='ij,jk->ik' =[t4x5,t5x6] > t4x6", 120, 0, SAME, SAME},
        {"aten.einsum", "equation='bij,bjk->bik' tensors=[t2x4x5,t2x5x6] > t2x4x6", 240, 0, SAME,
         SAME},
        {"aten.einsum", "equation='bhqd,bhkd->bhqk' tensors=[t2x3x4x5,t2x3x6x5] > t2x3x4x6", 720, 0,
         SAME, SAME},
        {"aten.einsum", "equation='...ij,...jk->...ik' tensors=[t2x3x4x5,t2x3x5x6] > t2x3x4x6", 720,
         0, SAME, SAME},
        {"aten.einsum", "equation='...ij,jk' tensors=[t7x4x5,t5x6] > t7x4x6", 840, 0, SAME, SAME},
        {"aten.einsum", "equation='...i,...i->...' tensors=[t7x5,t1x5] > t7", 35, 0, SAME, SAME},
        /* outer and elementwise products accumulate nothing */
        {"aten.einsum", "equation='i,j->ij' tensors=[t4,t5] > t4x5", 0, 20, SAME, SAME},
        {"aten.einsum", "equation='ij,ij->ij' tensors=[t4x5,t4x5] > t4x5", 0, 20, SAME, SAME},
        {"aten.einsum", "equation='bi,bj->bij' tensors=[t2x3,t2x4] > t2x3x4", 0, 24, SAME, SAME},
        {"aten.einsum", "equation='ij,kj->ik' tensors=[t4x1,t5x1] > t4x5", 0, 20, SAME, SAME},
        /* sums: of one operand, before a product, of all */
        {"aten.einsum", "equation='ij->ji' tensors=[t4x5] > t5x4", 0, 0, SAME, SAME},
        {"aten.einsum", "equation='ij->i' tensors=[t4x5] > t4", 0, 20, SAME, SAME},
        {"aten.einsum", "equation='ii' tensors=[t4x4] > t", 0, 4, SAME, SAME},
        {"aten.einsum", "equation='ij,ij->' tensors=[t4x5,t4x5] > t", 20, 0, SAME, SAME},
        {"aten.einsum", "equation='ijl,jk->ik' tensors=[t3x4x2,t4x5] > t3x5", 60, 24, SAME, SAME},
        {"aten.einsum", "equation='ij,k->i' tensors=[t3x4,t5] > t3", 0, 12 + 5 + 3, SAME, SAME},
        /* several: from left to right, or as the path says */
        {"aten.einsum", "equation='ij,jk,kl->il' tensors=[t2x3,t3x40,t40x5] > t2x5", 240 + 400, 0,
         SAME, SAME},
        {"aten.einsum", "equation='ij,jk,kl->il' tensors=[t2x3,t3x40,t40x5] path=[1,2,0,1] > t2x5",
         600 + 30, 0, SAME, SAME},
        {"aten.einsum", "equation='ij,jk,kl->il' tensors=[t2x3,t3x40,t40x5] path=[0,1,0,1] > t2x5",
         240 + 400, 0, SAME, SAME},
        {"aten.einsum", "equation='bn,anm,bm->ba' tensors=[t2x3,w4x3x5,t2x5] > t2x4", 120 + 40, 0,
         SAME, SAME},
    };
    EXPECT(rows);
    static const char *const wrong[] = {
        "equation='ij,jk->ik' tensors=[t4x5] > t4x6",
        "equation='ij->ij' tensors=[t4x5,t4x5] > t4x5",
        "equation='ijk,jk->ik' tensors=[t4x5,t5x6] > t4x6",
        "equation='i,jk->ik' tensors=[t4x5,t5x6] > t4x6",
        "equation='......,ij->ij' tensors=[t4x5,t5x6] > t4x6",
        "equation='...i...,ij->ij' tensors=[t4x5,t5x6] > t4x6",
        "equation='..,ij->ij' tensors=[t4x5,t5x6] > t4x6",
        "equation='i\xe9,ij->ij' tensors=[t4x5,t5x6] > t4x6",
        "equation='i1,ij->ij' tensors=[t4x5,t5x6] > t4x6",
        "equation='ij,jk->ik' tensors=[none,t5x6] > t4x6",
        "equation='ij,jk,kl->il' tensors=[t2x3,t3x4,t4x5] path=[0,3,0,1] > t2x5",
        "equation='ij,jk,kl->il' tensors=[t2x3,t3x4,t4x5] path=[0,0,0,1] > t2x5",
        "equation='ij,jk,kl->il' tensors=[t2x3,t3x4,t4x5] path=[-1,0,0,1] > t2x5",
        "equation='' tensors=[t2x3,t3x4] > t2x4",
        "equation=',,,,' tensors=[t2x3,t3x4] > t2x4",
        "tensors=[t2x3,t3x4] > t2x4",
        "equation='ij,jk->ik' > t2x4",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_not_understood("aten.einsum", wrong[i]);
}

static void test_attention(void **unused)
{
    (void)unused;
    enum { SCORES = 4 * 8 * 128 * 128 };
    static const row rows[] = {
        /* 134,217,728 FLOPs to torch */
        {"aten.scaled_dot_product_attention",
         "query=t4x8x128x64 key=t4x8x128x64 value=t4x8x128x64 > t4x8x128x64", SCORES * 128,
         SCORES * 6, SAME, 0},
        {"aten.scaled_dot_product_attention",
         "query=t4x8x128x64 key=t4x8x128x64 value=t4x8x128x64 is_causal=true > t4x8x128x64",
         SCORES * 128, SCORES * 6, SAME, 0},
        {"aten.scaled_dot_product_attention",
         "query=t4x8x128x64 key=t4x8x128x64 value=t4x8x128x64 attn_mask=t128x128 > t4x8x128x64",
         SCORES * 128, SCORES * 7, SAME, 0},
        {"aten._scaled_dot_product_efficient_attention",
         "query=t4x8x128x64 key=t4x8x128x64 value=t4x8x128x64 attn_bias=t128x128 > t4x8x128x64",
         SCORES * 128, SCORES * 7, SAME, 0},
        {"aten.scaled_dot_product_attention",
         "query=t2x4x10x16 key=t2x4x12x16 value=t2x4x12x8 > t2x4x10x8", 960 * 24, 960 * 6, SAME, 0},
        {"aten.scaled_dot_product_attention", /* eight heads share two of keys and values */
         "query=t1x8x10x16 key=t1x2x10x16 value=t1x2x10x16 enable_gqa=true > t1x8x10x16", 800 * 32,
         800 * 6, SAME, 0},
        {"aten.scaled_dot_product_attention", "query=t10x16 key=t12x16 value=t12x16 > t10x16",
         120 * 32, 120 * 6, SAME, 0},
        {"aten._flash_attention_forward",
         "query=t2x10x4x16 key=t2x12x4x16 value=t2x12x4x16 > t2x10x4x16", 960 * 32, 960 * 6, SAME,
         0},
        {"aten._native_multi_head_attention",
         "query=t2x10x32 key=t2x10x32 value=t2x10x32 embed_dim=32 num_head=4 > t2x10x32",
         20 * 4 * 32 * 32 + 200 * 64, 200 * 4 * 6, 0, 0},
        {"aten._transformer_encoder_layer_fwd",
         "src=t2x10x32 embed_dim=32 num_heads=4 ffn_weight_1=w64x32 ffn_weight_2=w32x64 > t2x10x32",
         20 * 4 * 32 * 32 + 200 * 64 + 20 * 2 * 64 * 32, 200 * 4 * 6 + 640 * 16, 0, 0},
        {"aten._scaled_dot_product_flash_attention_backward",
         "grad_out=t2x4x10x16 query=t2x4x10x16 key=t2x4x12x16 value=t2x4x12x16 > t2x4x10x16",
         960 * 16 * 5, 960 * 12, SAME, 0},
    };
    EXPECT(rows);
    expect_not_understood("aten.scaled_dot_product_attention", "query=t4x8 key=t4x8 > t4x8");
    expect_not_understood("aten._flash_attention_forward", "query=t4x8 key=t4x8 value=t4x8 > t4x8");
}

/* Fused attention costs the same as its two products. */
static void test_attention_is_two_products(void **unused)
{
    (void)unused;
    call_text fused, scores, values;
    assert_true(call_text_price(&fused, "aten.scaled_dot_product_attention",
                                "query=t2x4x10x16 key=t2x4x12x16 value=t2x4x12x8 > t2x4x10x8"));
    assert_true(call_text_price(&scores, "aten.bmm", "self=t8x10x16 mat2=t8x16x12 > t8x10x12"));
    assert_true(call_text_price(&values, "aten.bmm", "self=t8x10x12 mat2=t8x12x8 > t8x10x8"));
    assert_int_equal(fused.price.macs, scores.price.macs + values.price.macs);
    /* The scores stay on the chip: only queries, keys, values and the result are moved. */
    assert_int_equal(fused.price.activation_read_bytes, 4 * (2 * 4 * 10 * 16 + 2 * 4 * 12 * 24));
    assert_int_equal(fused.price.written_bytes, 4 * 2 * 4 * 10 * 8);
}

static void test_recurrent(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"aten.lstm",
         "input=t5x3x10 hx=[t1x3x20,t1x3x20] params=[w80x10,w80x20,w80,w80] > t5x3x20 t1x3x20 t1x3x20",
         15 * 2400, 15 * 160 * 5, SAME, 0},
        {"aten.lstm", /* two directions */
         "input=t5x3x10 hx=[t2x3x20,t2x3x20] params=[w80x10,w80x20,w80,w80,w80x10,w80x20,w80,w80] > "
         "t5x3x40",
         15 * 4800, 15 * 320 * 5, SAME, 0},
        {"aten.lstm", /* projected to 8 */
         "input=t5x3x10 hx=[t1x3x8,t1x3x20] params=[w80x10,w80x8,w80,w80,w8x20] > t5x3x8",
         15 * (800 + 640 + 160), 15 * 168 * 5, SAME, 0},
        {"aten.gru", "input=t5x3x10 hx=t1x3x20 params=[w60x10,w60x20,w60,w60] > t5x3x20", 15 * 1800,
         15 * 120 * 5, SAME, 0},
        {"aten.rnn_tanh", "input=t5x3x10 hx=t1x3x20 params=[w20x10,w20x20] > t5x3x20", 15 * 600,
         15 * 40 * 5, SAME, 0},
        {"aten.lstm.data",
         "data=t12x10 batch_sizes=t5/int64 hx=[t1x3x20] params=[w80x10,w80x20,w80,w80] > t12x20",
         12 * 2400, 12 * 160 * 5, SAME, 0},
        {"aten.lstm_cell", "input=t3x10 hx=[t3x20,t3x20] w_ih=w80x10 w_hh=w80x20 > t3x20 t3x20",
         3 * 2400, 3 * 80 * 10, SAME, SAME},
        {"aten.gru_cell", "input=t3x10 hx=t3x20 w_ih=w60x10 w_hh=w60x20 > t3x20", 3 * 1800,
         3 * 60 * 10, SAME, SAME},
    };
    EXPECT(rows);
    expect_not_understood("aten.lstm", "input=t5x10 hx=[t1x20] params=[w80x10] > t5x20");
    expect_not_understood("aten.lstm", "input=t5x3x10 > t5x3x20");
}

static void test_norms_and_activations(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"aten.batch_norm", "input=t2x4x3x3 weight=w4 bias=w4 training=false > t2x4x3x3", 0, 144,
         SAME, 144},
        {"aten.batch_norm", "input=t2x4x3x3 weight=none training=false > t2x4x3x3", 0, 144, SAME,
         72},
        {"aten.batch_norm", "input=t2x4x3x3 weight=w4 bias=w4 training=true > t2x4x3x3", 0, 504,
         SAME, 360},
        {"aten.native_batch_norm", "=t2x4x3x3 =none =none =w4 =w4 =true > t2x4x3x3", 0, 504, SAME,
         288},
        {"aten.layer_norm", "input=t2x8 normalized_shape=[8] weight=w8 bias=w8 > t2x8", 0, 112,
         SAME, 80},
        {"aten.layer_norm", "input=t2x8 normalized_shape=[8] > t2x8", 0, 80, SAME, 64},
        {"aten.group_norm", "input=t2x4x3x3 num_groups=2 weight=w4 bias=w4 > t2x4x3x3", 0, 504,
         SAME, 360},
        {"aten.instance_norm", "input=t2x4x3x3 weight=none bias=none > t2x4x3x3", 0, 360, SAME,
         288},
        {"aten.rms_norm", "input=t2x8 normalized_shape=[8] weight=w8 > t2x8", 0, 64, SAME, 0},
        {"aten.relu", "self=t2x8 > t2x8", 0, 16, SAME, SAME},
        {"aten.gelu", "self=t2x8 > t2x8", 0, 80, SAME, SAME},
        {"aten.silu", "self=t2x8 > t2x8", 0, 80, SAME, SAME},
        {"aten.sigmoid", "self=t2x8 > t2x8", 0, 64, SAME, SAME},
        {"aten.softmax", "self=t2x8 dim=1 > t2x8", 0, 80, SAME, SAME},
        {"aten._log_softmax", "self=t2x8 dim=1 > t2x8", 0, 80, SAME, SAME},
        {"aten.add", "self=t2x8 other=t8 > t2x8", 0, 16, SAME, SAME},
        /* every tensor of a list counts, in place too */
        {"aten._foreach_add", "self=[t2x8,t3] other=[t2x8,t3] > t2x8 t3", 0, 19, SAME, SAME},
        {"aten._foreach_addcmul", "self=[t4,t6] a=[t4,t6] b=[t4,t6] > t4 t6", 0, 30, SAME, SAME},
        {"aten._foreach_mul", "self=[t2x8,t3] other=2 >", 0, 19, SAME, SAME},
        {"aten.addcmul", "self=t8 tensor1=t8 tensor2=t8 > t8", 0, 24, SAME, SAME},
        {"aten.dropout", "input=t2x8 p=1 train=false > t2x8", 0, 0, SAME, SAME},
        {"aten.dropout", "input=t2x8 p=1 train=true > t2x8", 0, 32, SAME, SAME},
    };
    EXPECT(rows);
    expect_not_understood("aten.layer_norm", "normalized_shape=[8] > t2x8");
}

static void test_reductions_and_pools(void **unused)
{
    (void)unused;
    static const row rows[] = {
        {"aten.sum", "self=t4x5 dim=[1] > t4", 0, 20, SAME, SAME},
        {"aten.mean", "self=t4x5 > t", 0, 20, SAME, SAME},
        {"aten.var_mean", "self=t4x5 > t t", 0, 80, SAME, SAME},
        {"aten.max", "self=t4x1 other=t1x5 > t4x5", 0, 20, SAME, SAME},
        {"aten.sort", "self=t4x8 dim=1 > t4x8 t4x8/int64", 0, 32 * 3, SAME, SAME},
        {"aten.sort", "self=t4x8 dim=0 > t4x8 t4x8/int64", 0, 32 * 2, SAME, SAME},
        {"aten.topk", "self=t4x1000 k=5 dim=-1 > t4x5 t4x5/int64", 0, 40000, SAME, SAME},
        {"aten.bucketize", "self=t10 boundaries=t16 > t10/int64", 0, 40, SAME, SAME},
        {"aten.cross_entropy_loss", "self=t4x10 target=t4/int64 > t", 0, 240, SAME, SAME},
        {"aten.fft_fft", "self=t4x1024/complex64 dim=-1 > t4x1024/complex64", 0, 4 * 51200, SAME,
         SAME},
        {"aten.fft_rfft", "self=t4x1024 dim=-1 > t4x513/complex64", 0, 4 * 25600, SAME, SAME},
        {"aten.fft_fft2", "self=t32x32/complex64 dim=[0,1] > t32x32/complex64", 0, 51200, SAME,
         SAME},
        {"aten.max_pool2d", "self=t2x4x6x6 kernel_size=[3,3] > t2x4x2x2", 0, 32 * 9, SAME, 0},
        {"aten.max_pool2d", "self=t2x4x6x6 kernel_size=[3] > t2x4x2x2", 0, 32 * 9, SAME, 0},
        {"aten.avg_pool1d", "self=t2x4x6 kernel_size=[3] > t2x4x2", 0, 48, SAME, 0},
        {"aten.avg_pool3d", "self=t2x4x4x4x4 kernel_size=[2,2,2] > t2x4x2x2x2", 0, 512, SAME, 0},
        {"aten.adaptive_avg_pool2d", "self=t2x4x6x6 output_size=[1,1] > t2x4x1x1", 0, 288, SAME,
         288},
        {"aten.adaptive_avg_pool2d", "self=t2x4x2x2 output_size=[6,6] > t2x4x6x6", 0, 288, SAME,
         32},
        {"aten.adaptive_max_pool2d", "self=t2x4x6x6 output_size=[1,1] > t2x4x1x1", 0, 288, SAME, 0},
        {"aten.upsample_nearest2d", "self=t2x4x3x3 > t2x4x6x6", 0, 0, SAME, 288},
        {"aten.upsample_bilinear2d", "self=t2x4x3x3 > t2x4x6x6", 0, 288 * 7, SAME, 288 * 4},
        {"aten.upsample_bicubic2d", "self=t2x4x3x3 > t2x4x6x6", 0, 288 * 35, SAME, 0},
        {"aten.upsample_nearest1d", "self=t2x4x3 > t2x4x6", 0, 0, SAME, 0},
        {"aten.grid_sampler", "input=t2x4x6x6 grid=t2x5x5x2 > t2x4x5x5", 0, 200 * 11, SAME, 800},
        {"torchvision.roi_align", "input=t1x8x10x10 rois=t5x5 sampling_ratio=2 > t5x8x7x7", 0,
         1960 * 4 * 8, SAME, SAME},
        {"torchvision.nms", "dets=t100x4 scores=t100 > t7/int64", 0, 5000 * 14, SAME, SAME},
    };
    EXPECT(rows);
    expect_not_understood("aten.max_pool2d", "self=t2x4x6x6 > t2x4x2x2");
    expect_not_understood("aten.max_pool2d", "self=t2x4x6x6 kernel_size=[-3,3] > t2x4x2x2");
}

static void expect_bytes(const char *op, const char *text, int64_t activations, int64_t weights,
                         int64_t written)
{
    static call_text c;
    if (!call_text_price(&c, op, text))
        fail_msg("%s does not understand: %s", op, text);
    if (c.price.activation_read_bytes != activations || c.price.weight_read_bytes != weights ||
        c.price.written_bytes != written)
        fail_msg("%s %s: %lld + %lld read, %lld written", op, text,
                 (long long)c.price.activation_read_bytes, (long long)c.price.weight_read_bytes,
                 (long long)c.price.written_bytes);
}

static void test_bytes(void **unused)
{
    (void)unused;
    expect_bytes("aten.linear", "input=t4x8 weight=w5x8 bias=w5 > t4x5", 128, 180, 80);
    expect_bytes("aten.linear", "input=t4x8/float16 weight=w5x8/float16 > t4x5/float16", 64, 80,
                 40);
    expect_bytes("aten.add", "self=t4x5 other=t4x5 > t4x5", 160, 0, 80);
    expect_bytes("aten.mul", "self=t4x5#a other=t4x5#a > t4x5", 80, 0, 80); /* read once */
    expect_bytes("aten.cat", "tensors=[t4#a,t4#a,t8#b] > t16", 48, 0, 64);
    expect_bytes("aten._grouped_mm", "self=t10x8 mat2=w4x8x6 > t10x6", 320, 768, 240);
    /* reads only the returned rows, and all indices */
    expect_bytes("aten.embedding", "weight=w1000x16 indices=t2x5/int64 > t2x5x16", 80, 640, 640);
    expect_bytes("aten.index", "self=t100x16 indices=[none,t7/int64] > t7x16", 56 + 448, 0, 448);
    expect_bytes("aten.index_select", "self=w100x16 dim=0 index=t7/int64 > t7x16", 56, 448, 448);
    expect_bytes("aten.embedding_bag", "weight=w1000x16 indices=t6/int64 offsets=t2/int64 > t2x16",
                 64, 384, 128);
    /* in place only what is scattered is written; adding reads it first */
    expect_bytes("aten.index_put_", "self=t100x16 values=t7x16 > t100x16", 448, 0, 448);
    expect_bytes("aten.index_add_", "self=t100x16 source=t7x16 > t100x16", 896, 0, 448);
    expect_bytes("aten.index_put", "self=t100x16 values=t7x16 > t100x16", 6848, 0, 6400);
    /* copies and conversions */
    expect_bytes("aten.clone", "self=t4x5 > t4x5", 80, 0, 80);
    expect_bytes("aten.copy", "self=t4x5 src=t4x5/float16 > t4x5", 40, 0, 80);
    expect_bytes("aten.zeros_like", "self=t4x5 > t4x5", 0, 0, 80);
    expect_bytes("aten.to", "self=t4x5 > t4x5/float16", 80, 0, 40);
    expect_bytes("aten.to", "self=t4x5 > t4x5", 0, 0, 0);
    expect_bytes("aten.reshape", "self=t4x5 > t20", 0, 0, 0);
    expect_bytes("aten.reshape", "self=v4x5 > t20", 80, 0, 80);
    expect_bytes("aten.reshape", "self=v4x5 > t4x1x5", 0, 0, 0);
    expect_bytes("aten.reshape", "self=v4x5 > t5x4", 80, 0, 80);
    expect_bytes("aten.contiguous", "self=v4x5 > t4x5", 80, 0, 80);
    expect_bytes("aten.type_as", "self=t4x5 other=t9x9/float16 > t4x5/float16", 80, 0, 40);
    expect_bytes("aten.dropout", "input=t4x5 train=false > t4x5", 0, 0, 0);
    expect_bytes("aten.permute", "self=t4x5 > t5x4", 0, 0, 0);
    expect_bytes("aten.expand", "self=w5 > t4x5", 0, 0, 0);
}

static bool makes_strided(const char *op, const char *text)
{
    static call_text c;
    assert_true(call_text_price(&c, op, text));
    return c.price.is_strided;
}

static void test_strided_views(void **unused)
{
    (void)unused;
    assert_true(makes_strided("aten.permute", "self=t4x5 > t5x4"));
    assert_true(makes_strided("aten.permute", "self=t4x5 dims=[1,0] > t5x4"));
    assert_false(makes_strided("aten.permute", "self=t4x5 dims=[0,1] > t4x5"));
    assert_true(makes_strided("aten.permute", "self=v4x5 dims=[0,1] > t4x5"));
    assert_true(makes_strided("aten.permute", "self=t4x5 dims=[0,0] > t4x5"));
    assert_true(makes_strided("aten.transpose", "self=t2x4x5 dim0=-1 dim1=1 > t2x5x4"));
    assert_false(makes_strided("aten.transpose", "self=t2x1x4x5 dim0=1 dim1=2 > t2x4x1x5"));
    assert_true(makes_strided("aten.transpose", "self=t2x1x4x5 dim0=0 dim1=2 > t4x1x2x5"));
    assert_true(makes_strided("aten.transpose", "self=t2x3 dim0=0 dim1=7 > t3x2"));
    assert_false(makes_strided("aten.t", "self=t1x5 > t5x1"));
    assert_true(makes_strided("aten.t", "self=t4x5 > t5x4"));
    assert_true(makes_strided("aten.slice", "self=t4x5 dim=1 > t4x2"));
    assert_false(makes_strided("aten.slice", "self=t4x5 dim=0 > t2x5"));
    assert_true(makes_strided("aten.slice", "self=t4x5 dim=0 step=2 > t2x5"));
    assert_false(makes_strided("aten.slice", "self=t4x5 > t4x5"));
    assert_false(makes_strided("aten.chunk", "self=t1x1x12 dim=2 > t1x1x4 t1x1x4 t1x1x4"));
    assert_true(makes_strided("aten.expand", "self=t5 > t4x5"));
    assert_false(makes_strided("aten.expand", "self=t4x5 > t1x4x5"));
    assert_false(makes_strided("aten.view", "self=t4x5 > t20"));
    assert_true(makes_strided("aten.unsqueeze", "self=v4x5 > t4x1x5"));
    assert_false(makes_strided("aten.reshape", "self=v4x5 > t20"));
    assert_false(makes_strided("aten.relu", "self=v4x5 > t4x5"));
    assert_true(makes_strided("aten.to", "self=v4x5 > t4x5"));
    assert_false(makes_strided("aten.to", "self=v4x5 > t4x5/float16"));
}

/* Overflowing products are detected everywhere. */
static void test_overflow(void **unused)
{
    (void)unused;
    static const struct {
        const char *op, *text;
    } rows[] = {
        {"aten.mm", "self=t2147483648x2147483648 mat2=t2147483648x4 > t4"},
        {"aten.gelu", "self=t4 > t2305843009213693951"},
        {"aten.index_select", "self=t4x1 index=t100000000000000000/int64 > t2305843009213693951"},
        {"aten.scaled_dot_product_attention",
         "query=t1x1x2147483648x64 key=t1x1x2147483648x64 value=t1x1x2147483648x64 > "
         "t1x1x2147483648x64"},
        {"aten.cdist", "x1=t4x2147483647 x2=t4x2147483647 > t2147483647x1000"},
        {"aten.chain_matmul", "matrices=[t3000000000x3000000000,t3000000000x2,t2x2] > t2x2"},
        {"aten.cat", "tensors=[t2000000000000000000,t2000000000000000000] > t2"},
    };
    static call_text c;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        call_text_read(&c, call_text_find(rows[i].op), rows[i].text);
        pyro_op_price(&c.call, &c.price);
        if (!c.call.overflow)
            fail_msg("%s %s fits", rows[i].op, rows[i].text);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_linear_algebra),
    cmocka_unit_test(test_fourier),
    cmocka_unit_test(test_convolutions),
    cmocka_unit_test(test_products),
    cmocka_unit_test(test_einsum),
    cmocka_unit_test(test_attention),
    cmocka_unit_test(test_attention_is_two_products),
    cmocka_unit_test(test_recurrent),
    cmocka_unit_test(test_norms_and_activations),
    cmocka_unit_test(test_reductions_and_pools),
    cmocka_unit_test(test_bytes),
    cmocka_unit_test(test_strided_views),
    cmocka_unit_test(test_overflow),
};

UNIT_TESTS(tests, NULL, NULL)
