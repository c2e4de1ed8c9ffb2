/*
 * Measures the own time per step of a rank's layers, data loader, optimizer and the rest, without
 * nested layers and without waiting for collectives or the device. Uses medians over steps, so that
 * a pause of the machine in one step blames no layer.
 */
#include "analyze/enclosing.h"
#include "analyze/intervals.h"
#include "analyze/quantile.h"
#include "analyze/ranks/summarize.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Limit of steps times rows; larger traces use fewer steps. */
#define MOST_CELLS (1u << 22)

enum { LOADING, OPTIMIZER, OUTSIDE, PSEUDO_COUNT };
static const char *const pseudo_names[] = {"(data loading)", "(optimizer)", PYRO_RANK_OUTSIDE};

typedef struct cell {
    int64_t host_ns, device_ns;
} cell;

typedef struct layer_op_time {
    uint32_t row, name;
    int64_t host_ns, device_ns;
} layer_op_time;

typedef struct layer_times {
    pyro_rank_maker *maker;
    size_t rows; /* two per layer, forward and backward, then the pseudo layers */
    size_t windows;
    cell *cells; /* by window and row */
    pyro_map by_op; /* row and name to ops */
    layer_op_time *ops;
    size_t op_count, op_capacity;
    pyro_coverage known; /* times of the host that some row has, and waiting */
    int64_t *loader_until_ns; /* by track */
    pyro_enclosing enclosing;
} layer_times;

static cell *cell_at(layer_times *times, size_t row, int64_t time_ns)
{
    uint32_t window = pyro_context_window_at(&times->maker->context, time_ns);
    if (window == PYRO_NO_EVENT || window >= times->windows)
        return NULL;
    return &times->cells[window * times->rows + row];
}

static size_t pseudo_row(const layer_times *times, int pseudo)
{
    return times->rows - PSEUDO_COUNT + (size_t)pseudo;
}

static size_t row_of_call(const layer_times *times, uint32_t call, bool is_backward)
{
    return (size_t)times->maker->context.joins->calls[call].layer * 2 + is_backward;
}

/* A duration on the host without the time in which it could only wait for other ranks. */
static int64_t own_ns(const layer_times *times, uint32_t event)
{
    const pyro_trace *trace = times->maker->context.trace;
    int64_t duration = trace->duration_ns[event];
    if (times->maker->on_device)
        return duration;
    return duration - pyro_coverage_overlap(&times->maker->waiting, trace->start_ns[event],
                                            pyro_event_end_ns(trace, event));
}

static void add_host(layer_times *times, size_t row, uint32_t event, int64_t duration_ns)
{
    cell *cell = cell_at(times, row, times->maker->context.trace->start_ns[event]);
    if (cell)
        cell->host_ns += duration_ns;
}

static bool add_op_time(layer_times *times, size_t row, uint32_t name, int64_t host_ns,
                        int64_t device_ns)
{
    uint64_t key = (uint64_t)row << 32 | name;
    uint32_t index = pyro_map_get(&times->by_op, key);
    if (name == PYRO_NO_ID)
        return true;
    if (index == PYRO_MAP_NONE) {
        index = (uint32_t)times->op_count;
        if (!pyro_grow(&times->ops, &times->op_capacity, times->op_count + 1, sizeof *times->ops) ||
            !pyro_map_put(&times->by_op, key, index))
            return false;
        times->ops[times->op_count++] = (layer_op_time){.row = (uint32_t)row, .name = name};
    }
    times->ops[index].host_ns += host_ns;
    times->ops[index].device_ns += device_ns;
    return true;
}

static bool know(layer_times *times, uint32_t event)
{
    const pyro_trace *trace = times->maker->context.trace;
    return pyro_coverage_add(&times->known, trace->start_ns[event],
                             pyro_event_end_ns(trace, event));
}

