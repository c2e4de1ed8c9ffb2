/* Holds the table of operators and looks up its rows. */
#include "graph/ops.h"

#include "graph/rules/rules.h"
#include "graph/shapes/rules.h"
#include <string.h>

const pyro_op pyro_ops[] = {
/* The factor and the optional columns after it are one list of initializers. */
#define OP(name_, label_, category_, rule_, ...) \
    {.name = name_, \
     .label = label_, \
     .category = PYRO_CATEGORY_##category_, \
     .rule = pyro_rule_##rule_, \
     .factor = __VA_ARGS__},
#define SHAPE(rule_) .shape = pyro_shape_##rule_
#define ARGUMENTS(names) .arguments = names
#include "graph/ops.def"
#include "graph/ops_onnx.def"
#undef OP
#undef SHAPE
#undef ARGUMENTS
};

const size_t pyro_op_count = sizeof pyro_ops / sizeof *pyro_ops;

const char *pyro_category_name(pyro_category category)
{
    static const char *const names[PYRO_CATEGORY_COUNT] = {
        "convolution", "matmul",    "attention", "recurrent",  "norm",   "activation",
        "elementwise", "reduction", "pooling",   "resampling", "lookup", "memory",
        "view",        "scalar",    "control",   "uncounted",
    };
    return names[category];
}

bool pyro_op_index_init(pyro_op_index *index)
{
    pyro_arena_init(&index->arena);
    pyro_intern_init(&index->names, &index->arena);
    for (size_t i = 0; i < pyro_op_count; i++)
        if (pyro_intern_add(&index->names, pyro_ops[i].name, strlen(pyro_ops[i].name)) != i) {
            pyro_op_index_free(index); /* memory ran out: names are distinct, as a test verifies */
            return false;
        }
    return true;
}

void pyro_op_index_free(pyro_op_index *index)
{
    pyro_intern_free(&index->names);
    pyro_arena_free(&index->arena);
}

static const pyro_op *lookup(const pyro_op_index *index, const char *name, size_t length)
{
    uint32_t id = pyro_intern_find(&index->names, name, length);
    return id == PYRO_INTERN_NONE ? NULL : &pyro_ops[id];
}

/* view_copy and the like: a view that functionalisation turned into a copy. */
static const pyro_op *lookup_copy(const pyro_op_index *index, const char *name, size_t length)
{
    static const char suffix[] = "_copy";
    size_t stem = length - (sizeof suffix - 1);
    if (length <= sizeof suffix - 1 || memcmp(name + stem, suffix, sizeof suffix - 1))
        return NULL;
    const pyro_op *view = lookup(index, name, stem);
    return view && view->category == PYRO_CATEGORY_VIEW ? lookup(index, "aten.clone", 10) : NULL;
}

const pyro_op *pyro_op_find(const pyro_op_index *index, const char *target)
{
    /* Python functions on sizes: "_operator.mul", "math.floor", "torch.sym_max". */
    static const char *const host[] = {"_operator.", "math.", "builtins.", "torch.", "prim."};
    size_t length = strlen(target);
    const pyro_op *op = lookup(index, target, length);
    if (op)
        return op;
    for (size_t i = 0; i < sizeof host / sizeof *host; i++)
        if (!strncmp(target, host[i], strlen(host[i])))
            return lookup(index, "_operator", 9);
    const char *first_dot = strchr(target, '.'), *last_dot = strrchr(target, '.');
    size_t base = last_dot && last_dot != first_dot ? (size_t)(last_dot - target) : length;
    if ((op = lookup(index, target, base)) || (op = lookup_copy(index, target, base)))
        return op;
    if (base > 1 && target[base - 1] == '_')
        return lookup(index, target, base - 1);
    return NULL;
}
