/* Backward of elementwise operators, reductions, copies and views. */
#include "graph/gradients/kinds.h"

void pyro_gradient_save(pyro_gradient *out, const pyro_tensor *tensor)
{
    if (!tensor || !tensor->dims || out->saved_count == PYRO_GRADIENT_SAVED_MAX)
        return;
    for (size_t i = 0; i < out->saved_count; i++)
        if (out->saved[i]->id == tensor->id)
            return;
    out->saved[out->saved_count++] = tensor;
}

void pyro_gradient_save_inputs(pyro_call *call, pyro_gradient *out, bool floating)
{
    for (size_t a = 0; a < call->arg_count; a++)
        for (uint32_t i = 0; call->args[a].tensors && i < call->args[a].count; i++)
            if (pyro_dtype_is_floating(call->args[a].tensors[i].dtype) == floating)
                pyro_gradient_save(out, &call->args[a].tensors[i]);
}

int64_t pyro_gradient_wanted(const pyro_call *call)
{
    int64_t wanted = 0;
    for (size_t a = 0; a < call->arg_count; a++)
        for (uint32_t i = 0; call->args[a].tensors && i < call->args[a].count; i++)
            wanted += call->args[a].tensors[i].needs_gradient;
    return wanted;
}

static int64_t largest_elements(const pyro_call *call)
{
    int64_t most = pyro_output_elements(call);
    for (size_t a = 0; a < call->arg_count; a++)
        for (uint32_t i = 0; call->args[a].tensors && i < call->args[a].count; i++)
            if (call->args[a].tensors[i].needs_gradient && call->args[a].tensors[i].elements > most)
                most = call->args[a].tensors[i].elements;
    return most;
}

void pyro_gradient_elements(pyro_call *call, int flops, pyro_gradient *out)
{
    out->flow = PYRO_FLOW_NEW;
    out->other_flops = pyro_times(call, pyro_times(call, largest_elements(call), flops),
                                  pyro_gradient_wanted(call));
}

KIND(none)
{
    (void)call, (void)price, (void)flops, (void)out;
}

KIND(alias)
{
    (void)call, (void)price, (void)flops;
    out->flow = PYRO_FLOW_ALIAS;
}

KIND(pass)
{
    (void)price;
    pyro_gradient_elements(call, flops, out);
    out->flow = PYRO_FLOW_PASS;
}

KIND(map)
{
    (void)price;
    pyro_gradient_elements(call, flops, out);
}

KIND(from_inputs)
{
    (void)price;
    pyro_gradient_elements(call, flops, out);
    pyro_gradient_save_inputs(call, out, true);
}

KIND(from_output)
{
    (void)price;
    pyro_gradient_elements(call, flops, out);
    if (call->output_count)
        pyro_gradient_save(out, &call->outputs[0]);
}

KIND(from_inputs_and_output)
{
    (void)price;
    pyro_gradient_from_inputs(call, price, flops, out);
    for (size_t o = 0; o < call->output_count; o++)
        pyro_gradient_save(out, &call->outputs[o]);
}

/* The gradient of each factor is made of the others; a factor that is a number keeps nothing. */
KIND(factors)
{
    (void)price;
    int64_t wanted = pyro_gradient_wanted(call);
    pyro_gradient_elements(call, flops, out);
    for (size_t a = 0; a < call->arg_count; a++)
        for (uint32_t i = 0; call->args[a].tensors && i < call->args[a].count; i++)
            if (wanted > call->args[a].tensors[i].needs_gradient)
                pyro_gradient_save(out, &call->args[a].tensors[i]);
}

/* The divisor; the dividend too if the divisor gets a gradient. */
KIND(quotient)
{
    (void)price;
    const pyro_tensor *dividend = pyro_call_tensor(call, "self", 0);
    const pyro_tensor *divisor = pyro_call_tensor(call, "other", 1);
    pyro_gradient_elements(call, flops, out);
    pyro_gradient_save(out, divisor);
    if (divisor && divisor->needs_gradient)
        pyro_gradient_save(out, dividend);
}

/* The base; with an exponent that gets a gradient, exponent and output too. */
KIND(power)
{
    const pyro_tensor *exponent = pyro_call_tensor(call, "exponent", 1);
    pyro_gradient_from_inputs(call, price, flops, out);
    if (exponent && exponent->needs_gradient && call->output_count)
        pyro_gradient_save(out, &call->outputs[0]);
}

KIND(condition)
{
    (void)price;
    pyro_gradient_elements(call, flops, out);
    pyro_gradient_save_inputs(call, out, false);
}

/* Training keeps one byte per value: dropped or not. */
KIND(dropout)
{
    if (price->is_free) {
        out->flow = PYRO_FLOW_ALIAS;
        return;
    }
    pyro_gradient_elements(call, flops, out);
    if (call->output_count < 2)
        out->extra_bytes = pyro_output_elements(call);
    else
        pyro_gradient_save(out, &call->outputs[1]);
}

/* reshape, contiguous, to: the gradient is copied back only if the element type changed. */
KIND(copy)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    (void)price, (void)flops;
    out->flow = PYRO_FLOW_ALIAS;
    if (input && call->output_count && input->dtype != call->outputs[0].dtype)
        out->flow = PYRO_FLOW_NEW;
}

/* A part of the input: its gradient is written into zeros. */
KIND(cut)
{
    const pyro_tensor *input = pyro_call_first_tensor(call);
    (void)price, (void)flops;
    bool whole = input && call->output_count == 1 && call->outputs[0].elements == input->elements;
    out->flow = whole ? PYRO_FLOW_ALIAS : PYRO_FLOW_NEW;
}
