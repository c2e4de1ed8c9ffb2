/* Lists the forward ops of each layer by name and shapes, without timing nested ops twice, and the
 * time of its calls (layer_times.c). */
#include "analyze/host/layer_times.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/containers/map.h"

#include <stdlib.h>
#include <string.h>

/* The public part comes first, so that a pointer to it points to the whole. */
typedef struct whole_layer_ops {
    pyro_layer_ops result;
    pyro_arena arena; /* of the paths */
    pyro_layer_op_row *rows;
    size_t count, capacity;
} whole_layer_ops;

/* Rows are found in two steps, because (layer, name, shapes) does not fit one key. */
typedef struct layer_collector {
    whole_layer_ops *whole;
    const pyro_trace *trace;
    const pyro_joins *joins;
    const char **paths; /* by layer, copied when first needed */
    pyro_map signatures; /* name and shapes -> number */
    pyro_enclosing enclosing;
    pyro_map rows;       /* layer and that number -> row */
} layer_collector;

static uint64_t pair(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

static const char *path_of(layer_collector *c, uint32_t layer)
{
    if (!c->paths[layer]) {
        const char *path = c->joins->layers[layer].path;
        c->paths[layer] = pyro_arena_text(&c->whole->arena, path, strlen(path));
    }
    return c->paths[layer];
}

/* The row of a layer, name and shapes, made when it is new; NULL when memory is out. */
static pyro_layer_op_row *find_row(layer_collector *c, uint32_t layer, uint32_t name, uint32_t dims)
{
    whole_layer_ops *whole = c->whole;
    uint32_t signature = pyro_map_get(&c->signatures, pair(name, dims));

    if (signature == PYRO_MAP_NONE) {
        signature = (uint32_t)c->signatures.count;
        if (!pyro_map_put(&c->signatures, pair(name, dims), signature))
            return NULL;
    }
    uint32_t index = pyro_map_get(&c->rows, pair(layer, signature));
    if (index != PYRO_MAP_NONE)
        return &whole->rows[index];
    const char *path = path_of(c, layer);
    if (!path ||
        !pyro_grow(&whole->rows, &whole->capacity, whole->count + 1, sizeof *whole->rows) ||
        !pyro_map_put(&c->rows, pair(layer, signature), (uint32_t)whole->count))
        return NULL;
    whole->rows[whole->count] = (pyro_layer_op_row){.layer = path,
                                                    .op = pyro_trace_text(c->trace, name),
                                                    .shapes = pyro_trace_text(c->trace, dims),
                                                    .nested = true};
    return &whole->rows[whole->count++];
}

static int collect(layer_collector *c, pyro_error *error)
{
    const pyro_trace *trace = c->trace;
    const pyro_joins *joins = c->joins;

    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = joins->by_time[i], detail = trace->detail[event];

        if (!pyro_is_forward_op(trace, joins, event))
            continue;
        pyro_layer_op_row *row = find_row(
            c, joins->calls[joins->call[event]].layer, trace->name[event],
            detail != PYRO_NO_ID ? trace->ops[detail].dims : PYRO_NO_ID);
        if (!row)
            return pyro_fail_memory(error);
        row->calls++;
        if (pyro_is_nested_op(&c->enclosing, trace, joins, event))
            continue;
        row->nested = false;
        row->host_ns += trace->duration_ns[event];
    }
    return PYRO_OK;
}

void pyro_layer_ops_free(pyro_layer_ops *ops)
{
    whole_layer_ops *whole = (whole_layer_ops *)ops;

    if (!whole)
        return;
    pyro_arena_free(&whole->arena);
    free(whole->rows);
    free(whole);
}

int pyro_trace_layer_ops(pyro_layer_ops **out, pyro_trace *trace,
                         const pyro_analysis_options *options, pyro_error *error)
{
    static const pyro_analysis_options everything = {.step = -1};
    pyro_joins joins;
    layer_collector c = {.trace = trace, .joins = &joins};
    int status = pyro_joins_make(&joins, trace, options ? options : &everything, error);

    *out = NULL;
    if (status == PYRO_OK) {
        c.whole = calloc(1, sizeof *c.whole);
        c.paths = calloc(joins.layer_count + 1, sizeof *c.paths);
        if (c.whole)
            pyro_arena_init(&c.whole->arena);
        status = c.whole && c.paths ? collect(&c, error) : pyro_fail_memory(error);
    }
    if (status == PYRO_OK) {
        c.whole->result.rows = c.whole->rows;
        c.whole->result.count = c.whole->count;
        status = pyro_collect_layer_times(&c.whole->result, trace, &joins, &c.whole->arena, error);
    }
    if (status == PYRO_OK) {
        *out = &c.whole->result;
    } else {
        pyro_layer_ops_free((pyro_layer_ops *)c.whole);
    }
    free(c.paths);
    pyro_enclosing_free(&c.enclosing);
    pyro_map_free(&c.signatures);
    pyro_map_free(&c.rows);
    pyro_joins_free(&joins);
    return status;
}
