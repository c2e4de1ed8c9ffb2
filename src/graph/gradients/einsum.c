/*
 * Backward of einsum. torch turns a pair into a product of matrices; an operand whose labels are not
 * in the order that this needs is copied first, and the copy is what is kept.
 */
#include "graph/gradients/kinds.h"
#include <string.h>

typedef struct equation {
    const char *terms[2], *output; /* letters only */
    size_t lengths[2], output_length;
} equation;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads "ab,bc->ac"; false for any other form: ellipses, implicit outputs, spaces. */
static bool read_pair(const char *text, equation *out)
{
    const char *comma = strchr(text, ','), *arrow = strstr(text, "->");
    if (!comma || !arrow || comma > arrow)
        return false;
    *out = (equation){.terms = {text, comma + 1},
                      .output = arrow + 2,
                      .lengths = {(size_t)(comma - text), (size_t)(arrow - comma - 1)},
                      .output_length = strlen(arrow + 2)};
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < out->lengths[t]; i++)
            if (!is_letter(out->terms[t][i]))
                return false;
    return true;
}

static const char *find(const char *text, size_t length, char letter)
{
    return memchr(text, letter, length);
}

/* 0: in both operands and the output, 1: only here, 2: summed. */
static int group_of(const equation *e, size_t operand, char letter)
{
    bool shared = find(e->terms[1 - operand], e->lengths[1 - operand], letter) != NULL;
    if (!find(e->output, e->output_length, letter))
        return 2;
    return shared ? 0 : 1;
}

/* True if the labels of a group lie apart in the operand, or in another order than the output's. */
static bool is_scattered(const equation *e, size_t operand, int group)
{
    const char *term = e->terms[operand], *before = NULL;
    for (size_t i = 0; i < e->output_length; i++) {
        const char *at = find(term, e->lengths[operand], e->output[i]);
        if (!at || group_of(e, operand, *at) != group)
            continue;
        if (before && at != before + 1)
            return true;
        before = at;
    }
    return false;
}

KIND(einsum)
{
    const pyro_call_arg *text = pyro_call_find(call, "equation", 0);
    const pyro_call_arg *tensors = pyro_call_find(call, "tensors", 1);
    equation e;
    pyro_gradient_product(call, price, flops, out);
    if (!text || !text->text || !tensors || !tensors->tensors || tensors->count != 2 ||
        !price->macs || !read_pair(text->text, &e))
        return;
    for (size_t operand = 0; operand < 2; operand++) {
        const pyro_tensor *tensor = &tensors->tensors[operand];
        if (!is_scattered(&e, operand, 0) && !is_scattered(&e, operand, 1))
            continue;
        for (size_t i = 0; i < out->saved_count; i++)
            if (out->saved[i]->id == tensor->id) {
                out->saved[i] = out->saved[--out->saved_count];
                out->extra_bytes = pyro_plus(call, out->extra_bytes,
                                             pyro_tensor_bytes(call, tensor));
                break;
            }
    }
}