/* Parts of a kernel that is fused over several layers. */
static void add_shares(layer_times *times, uint32_t event, const pyro_share *share, size_t count)
{
    const pyro_analysis_context *context = &times->maker->context;
    bool is_backward = context->joins->phase[event] == PYRO_PHASE_BACKWARD;
    for (size_t i = 0; i < count; i++) {
        cell *cell = cell_at(times, row_of_call(times, share[i].call, is_backward),
                             pyro_context_launch_ns(context, event));
        if (cell)
            cell->device_ns += share[i].ns;
    }
}

static bool add_device_work(layer_times *times, uint32_t event)
{
    pyro_analysis_context *context = &times->maker->context;
    const pyro_trace *trace = context->trace;
    const pyro_joins *joins = context->joins;
    uint8_t bucket = joins->bucket[event];
    uint32_t call = joins->call[event], op = joins->op[event];
    size_t row = pseudo_row(times, OUTSIDE);
    if (bucket == PYRO_BUCKET_COLLECTIVE)
        return true;
    if (bucket == PYRO_BUCKET_LAYER && call != PYRO_NO_LAYER)
        row = row_of_call(times, call, joins->phase[event] == PYRO_PHASE_BACKWARD);
    else if (bucket == PYRO_BUCKET_OPTIMIZER)
        row = pseudo_row(times, OPTIMIZER);
    cell *cell = cell_at(times, row, pyro_context_launch_ns(context, event));
    if (!cell)
        return true;
    size_t shares = 0;
    const pyro_share *share = pyro_joins_shares(joins, event, &shares);
    if (!shares || bucket != PYRO_BUCKET_LAYER)
        cell->device_ns += trace->duration_ns[event];
    else
        add_shares(times, event, share, shares);
    return op == PYRO_NO_EVENT ||
           add_op_time(times, row, trace->name[op], 0, trace->duration_ns[event]);
}

static bool add_call(layer_times *times, uint32_t event, uint32_t call)
{
    const pyro_joins *joins = times->maker->context.joins;
    uint32_t outer = joins->calls[call].parent;
    int64_t duration = own_ns(times, event);
    add_host(times, row_of_call(times, call, false), event, duration);
    if (outer != PYRO_NO_LAYER)
        add_host(times, row_of_call(times, outer, false), event, -duration);
    return know(times, event);
}

static bool is_of(const pyro_joins *joins, uint32_t event, uint32_t call, uint8_t phase)
{
    return event != PYRO_NO_EVENT && joins->call[event] == call && joins->phase[event] == phase;
}

/* A backward op counts for its layer where it begins to be the layer's. */
static bool add_backward(layer_times *times, uint32_t event, uint32_t call)
{
    const pyro_joins *joins = times->maker->context.joins;
    uint32_t parent = joins->parent[event];
    if (is_of(joins, parent, call, PYRO_PHASE_BACKWARD))
        return true;
    int64_t duration = own_ns(times, event);
    add_host(times, row_of_call(times, call, true), event, duration);
    if (parent != PYRO_NO_EVENT && joins->call[parent] != PYRO_NO_LAYER &&
        joins->phase[parent] == PYRO_PHASE_BACKWARD)
        add_host(times, row_of_call(times, joins->call[parent], true), event, -duration);
    return know(times, event);
}

static bool is_op_or_builtin(const pyro_trace *trace, uint32_t event)
{
    uint8_t category = trace->category[event];
    return category == PYRO_EVENT_OP ||
           (category == PYRO_EVENT_PYTHON && pyro_event_name(trace, event)[0] == '<');
}

/* An event and the call of a layer that it is looked at in. */
typedef struct looking {
    const pyro_analysis_context *context;
    uint32_t call;
    uint8_t phase;
} looking;

/* Where the search for an enclosing op ends: at one, or at the end of the layer's call. */
static bool ends_search(const void *user, uint32_t event)
{
    const looking *looking = user;
    const pyro_joins *joins = looking->context->joins;
    return !is_of(joins, event, looking->call, looking->phase) ||
           joins->calls[looking->call].event == event ||
           is_op_or_builtin(looking->context->trace, event);
}

