/* Makes the joins one after the other, and derives the bucket of each piece of device work. */
#include "trace/joins/internal.h"

#include "base/error.h"
#include "base/pages.h"
#include "base/parallel.h"
#include <stdlib.h>
#include <string.h>

const char *pyro_phase_name(pyro_phase phase)
{
    static const char *const names[PYRO_PHASE_COUNT] = {"other", "forward", "backward",
                                                        "optimizer"};
    return (unsigned)phase < PYRO_PHASE_COUNT ? names[phase] : "other";
}

/* One block for all columns, so that it can use large pages. */
static bool make_columns(pyro_joins *joins, size_t count)
{
    uint32_t **columns[] = {&joins->by_time, &joins->parent, &joins->launch, &joins->op,
                            &joins->call};
    size_t wide = sizeof columns / sizeof *columns, room = count ? count : 1;
    uint32_t *block = joins->columns = pyro_alloc_pages(room * (wide * sizeof *block + 2));
    for (size_t i = 0; block && i < wide; i++)
        *columns[i] = block + i * room;
    if (block) {
        joins->phase = (uint8_t *)(block + wide * room);
        joins->bucket = joins->phase + room;
    }
    return block != NULL;
}

/* All ones is "none" in each wide column; several threads share the page faults of fresh memory. */
static void clear_columns(void *data, unsigned part)
{
    const pyro_join_state *state = data;
    const pyro_joins *joins = state->joins;
    uint32_t *columns[] = {joins->parent, joins->launch, joins->op, joins->call};
    size_t begin = pyro_part_begin(state->trace->count, part, state->parts);
    size_t end = pyro_part_begin(state->trace->count, part + 1, state->parts);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        memset(columns[i] + begin, 0xff, (end - begin) * sizeof **columns);
    memset(joins->phase + begin, 0, end - begin);
    memset(joins->bucket + begin, 0, end - begin);
}

static bool is_collective(pyro_join_state *state, uint32_t event)
{
    const pyro_trace *trace = state->trace;
    uint32_t name = trace->name[event], detail = trace->detail[event];
    if (detail < trace->kernel_count && trace->kernels[detail].collective != PYRO_NO_ID)
        return true;
    if (name >= trace->names.count)
        return false;
    if (state->collective_name[name] == 0)
        state->collective_name[name] =
            pyro_is_collective_kernel(pyro_intern_text(&trace->names, name)) ? 2 : 1;
    return state->collective_name[name] == 2;
}

static void mark_collectives(pyro_join_state *state)
{
    const pyro_trace *trace = state->trace;
    for (size_t event = pyro_trace_next(trace, 0, PYRO_EVENT_KERNEL); event < trace->count;
         event = pyro_trace_next(trace, event + 1, PYRO_EVENT_KERNEL))
        if (is_collective(state, (uint32_t)event))
            state->joins->bucket[event] = PYRO_BUCKET_COLLECTIVE;
}

static pyro_bucket bucket_of(const pyro_joins *joins, uint32_t event)
{
    if (joins->bucket[event] == PYRO_BUCKET_COLLECTIVE)
        return PYRO_BUCKET_COLLECTIVE;
    if (joins->launch[event] == PYRO_NO_EVENT)
        return PYRO_BUCKET_NO_LAUNCH;
    if (joins->call[event] != PYRO_NO_LAYER)
        return PYRO_BUCKET_LAYER;
    return joins->phase[event] == PYRO_PHASE_OPTIMIZER ? PYRO_BUCKET_OPTIMIZER
                                                       : PYRO_BUCKET_OUTSIDE_LAYER;
}

/* The host event that device work belongs to: its launch, or where a graph was captured. */
static uint32_t owner_of(const pyro_trace *trace, const pyro_joins *joins, size_t event)
{
    uint32_t origin = trace->origins.count ? pyro_map_get(&trace->origins, event) : PYRO_MAP_NONE;
    return origin != PYRO_MAP_NONE ? origin : joins->launch[event];
}

/* Device work, and waits on the device. */
static size_t next_on_device(const pyro_trace *trace, size_t from)
{
    return pyro_trace_next_of(trace, from, PYRO_EVENT_KERNEL, PYRO_EVENT_SYNC);
}

/* Copies call, op and phase of that event to the device work. */
static void join_device_work(void *data, unsigned part)
{
    const pyro_join_state *state = data;
    const pyro_trace *trace = state->trace;
    pyro_joins *joins = state->joins;
    size_t end = pyro_part_begin(trace->count, part + 1, state->parts);
    for (size_t i = next_on_device(trace, pyro_part_begin(trace->count, part, state->parts));
         i < end; i = next_on_device(trace, i + 1)) {
        uint32_t owner = owner_of(trace, joins, i);
        if (owner != PYRO_NO_EVENT) {
            joins->op[i] = joins->op[owner];
            joins->call[i] = joins->call[owner];
            joins->phase[i] = joins->phase[owner];
        }
        if (trace->category[i] != PYRO_EVENT_SYNC)
            joins->bucket[i] = (uint8_t)bucket_of(joins, (uint32_t)i);
    }
}

