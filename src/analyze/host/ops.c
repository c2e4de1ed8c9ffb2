/*
 * Analyses ops by name, and by name and shapes: calls, host and device time, FLOPs, bytes. Times
 * are defined as in torch's key_averages: own host time excludes nested ops, annotations and
 * runtime calls, and an op that only calls another op of the same name counts as one call with it.
 * Unlike there, an op inside another op of the same name does not add to the total again. FLOPs and
 * bytes are those of the op itself, without what ops inside it do (own_work.h).
 */
#include "analyze/analyze.h"
#include "analyze/enclosing.h"
#include "analyze/host/own_work.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/dtype.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deeper nests of ops than this are not followed to their outermost. */
enum { DEEPEST_NEST = 1000, CANCELLED = UINT32_MAX - 1 };

/* What calls of all shapes add to alike stands in rows by shapes only, until sum_names(). */
typedef struct op_row {
    uint32_t name, dims;
    uint32_t by_name; /* of a row by shapes: its row by name */
    uint32_t stamp;   /* the device event that was last added to its total, plus 1 */
    int64_t calls, host_total_ns, host_self_ns, device_total_ns, device_self_ns;
    int64_t flops, bytes;
    int64_t host_work_ns, device_work_ns; /* without ops inside that have FLOPs or bytes */
    double peak_s;         /* that its FLOPs take at the peaks of their types, as measured */
    double least_s;        /* the same by the data sheet */
    int64_t known_ns, least_ns; /* time of its known work, and what the chip needs of it */
    int64_t unknown_flops; /* of types without a known peak */
    uint64_t dtypes; /* bits (1 << pyro_dtype) of first tensors */
    int64_t host_by_phase[PYRO_PHASE_COUNT], device_by_phase[PYRO_PHASE_COUNT];
    bool is_replayed; /* its work counts once, but replays of a graph repeated it: no rates */
} op_row;

typedef struct op_table {
    op_row *rows;
    size_t count, capacity;
    pyro_map by_key;
} op_table;

typedef struct ops_state {
    op_table names, shapes;
    uint32_t *row_of_kind; /* of ops: its row by shapes plus 1, 0 until it is known */
    uint8_t *has_child; /* bit by event: something was seen inside of it */
    uint8_t *has_only_child; /* bit by event: it is in `only_child` */
    pyro_enclosing holders;
    pyro_own_work own_work;
    pyro_map only_child; /* op -> the op of its name that was the first inside of it */
} ops_state;

static uint32_t find_row(op_table *table, uint32_t name, uint32_t dims)
{
    uint64_t key = (uint64_t)name << 32 | dims;
    uint32_t index = pyro_map_get(&table->by_key, key);
    if (index != PYRO_MAP_NONE)
        return index;
    if (!pyro_grow(&table->rows, &table->capacity, table->count + 1, sizeof *table->rows) ||
        !pyro_map_put(&table->by_key, key, (uint32_t)table->count))
        return PYRO_MAP_NONE;
    table->rows[table->count] = (op_row){.name = name, .dims = dims, .flops = -1, .bytes = -1};
    return (uint32_t)table->count++;
}

static uint32_t dims_of(const pyro_trace *trace, uint32_t event)
{
    uint32_t detail = trace->detail[event];
    return detail == PYRO_NO_ID ? PYRO_NO_ID : trace->ops[detail].dims;
}

/* The row by shapes of an op, created with its row by name if missing, plus 1; 0 when memory is
 * out. */
static uint32_t find_row_of_op(ops_state *state, const pyro_trace *trace, uint32_t event)
{
    size_t known = state->shapes.count;
    uint32_t shape = find_row(&state->shapes, trace->name[event], dims_of(trace, event));
    if (shape == PYRO_MAP_NONE)
        return 0;
    if (state->shapes.count > known) {
        uint32_t name = find_row(&state->names, trace->name[event], 0);
        if (name == PYRO_MAP_NONE)
            return 0;
        state->shapes.rows[shape].by_name = name;
    }
    return shape + 1;
}

/* The rows of an op: by shapes first, then by name. False when memory is out. Ops of a kind share
 * them, so that they are known for nearly all. */
