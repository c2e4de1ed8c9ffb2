/* Backward of convolutions, products, attention and recurrent layers. */
#include "graph/gradients/kinds.h"
#include <string.h>

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

/* True if the argument is added to the product: a bias, or the first argument of addmm. */
static bool is_addend(const pyro_call *call, size_t arg)
{
    static const char *const added[] = {"bias", "B", "c", "offset", "mask", NULL};
    static const char *const first[] = {"self", "input", NULL};
    const char *name = call->args[arg].name;
    if (is_one_of(name, added))
        return true;
    return is_one_of(name, first) &&
           (pyro_call_find(call, "mat1", SIZE_MAX) || pyro_call_find(call, "batch1", SIZE_MAX) ||
            pyro_call_find(call, "mat", SIZE_MAX));
}

/* Every operand's gradient is a product of the same size as the forward. */
KIND(product)
{
    int64_t operands = 0, wanted = 0, sums = 0;
    out->flow = PYRO_FLOW_NEW;
    for (size_t a = 0; a < call->arg_count; a++)
        for (uint32_t i = 0; call->args[a].tensors && i < call->args[a].count; i++) {
            const pyro_tensor *tensor = &call->args[a].tensors[i];
            if (is_addend(call, a)) {
                sums += tensor->needs_gradient;
            } else if (tensor->dims && pyro_dtype_is_floating(tensor->dtype)) {
                operands++;
                wanted += tensor->needs_gradient;
            }
        }
    for (size_t a = 0; a < call->arg_count; a++)
        for (uint32_t i = 0; call->args[a].tensors && i < call->args[a].count; i++)
            if (!is_addend(call, a) && wanted > call->args[a].tensors[i].needs_gradient)
                pyro_gradient_save(out, &call->args[a].tensors[i]);
    /* A chain is contracted pair by pair: two gradients per product. */
    int64_t products = operands > 2 && wanted > 2 ? 2 : wanted;
    out->macs = pyro_times(call, price->macs, products);
    out->torch_macs = pyro_times(call, price->torch_macs, products);
    out->other_flops = pyro_times(call, pyro_times(call, pyro_output_elements(call), flops), sums);
}

static const pyro_tensor *attention_input(const pyro_call *call, const char *name, size_t position)
{
    return pyro_call_tensor(call, name, position);
}

/*
 * dV = P^T dO; dP = dO V^T, dQ = dS K, dK = dS^T Q. A fused kernel computes the scores again
 * instead of keeping them; torch's counter, over the unfused one, does not see that product.
 */
KIND(attention)
{
    const pyro_tensor *query = attention_input(call, "query", 0);
    const pyro_tensor *key = attention_input(call, "key", 1);
    const pyro_tensor *value = attention_input(call, "value", 2);
    out->flow = PYRO_FLOW_NEW;
    if (!query || !key || !value || !query->rank || !value->rank)
        return;
    int64_t query_dim = query->dims[query->rank - 1], value_dim = value->dims[value->rank - 1];
    int64_t widths = pyro_plus(call, query_dim, value_dim);
    int64_t scores = widths > 0 ? price->macs / widths : 0;
    bool through_scores = query->needs_gradient || key->needs_gradient;
    int64_t width = pyro_times(call, query_dim, query->needs_gradient + key->needs_gradient);
    width = pyro_plus(call, width,
                      pyro_times(call, value_dim, value->needs_gradient + through_scores));
    out->torch_macs = price->torch_macs ? pyro_times(call, scores, width) : 0;
    out->macs = pyro_times(call, scores, pyro_plus(call, width, query_dim));
    out->other_flops = pyro_times(call, scores, flops);
    pyro_gradient_save_inputs(call, out, true);
    pyro_gradient_save_inputs(call, out, false);
    if (call->output_count) {
        const pyro_tensor *output = &call->outputs[0];
        pyro_gradient_save(out, output);
        if (call->output_count > 1) /* the sums of exponentials are an output of native forms */
            pyro_gradient_save(out, &call->outputs[1]);
        else if (output->rank && value_dim > 0)
            out->extra_bytes = pyro_times(call, output->elements / value_dim, 4);
    }
}

/* Weights of a recurrent layer: from the input, from the state and, with a projection, behind. */
typedef struct cell {
    const pyro_tensor *input, *state, *projection;
} cell;

/* The cell that begins with matrix `*next` of a list; false behind the last one. */
static bool next_cell(const pyro_call_arg *params, uint32_t *next, uint32_t matrices, cell *out)
{
    const pyro_tensor *found[3] = {NULL, NULL, NULL};
    uint32_t count = 0;
    for (; *next < params->count && count < matrices; ++*next)
        if (params->tensors[*next].dims && params->tensors[*next].rank == 2)
            found[count++] = &params->tensors[*next];
    *out = (cell){found[0], found[1], found[2]};
    return count == matrices;
}

