/* Rules for products of matrices and vectors. */
#include "graph/call.h"
#include "graph/rules/rules.h"

static const pyro_tensor *first_of(const pyro_call *call, const char *name, const char *other,
                                   size_t position)
{
    const pyro_tensor *tensor = pyro_call_tensor(call, name, position);
    return tensor ? tensor : pyro_call_tensor(call, other, position);
}

bool pyro_rule_linear(pyro_call *call, pyro_price *price)
{
    static const char *const inputs[] = {"input", "self", "X", NULL};
    const pyro_tensor *input = pyro_call_tensor_of(call, inputs, 0);
    const pyro_tensor *weight = first_of(call, "weight", "W", 1);
    if (!input || !weight || input->rank == 0 || (weight->rank != 1 && weight->rank != 2))
        return false;
    price->macs = pyro_times(call, input->elements, weight->rank == 2 ? weight->dims[0] : 1);
    if (first_of(call, "bias", "B", 2))
        price->other_flops = pyro_output_elements(call);
    /* A weight that is a vector uses mv, which torch's counter does not count. */
    if (weight->rank == 1)
        price->torch_macs = 0;
    return true;
}

/* A weight packed in a kernel-specific layout: rows x K values, as many columns as the output. */
bool pyro_rule_linear_packed(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *input = NULL;
    for (size_t a = 0; a < call->arg_count && !input; a++)
        if (call->args[a].kind == PYRO_ARG_TENSOR && call->args[a].tensors[0].dims)
            input = &call->args[a].tensors[0];
    if (!input || !call->output_count || input->rank == 0 || call->outputs[0].rank == 0)
        return false;
    const pyro_tensor *output = &call->outputs[0];
    price->macs = pyro_times(call, input->elements, output->dims[output->rank - 1]);
    price->torch_macs = price->fvcore_flops = 0;
    return true;
}

/*
 * dot and mv have no formula in torch's counter. A product with a vector becomes one of them. For a
 * batch it does so only if torch folds the batch into a matrix: not if that needs a copy, unless
 * the vector is a parameter.
 */
static bool is_uncounted_vector(const pyro_tensor *a, const pyro_tensor *b)
{
    if (b->rank == 1)
        return a->rank < 3 || b->is_weight || !a->is_strided;
    return a->rank == 1 && b->rank > 2 && (a->is_weight || b->is_strided);
}

/* torch.matmul for all ranks. */
bool pyro_rule_matmul(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *a = first_of(call, "self", "input", 0);
    const pyro_tensor *b = first_of(call, "other", "mat2", 1);
    if (!a || !b || a->rank == 0 || b->rank == 0 || !call->output_count)
        return false;
    price->macs = pyro_times(call, pyro_output_elements(call), a->dims[a->rank - 1]);
    if (is_uncounted_vector(a, b))
        price->torch_macs = 0;
    if (b->rank > 1) /* fvcore ignores that the left side is broadcast */
        price->fvcore_flops = pyro_times(call, a->elements, b->dims[b->rank - 1]);
    return true;
}

/* Every row of one with every row of the other: a product with the second one transposed. */
bool pyro_rule_inner(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *a = pyro_call_tensor(call, "self", 0);
    const pyro_tensor *b = pyro_call_tensor(call, "other", 1);
    if (!a || !b || a->rank == 0 || b->rank == 0 || !call->output_count)
        return false;
    price->macs = pyro_times(call, pyro_output_elements(call), a->dims[a->rank - 1]);
    if (a->rank == 1 && b->rank == 1)
        price->torch_macs = 0;
    price->fvcore_flops = 0;
    return true;
}

/* Bits of the factor of matrix_product. */
enum { WITH_ADDEND = 1, UNKNOWN_TO_TORCH = 2 };

/* mm and bmm or, with an addend first, addmm, addbmm and baddbmm. */
bool pyro_rule_matrix_product(pyro_call *call, pyro_price *price)
{
    bool addend = call->op->factor & WITH_ADDEND;
    const pyro_tensor *a = addend ? first_of(call, "mat1", "batch1", 1)
                                  : first_of(call, "self", "input", 0);
    const pyro_tensor *b = first_of(call, "mat2", "batch2", addend ? 2 : 1);
    if (!a || !b || a->rank < 2 || b->rank < 2)
        return false;
    price->macs = pyro_times(call, a->elements, b->dims[b->rank - 1]);
    if (addend)
        price->other_flops = pyro_output_elements(call);
    if (addend && a->rank == 3) /* fvcore does not count batched forms with an addend */
        price->fvcore_flops = 0;
    if (call->op->factor & UNKNOWN_TO_TORCH)
        price->torch_macs = 0;
    return true;
}

/* dot, mv, addmv: counted here, not by torch. */
bool pyro_rule_vector_product(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *a = call->op->factor ? pyro_call_tensor(call, "mat", 1)
                                            : first_of(call, "self", "x", 0);
    const pyro_tensor *b = call->op->factor ? a : first_of(call, "other", "y", 1);
    if (!a)
        return false;
    price->macs = b && b->elements > a->elements ? b->elements : a->elements; /* may broadcast */
    price->other_flops = call->op->factor ? pyro_output_elements(call) : 0;
    price->torch_macs = price->fvcore_flops = 0;
    return true;
}

