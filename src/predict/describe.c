/* Derives kind, type and sizes of a call's work from its row in ops.def, its output and price. */
#include "predict/describe.h"

#include "base/checked.h"
#include "graph/cost/cost.h"

#include <string.h>

static const char *const kind_names[PYRO_WORK_KIND_COUNT] = {
    [PYRO_WORK_GEMM] = "gemm",
    [PYRO_WORK_GEMV] = "gemv",
    [PYRO_WORK_CONV] = "conv",
    [PYRO_WORK_ATTENTION] = "attention",
    [PYRO_WORK_ELEMENTWISE] = "elementwise",
    [PYRO_WORK_REDUCTION] = "reduction",
    [PYRO_WORK_NORM] = "norm",
    [PYRO_WORK_SOFTMAX] = "softmax",
    [PYRO_WORK_EMBEDDING] = "embedding",
    [PYRO_WORK_COPY] = "copy",
    [PYRO_WORK_OTHER] = "other",
};

const char *pyro_work_kind_name(pyro_work_kind kind)
{
    return kind < PYRO_WORK_KIND_COUNT ? kind_names[kind] : "";
}

pyro_work_kind pyro_work_kind_from_name(const char *name)
{
    int kind = 0;
    while (kind < PYRO_WORK_KIND_COUNT && strcmp(kind_names[kind], name) != 0)
        kind++;
    return (pyro_work_kind)kind;
}

/* PYRO_WORK_KIND_COUNT: it moves nothing. */
static pyro_work_kind kind_of(const pyro_op *op)
{
    switch (op->category) {
    case PYRO_CATEGORY_CONVOLUTION:
        return PYRO_WORK_CONV;
    case PYRO_CATEGORY_MATMUL:
        return PYRO_WORK_GEMM;
    case PYRO_CATEGORY_ATTENTION:
        return PYRO_WORK_ATTENTION;
    case PYRO_CATEGORY_NORM:
        return PYRO_WORK_NORM;
    case PYRO_CATEGORY_ACTIVATION:
        return strstr(op->label, "oftmax") ? PYRO_WORK_SOFTMAX : PYRO_WORK_ELEMENTWISE;
    case PYRO_CATEGORY_ELEMENTWISE:
    case PYRO_CATEGORY_RESAMPLING:
        return PYRO_WORK_ELEMENTWISE;
    case PYRO_CATEGORY_REDUCTION:
    case PYRO_CATEGORY_POOLING:
        return PYRO_WORK_REDUCTION;
    case PYRO_CATEGORY_LOOKUP:
        return PYRO_WORK_EMBEDDING;
    case PYRO_CATEGORY_MEMORY:
        return PYRO_WORK_COPY;
    case PYRO_CATEGORY_RECURRENT:
        return PYRO_WORK_OTHER;
    default:
        return PYRO_WORK_KIND_COUNT;
    }
}

/* The first tensor argument; the first of a list if there is no other. */
static const pyro_tensor *first_tensor(const pyro_call *call)
{
    for (size_t i = 0; i < call->arg_count; i++) {
        const pyro_call_arg *arg = &call->args[i];
        bool has_tensor = arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS;
        if (has_tensor && arg->count && arg->tensors[0].dims)
            return &arg->tensors[0];
    }
    return call->output_count ? &call->outputs[0] : NULL;
}

/* Sums over k at m x n places. */
static void set_product(struct pyro_op_work *work, int64_t macs, int64_t m, int64_t n)
{
    int64_t places;
    if (m > 0 && n > 0 && pyro_mul_i64(m, n, &places)) {
        work->m = m;
        work->n = n;
        work->k = macs / places;
    }
}

static void set_sizes(struct pyro_op_work *work, pyro_work_kind kind, const pyro_call *call,
                      int64_t macs)
{
    const pyro_tensor *tensor = call->output_count && call->outputs[0].dims ? &call->outputs[0]
                                                                            : first_tensor(call);
    if (!tensor || !tensor->dims || !tensor->rank || tensor->elements <= 0)
        return;
    int64_t last = tensor->dims[tensor->rank - 1];
    if (kind == PYRO_WORK_CONV) {
        int64_t channels = tensor->dims[tensor->rank > 1];
        set_product(work, macs, channels > 0 ? tensor->elements / channels : 0, channels);
    } else if (kind == PYRO_WORK_ATTENTION && last > 0) {
        work->m = tensor->elements / last;
        work->k = last;
        work->n = macs / (2 * tensor->elements); /* two products per query and key */
    } else if (kind == PYRO_WORK_GEMM && last > 0) {
        set_product(work, macs, tensor->elements / last, last);
    }
}

bool pyro_work_describe(struct pyro_op_work *out, const pyro_call *call, const pyro_price *price)
{
    pyro_work_kind kind = kind_of(call->op);
    const pyro_tensor *first = first_tensor(call);
    int64_t flops, bytes;

    *out = (struct pyro_op_work){0};
    if (kind == PYRO_WORK_KIND_COUNT || price->is_free || price->is_skipped || !first ||
        first->dtype >= PYRO_DTYPE_COUNT ||
        !pyro_convention_flops(PYRO_CONVENTION_FULL, price, &flops) || flops < 0 ||
        !pyro_add_i64(price->activation_read_bytes, price->weight_read_bytes, &bytes) ||
        !pyro_add_i64(bytes, price->written_bytes, &bytes) || bytes <= 0)
        return false;
    out->dtype = pyro_dtype_name((pyro_dtype)first->dtype);
    out->flops = (uint64_t)flops;
    out->bytes = (uint64_t)bytes;
    set_sizes(out, kind, call, price->macs);
    if (kind == PYRO_WORK_GEMM && (out->m == 1 || out->n == 1))
        kind = PYRO_WORK_GEMV;
    out->kind = pyro_work_kind_name(kind);
    return true;
}