static uint32_t count_matrices(const pyro_call_arg *params)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < params->count; i++)
        count += params->tensors[i].dims && params->tensors[i].rank == 2;
    return count;
}

/*
 * Gradients of weights and inputs: twice the forward, less what nobody wants: the gradient of the
 * first layer's input, and that of the state before the first step.
 */
KIND(recurrent)
{
    (void)price;
    const pyro_tensor *input = pyro_call_tensor(call, "input", 0);
    const pyro_tensor *data = pyro_call_tensor(call, "data", 0);
    const pyro_call_arg *params = pyro_call_find(call, "params", data ? 3 : 2);
    const pyro_call_arg *states = pyro_call_find(call, "hx", data ? 2 : 1);
    const pyro_tensor *source = input ? input : data;
    int64_t layers = pyro_call_integer(call, "num_layers", 4, 1), gates = 0;
    int64_t ways = pyro_call_integer(call, "bidirectional", 7, 0) ? 2 : 1;
    out->flow = PYRO_FLOW_NEW;
    if (!source || source->rank < 2 || !params || !params->tensors || layers < 1)
        return;
    int64_t steps = pyro_dims_product(call, source, 0, source->rank - 1u);
    const pyro_tensor *state = states && states->tensors && states->count ? states->tensors : NULL;
    int64_t sequences = state && state->rank == 3 ? state->dims[1] : 1;
    int64_t first_steps = state && state->needs_gradient ? 0 : sequences;
    uint32_t matrices = (uint32_t)(count_matrices(params) / (layers * ways)), next = 0;
    cell cell;
    if (matrices < 2 || matrices > 3)
        return;
    for (int64_t c = 0; next_cell(params, &next, matrices, &cell); c++) {
        bool wants_input = c >= ways || source->needs_gradient;
        int64_t from_input = pyro_times(call, cell.input->elements,
                                        cell.input->needs_gradient + wants_input);
        int64_t macs = pyro_times(call, steps, from_input);
        int64_t back = cell.state->needs_gradient ? steps : 0;
        back = pyro_plus(call, back, steps - first_steps);
        macs = pyro_plus(call, macs, pyro_times(call, cell.state->elements, back));
        if (cell.projection)
            macs = pyro_plus(call, macs,
                             pyro_times(call, pyro_times(call, cell.projection->elements, steps),
                                        cell.projection->needs_gradient + 1));
        out->macs = pyro_plus(call, out->macs, macs);
        gates = pyro_plus(call, gates, cell.input->dims[0]);
    }
    out->torch_macs = out->macs;
    out->other_flops = pyro_times(call, pyro_times(call, steps, gates), flops);
    pyro_gradient_save_inputs(call, out, true);
    /* The values of all gates before and behind their functions. */
    out->extra_bytes = pyro_times(call, pyro_times(call, steps, gates),
                                  2 * pyro_dtype_bytes(source->dtype));
}

KIND(recurrent_cell)
{
    (void)price;
    const pyro_tensor *input = pyro_call_tensor(call, "input", 0);
    const pyro_tensor *state = pyro_call_tensor(call, "hx", 1);
    const pyro_tensor *from_input = pyro_call_tensor(call, "w_ih", 2);
    const pyro_tensor *from_state = pyro_call_tensor(call, "w_hh", 3);
    const pyro_call_arg *states = pyro_call_find(call, "hx", 1);
    out->flow = PYRO_FLOW_NEW;
    if (!input || !from_input || !from_state || input->rank == 0)
        return;
    if (!state && states && states->tensors && states->count)
        state = states->tensors;
    int64_t rows = pyro_dims_product(call, input, 0, input->rank - 1u);
    int64_t macs = pyro_times(call, from_input->elements,
                              from_input->needs_gradient + input->needs_gradient);
    macs = pyro_plus(call, macs,
                     pyro_times(call, from_state->elements,
                                from_state->needs_gradient + (state && state->needs_gradient)));
    out->macs = out->torch_macs = pyro_times(call, macs, rows);
    out->other_flops = pyro_times(call, pyro_times(call, rows, from_input->dims[0]), flops);
    pyro_gradient_save_inputs(call, out, true);
    out->extra_bytes = pyro_times(call, pyro_times(call, rows, from_input->dims[0]),
                                  2 * pyro_dtype_bytes(input->dtype));
}

/* Several products in one operator: twice the forward; the inputs are kept. */
KIND(fused_block)
{
    out->flow = PYRO_FLOW_NEW;
    out->macs = pyro_times(call, price->macs, 2);
    out->torch_macs = pyro_times(call, price->torch_macs, 2);
    out->other_flops = pyro_times(call, pyro_output_elements(call), flops);
    pyro_gradient_save_inputs(call, out, true);
    for (size_t o = 0; o < call->output_count; o++)
        pyro_gradient_save(out, &call->outputs[o]);
}