static inline bool find_rows(ops_state *state, const pyro_analysis_context *context, uint32_t event,
                             op_row *rows[2])
{
    const pyro_trace *trace = context->trace;
    uint32_t detail = trace->detail[event], shape = 0, *row_of_kind = NULL;
    if (detail != PYRO_NO_ID) {
        row_of_kind = &state->row_of_kind[context->kind_of_op[detail] & ~PYRO_KIND_INSIDE];
        shape = *row_of_kind;
    }
    if (!shape) {
        shape = find_row_of_op(state, trace, event);
        if (!shape)
            return false;
        if (row_of_kind)
            *row_of_kind = shape;
    }
    rows[0] = &state->shapes.rows[shape - 1];
    rows[1] = &state->names.rows[rows[0]->by_name];
    return true;
}

static uint32_t op_around(const pyro_joins *joins, uint32_t event)
{
    uint32_t parent = joins->parent[event];
    return parent == PYRO_NO_EVENT ? PYRO_NO_EVENT : joins->op[parent];
}

/* Whether an op of the same name (*name), and of the same shapes too (*shapes), is around. */
static void find_same_around(const pyro_analysis_context *context, uint32_t event, bool *name,
                             bool *shapes)
{
    const pyro_trace *trace = context->trace;
    uint32_t outer = op_around(context->joins, event);
    *name = *shapes = false;
    for (uint32_t i = 0; i < DEEPEST_NEST && outer != PYRO_NO_EVENT && !*shapes; i++) {
        if (trace->name[outer] == trace->name[event] && pyro_context_wants(context, outer)) {
            *name = true;
            *shapes = dims_of(trace, outer) == dims_of(trace, event);
        }
        outer = op_around(context->joins, outer);
    }
}

static void add_price(int64_t *sum, int64_t price)
{
    int64_t grown;
    if (price >= 0 && !__builtin_add_overflow(*sum < 0 ? 0 : *sum, price, &grown))
        *sum = grown;
}

static bool is_on_host(const pyro_analysis_context *context)
{
    return !pyro_context_on_device(context);
}

/* Adds the time of FLOPs at the peak; what is moved from an op is negative there. */
static void add_peak_time(const pyro_analysis_context *context, op_row *rows[2], uint32_t event,
                          int64_t flops)
{
    uint32_t detail = context->trace->detail[event];
    uint8_t dtype = detail == PYRO_NO_ID ? (uint8_t)PYRO_DTYPE_UNKNOWN
                                         : pyro_context_op_kind(context, detail)->dtype;
    double peak = pyro_context_reach(context, !is_on_host(context), dtype);
    double highest = pyro_context_peak(context, !is_on_host(context), dtype);
    for (int i = 0; i < 2; i++) {
        rows[i]->peak_s += peak > 0 ? (double)flops / peak : 0;
        rows[i]->least_s += highest > 0 ? (double)flops / highest : 0;
        rows[i]->unknown_flops += peak > 0 ? 0 : flops;
    }
}

/* Moves FLOPs, bytes and host time from the op that gave them. */
static int add_work(ops_state *state, pyro_analysis_context *context, uint32_t event,
                    op_row *rows[2])
{
    const pyro_trace *trace = context->trace;
    pyro_taken_work taken;
    op_row *donors[2];
    if (!pyro_own_work_take(&state->own_work, context, event, &taken))
        return pyro_fail_memory(context->error);
    for (int i = 0; i < 2; i++) {
        add_price(&rows[i]->flops, taken.flops);
        add_price(&rows[i]->bytes, taken.bytes);
    }
    rows[0]->host_work_ns += taken.flops >= 0 ? trace->duration_ns[event] : 0;
    if (taken.flops > 0)
        add_peak_time(context, rows, taken.donor == PYRO_NO_EVENT ? event : taken.donor,
                      taken.flops);
    if (taken.donor == PYRO_NO_EVENT)
        return PYRO_OK;
    if (!find_rows(state, context, taken.donor, donors))
        return pyro_fail_memory(context->error);
    if (taken.flops > 0)
        add_peak_time(context, donors, taken.donor, -taken.flops);
    for (int i = 0; i < 2; i++) {
        donors[i]->flops -= taken.flops > 0 ? taken.flops : 0;
        donors[i]->bytes -= taken.bytes > 0 ? taken.bytes : 0;
    }
    donors[0]->host_work_ns -= trace->duration_ns[event];
    return PYRO_OK;
}

