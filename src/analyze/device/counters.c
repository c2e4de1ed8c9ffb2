/* Sums up the counters of the file (clock, power, SM activity): samples, lowest, mean, highest. */
#include "analyze/analyze.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct counters_state {
    pyro_counter_row *rows;
    size_t count, capacity;
} counters_state;

/* Samples are in file order; those of one series and process are put together. */
static int by_series(const void *left, const void *right)
{
    const pyro_counter_row *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    if (order == 0)
        order = strcmp(a->series, b->series);
    return order ? order : (a->process > b->process) - (a->process < b->process);
}

static bool is_same(const pyro_counter_row *a, const pyro_counter_row *b)
{
    return by_series(a, b) == 0;
}

/* Process -1 is one that has a text instead of a number. */
static int64_t process_of(const pyro_trace *trace, const pyro_counter_sample *sample)
{
    uint64_t pid = trace->tracks[sample->track].pid;
    return pid >> 63 ? -1 : (int64_t)pid;
}

static bool add_samples(counters_state *state, pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    for (size_t i = 0; i < trace->counter_count; i++) {
        const pyro_counter_sample *sample = &trace->counters[i];
        const char *name = pyro_trace_text(trace, sample->name);
        if (!pyro_context_in_step(context, sample->time_ns) || !pyro_context_shows(context, name))
            continue;
        if (!pyro_grow(&state->rows, &state->capacity, state->count + 1, sizeof *state->rows))
            return false;
        state->rows[state->count++] = (pyro_counter_row){
            .name = name,
            .series = pyro_trace_text(trace, sample->series),
            .process = process_of(trace, sample),
            .samples = 1,
            .min = sample->value,
            .mean = sample->value,
            .max = sample->value};
    }
    return true;
}

static void add_row(pyro_counter_row *row, const pyro_counter_row *more)
{
    row->samples++;
    row->mean += (more->mean - row->mean) / (double)row->samples;
    row->min = more->min < row->min ? more->min : row->min;
    row->max = more->max > row->max ? more->max : row->max;
}

static int finish_counters(void *data, pyro_analysis_context *context)
{
    counters_state *state = data;
    size_t kept = 0;
    if (!add_samples(state, context))
        return pyro_fail_memory(context->error);
    if (state->count)
        qsort(state->rows, state->count, sizeof *state->rows, by_series);
    for (size_t i = 0; i < state->count; i++) {
        if (kept && is_same(&state->rows[kept - 1], &state->rows[i]))
            add_row(&state->rows[kept - 1], &state->rows[i]);
        else
            state->rows[kept++] = state->rows[i];
    }
    pyro_counter_row *rows = pyro_arena_array(context->arena, kept + 1, sizeof *rows);
    if (!rows)
        return pyro_fail_memory(context->error);
    if (kept)
        memcpy(rows, state->rows, kept * sizeof *rows);
    context->result->counters = rows;
    context->result->counter_count = kept;
    return PYRO_OK;
}

static void clear_counters(void *data)
{
    free(((counters_state *)data)->rows);
}

const pyro_analyzer pyro_analyze_counters = {
    .name = "counters",
    .state_size = sizeof(counters_state),
    .finish = finish_counters,
    .clear = clear_counters,
};
