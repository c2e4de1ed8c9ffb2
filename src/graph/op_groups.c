/* Groups of operators, derived from the categories and labels of ops.def. */
#include "graph/op_groups.h"

#include <string.h>

static bool has_label(const pyro_op *op, const char *label)
{
    return !strcmp(op->label, label);
}

unsigned pyro_op_groups(const pyro_op *op)
{
    if (!op)
        return 0;
    switch (op->category) {
    case PYRO_CATEGORY_CONVOLUTION:
        return PYRO_GROUP_CONTRACTION | PYRO_GROUP_CONVOLUTION;
    case PYRO_CATEGORY_MATMUL:
        return PYRO_GROUP_CONTRACTION | PYRO_GROUP_PRODUCT |
               (has_label(op, "BatchMatMul") ? PYRO_GROUP_SCORES : 0);
    case PYRO_CATEGORY_ATTENTION:
    case PYRO_CATEGORY_RECURRENT:
        return PYRO_GROUP_CONTRACTION;
    case PYRO_CATEGORY_NORM:
        return PYRO_GROUP_FUSIBLE | (has_label(op, "BatchNorm") ? PYRO_GROUP_BATCH_NORM : 0);
    case PYRO_CATEGORY_ACTIVATION:
        return PYRO_GROUP_FUSIBLE | (has_label(op, "Softmax") ? PYRO_GROUP_SCORES : 0);
    case PYRO_CATEGORY_ELEMENTWISE:
        return PYRO_GROUP_FUSIBLE;
    case PYRO_CATEGORY_REDUCTION: /* the reductions that unfused norms consist of */
        return has_label(op, "Mean") ? PYRO_GROUP_FUSIBLE : 0;
    case PYRO_CATEGORY_MEMORY:
        return has_label(op, "Copy") ? PYRO_GROUP_FUSIBLE : 0;
    default:
        return 0;
    }
}

const pyro_op *pyro_op_find_recorded(const pyro_op_index *index, const char *name)
{
    const char *colons = strstr(name, "::");
    char target[128];
    /* torch:: and prim:: belong to autograd and the interpreter; not operators on sizes. */
    if (!colons || strlen(name) >= sizeof target || !strncmp(name, "torch::", 7) ||
        !strncmp(name, "prim::", 6) || !strncmp(name, "math::", 6))
        return NULL;
    size_t space = (size_t)(colons - name);
    memcpy(target, name, space);
    target[space] = '.';
    strcpy(target + space + 1, colons + 2);
    return pyro_op_find(index, target);
}