static void add_dtype(const pyro_analysis_context *context, uint32_t detail, op_row *row)
{
    uint8_t dtype = detail == PYRO_NO_ID ? (uint8_t)PYRO_DTYPE_UNKNOWN
                                         : pyro_context_op_kind(context, detail)->dtype;
    if (dtype != PYRO_DTYPE_UNKNOWN)
        row->dtypes |= UINT64_C(1) << dtype;
}

static int add_op(ops_state *state, pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    op_row *rows[2];
    bool is_inside[2];
    if (!find_rows(state, context, event, rows))
        return pyro_fail_memory(context->error);
    find_same_around(context, event, &is_inside[1], &is_inside[0]);
    int64_t duration = trace->duration_ns[event];
    rows[0]->calls++;
    rows[0]->host_self_ns += duration;
    rows[0]->host_by_phase[context->joins->phase[event]] += duration;
    for (int i = 0; i < 2; i++)
        if (!is_inside[i])
            rows[i]->host_total_ns += duration;
    add_dtype(context, trace->detail[event], rows[0]);
    return add_work(state, context, event, rows);
}

/* An op or annotation may hold others, whatever Python runs between. */
static bool is_holder(const void *trace, uint32_t event)
{
    uint8_t category = ((const pyro_trace *)trace)->category[event];
    return category == PYRO_EVENT_OP || category == PYRO_EVENT_ANNOTATION;
}

/* Subtracts the time of nested events from the own time of an op. */
static int take_from_holder(ops_state *state, pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    uint32_t holder = pyro_enclosing_find(&state->holders, context->joins, trace->count, event,
                                          is_holder, trace);
    op_row *rows[2];
    if (holder == PYRO_NO_EVENT || trace->category[holder] != PYRO_EVENT_OP ||
        !pyro_context_wants(context, holder))
        return PYRO_OK;
    if (!find_rows(state, context, holder, rows))
        return pyro_fail_memory(context->error);
    rows[0]->host_self_ns -= trace->duration_ns[event];
    rows[0]->host_by_phase[context->joins->phase[holder]] -= trace->duration_ns[event];
    uint8_t bit = (uint8_t)(1 << (holder & 7)), *seen = &state->has_child[holder >> 3];
    uint8_t *only = &state->has_only_child[holder >> 3];
    bool is_first = !(*seen & bit);
    *seen |= bit;
    if (is_first && trace->category[event] == PYRO_EVENT_OP &&
        trace->name[event] == trace->name[holder]) {
        *only |= bit;
        if (!pyro_map_put(&state->only_child, holder, event))
            return pyro_fail_memory(context->error);
    } else if (!is_first && *only & bit) {
        *only &= (uint8_t)~bit;
        pyro_map_put(&state->only_child, holder, CANCELLED);
    }
    return PYRO_OK;
}

/* Device work counts for the innermost op that launched it, and in the totals of all outer ops. */
static int add_device_work(ops_state *state, pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    int64_t duration = trace->duration_ns[event];
    uint32_t op = context->joins->op[event], stamp = event + 1;
    uint32_t worker = pyro_op_with_work(context, op);
    bool is_replayed = trace->origins.count &&
                       pyro_map_get(&trace->origins, event) != PYRO_MAP_NONE;
    for (uint32_t depth = 0; depth < DEEPEST_NEST && op != PYRO_NO_EVENT; depth++) {
        op_row *rows[2];
        if (!find_rows(state, context, op, rows))
            return pyro_fail_memory(context->error);
        if (depth == 0) {
            rows[0]->device_self_ns += duration;
            rows[0]->device_by_phase[context->joins->phase[event]] += duration;
        }
        if (op == worker) {
            rows[0]->device_work_ns += duration;
            rows[0]->is_replayed |= is_replayed;
        }
        for (int i = 0; i < 2; i++) {
            if (rows[i]->stamp != stamp)
                rows[i]->device_total_ns += duration;
            rows[i]->stamp = stamp;
        }
        op = op_around(context->joins, op);
    }
    return PYRO_OK;
}

