/* Finds the backward of an operator in gradients.def, and describes that of a call. */
#include "graph/gradients/gradients.h"

#include "graph/gradients/kinds.h"
#include "graph/rules/rules.h"
#include <string.h>

typedef struct row {
    pyro_rule rule; /* NULL: by key */
    const char *key;
    pyro_gradient_rule gradient;
    int flops;
} row;

static const row rows[] = {
#define BY_RULE(rule_, kind, flops_) {pyro_rule_##rule_, NULL, pyro_gradient_##kind, flops_},
#define BY_KEY(key_, kind, flops_) {NULL, key_, pyro_gradient_##kind, flops_},
#include "graph/gradients/gradients.def"
#undef BY_RULE
#undef BY_KEY
};

/* A name before a label before a rule. */
static const row *find(const pyro_op *op)
{
    const row *by_rule = NULL, *by_label = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].rule == op->rule && !rows[i].key)
            by_rule = &rows[i];
        else if (rows[i].key && !strcmp(rows[i].key, op->name))
            return &rows[i];
        else if (rows[i].key && !strcmp(rows[i].key, op->label))
            by_label = &rows[i];
    }
    return by_label ? by_label : by_rule;
}

void pyro_op_gradient(pyro_call *call, const pyro_price *price, pyro_gradient *out)
{
    const row *row = call->op ? find(call->op) : NULL;
    *out = (pyro_gradient){.flow = PYRO_FLOW_NONE};
    if (!pyro_gradient_wanted(call))
        return;
    if (row) {
        row->gradient(call, price, row->flops, out);
    } else {
        pyro_gradient_from_inputs(call, price, 2, out);
        out->is_assumed = true;
    }
}
