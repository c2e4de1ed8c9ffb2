/*
 * Adds up lost time by cause and place. While events pass, places are numbers (names, layers);
 * their texts are found once per place, and places with the same texts become one row.
 */
#include "analyze/device/cause_places.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* More rows than a person reads; the rest is one row per cause, phase and call. Several places can
 * have the same texts, so that more of them get texts. */
#define MOST_PLACES 1000
#define MOST_DESCRIBED (4 * MOST_PLACES)

enum { LEAST_SLOTS = 1024 };

/* The slot of a place, or the free one for it. */
static inline uint32_t *find_slot(const pyro_cause_places *places, const pyro_place_key *wanted)
{
    uint64_t hash = wanted->place * 0x9E3779B97F4A7C15u;
    hash ^= wanted->how >> 16 ^ wanted->how;
    /* Names and layers are often numbered alike: a second round separates them. */
    hash = (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
    size_t last = places->slot_count - 1, at = (size_t)(hash >> 32) & last;
    while (places->slots[at] && !pyro_is_sum_of(&places->sums[places->slots[at] - 1], wanted))
        at = (at + 1) & last;
    return &places->slots[at];
}

/* Makes a larger table. */
static bool grow_slots(pyro_cause_places *places)
{
    size_t count = places->slot_count ? 2 * places->slot_count : LEAST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    free(places->slots);
    places->slots = slots;
    places->slot_count = count;
    for (size_t i = 0; i < places->count; i++)
        *find_slot(places, &places->sums[i].key) = (uint32_t)i + 1;
    return true;
}

uint32_t pyro_cause_places_find(pyro_cause_places *places, const pyro_place_key *wanted)
{
    uint32_t *slot = places->slots ? find_slot(places, wanted) : NULL;
    if (slot && *slot)
        return *slot;
    /* At most half of the slots are in use, so that searches stay short. */
    if (2 * (places->count + 1) > places->slot_count) {
        if (!grow_slots(places))
            return 0;
        slot = find_slot(places, wanted);
    }
    if (!pyro_grow(&places->sums, &places->capacity, places->count + 1, sizeof *places->sums))
        return 0;
    places->sums[places->count++] = (pyro_place_sum){
        .key = *wanted, .event = PYRO_NO_EVENT, .sync = PYRO_NO_EVENT};
    return *slot = (uint32_t)places->count;
}

/* Between ops, user annotations are most specific; steps are known anyway. */
static const char *name_of_host(const pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    const char *name = pyro_event_name(trace, event);
    switch (trace->category[event]) {
    case PYRO_EVENT_PYTHON:
    case PYRO_EVENT_KERNEL:
        return "";
    case PYRO_EVENT_ANNOTATION:
    case PYRO_EVENT_OP:
        return strncmp(name, "ProfilerStep", strlen("ProfilerStep")) == 0 ? "" : name;
    default:
        return name;
    }
}

/* A row, and the event that decides among rows with equal times. */
typedef struct ranked_place {
    pyro_cause_place row;
    uint32_t order;
} ranked_place;

static void begin_place(ranked_place *place, const pyro_analysis_context *context,
                        const pyro_place_sum *sum)
{
    place->order = sum->event;
    place->row = (pyro_cause_place){
        .cause = (pyro_cause)((uint32_t)sum->key.how >> 8),
        .op = "",
        .layer = "",
        .line = "",
        .sync = pyro_trace_text(context->trace, (uint32_t)(sum->key.how >> 32)),
        .phase = (pyro_phase)(sum->key.how & 0xff),
        .time_ns = sum->time_ns,
        .profiler_ns = sum->profiler_ns,
        .stretches = sum->stretches,
        .sync_event = sum->sync};
}

static bool describe_place(pyro_cause_place *row, pyro_analysis_context *context, uint32_t event)
{
    if (event == PYRO_NO_EVENT)
        return true;
    uint32_t launch = pyro_event_is_device_work(context->trace->category[event])
                          ? context->joins->launch[event]
                          : event;
    row->op = name_of_host(context, pyro_named_event(context, event));
    row->layer = pyro_context_layer(context, event);
    row->line = launch == PYRO_NO_EVENT ? "" : pyro_context_line(context, launch);
    return row->line != NULL;
}

/* Texts are interned, so that equal ones have equal addresses; paths of layers can be too long to
 * compare. */
static int compare_texts(const pyro_cause_place *left, const pyro_cause_place *right)
{
    uintptr_t a[] = {left->cause,
                     left->phase,
                     (uintptr_t)left->sync,
                     (uintptr_t)left->op,
                     (uintptr_t)left->layer,
                     (uintptr_t)left->line};
    uintptr_t b[] = {right->cause,
                     right->phase,
                     (uintptr_t)right->sync,
                     (uintptr_t)right->op,
                     (uintptr_t)right->layer,
                     (uintptr_t)right->line};
    for (size_t i = 0; i < sizeof a / sizeof *a; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int by_texts(const void *left, const void *right)
{
    return compare_texts(&((const ranked_place *)left)->row, &((const ranked_place *)right)->row);
}

static int by_time(const void *a, const void *b)
{
    const ranked_place *left = a, *right = b;
    if (left->row.time_ns != right->row.time_ns)
        return left->row.time_ns < right->row.time_ns ? 1 : -1;
    if (left->row.cause != right->row.cause)
        return left->row.cause < right->row.cause ? -1 : 1;
    return (left->order > right->order) - (left->order < right->order);
}

static size_t merge_equal(ranked_place *places, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(places, count, sizeof *places, by_texts);
    for (size_t i = 0; i < count; i++) {
        ranked_place *last = kept ? &places[kept - 1] : NULL;
        if (!last || by_texts(last, &places[i]) != 0) {
            places[kept++] = places[i];
            continue;
        }
        last->row.time_ns = pyro_add_ns(last->row.time_ns, places[i].row.time_ns);
        last->row.profiler_ns = pyro_add_ns(last->row.profiler_ns, places[i].row.profiler_ns);
        last->row.stretches += places[i].row.stretches;
        last->order = places[i].order < last->order ? places[i].order : last->order;
    }
    if (kept)
        qsort(places, kept, sizeof *places, by_time);
    return kept;
}

/* Describes the longest places. Returns how many rows are left; *is_good is false when memory is
 * out. */
static size_t describe_places(pyro_cause_places *places, pyro_analysis_context *context,
                              ranked_place *ranked, bool *is_good)
{
    size_t count = places->count;
    const char *none = "";
    for (size_t i = 0; i < count; i++)
        begin_place(&ranked[i], context, &places->sums[i]);
    if (count)
        qsort(ranked, count, sizeof *ranked, by_time);
    for (size_t i = 0; i < count && i < MOST_DESCRIBED && *is_good; i++)
        *is_good = describe_place(&ranked[i].row, context, ranked[i].order);
    for (size_t i = MOST_DESCRIBED; i < count; i++)
        ranked[i].row.op = ranked[i].row.layer = ranked[i].row.line = none;
    count = merge_equal(ranked, count);
    for (size_t i = MOST_PLACES; i < count; i++)
        ranked[i].row.op = ranked[i].row.layer = ranked[i].row.line = none;
    return count > MOST_PLACES ? merge_equal(ranked, count) : count;
}

int pyro_cause_places_finish(pyro_cause_places *places, pyro_analysis_context *context)
{
    ranked_place *ranked = calloc(places->count + 1, sizeof *ranked);
    bool is_good = ranked != NULL;
    size_t count = is_good ? describe_places(places, context, ranked, &is_good) : 0;
    pyro_cause_place *rows = pyro_arena_array(context->arena, count, sizeof *rows);
    is_good = is_good && rows;
    for (size_t i = 0; i < count && is_good; i++)
        rows[i] = ranked[i].row;
    free(ranked);
    if (!is_good)
        return pyro_fail_memory(context->error);
    context->result->cause_places = rows;
    context->result->cause_place_count = count;
    return PYRO_OK;
}

void pyro_cause_places_free(pyro_cause_places *places)
{
    free(places->sums);
    free(places->slots);
}