/* Two independent parts: nesting with what it needs, and the rest. */
typedef struct join_parts {
    pyro_join_state *state, launch_state; /* one per part, which writes into its own */
    pyro_error launch_error;
    int launch_status, nest_status;
} join_parts;

static int nest_all(pyro_join_state *state)
{
    int status = pyro_layers_begin(state);
    if (!status)
        status = pyro_backward_learn(state);
    return status ? status : pyro_join_nest(state);
}

static void join_part(void *data, unsigned part)
{
    join_parts *both = data;
    if (part == 0) {
        both->nest_status = nest_all(both->state);
        return;
    }
    both->launch_status = pyro_join_launches(&both->launch_state);
    mark_collectives(&both->launch_state);
    if (!both->launch_status)
        both->launch_status = pyro_join_steps(&both->launch_state);
    if (both->launch_state.beside)
        both->launch_state.beside(both->launch_state.beside_data, 0);
}

static int join_all(pyro_join_state *state)
{
    join_parts both = {.state = state, .launch_state = *state};
    pyro_error_clear(&both.launch_error);
    both.launch_state.error = &both.launch_error;
    both.launch_state.name_class = state->name_class + state->trace->names.count + 1;
    int status = pyro_join_order(state);
    pyro_run_parts(clear_columns, state, state->parts);
    if (status)
        return status;
    if (state->parts > 1) {
        pyro_run_parts(join_part, &both, 2);
    } else {
        join_part(&both, 1);
        join_part(&both, 0);
    }
    if (both.launch_status && !both.nest_status && state->error)
        *state->error = both.launch_error;
    if (both.nest_status || both.launch_status)
        return both.nest_status ? both.nest_status : both.launch_status;
    pyro_run_parts(join_device_work, state, state->parts);
    status = pyro_join_compiled_begin(state);
    if (status == PYRO_OK)
        status = pyro_join_graphs(state);
    pyro_join_compiled_end(state);
    if (status == PYRO_OK)
        status = pyro_layers_finish(state);
    return status ? status : pyro_infer_steps(state);
}

static int make(const pyro_join_state *given, size_t events_per_thread)
{
    pyro_join_state state = *given;
    pyro_joins *joins = state.joins;
    pyro_trace *trace = state.trace;
    pyro_error *error = state.error;
    int status;
    state.last_ddp_call = PYRO_NO_LAYER;
    *joins = (pyro_joins){0};
    pyro_arena_init(&joins->arena);
    pyro_intern_init(&state.layer_names, &joins->arena);
    pyro_intern_init(&joins->source_lines, &joins->arena);
    if (trace->count >= PYRO_NO_EVENT)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "the trace has more than %u events",
                         PYRO_NO_EVENT - 1);
    state.parts = pyro_count_parts(state.options ? state.options->threads : 1, trace->count,
                                   events_per_thread);
    state.name_class = calloc(2 * (trace->names.count + 1), sizeof *state.name_class);
    state.collective_name = calloc(trace->names.count + 1, sizeof *state.collective_name);
    state.tracks = calloc(trace->track_count + 1, sizeof *state.tracks);
    if (!state.name_class || !state.collective_name || !state.tracks ||
        !make_columns(joins, trace->count))
        status = pyro_fail_memory(error);
    else
        status = join_all(&state);
    free(state.name_class);
    free(state.collective_name);
    free(state.tracks);
    pyro_backward_free(&state.backward);
    pyro_intern_free(&state.layer_names);
    pyro_map_free(&state.layer_of_name);
    if (status)
        pyro_joins_free(joins);
    return status;
}

int pyro_joins_make_sized(pyro_joins *joins, pyro_trace *trace,
                          const pyro_analysis_options *options, size_t events_per_thread,
                          pyro_error *error)
{
    pyro_join_state state = {.joins = joins, .trace = trace, .options = options, .error = error};
    return make(&state, events_per_thread);
}

int pyro_joins_make_beside(pyro_joins *joins, pyro_trace *trace,
                           const pyro_analysis_options *options, pyro_part_fn *beside, void *data,
                           pyro_error *error)
{
    pyro_join_state state = {.joins = joins,
                             .trace = trace,
                             .options = options,
                             .error = error,
                             .beside = beside,
                             .beside_data = data};
    return make(&state, PYRO_EVENTS_PER_THREAD);
}

int pyro_joins_make(pyro_joins *joins, pyro_trace *trace, const pyro_analysis_options *options,
                    pyro_error *error)
{
    return pyro_joins_make_sized(joins, trace, options, PYRO_EVENTS_PER_THREAD, error);
}

void pyro_joins_free(pyro_joins *joins)
{
    pyro_arena_free(&joins->arena);
    free(joins->columns);
    free(joins->layers);
    free(joins->calls);
    free(joins->steps);
    free(joins->serving);
    free(joins->shares);
    pyro_map_free(&joins->share_of);
    pyro_map_free(&joins->source_of);
    pyro_intern_free(&joins->source_lines);
    *joins = (pyro_joins){0};
}