static int init_ops(void *data, pyro_analysis_context *context)
{
    ops_state *state = data;
    state->has_child = pyro_arena_alloc(context->scratch, context->trace->count / 8 + 1);
    state->has_only_child = pyro_arena_alloc(context->scratch, context->trace->count / 8 + 1);
    state->row_of_kind = pyro_arena_array(context->scratch, context->op_kind_count,
                                          sizeof *state->row_of_kind);
    return state->has_child && state->has_only_child && state->row_of_kind
               ? PYRO_OK
               : pyro_fail_memory(context->error);
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    uint8_t category = context->trace->category[event];
    if (pyro_event_is_device_work(category))
        return add_device_work(data, context, event);
    int status = category == PYRO_EVENT_OP ? add_op(data, context, event) : PYRO_OK;
    return status == PYRO_OK ? take_from_holder(data, context, event) : status;
}

static int merge_only_children(ops_state *state, pyro_analysis_context *context)
{
    for (size_t i = 0; i < state->only_child.capacity; i++) {
        uint32_t event = state->only_child.slots[i].value;
        op_row *rows[2];
        if (event == PYRO_MAP_NONE || event == CANCELLED)
            continue;
        if (!find_rows(state, context, event, rows))
            return pyro_fail_memory(context->error);
        rows[0]->calls--;
    }
    return PYRO_OK;
}

/* Adds up the rows by name, as far as calls of all shapes count alike. */
static void sum_names(ops_state *state)
{
    for (size_t i = 0; i < state->shapes.count; i++) {
        const op_row *row = &state->shapes.rows[i];
        op_row *name = &state->names.rows[row->by_name];
        name->calls += row->calls;
        name->host_self_ns += row->host_self_ns;
        name->device_self_ns += row->device_self_ns;
        name->host_work_ns += row->host_work_ns;
        name->device_work_ns += row->device_work_ns;
        name->dtypes |= row->dtypes;
        name->is_replayed |= row->is_replayed;
        for (int phase = 0; phase < PYRO_PHASE_COUNT; phase++) {
            name->host_by_phase[phase] += row->host_by_phase[phase];
            name->device_by_phase[phase] += row->device_by_phase[phase];
        }
    }
}

/* What the chip needs of the time of each op's work: calls with equal shapes need the same. */
static void find_least(ops_state *state, pyro_analysis_context *context)
{
    pyro_least_time *all = &context->result->least_time;
    bool on_device = pyro_context_on_device(context);
    double bandwidth = pyro_context_bandwidth(context, on_device);
    for (size_t i = 0; i < state->shapes.count; i++) {
        op_row *row = &state->shapes.rows[i], *name = &state->names.rows[row->by_name];
        int64_t work_ns = on_device ? row->device_work_ns : row->host_work_ns;
        double memory_s = bandwidth > 0 && row->bytes > 0 ? (double)row->bytes / bandwidth : 0;
        double least_ns = 1e9 * (row->least_s > memory_s ? row->least_s : memory_s);
        if (work_ns <= 0 || least_ns <= 0 || row->is_replayed)
            continue;
        row->known_ns = work_ns;
        row->least_ns = least_ns < (double)work_ns ? (int64_t)least_ns : work_ns;
        name->known_ns += row->known_ns;
        name->least_ns += row->least_ns;
        all->known_ns += row->known_ns;
        all->least_ns += row->least_ns;
    }
    all->lost_ns = all->known_ns - all->least_ns;
}

static pyro_phase main_phase(const op_row *row)
{
    const int64_t *by_phase = row->device_self_ns > 0 ? row->device_by_phase : row->host_by_phase;
    pyro_phase best = PYRO_PHASE_OTHER;
    for (int p = 0; p < PYRO_PHASE_COUNT; p++)
        if (by_phase[p] > by_phase[best])
            best = (pyro_phase)p;
    return best;
}

static int compare_rows(const void *a, const void *b)
{
    const pyro_op_row *left = a, *right = b;
    if (left->device_self_ns != right->device_self_ns)
        return left->device_self_ns < right->device_self_ns ? 1 : -1;
    if (left->host_self_ns != right->host_self_ns)
        return left->host_self_ns < right->host_self_ns ? 1 : -1;
    int order = strcmp(left->name, right->name);
    return order ? order : strcmp(left->shapes, right->shapes);
}

/* FLOPs and bytes over the time of the work that they count, and their shares of the peaks; -1
 * unknown. */