/* The op or built-in function that an event lies in directly, in the same call of its layer. */
static uint32_t holder_of(layer_times *times, uint32_t event, uint32_t call)
{
    const pyro_analysis_context *context = &times->maker->context;
    const pyro_joins *joins = context->joins;
    looking looking = {context, call, joins->phase[event]};
    uint32_t at = pyro_enclosing_find(&times->enclosing, joins, context->trace->count, event,
                                      ends_search, &looking);
    bool found = is_of(joins, at, call, looking.phase) && joins->calls[call].event != at;
    return found ? at : PYRO_NO_EVENT;
}

/* Own time of ops and built-in functions: time.sleep is not an op, but a layer may call it. */
static bool add_named(layer_times *times, uint32_t event, uint32_t call)
{
    const pyro_trace *trace = times->maker->context.trace;
    const pyro_joins *joins = times->maker->context.joins;
    size_t row = row_of_call(times, call, joins->phase[event] == PYRO_PHASE_BACKWARD);
    int64_t duration = own_ns(times, event);
    if (!cell_at(times, row, trace->start_ns[event]))
        return true;
    uint32_t holder = holder_of(times, event, call);
    return add_op_time(times, row, trace->name[event], duration, 0) &&
           (holder == PYRO_NO_EVENT || add_op_time(times, row, trace->name[holder], -duration, 0));
}

static bool is_inside(const layer_times *times, uint32_t event, uint8_t phase)
{
    uint32_t parent = times->maker->context.joins->parent[event];
    return parent != PYRO_NO_EVENT && times->maker->context.joins->phase[parent] == phase;
}

/* Calls that wait for a device and requests for collectives count for no layer. */
static bool add_waiting(layer_times *times, uint32_t event)
{
    const pyro_joins *joins = times->maker->context.joins;
    uint32_t call = joins->call[event];
    if (call != PYRO_NO_LAYER)
        add_host(times, row_of_call(times, call, joins->phase[event] == PYRO_PHASE_BACKWARD), event,
                 -own_ns(times, event));
    return know(times, event);
}

static bool add_loading(layer_times *times, uint32_t event)
{
    const pyro_trace *trace = times->maker->context.trace;
    int64_t *until = &times->loader_until_ns[trace->track[event]];
    if (trace->start_ns[event] < *until)
        return true;
    *until = pyro_event_end_ns(trace, event);
    add_host(times, pseudo_row(times, LOADING), event, own_ns(times, event));
    return know(times, event);
}

static bool is_communication(const layer_times *times, uint32_t event)
{
    const pyro_trace *trace = times->maker->context.trace;
    return trace->category[event] == PYRO_EVENT_OP &&
           pyro_is_communication(pyro_event_name(trace, event));
}

static bool add_host_event(layer_times *times, uint32_t event)
{
    pyro_analysis_context *context = &times->maker->context;
    const pyro_joins *joins = context->joins;
    const pyro_trace *trace = context->trace;
    uint8_t category = trace->category[event], phase = joins->phase[event];
    uint16_t traits = pyro_context_traits(context, event);
    uint32_t call = joins->call[event], parent = joins->parent[event];
    bool is_op = category == PYRO_EVENT_OP && !(traits & PYRO_TRAIT_STEP);
    if (traits & PYRO_TRAIT_LOADER)
        return add_loading(times, event);
    if (traits & PYRO_TRAIT_SYNC &&
        (category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER))
        return add_waiting(times, event);
    if (is_communication(times, event))
        return (parent != PYRO_NO_EVENT && is_communication(times, parent)) ||
               add_waiting(times, event);
    if (phase == PYRO_PHASE_OPTIMIZER && !is_inside(times, event, PYRO_PHASE_OPTIMIZER)) {
        add_host(times, pseudo_row(times, OPTIMIZER), event, own_ns(times, event));
        return know(times, event);
    }
    if (call == PYRO_NO_LAYER)
        return true;
    if (joins->calls[call].event == event)
        return add_call(times, event, call);
    bool is_builtin = category == PYRO_EVENT_PYTHON && pyro_event_name(trace, event)[0] == '<';
    if (!(is_op || is_builtin))
        return true;
    if (is_op && phase == PYRO_PHASE_BACKWARD && !add_backward(times, event, call))
        return false;
    return add_named(times, event, call);
}

