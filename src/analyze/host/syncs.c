/*
 * Analyses synchronisations: calls in which the host waits for a device, by call, op, layer and
 * Python line. Finds item() by the call inside it, or by the op itself in traces without such
 * calls.
 */
#include "analyze/analyze.h"
#include "analyze/intervals.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct syncs_state {
    bool count_items;
    pyro_map by_key;
    pyro_sync_row *rows;
    size_t count, capacity;
} syncs_state;

static int init_syncs(void *data, pyro_analysis_context *context)
{
    syncs_state *state = data;
    const size_t *count = context->category_count;
    bool has_calls = count[PYRO_EVENT_RUNTIME] || count[PYRO_EVENT_DRIVER];
    state->count_items = !has_calls && count[PYRO_EVENT_KERNEL];
    return PYRO_OK;
}

static bool is_sync(const syncs_state *state, pyro_analysis_context *context, uint32_t event)
{
    uint16_t traits = pyro_context_traits(context, event);
    if (context->trace->category[event] != PYRO_EVENT_OP)
        return traits & PYRO_TRAIT_SYNC;
    if (!state->count_items || !(traits & PYRO_TRAIT_ITEM))
        return false;
    /* item() calls _local_scalar_dense: the outer one is counted */
    uint32_t parent = context->joins->parent[event];
    return parent == PYRO_NO_EVENT || !(pyro_context_traits(context, parent) & PYRO_TRAIT_ITEM);
}

static uint64_t mix(uint64_t hash, const void *value)
{
    hash = (hash ^ (uint64_t)(uintptr_t)value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static bool is_row_of(const pyro_sync_row *row, const pyro_sync_row *wanted)
{
    return row->call == wanted->call && row->op == wanted->op && row->layer == wanted->layer &&
           row->line == wanted->line;
}

/* Texts are interned, so that equal ones have equal addresses. */
static pyro_sync_row *find_row(syncs_state *state, const pyro_sync_row *wanted)
{
    uint64_t key = mix(mix(mix(mix(0, wanted->call), wanted->op), wanted->layer), wanted->line);
    uint32_t index;
    while ((index = pyro_map_get(&state->by_key, key)) != PYRO_MAP_NONE) {
        if (is_row_of(&state->rows[index], wanted))
            return &state->rows[index];
        key++;
    }
    if (!pyro_grow(&state->rows, &state->capacity, state->count + 1, sizeof *state->rows))
        return NULL;
    if (!pyro_map_put(&state->by_key, key, (uint32_t)state->count))
        return NULL;
    state->rows[state->count] = *wanted;
    return &state->rows[state->count++];
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    syncs_state *state = data;
    if (!is_sync(state, context, event))
        return PYRO_OK;
    const char *call = pyro_event_name(context->trace, event);
    pyro_sync_row wanted = {.call = call,
                            .op = pyro_context_op(context, event),
                            .layer = pyro_context_layer(context, event),
                            .line = pyro_context_line(context, event)};
    pyro_sync_row *row = wanted.line ? find_row(state, &wanted) : NULL;
    if (!row)
        return pyro_fail_memory(context->error);
    row->calls++;
    row->total_ns = pyro_add_ns(row->total_ns, context->trace->duration_ns[event]);
    return PYRO_OK;
}

static int compare_rows(const void *a, const void *b)
{
    const pyro_sync_row *left = a, *right = b;
    if (left->total_ns != right->total_ns)
        return left->total_ns < right->total_ns ? 1 : -1;
    int order = strcmp(left->call, right->call);
    if (!order)
        order = strcmp(left->op, right->op);
    if (!order)
        order = strcmp(left->layer, right->layer);
    return order ? order : strcmp(left->line, right->line);
}

static int finish_syncs(void *data, pyro_analysis_context *context)
{
    syncs_state *state = data;
    size_t shown = 0;
    pyro_sync_row *rows = pyro_arena_array(context->arena, state->count, sizeof *rows);
    if (!rows)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < state->count; i++) {
        const pyro_sync_row *row = &state->rows[i];
        if (pyro_context_shows(context, row->call) || pyro_context_shows(context, row->op) ||
            pyro_context_shows(context, row->layer))
            rows[shown++] = *row;
    }
    qsort(rows, shown, sizeof *rows, compare_rows);
    context->result->syncs = rows;
    context->result->sync_count = shown;
    return PYRO_OK;
}

static void clear_syncs(void *data)
{
    syncs_state *state = data;
    pyro_map_free(&state->by_key);
    free(state->rows);
}

const pyro_analyzer pyro_analyze_syncs = {
    .name = "syncs",
    .state_size = sizeof(syncs_state),
    .init = init_syncs,
    .event = add_event,
    .finish = finish_syncs,
    .clear = clear_syncs,
    .categories = PYRO_NO_CATEGORIES,
    .categories_by_trait = 1u << PYRO_EVENT_RUNTIME | 1u << PYRO_EVENT_DRIVER | 1u << PYRO_EVENT_OP,
    .traits = PYRO_TRAIT_SYNC | PYRO_TRAIT_ITEM,
};
