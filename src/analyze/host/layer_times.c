/*
 * Measures the forward time of layers: own wall time of their calls, the part of it inside ops, and
 * the shape of their first input tensor.
 */
#include "analyze/host/layer_times.h"

#include "analyze/intervals.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "base/containers/map.h"

#include <stdlib.h>
#include <string.h>

typedef struct layer_state {
    int64_t calls, wall_ns, op_ns;
    int64_t first_end_ns; /* of its first call */
    uint32_t first_call;
    pyro_buf shapes;
} layer_state;

typedef struct times_state {
    const pyro_trace *trace;
    const pyro_joins *joins;
    layer_state *layers;
    bool *is_known; /* by call: its shape was found */
    pyro_map seen;  /* layer and text of a shape */
    pyro_enclosing ops;
    pyro_intern texts;
    pyro_arena scratch;
    bool from_ops;
    int64_t wall_ns, until_ns; /* union of the outermost calls so far, and its end */
    bool has_begun;
} times_state;

static uint32_t dims_of(const pyro_trace *trace, uint32_t event)
{
    uint32_t detail = trace->detail[event];

    return detail != PYRO_NO_ID ? trace->ops[detail].dims : PYRO_NO_ID;
}

bool pyro_is_forward_op(const pyro_trace *trace, const pyro_joins *joins, uint32_t event)
{
    return trace->category[event] == PYRO_EVENT_OP && joins->call[event] != PYRO_NO_LAYER &&
           joins->phase[event] != PYRO_PHASE_BACKWARD &&
           joins->phase[event] != PYRO_PHASE_OPTIMIZER;
}

static bool is_op(const void *trace, uint32_t event)
{
    return ((const pyro_trace *)trace)->category[event] == PYRO_EVENT_OP;
}

/* True when the nearest op around an event belongs to a call of a layer. */
static bool is_in_op_of(pyro_enclosing *ops, const pyro_trace *trace, const pyro_joins *joins,
                        uint32_t event, uint32_t call)
{
    uint32_t around = pyro_enclosing_find(ops, joins, trace->count, event, is_op, trace);

    return around != PYRO_NO_EVENT && joins->call[around] == call;
}

bool pyro_is_nested_op(pyro_enclosing *ops, const pyro_trace *trace, const pyro_joins *joins,
                       uint32_t event)
{
    return is_in_op_of(ops, trace, joins, event, joins->call[event]);
}

bool pyro_has_layer_inputs(const pyro_trace *trace, const pyro_joins *joins)
{
    for (size_t i = 0; i < joins->call_count; i++) {
        uint32_t event = joins->calls[i].event;
        if (trace->category[event] == PYRO_EVENT_PYTHON && dims_of(trace, event) != PYRO_NO_ID)
            return true;
    }
    return false;
}

/* Outermost calls of several threads may overlap: that time counts once. */
static void add_outermost(times_state *t, int64_t start_ns, int64_t end_ns)
{
    if (t->has_begun && start_ns < t->until_ns)
        start_ns = t->until_ns;
    if (end_ns > start_ns)
        t->wall_ns = pyro_add_ns(t->wall_ns, end_ns - start_ns);
    if (!t->has_begun || end_ns > t->until_ns)
        t->until_ns = end_ns;
    t->has_begun = true;
}

static void add_call(times_state *t, uint32_t call)
{
    const pyro_joins *joins = t->joins;
    uint32_t event = joins->calls[call].event, parent = joins->calls[call].parent;
    int64_t duration_ns = t->trace->duration_ns[event];
    layer_state *layer = &t->layers[joins->calls[call].layer];

    if (layer->calls++ == 0) {
        layer->first_end_ns = pyro_event_end_ns(t->trace, event);
        layer->first_call = call;
    }
    layer->wall_ns += duration_ns;
    if (parent == PYRO_NO_LAYER) {
        add_outermost(t, t->trace->start_ns[event], pyro_event_end_ns(t->trace, event));
        return;
    }
    layer_state *outer = &t->layers[joins->calls[parent].layer];
    outer->wall_ns -= duration_ns;
    /* An op may call layers (checkpointing, Python operators): that time belongs to those layers.
     * */
    if (is_in_op_of(&t->ops, t->trace, joins, event, parent))
        outer->op_ns -= duration_ns;
}

/* Adds "[32, 100]" to the shapes of a layer, once. */
static bool add_shape(times_state *t, uint32_t layer, const char *text, size_t length)
{
    uint32_t id = pyro_intern_add(&t->texts, text, length);
    uint64_t key = (uint64_t)layer << 32 | id;
    pyro_buf *shapes = &t->layers[layer].shapes;

    if (id == PYRO_INTERN_NONE)
        return false;
    if (pyro_map_get(&t->seen, key) != PYRO_MAP_NONE)
        return true;
    pyro_buf_adds(shapes, shapes->length ? ", " : "[");
    pyro_buf_add(shapes, text, length);
    return !shapes->failed && pyro_map_put(&t->seen, key, 0);
}

/* The start of the `index`-th innermost "[...]" of "[[32, 100], [], [50]]"; or NULL. */
static const char *find_shape(const char *dims, size_t index, size_t *length)
{
    for (const char *at = dims[0] == '[' ? dims + 1 : ""; (at = strchr(at, '[')); at++) {
        size_t inside = strcspn(at + 1, "[]");

        if (at[1 + inside] != ']' || index-- > 0)
            continue;
        *length = inside + 2;
        return at;
    }
    return NULL;
}