bool pyro_rule_tensordot(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *a = pyro_call_tensor(call, "self", 0);
    const pyro_call_arg *dims = pyro_call_find(call, "dims_self", 2);
    if (!a || !dims || !dims->integers || !call->output_count)
        return false;
    int64_t inner = 1;
    for (uint32_t i = 0; i < dims->count; i++) {
        int64_t dim = dims->integers[i] < 0 ? dims->integers[i] + a->rank : dims->integers[i];
        if (dim < 0 || dim >= a->rank)
            return false;
        inner = pyro_times(call, inner, a->dims[dim]);
    }
    price->macs = pyro_times(call, pyro_output_elements(call), inner);
    price->fvcore_flops = 0;
    return true;
}

/* y[o] = a . W[o] . b: one matrix-vector product and one dot product per output. */
bool pyro_rule_bilinear(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *weight = pyro_call_tensor(call, "weight", 2);
    if (!weight || weight->rank != 3)
        return false;
    int64_t each = pyro_plus(call, pyro_times(call, weight->dims[1], weight->dims[2]),
                             weight->dims[2]);
    price->macs = pyro_times(call, pyro_output_elements(call), each);
    if (pyro_call_tensor(call, "bias", 3))
        price->other_flops = pyro_output_elements(call);
    price->torch_macs = price->fvcore_flops = 0;
    return true;
}

/* Rows are spread over the experts' matrices; each row meets exactly one of them. */
bool pyro_rule_grouped_matmul(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *a = first_of(call, "self", "input", 0);
    const pyro_tensor *b = first_of(call, "mat2", "weight", 1);
    if (!a || !b || !call->output_count || a->rank < 2 || b->rank < 2)
        return false;
    const pyro_tensor *output = &call->outputs[0];
    if (a->rank == 2 && b->rank == 2) /* grouped along K: every group has a separate product */
        price->macs = pyro_times(call, a->elements, b->dims[1]);
    else
        price->macs = pyro_times(call, output->elements, a->dims[a->rank - 1]);
    price->torch_macs = price->fvcore_flops = 0;
    return true;
}

enum { MAX_CHAIN = 32 };

/* Rows of each matrix of a list and, last, the columns of the last one; vectors at the ends count
 * as a row and a column. Returns false if they do not match. */
static bool chain_sizes(const pyro_call_arg *list, int64_t sizes[MAX_CHAIN + 1])
{
    for (uint32_t i = 0; i < list->count; i++) {
        const pyro_tensor *matrix = &list->tensors[i];
        bool at_end = i == 0 || i + 1 == list->count;
        if (!matrix->dims || (matrix->rank != 2 && !(matrix->rank == 1 && at_end)))
            return false;
        bool row = matrix->rank == 1 && i == 0, column = matrix->rank == 1 && i != 0;
        sizes[i] = row ? 1 : matrix->dims[0];
        sizes[i + 1] = column ? 1 : matrix->dims[matrix->rank - 1];
    }
    return true;
}

/* The cheapest order of a chain of products, which torch uses. */
bool pyro_rule_chain_matmul(pyro_call *call, pyro_price *price)
{
    const pyro_call_arg *list = call->arg_count ? &call->args[0] : NULL;
    int64_t sizes[MAX_CHAIN + 1], best[MAX_CHAIN][MAX_CHAIN] = {{0}};
    if (!list || !list->tensors || list->count < 2 || list->count > MAX_CHAIN ||
        !chain_sizes(list, sizes))
        return false;
    for (uint32_t span = 1; span < list->count; span++)
        for (uint32_t first = 0; first + span < list->count; first++) {
            uint32_t last = first + span;
            for (uint32_t cut = first; cut < last; cut++) {
                int64_t product = pyro_times(call, pyro_times(call, sizes[first], sizes[cut + 1]),
                                             sizes[last + 1]);
                int64_t macs = pyro_plus(
                    call, pyro_plus(call, best[first][cut], best[cut + 1][last]), product);
                if (cut == first || macs < best[first][last])
                    best[first][last] = macs;
            }
        }
    price->macs = best[0][list->count - 1];
    price->fvcore_flops = 0;
    return true;
}

/* Every row of one against every row of the other; a difference, a square and a sum per value. */
bool pyro_rule_distances(pyro_call *call, pyro_price *price)
{
    const pyro_tensor *a = pyro_call_tensor(call, "x1", 0);
    a = a ? a : pyro_call_tensor(call, "self", 0); /* pdist: the rows of one among themselves */
    if (!a || a->rank == 0)
        return false;
    price->other_flops = pyro_times(
        call, 3, pyro_times(call, pyro_output_elements(call), a->dims[a->rank - 1]));
    return true;
}
