/* Reads current sizes, and finds inputs by name. */
#include "graph/model.h"

#include <string.h>

const pyro_expr *pyro_size_expr(const pyro_model *model, pyro_size size)
{
    return size >= 0 ? NULL : &model->exprs.items[~size];
}

bool pyro_size_value(const pyro_model *model, pyro_size size, int64_t *out)
{
    if (size >= 0) {
        *out = size;
        return true;
    }
    const pyro_expr *expr = pyro_size_expr(model, size);
    *out = expr->value;
    return expr->state == PYRO_EXPR_KNOWN;
}

const pyro_value *pyro_model_find_input(const pyro_model *model, const char *name)
{
    for (size_t i = 0; i < model->input_count; i++) {
        const pyro_value *value = &model->graph->values[model->inputs[i]];
        if (!name || !strcmp(value->name, name))
            return value;
    }
    return NULL;
}