/* The tensor of an op that a layer was most likely given: tables of embeddings come before indices.
 * */
static const char *input_of_op(const pyro_trace *trace, uint32_t event, size_t *length)
{
    const char *name = pyro_event_name(trace, event);
    const char *dims = pyro_trace_text(trace, dims_of(trace, event));
    const char *shape;

    if (strcmp(name, "aten::embedding") == 0 || strcmp(name, "aten::embedding_bag") == 0)
        return find_shape(dims, 1, length);
    for (size_t i = 0; (shape = find_shape(dims, i, length)); i++)
        if (*length > 2) /* numbers are tensors without sizes */
            return shape;
    return NULL;
}

/* The first op in a call, or in the layers that it calls. */
static bool add_shape_of_op(times_state *t, uint32_t event)
{
    uint32_t call = t->joins->call[event];
    size_t length;
    const char *shape = t->is_known[call] ? NULL : input_of_op(t->trace, event, &length);

    for (; shape && call != PYRO_NO_LAYER && !t->is_known[call];
         call = t->joins->calls[call].parent) {
        t->is_known[call] = true;
        if (!add_shape(t, t->joins->calls[call].layer, shape, length))
            return false;
    }
    return true;
}

static bool add_shape_of_call(times_state *t, uint32_t call)
{
    const char *dims = pyro_trace_text(t->trace, dims_of(t->trace, t->joins->calls[call].event));
    size_t length;
    const char *shape = find_shape(dims, 0, &length);

    return !shape || add_shape(t, t->joins->calls[call].layer, shape, length);
}

static bool add_event(times_state *t, uint32_t event)
{
    const pyro_joins *joins = t->joins;
    uint32_t call = joins->call[event];

    if (call == PYRO_NO_LAYER)
        return true;
    if (joins->calls[call].event == event) {
        add_call(t, call);
        return t->from_ops || add_shape_of_call(t, call);
    }
    if (!pyro_is_forward_op(t->trace, joins, event))
        return true;
    if (!pyro_is_nested_op(&t->ops, t->trace, joins, event))
        t->layers[joins->calls[call].layer].op_ns += t->trace->duration_ns[event];
    return !t->from_ops || add_shape_of_op(t, event);
}

/* Of layers that were called; of two that end together the inner one, called later, comes first. */
static int by_first_end(const void *left, const void *right)
{
    const layer_state *const *a = left, *const *b = right;

    if ((*a)->first_end_ns != (*b)->first_end_ns)
        return (*a)->first_end_ns < (*b)->first_end_ns ? -1 : 1;
    return ((*a)->first_call < (*b)->first_call) - ((*a)->first_call > (*b)->first_call);
}

static bool fill_row(pyro_layer_time_row *row, const layer_state *layer, const char *path,
                     pyro_arena *arena)
{
    const pyro_buf *shapes = &layer->shapes;

    *row = (pyro_layer_time_row){
        .layer = pyro_arena_text(arena, path, strlen(path)),
        .calls = layer->calls,
        .wall_ns = layer->wall_ns > 0 ? layer->wall_ns : 0,
        .op_ns = layer->op_ns > 0 ? layer->op_ns : 0,
        .shapes = shapes->length ? pyro_arena_format(arena, "%s]", shapes->data) : ""};
    if (row->op_ns > row->wall_ns)
        row->op_ns = row->wall_ns;
    return row->layer && row->shapes;
}

static bool publish(times_state *t, pyro_layer_ops *out, pyro_arena *arena)
{
    size_t count = 0, layers = t->joins->layer_count;
    const layer_state **order = pyro_arena_array(&t->scratch, layers + 1, sizeof *order);
    pyro_layer_time_row *rows = pyro_arena_array(arena, layers + 1, sizeof *rows);

    if (!order || !rows)
        return false;
    for (size_t i = 0; i < layers; i++)
        if (t->layers[i].calls)
            order[count++] = &t->layers[i];
    qsort(order, count, sizeof *order, by_first_end);
    for (size_t i = 0; i < count; i++)
        if (!fill_row(&rows[i], order[i], t->joins->layers[order[i] - t->layers].path, arena))
            return false;
    out->layers = rows;
    out->layer_count = count;
    out->wall_ns = t->wall_ns;
    out->shapes_from_ops = t->from_ops;
    return true;
}

int pyro_collect_layer_times(pyro_layer_ops *out, const pyro_trace *trace, const pyro_joins *joins,
                             pyro_arena *arena, pyro_error *error)
{
    times_state t = {.trace = trace, .joins = joins};

    pyro_arena_init(&t.scratch);
    pyro_intern_init(&t.texts, &t.scratch);
    t.layers = pyro_arena_array(&t.scratch, joins->layer_count + 1, sizeof *t.layers);
    t.is_known = pyro_arena_array(&t.scratch, joins->call_count + 1, sizeof *t.is_known);
    t.from_ops = !pyro_has_layer_inputs(trace, joins);
    bool ok = t.layers && t.is_known;
    for (size_t i = 0; i < trace->count && ok; i++)
        ok = add_event(&t, joins->by_time[i]);
    ok = ok && publish(&t, out, arena);
    for (size_t i = 0; t.layers && i < joins->layer_count; i++)
        pyro_buf_free(&t.layers[i].shapes);
    pyro_map_free(&t.seen);
    pyro_enclosing_free(&t.ops);
    pyro_intern_free(&t.texts);
    pyro_arena_free(&t.scratch);
    return ok ? PYRO_OK : pyro_fail_memory(error);
}
