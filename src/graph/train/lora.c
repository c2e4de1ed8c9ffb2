/*
 * Low-rank adapters: beside the frozen product x W of a linear layer runs x A B, with A [inputs x
 * rank] and B [rank x outputs], which learn.
 */
#include "base/checked.h"
#include "base/error.h"
#include "graph/call.h"
#include "graph/train/train.h"

/* The parameter of the matrix that gets an adapter; NULL: none. */
static train_parameter *adapted(const pyro_train *train, const pyro_call *call,
                                const pyro_tensor **matrix, const pyro_tensor **input)
{
    train_parameter *found = NULL;
    *input = NULL;
    for (size_t a = 0; a < call->arg_count; a++)
        for (uint32_t i = 0; call->args[a].tensors && i < call->args[a].count; i++) {
            const pyro_tensor *tensor = &call->args[a].tensors[i];
            if (!tensor->dims)
                continue;
            uint32_t index = train->parameter_of[train->bases[tensor->id]];
            if (index && tensor->rank == 2 && train->parameters[index - 1].is_adapted) {
                *matrix = tensor;
                found = &train->parameters[train->parameters[index - 1].owner];
            } else if (!index && tensor->rank > 0 && !*input) {
                *input = tensor;
            }
        }
    return *input ? found : NULL;
}

static bool add_forward(const pyro_visit *visit, int64_t macs, int64_t read_bytes,
                        int64_t weight_bytes, int64_t written_bytes)
{
    pyro_price price = {.macs = macs, .torch_macs = macs, .fvcore_flops = macs};
    pyro_work work = {.macs = macs,
                      .activation_read_bytes = read_bytes,
                      .weight_read_bytes = weight_bytes,
                      .written_bytes = written_bytes};
    return pyro_convention_flops(visit->cost->options.convention, &price, &work.flops) &&
           pyro_work_add(&visit->cost->nodes[visit->index].work, &work);
}

int pyro_train_adapt(pyro_train *train, const pyro_visit *visit, pyro_gradient *gradient,
                     pyro_error *error)
{
    pyro_call *call = visit->call;
    const pyro_tensor *matrix = NULL, *input = NULL;
    if (!train->has_lora || visit->graph != train->model->graph || !call->op ||
        call->op->category != PYRO_CATEGORY_MATMUL)
        return PYRO_OK;
    train_parameter *parameter = adapted(train, call, &matrix, &input);
    int64_t inputs = parameter ? input->dims[input->rank - 1] : 0;
    if (inputs <= 0 || matrix->elements % inputs)
        return PYRO_OK;
    int64_t outputs = matrix->elements / inputs, rows = input->elements / inputs;
    int64_t bytes = pyro_dtype_bytes(input->dtype), rank = train->lora_rank;
    int64_t values = pyro_times(call, rank, pyro_plus(call, inputs, outputs));
    int64_t hidden_bytes = pyro_times(call, pyro_times(call, rows, rank), bytes);
    int64_t macs = pyro_times(call, rows, values);
    parameter->adapter_values = values;
    /* The output of the adapter is made, then added to that of the layer. */
    int64_t output_bytes = pyro_times(call, pyro_output_elements(call), bytes);
    if (!add_forward(visit, macs, pyro_plus(call, hidden_bytes, pyro_times(call, output_bytes, 2)),
                     pyro_times(call, values, bytes),
                     pyro_plus(call, hidden_bytes, pyro_times(call, output_bytes, 2))))
        return pyro_train_too_large(error);
    /* Gradients of A and B, of the hidden values and, if wanted, of the input. */
    int64_t back = pyro_times(call, macs, 2);
    if (!input->needs_gradient)
        back -= pyro_times(call, pyro_times(call, rows, inputs), rank);
    gradient->flow = PYRO_FLOW_NEW;
    gradient->macs = pyro_plus(call, gradient->macs, back);
    gradient->torch_macs = pyro_plus(call, gradient->torch_macs, back);
    gradient->extra_bytes = pyro_plus(call, gradient->extra_bytes, hidden_bytes);
    for (size_t i = 0; i < gradient->saved_count; i++)
        if (gradient->saved[i]->id == input->id)
            return PYRO_OK;
    if (gradient->saved_count < PYRO_GRADIENT_SAVED_MAX)
        gradient->saved[gradient->saved_count++] = input;
    return PYRO_OK;
}