/* What is left of a step on the host: nothing that a row has, and no waiting. */
static bool add_rest(layer_times *times)
{
    const pyro_analysis_context *context = &times->maker->context;
    const pyro_coverage *waiting = &times->maker->waiting;
    for (size_t i = 0; !times->maker->on_device && i < waiting->count; i++)
        if (!pyro_coverage_add(&times->known, waiting->items[i].start_ns, waiting->items[i].end_ns))
            return false;
    pyro_coverage_finish(&times->known);
    for (size_t i = 0; i < times->windows; i++) {
        const pyro_window *window = &context->windows[i];
        times->cells[i * times->rows + pseudo_row(times, OUTSIDE)].host_ns +=
            window->end_ns - window->start_ns -
            pyro_coverage_overlap(&times->known, window->start_ns, window->end_ns);
    }
    return true;
}

static bool gather(layer_times *times)
{
    const pyro_analysis_context *context = &times->maker->context;
    const pyro_trace *trace = context->trace;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = context->joins->by_time[i];
        uint8_t category = trace->category[event];
        bool ok = true;
        if (pyro_event_is_device_work(category))
            ok = add_device_work(times, event);
        else if (pyro_event_is_host(category))
            ok = add_host_event(times, event);
        if (!ok)
            return false;
    }
    return add_rest(times);
}

static int64_t not_negative(int64_t value)
{
    return value > 0 ? pyro_rank_clamp(value) : 0;
}

static int64_t larger(const pyro_rank_layer_op *op)
{
    return op->host_ns > op->device_ns ? op->host_ns : op->device_ns;
}

/* Keeps those with most time, equal ones in the order in which they first ran. */
static bool keep_op(layer_times *times, pyro_rank_layer *layer, const layer_op_time *from)
{
    const pyro_trace *trace = times->maker->context.trace;
    int64_t steps = (int64_t)times->windows;
    pyro_rank_layer_op op = {.host_ns = not_negative(from->host_ns / steps),
                             .device_ns = not_negative(from->device_ns / steps)};
    int at = PYRO_RANK_LAYER_OPS;
    while (at > 0 &&
           (layer->ops[at - 1].name == PYRO_NO_ID || larger(&layer->ops[at - 1]) < larger(&op)))
        at--;
    if (at == PYRO_RANK_LAYER_OPS || larger(&op) == 0)
        return true;
    op.name = pyro_rank_intern(times->maker->summary, pyro_trace_text(trace, from->name));
    memmove(&layer->ops[at + 1], &layer->ops[at],
            (size_t)(PYRO_RANK_LAYER_OPS - 1 - at) * sizeof *layer->ops);
    layer->ops[at] = op;
    return op.name != PYRO_NO_ID;
}

static bool name_row(const layer_times *times, size_t row, pyro_rank_layer *layer)
{
    const pyro_joins *joins = times->maker->context.joins;
    pyro_rank_summary *summary = times->maker->summary;
    size_t layers = (times->rows - PSEUDO_COUNT) / 2;
    bool is_layer = row < layers * 2;
    const char *path = is_layer ? joins->layers[row / 2].path : pseudo_names[row - layers * 2];
    const char *class_name = is_layer ? joins->layers[row / 2].class_name : "";
    layer->path = pyro_rank_intern(summary, path ? path : "");
    layer->class_name = pyro_rank_intern(summary, class_name ? class_name : "");
    layer->phase = row == pseudo_row(times, OPTIMIZER) ? PYRO_PHASE_OPTIMIZER
                   : !is_layer                         ? PYRO_PHASE_OTHER
                   : row % 2                           ? PYRO_PHASE_BACKWARD
                                                       : PYRO_PHASE_FORWARD;
    for (int i = 0; i < PYRO_RANK_LAYER_OPS; i++)
        layer->ops[i] = (pyro_rank_layer_op){.name = PYRO_NO_ID};
    return layer->path != PYRO_NO_ID && layer->class_name != PYRO_NO_ID;
}

