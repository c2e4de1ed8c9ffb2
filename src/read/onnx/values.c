/* Names and values of ONNX graphs: who defines a name, and what bodies capture from outside. */
#include "read/onnx/onnx.h"

#include "base/bytes.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <string.h>

bool onnx_out_of_memory(onnx_reader *reader)
{
    reader->wire.failed = true;
    pyro_fail_memory(reader->error);
    return false;
}

const char *onnx_text(onnx_reader *reader, const pyro_wire_field *field)
{
    size_t length;
    const char *text = pyro_wire_bytes(&reader->wire, field, &length);
    uint32_t id = text ? pyro_intern_add(&reader->model->strings, text, length) : PYRO_INTERN_NONE;
    if (text && id == PYRO_INTERN_NONE)
        onnx_out_of_memory(reader);
    return id == PYRO_INTERN_NONE ? NULL : pyro_intern_text(&reader->model->strings, id);
}

onnx_graph *onnx_graph_new(onnx_reader *reader, onnx_graph *outer)
{
    onnx_graph *beside = pyro_arena_alloc(&reader->model->arena, sizeof *beside);
    pyro_graph *graph = beside ? pyro_model_add_graph(reader->model) : NULL;
    if (!graph) {
        onnx_out_of_memory(reader);
        return NULL;
    }
    beside->graph = graph;
    beside->outer = outer;
    beside->ordinal = reader->graph_count++;
    graph->reader_data = beside;
    return beside;
}

onnx_value *onnx_value_of(onnx_graph *graph, uint32_t index)
{
    while (graph->values[index].captured_from != PYRO_NO_VALUE) {
        index = graph->values[index].captured_from;
        graph = graph->outer;
    }
    return &graph->values[index];
}

/* Adds a value to a graph with room beside it. */
static uint32_t add_value(onnx_reader *reader, onnx_graph *graph, const char *name, size_t length)
{
    uint32_t index = pyro_graph_value(graph->graph, name, length);
    if (index == PYRO_NO_VALUE) {
        onnx_out_of_memory(reader);
        return index;
    }
    if (index >= graph->capacity) {
        size_t capacity = graph->capacity ? 2 * graph->capacity : 8;
        onnx_value *larger = pyro_arena_array(&reader->model->arena, capacity, sizeof *larger);
        if (!larger) {
            onnx_out_of_memory(reader);
            return PYRO_NO_VALUE;
        }
        if (graph->capacity)
            pyro_copy(larger, graph->values, graph->capacity * sizeof *larger);
        graph->values = larger;
        graph->capacity = capacity;
    }
    onnx_value *value = &graph->values[index];
    if (!graph->graph->values[index].made && !value->captured_from) {
        value->captured_from = value->maker = PYRO_NO_VALUE;
        graph->graph->values[index].dtype = PYRO_DTYPE_UNKNOWN;
    }
    return index;
}

uint32_t onnx_declare(onnx_reader *reader, onnx_graph *graph, const char *name, size_t length)
{
    return add_value(reader, graph, name, length);
}

static uint32_t capture(onnx_reader *reader, onnx_graph *graph, uint32_t outer_index,
                        const char *name, size_t length)
{
    uint32_t index = add_value(reader, graph, name, length);
    if (index == PYRO_NO_VALUE)
        return index;
    graph->values[index].captured_from = outer_index;
    graph->graph->values[index].made = true;
    if (graph->captured_count == graph->captured_capacity) {
        size_t capacity = graph->captured_capacity ? 2 * graph->captured_capacity : 8;
        uint32_t *larger = pyro_arena_array(&reader->model->arena, capacity, sizeof *larger);
        if (!larger) {
            onnx_out_of_memory(reader);
            return PYRO_NO_VALUE;
        }
        if (graph->captured_count)
            pyro_copy(larger, graph->captured, graph->captured_count * sizeof *larger);
        graph->captured = larger;
        graph->captured_capacity = capacity;
    }
    graph->captured[graph->captured_count++] = index;
    return index;
}

/* The value that a name has in the graph itself; PYRO_NO_VALUE: none. */
static uint32_t find_made(const onnx_graph *graph, const char *name, size_t length)
{
    uint32_t index = pyro_intern_find(&graph->graph->names, name, length);
    bool made = index != PYRO_INTERN_NONE && index < graph->graph->value_count &&
                graph->graph->values[index].made;
    return made ? index : PYRO_NO_VALUE;
}

static struct onnx_bound *find_bound(const onnx_expansion *expansion, const char *name,
                                     size_t length)
{
    uint32_t id = pyro_intern_find(&expansion->names, name, length);
    return id != PYRO_INTERN_NONE && id < expansion->bound_count ? &expansion->bound[id] : NULL;
}

