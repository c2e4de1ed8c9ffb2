/* Explains the difference of two counts: operators that only one counts or counts differently. */
#include "cli/check/counters.h"

#include "base/text/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Kinds of operators that counters have different names for. */
typedef enum kind { KIND_CONVOLUTION, KIND_PRODUCT, KIND_ATTENTION, KIND_COUNT, KIND_NONE } kind;

static const char *const kind_names[KIND_COUNT] = {"convolution", "matrix products", "attention"};

static int64_t count_unpriced(const pyro_cost *cost)
{
    size_t count = 0;
    const pyro_uncounted *uncounted = cost ? pyro_cost_uncounted(cost, &count) : NULL;
    int64_t operators = 0;

    for (size_t i = 0; i < count; i++)
        operators += uncounted[i].count;
    return operators;
}

pyro_check_row *pyro_check_add_row(pyro_check_session *session, size_t model, const char *counter)
{
    pyro_check *check = &session->check;

    if (!pyro_grow(&check->rows, &check->capacity, check->count + 1, sizeof *check->rows))
        return NULL;
    check->rows[check->count] = (pyro_check_row){
        .model = session->priced[model].model ? pyro_model_name(session->priced[model].model)
                                              : session->specs[model],
        .counter = counter,
        .detail = "",
        .unpriced = count_unpriced(session->priced[model].cost)};
    return &check->rows[check->count++];
}

bool pyro_check_add_reason(pyro_check_session *session, pyro_check_row *row, const char *op,
                           int64_t flops, const char *format, ...)
{
    char text[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept_text = pyro_arena_text(&session->arena, text, strlen(text));
    const char *kept_op = pyro_arena_text(&session->arena, op, strlen(op));
    if (!kept_text || !kept_op ||
        !pyro_grow(&row->reasons, &row->reason_capacity, row->reason_count + 1,
                   sizeof *row->reasons))
        return false;
    row->reasons[row->reason_count++] = (pyro_check_reason){kept_op, flops, kept_text};
    return true;
}

static kind kind_of_category(const char *category)
{
    if (strcmp(category, "convolution") == 0)
        return KIND_CONVOLUTION;
    return strcmp(category, "attention") == 0 ? KIND_ATTENTION : KIND_PRODUCT;
}

static kind kind_of_op(const char *name)
{
    static const char *const products[] = {"linear",  "addmm",  "mm",     "matmul",     "bmm",
                                           "baddbmm", "einsum", "addbmm", "_grouped_mm"};

    if (strncmp(name, "conv", 4) == 0 || strstr(name, "convolution"))
        return KIND_CONVOLUTION;
    if (strstr(name, "scaled_dot_product") || strstr(name, "_attention"))
        return KIND_ATTENTION;
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        if (strcmp(name, products[i]) == 0)
            return KIND_PRODUCT;
    return KIND_NONE;
}

/* Our FLOPs by kind: 2 x MACs. */
static void add_ours(int64_t flops[KIND_COUNT], const pyro_cost *cost)
{
    size_t count;
    const pyro_cost_node *nodes = pyro_cost_nodes(cost, &count);

    for (size_t i = 0; i < count; i++)
        flops[kind_of_category(nodes[i].category)] += 2 * nodes[i].work.macs;
}

static bool lacks_attention(const pyro_their_count *theirs)
{
    for (size_t i = theirs->uncounted_from; i < theirs->op_count; i++)
        if (kind_of_op(theirs->ops[i].name) == KIND_ATTENTION)
            return true;
    return false;
}

/* Explains what the other tool counts that is not a multiply-accumulate. */
static bool explain_extra(pyro_check_session *session, pyro_check_row *row,
                          const pyro_counted_op *op, int64_t flops)
{
    char text[PYRO_UNIT_TEXT];

    if (flops == 0)
        return true;
    return pyro_check_add_reason(
        session, row, op->name, -flops,
        "%s counts %s as %s, which is no multiply-accumulate: it is in our "
        "FLOPs, not in our MACs",
        row->counter, op->name, pyro_format_count(text, flops));
}

static bool explain_kind(pyro_check_session *session, pyro_check_row *row, kind which, int64_t ours,
                         int64_t theirs, bool uncounted)
{
    char our_text[PYRO_UNIT_TEXT], their_text[PYRO_UNIT_TEXT];

    if (ours == theirs)
        return true;
    if (uncounted)
        return pyro_check_add_reason(session, row, "scaled_dot_product_attention", ours,
                                     "%s does not count scaled_dot_product_attention: %s (%s MACs)",
                                     row->counter, pyro_format_count(our_text, ours),
                                     pyro_format_count(their_text, ours / 2));
    return pyro_check_add_reason(session, row, kind_names[which], ours - theirs,
                                 "%s: we count %s, %s counts %s", kind_names[which],
                                 pyro_format_count(our_text, ours), row->counter,
                                 pyro_format_count(their_text, theirs));
}

bool pyro_check_explain_unpriced(pyro_check_session *session, pyro_check_row *row,
                                 const pyro_cost *cost)
{
    size_t count;
    const pyro_uncounted *uncounted = pyro_cost_uncounted(cost, &count);
    bool good = true;

    for (size_t i = 0; i < count; i++)
        good = good && pyro_check_add_reason(
                           session, row, uncounted[i].op, 0,
                           "our count leaves out %s x%lld (%s), so the two cannot "
                           "be compared",
                           uncounted[i].op, (long long)uncounted[i].count, uncounted[i].reason);
    return good;
}

bool pyro_check_explain(pyro_check_session *session, pyro_check_row *row, const pyro_cost *cost,
                        const pyro_their_count *theirs)
{
    int64_t ours[KIND_COUNT] = {0}, other[KIND_COUNT] = {0};
    int64_t factor = strcmp(row->counter, "fvcore") == 0 ? 2 : 1;
    bool good = pyro_check_explain_unpriced(session, row, cost),
         uncounted = lacks_attention(theirs);

    add_ours(ours, cost);
    for (size_t i = 0; i < theirs->uncounted_from; i++) {
        kind which = kind_of_op(theirs->ops[i].name);

        if (which != KIND_NONE)
            other[which] += factor * theirs->ops[i].count;
        else
            good = good &&
                   explain_extra(session, row, &theirs->ops[i], factor * theirs->ops[i].count);
    }
    /* A tool that splits attention into its parts counts them as matrix products. */
    if (!uncounted) {
        ours[KIND_PRODUCT] += ours[KIND_ATTENTION];
        other[KIND_PRODUCT] += other[KIND_ATTENTION];
        ours[KIND_ATTENTION] = other[KIND_ATTENTION] = 0;
    }
    for (int which = 0; which < KIND_COUNT; which++)
        good = good && explain_kind(session, row, (kind)which, ours[which], other[which],
                                    which == KIND_ATTENTION && uncounted);
    return good;
}