static void set_rates(const pyro_analysis_context *context, const op_row *row, pyro_op_row *out)
{
    bool on_host = is_on_host(context);
    int64_t work_ns = on_host ? row->host_work_ns : row->device_work_ns;
    double seconds = (double)work_ns / 1e9, reach = pyro_context_bytes_reach(context, !on_host);
    out->flops_per_s = out->peak_share = out->bytes_per_s = out->bandwidth_share = -1;
    if (work_ns <= 0 || row->is_replayed)
        return;
    if (row->flops > 0) {
        out->flops_per_s = (double)row->flops / seconds;
        out->peak_share = row->unknown_flops == 0 && row->peak_s > 0 ? row->peak_s / seconds : -1;
    }
    if (row->bytes > 0) {
        out->bytes_per_s = (double)row->bytes / seconds;
        out->bandwidth_share = reach > 0 ? out->bytes_per_s / reach : -1;
    }
}

/* "float32, int64"; NULL when memory is out. */
static const char *list_dtypes(pyro_analysis_context *context, uint64_t dtypes)
{
    char text[256];
    size_t length = 0;
    for (int d = 0; d < PYRO_DTYPE_COUNT; d++)
        if (dtypes >> d & 1 && length < sizeof text)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
                                       length ? ", " : "", pyro_dtype_name((pyro_dtype)d));
    if (!length)
        return "";
    uint32_t id = pyro_intern_add(context->texts, text, strlen(text));
    return id == PYRO_INTERN_NONE ? NULL : pyro_intern_text(context->texts, id);
}

static int publish(pyro_analysis_context *context, const op_table *table, bool with_shapes,
                   const pyro_op_row **out, size_t *out_count)
{
    pyro_op_row *rows = pyro_arena_array(context->arena, table->count, sizeof *rows);
    size_t count = 0;
    if (!rows)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < table->count; i++) {
        const op_row *row = &table->rows[i];
        const char *name = pyro_trace_text(context->trace, row->name);
        if (!pyro_context_shows(context, name))
            continue;
        const char *dtype = list_dtypes(context, row->dtypes);
        if (!dtype)
            return pyro_fail_memory(context->error);
        const char *shapes = with_shapes ? pyro_trace_text(context->trace, row->dims) : "";
        rows[count] = (pyro_op_row){.name = name,
                                    .shapes = shapes,
                                    .calls = row->calls,
                                    .host_total_ns = row->host_total_ns,
                                    .host_self_ns = row->host_self_ns > 0 ? row->host_self_ns : 0,
                                    .device_total_ns = row->device_total_ns,
                                    .device_self_ns = row->device_self_ns,
                                    .flops = row->flops,
                                    .bytes = row->bytes,
                                    .dtype = dtype,
                                    .phase = main_phase(row),
                                    .least_ns = row->known_ns > 0 ? row->least_ns : -1,
                                    .lost_ns = row->known_ns > 0 ? row->known_ns - row->least_ns
                                                                 : -1};
        set_rates(context, row, &rows[count++]);
    }
    if (count)
        qsort(rows, count, sizeof *rows, compare_rows);
    *out = rows;
    *out_count = count;
    return PYRO_OK;
}

static int finish_ops(void *data, pyro_analysis_context *context)
{
    ops_state *state = data;
    pyro_analysis *result = context->result;
    int status = merge_only_children(state, context);
    sum_names(state);
    find_least(state, context);
    if (status == PYRO_OK)
        status = publish(context, &state->names, false, &result->ops, &result->op_count);
    if (status == PYRO_OK)
        status = publish(context, &state->shapes, true, &result->ops_by_shape,
                         &result->op_by_shape_count);
    return status;
}

static void clear_ops(void *data)
{
    ops_state *state = data;
    free(state->names.rows);
    free(state->shapes.rows);
    pyro_map_free(&state->names.by_key);
    pyro_map_free(&state->shapes.by_key);
    pyro_map_free(&state->only_child);
    pyro_enclosing_free(&state->holders);
    pyro_own_work_free(&state->own_work);
}

const pyro_analyzer pyro_analyze_ops = {
    .name = "ops",
    .state_size = sizeof(ops_state),
    .init = init_ops,
    .event = add_event,
    .finish = finish_ops,
    .clear = clear_ops,
    .categories = 1u << PYRO_EVENT_OP | 1u << PYRO_EVENT_ANNOTATION | 1u << PYRO_EVENT_RUNTIME |
                  1u << PYRO_EVENT_DRIVER | 1u << PYRO_EVENT_KERNEL | 1u << PYRO_EVENT_MEMCPY |
                  1u << PYRO_EVENT_MEMSET,
};
