/* Creates and frees the pool of a model's expressions and symbols; finds symbols by name. */
#include "graph/expr/expr.h"

#include "base/containers/buf.h"
#include <stdlib.h>
#include <string.h>

void pyro_exprs_init(pyro_exprs *exprs, pyro_arena *arena)
{
    memset(exprs, 0, sizeof *exprs);
    exprs->arena = arena;
    pyro_intern_init(&exprs->texts, arena);
    pyro_intern_init(&exprs->symbol_names, arena);
}

void pyro_exprs_free(pyro_exprs *exprs)
{
    pyro_intern_free(&exprs->texts);
    pyro_intern_free(&exprs->symbol_names);
    free(exprs->items);
    free(exprs->symbols);
}

int64_t pyro_exprs_symbol(pyro_exprs *exprs, const char *name, size_t length)
{
    uint32_t id = pyro_intern_add(&exprs->symbol_names, name, length);
    if (id == PYRO_INTERN_NONE)
        return PYRO_ERROR_MEMORY;
    if (id < exprs->symbol_count)
        return id;
    if (!pyro_grow(&exprs->symbols, &exprs->symbol_capacity, id + 1u, sizeof *exprs->symbols))
        return PYRO_ERROR_MEMORY;
    exprs->symbols[id] = (pyro_symbol){
        .name = pyro_intern_text(&exprs->symbol_names, id), .min = INT64_MIN, .max = INT64_MAX};
    exprs->symbol_count = id + 1u;
    return id;
}
