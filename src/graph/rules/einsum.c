/* Rule for einsum: contracts pair by pair in torch's order; a pair without a sum is a product. */
#include "graph/call.h"
#include "graph/rules/rules.h"
#include <string.h>

/* Labels are letters; dims of an ellipsis get separate labels, counted from the right. */
enum { ELLIPSIS_BASE = 128, LABEL_COUNT = ELLIPSIS_BASE + PYRO_MAX_RANK, MAX_OPERANDS = 32 };

typedef struct operand {
    bool has[LABEL_COUNT];
} operand;

typedef struct einsum {
    int64_t size[LABEL_COUNT];
    uint8_t occurrences[LABEL_COUNT]; /* in all terms; more than 2 count as 2 */
    operand operands[MAX_OPERANDS];
    size_t count;
    bool in_output[LABEL_COUNT];
} einsum;

/* Not isalpha: in some locales it accepts bytes that have no label. */
static bool is_label(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void set_label(einsum *e, operand *operand, size_t label, int64_t size)
{
    operand->has[label] = true;
    if (e->occurrences[label] < 2)
        e->occurrences[label]++;
    if (size > e->size[label])
        e->size[label] = size; /* 1 broadcasts */
}

/* One term of the left side over the dims of its tensor. */
static bool read_term(einsum *e, const char *term, size_t length, const pyro_tensor *tensor)
{
    size_t letters = 0, dim = 0;
    for (size_t i = 0; i < length; i++)
        letters += is_label(term[i]);
    if (!tensor->dims || letters > tensor->rank || e->count == MAX_OPERANDS)
        return false;
    operand *operand = &e->operands[e->count++];
    memset(operand, 0, sizeof *operand);
    for (size_t i = 0; i < length; i++) {
        if (is_label(term[i])) {
            if (dim >= tensor->rank)
                return false;
            set_label(e, operand, (unsigned char)term[i], tensor->dims[dim++]);
        } else if (!strncmp(term + i, "...", 3) && i + 3 <= length) {
            if (dim + tensor->rank - letters > tensor->rank)
                return false; /* a second one */
            for (size_t left = tensor->rank - letters; left > 0; left--)
                set_label(e, operand, ELLIPSIS_BASE + left - 1, tensor->dims[dim++]);
            i += 2;
        } else if (term[i] != ' ') {
            return false;
        }
    }
    return dim == tensor->rank;
}

/* Without "->" the output has the ellipsis and every label that occurs once. */
static void implicit_output(einsum *e)
{
    for (size_t label = 0; label < LABEL_COUNT; label++)
        e->in_output[label] = label >= ELLIPSIS_BASE || e->occurrences[label] == 1;
}

static bool read_equation(einsum *e, const char *equation, const pyro_call_arg *tensors)
{
    const char *arrow = strstr(equation, "->");
    const char *end = arrow ? arrow : equation + strlen(equation), *term = equation;
    for (uint32_t i = 0; i < tensors->count; i++) {
        const char *comma = memchr(term, ',', (size_t)(end - term));
        const char *stop = comma ? comma : end;
        if (!read_term(e, term, (size_t)(stop - term), &tensors->tensors[i]) ||
            (i + 1 < tensors->count) != (comma != NULL))
            return false;
        term = stop + 1;
    }
    if (!arrow) {
        implicit_output(e);
        return true;
    }
    for (const char *c = arrow + 2; *c; c++) {
        if (is_label(*c))
            e->in_output[(unsigned char)*c] = true;
        else if (*c == '.')
            memset(e->in_output + ELLIPSIS_BASE, 1, LABEL_COUNT - ELLIPSIS_BASE);
    }
    return true;
}

/* Labels that only one operand has, and not the output, are summed first: one FLOP per value. */
static int64_t summed_alone(pyro_call *call, const einsum *e, size_t index)
{
    int64_t elements = 1;
    bool sums = false;
    for (size_t label = 0; label < LABEL_COUNT; label++) {
        if (!e->operands[index].has[label])
            continue;
        bool needed = e->in_output[label];
        for (size_t k = 0; k < e->count && !needed; k++)
            needed = k != index && e->operands[k].has[label];
        sums |= !needed;
        elements = pyro_times(call, elements, e->size[label]);
    }
    return sums ? elements : 0;
}

/* Contracts operand j into operand i; sums labels that nothing else needs. */
static void contract(pyro_call *call, einsum *e, size_t i, size_t j, pyro_price *price)
{
    operand *a = &e->operands[i], *b = &e->operands[j], result = {{false}};
    int64_t product = 1;
    bool sums = false;
    for (size_t label = 0; label < LABEL_COUNT; label++) {
        if (!a->has[label] && !b->has[label])
            continue;
        bool needed = e->in_output[label];
        for (size_t k = 0; k < e->count && !needed; k++)
            needed = k != i && k != j && e->operands[k].has[label];
        if (!needed && !(a->has[label] && b->has[label]))
            continue; /* already summed out of its only operand */
        result.has[label] = needed;
        sums |= !needed && e->size[label] > 1;
        product = pyro_times(call, product, e->size[label]);
    }
    if (sums)
        price->macs = pyro_plus(call, price->macs, product);
    else
        price->other_flops = pyro_plus(call, price->other_flops, product);
    *a = result;
    e->count--;
    memmove(b, b + 1, (e->count - j) * sizeof *b);
}

bool pyro_rule_einsum(pyro_call *call, pyro_price *price)
{
    const pyro_call_arg *equation = pyro_call_find(call, "equation", 0);
    const pyro_call_arg *tensors = pyro_call_find(call, "tensors", 1);
    const pyro_call_arg *path = pyro_call_find(call, "path", 2);
    if (!equation || !equation->text || !tensors || !tensors->tensors || !tensors->count)
        return false;
    einsum e = {.count = 0};
    if (!read_equation(&e, equation->text, tensors))
        return false;
    for (size_t i = 0; i < e.count; i++)
        price->other_flops = pyro_plus(call, price->other_flops, summed_alone(call, &e, i));
    bool has_path = path && path->integers && path->count == 2 * (e.count - 1);
    for (size_t step = 0; e.count > 1; step++) {
        size_t i = has_path ? (size_t)path->integers[2 * step] : 0;
        size_t j = has_path ? (size_t)path->integers[2 * step + 1] : 1;
        if (i >= e.count || j >= e.count || i == j)
            return false;
        contract(call, &e, i < j ? i : j, i < j ? j : i, price);
        if (has_path) { /* the result goes last */
            size_t at = i < j ? i : j;
            operand result = e.operands[at];
            memmove(&e.operands[at], &e.operands[at + 1], (e.count - at - 1) * sizeof result);
            e.operands[e.count - 1] = result;
        }
    }
    return true;
}