/* Finds the value of a name; false if no scope defines it. An omitted input is PYRO_NO_VALUE. */
static bool find(onnx_reader *reader, const onnx_scope *scope, const char *name, size_t length,
                 uint32_t *out)
{
    *out = PYRO_NO_VALUE;
    if (scope->expansion) {
        const struct onnx_bound *bound = find_bound(scope->expansion, name, length);
        if (bound)
            *out = bound->value;
        return bound && !bound->is_pending;
    }
    *out = find_made(scope->graph, name, length);
    if (*out != PYRO_NO_VALUE || !scope->outer)
        return *out != PYRO_NO_VALUE;
    uint32_t outside;
    if (!find(reader, scope->outer, name, length, &outside))
        return false;
    if (outside != PYRO_NO_VALUE)
        *out = capture(reader, scope->graph, outside, name, length);
    return true;
}

uint32_t onnx_use(onnx_reader *reader, const onnx_scope *scope, const char *name, size_t length,
                  int64_t offset)
{
    uint32_t index;
    if (!find(reader, scope, name, length, &index))
        pyro_wire_fail(&reader->wire, offset,
                       "'%.*s' is used before it is made: the graph is cyclic or damaged",
                       (int)(length < 100 ? length : 100), name);
    return index;
}

bool onnx_bind(onnx_reader *reader, onnx_expansion *expansion, const char *name, size_t length,
               uint32_t value, bool is_pending)
{
    uint32_t id = pyro_intern_add(&expansion->names, name, length);
    if (id == PYRO_INTERN_NONE || !pyro_grow(&expansion->bound, &expansion->bound_capacity, id + 1u,
                                             sizeof *expansion->bound))
        return onnx_out_of_memory(reader);
    expansion->bound[id] = (struct onnx_bound){value, is_pending};
    if (id >= expansion->bound_count)
        expansion->bound_count = id + 1u;
    return true;
}

static uint32_t made_twice(onnx_reader *reader, const char *name, size_t length, int64_t offset)
{
    pyro_wire_fail(&reader->wire, offset, "'%.*s' is made twice",
                   (int)(length < 100 ? length : 100), name);
    return PYRO_NO_VALUE;
}

/* A new value of an expanded function: an output of the call, or a value with a name of its own. */
static uint32_t make_inside(onnx_reader *reader, const onnx_scope *scope, const char *name,
                            size_t length, int64_t offset)
{
    struct onnx_bound *bound = find_bound(scope->expansion, name, length);
    if (bound && !bound->is_pending)
        return made_twice(reader, name, length, offset);
    if (bound) {
        bound->is_pending = false;
        return bound->value;
    }
    const char *full = pyro_arena_format(&reader->model->arena, "%s/%.*s", scope->expansion->prefix,
                                         (int)length, name);
    if (!full)
        return onnx_out_of_memory(reader), PYRO_NO_VALUE;
    onnx_scope around = {.graph = scope->graph};
    uint32_t index = onnx_make(reader, &around, full, strlen(full), offset);
    bool good = index != PYRO_NO_VALUE &&
                onnx_bind(reader, scope->expansion, full + strlen(full) - length, length, index,
                          false);
    return good ? index : PYRO_NO_VALUE;
}

uint32_t onnx_make(onnx_reader *reader, const onnx_scope *scope, const char *name, size_t length,
                   int64_t offset)
{
    if (scope->expansion)
        return make_inside(reader, scope, name, length, offset);
    if (find_made(scope->graph, name, length) != PYRO_NO_VALUE)
        return made_twice(reader, name, length, offset);
    uint32_t index = add_value(reader, scope->graph, name, length);
    if (index != PYRO_NO_VALUE)
        scope->graph->graph->values[index].made = true;
    return index;
}

/* Hands a value of the main graph in through every body around a graph. */
static uint32_t capture_chain(onnx_reader *reader, onnx_graph *graph, uint32_t outside,
                              const char *name)
{
    onnx_graph *chain[ONNX_MAX_DEPTH + 2];
    size_t depth = 0;
    for (onnx_graph *g = graph; g != reader->main && depth <= ONNX_MAX_DEPTH; g = g->outer)
        chain[depth++] = g;
    while (outside != PYRO_NO_VALUE && depth-- > 0)
        outside = capture(reader, chain[depth], outside, name, strlen(name));
    return outside;
}

uint32_t onnx_store(onnx_reader *reader, const onnx_scope *scope, const char *name, size_t length,
                    int64_t offset)
{
    if (scope->graph == reader->main)
        return onnx_make(reader, scope, name, length, offset);
    onnx_scope main = {.graph = reader->main};
    const char *full = pyro_arena_format(&reader->model->arena, "body%zu/%.*s", reader->unnamed++,
                                         (int)length, name);
    if (!full)
        return onnx_out_of_memory(reader), PYRO_NO_VALUE;
    uint32_t index = onnx_make(reader, &main, full, strlen(full), offset);
    index = index == PYRO_NO_VALUE ? index : capture_chain(reader, scope->graph, index, full);
    if (index == PYRO_NO_VALUE)
        return index;
    if (scope->expansion)
        return onnx_bind(reader, scope->expansion, name, length, index, false) ? index
                                                                               : PYRO_NO_VALUE;
    /* The body knows it by its own name too. */
    if (find_made(scope->graph, name, length) != PYRO_NO_VALUE)
        return made_twice(reader, name, length, offset);
    return capture(reader, scope->graph, scope->graph->values[index].captured_from, name, length);
}