/* Rows in their order, with the index of each row's layer in the part (or none). */
static bool publish_rows(layer_times *times, uint32_t *layer_of_row)
{
    pyro_rank_part *part = &times->maker->part;
    int64_t *values = pyro_arena_array(times->maker->context.scratch, times->windows * 2 + 1,
                                       sizeof *values);
    for (size_t row = 0; values && row < times->rows; row++) {
        pyro_rank_layer layer;
        for (size_t i = 0; i < times->windows; i++) {
            values[i] = times->cells[i * times->rows + row].host_ns;
            values[times->windows + i] = times->cells[i * times->rows + row].device_ns;
        }
        layer.host_ns = not_negative(pyro_quantile(values, times->windows, 1, 2));
        layer.device_ns = not_negative(
            pyro_quantile(values + times->windows, times->windows, 1, 2));
        layer_of_row[row] = PYRO_NO_EVENT;
        if (!layer.host_ns && !layer.device_ns)
            continue;
        if (part->layer_count >= PYRO_RANK_MOST_LAYERS)
            return true;
        if (!name_row(times, row, &layer) ||
            !pyro_grow(&part->layers, &part->layer_capacity, part->layer_count + 1,
                       sizeof *part->layers))
            return false;
        layer_of_row[row] = (uint32_t)part->layer_count;
        part->layers[part->layer_count++] = layer;
    }
    return values != NULL;
}

static bool publish(layer_times *times)
{
    uint32_t *layer_of_row = pyro_arena_array(times->maker->context.scratch, times->rows,
                                              sizeof *layer_of_row);
    if (!layer_of_row)
        return false;
    for (size_t row = 0; row < times->rows; row++)
        layer_of_row[row] = PYRO_NO_EVENT;
    if (!publish_rows(times, layer_of_row))
        return false;
    for (size_t i = 0; i < times->op_count; i++) {
        uint32_t layer = layer_of_row[times->ops[i].row];
        if (layer != PYRO_NO_EVENT &&
            !keep_op(times, &times->maker->part.layers[layer], &times->ops[i]))
            return false;
    }
    return true;
}

static bool prepare(layer_times *times)
{
    pyro_analysis_context *context = &times->maker->context;
    size_t tracks = context->trace->track_count;
    times->rows = context->joins->layer_count * 2 + PSEUDO_COUNT;
    times->windows = context->window_count;
    if (times->windows > MOST_CELLS / times->rows)
        times->windows = MOST_CELLS / times->rows ? MOST_CELLS / times->rows : 1;
    times->cells = pyro_arena_array(context->scratch, times->windows * times->rows,
                                    sizeof *times->cells);
    times->loader_until_ns = pyro_arena_array(context->scratch, tracks + 1, sizeof(int64_t));
    for (size_t i = 0; times->loader_until_ns && i < tracks; i++)
        times->loader_until_ns[i] = INT64_MIN;
    return times->cells && times->loader_until_ns;
}

int pyro_rank_make_layers(pyro_rank_maker *maker)
{
    layer_times times = {.maker = maker};
    bool ok = prepare(&times) && gather(&times) && publish(&times);
    pyro_coverage_free(&times.known);
    pyro_map_free(&times.by_op);
    pyro_enclosing_free(&times.enclosing);
    free(times.ops);
    return ok ? PYRO_OK : pyro_fail_memory(maker->context.error);
}
