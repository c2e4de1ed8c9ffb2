/* Derives kind, type and sizes of a call's work from its row in ops.def, its output and price. */
#include "predict/describe.h"

#include "base/checked.h"
#include "graph/call.h"
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
    [PYRO_WORK_CONV_BACKWARD] = "conv_backward",
    [PYRO_WORK_ATTENTION_BACKWARD] = "attention_backward",
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

pyro_work_kind pyro_work_kind_of_backward(pyro_work_kind kind)
{
    return kind == PYRO_WORK_CONV        ? PYRO_WORK_CONV_BACKWARD
           : kind == PYRO_WORK_ATTENTION ? PYRO_WORK_ATTENTION_BACKWARD
                                         : kind;
}

pyro_work_kind pyro_work_kind_of_forward(pyro_work_kind kind)
{
    return kind == PYRO_WORK_CONV_BACKWARD        ? PYRO_WORK_CONV
           : kind == PYRO_WORK_ATTENTION_BACKWARD ? PYRO_WORK_ATTENTION
                                                  : kind;
}

static bool is_backward(const pyro_op *op)
{
    return strstr(op->label, "Backward") != NULL;
}

/* Projections around attention in one op: most of its work are the projections. */
static bool is_block(const pyro_op *op)
{
    return strcmp(op->label, "MultiHeadAttention") == 0 || strcmp(op->label, "EncoderLayer") == 0;
}

/* PYRO_WORK_KIND_COUNT: it moves nothing. */
static pyro_work_kind kind_of(const pyro_op *op)
{
    switch (op->category) {
    case PYRO_CATEGORY_CONVOLUTION:
        return is_backward(op) ? PYRO_WORK_CONV_BACKWARD : PYRO_WORK_CONV;
    case PYRO_CATEGORY_MATMUL:
        return PYRO_WORK_GEMM;
    case PYRO_CATEGORY_ATTENTION:
        if (is_block(op))
            return PYRO_WORK_GEMM;
        return is_backward(op) ? PYRO_WORK_ATTENTION_BACKWARD : PYRO_WORK_ATTENTION;
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

/* Into how many products a convolution with `channels` outputs falls, by its input and weight. */
static int64_t groups_of(const pyro_tensor *input, const pyro_tensor *weight, int64_t channels)
{
    if (!input || !weight || input->rank < 2 || weight->rank < 2 || weight->dims[1] <= 0 ||
        weight->dims[0] != channels || input->dims[1] % weight->dims[1] != 0)
        return 1;
    int64_t groups = input->dims[1] / weight->dims[1];
    return groups > 0 && channels % groups == 0 ? groups : 1;
}

/* Both passes have the sizes of the forward: a product per group, over the output's places. */
static void set_convolution(struct pyro_op_work *work, const pyro_call *call, int64_t macs,
                            bool backward, const pyro_tensor *output)
{
    int64_t channels = output->dims[output->rank > 1];
    int64_t groups = groups_of(pyro_call_tensor(call, "input", backward),
                               pyro_call_tensor(call, "weight", backward ? 2 : 1), channels);
    if (channels > 0)
        set_product(work, backward ? macs / 2 : macs, output->elements / channels * groups,
                    channels / groups);
    work->parts = groups;
}

/* How many matrices a product has: of operands that both have more than two dims. */
static int64_t matrices_of(const pyro_call *call, const pyro_tensor *output)
{
    const pyro_tensor *second = pyro_call_tensor_of(
        call, (const char *const[]){"mat2", "other", "batch2", "tensor2", NULL}, 1);
    if (!strstr(call->op->label, "MatMul") || !second || second->rank < 3 || output->rank < 3)
        return 1;
    int64_t matrix = output->dims[output->rank - 1] * output->dims[output->rank - 2];
    return matrix > 0 ? output->elements / matrix : 1;
}

/* The first dims of the queries are those of sequences and heads. */
static void set_attention(struct pyro_op_work *work, const pyro_tensor *queries, int64_t macs,
                          bool backward)
{
    int64_t last = queries->dims[queries->rank - 1];
    work->m = queries->elements / last;
    work->k = last;
    /* Per query and key the forward has two products, the backward five. */
    work->n = macs / ((backward ? 5 : 2) * queries->elements);
    int64_t per_head = queries->rank > 2 ? queries->dims[queries->rank - 2] : 0;
    work->parts = per_head > 0 ? work->m / per_head : 1;
}

static void set_sizes(struct pyro_op_work *work, pyro_work_kind kind, const pyro_call *call,
                      int64_t macs)
{
    bool backward = is_backward(call->op);
    const pyro_tensor *tensor = !backward && call->output_count && call->outputs[0].dims
                                    ? &call->outputs[0]
                                    : first_tensor(call);
    if (!tensor || !tensor->dims || !tensor->rank || tensor->elements <= 0)
        return;
    int64_t last = tensor->dims[tensor->rank - 1];
    if (pyro_work_kind_of_forward(kind) == PYRO_WORK_CONV) {
        set_convolution(work, call, macs, backward, tensor);
    } else if (pyro_work_kind_of_forward(kind) == PYRO_WORK_ATTENTION && last > 0) {
        set_attention(work, tensor, macs, backward);
    } else if (kind == PYRO_WORK_GEMM && last > 0) {
        set_product(work, macs, tensor->elements / last, last);
        work->parts = matrices_of(call, tensor);
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
    pyro_work_set_form(out, kind, call);
    return true;
}
