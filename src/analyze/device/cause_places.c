/*
 * Adds up lost time by cause and place. While events pass, places are numbers (names, layers);
 * their texts are found once per place, and places with the same texts become one row.
 */
#include "analyze/device/cause_places.h"
#include "analyze/intervals.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* More rows than a person reads; the rest is one row per cause, phase and call. Several places can
 * have the same texts, so that more of them get texts. */
#define MOST_PLACES 1000
#define MOST_DESCRIBED (4 * MOST_PLACES)

typedef struct place_key {
    pyro_cause cause;
    uint32_t sync_name; /* PYRO_NO_ID: none */
    uint32_t layer, name;
    uint32_t phase;
} place_key;

struct pyro_place_sum {
    place_key key;
    uint32_t event; /* the one with the largest part; PYRO_NO_EVENT */
    int64_t event_ns, time_ns, profiler_ns, stretches;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static bool is_sum_of(const pyro_place_sum *sum, const place_key *wanted)
{
    return sum->key.cause == wanted->cause && sum->key.name == wanted->name &&
           sum->key.layer == wanted->layer && sum->key.sync_name == wanted->sync_name &&
           sum->key.phase == wanted->phase;
}

static pyro_place_sum *look_up(pyro_cause_places *places, const place_key *wanted)
{
    /* Names and layers are often numbered alike: each needs a round of its own. */
    uint64_t key = mix(mix(mix(0, wanted->name), wanted->layer), (uint64_t)wanted->sync_name << 16 |
                                                                     (uint64_t)wanted->cause << 8 |
                                                                     wanted->phase);
    uint32_t index;
    while ((index = pyro_map_get(&places->by_key, key)) != PYRO_MAP_NONE) {
        if (is_sum_of(&places->sums[index], wanted))
            return &places->sums[index];
        key++;
    }
    index = (uint32_t)places->count;
    if (!pyro_grow(&places->sums, &places->capacity, places->count + 1, sizeof *places->sums) ||
        !pyro_map_put(&places->by_key, key, index))
        return NULL;
    places->sums[places->count++] = (pyro_place_sum){.key = *wanted, .event = PYRO_NO_EVENT};
    return &places->sums[index];
}

static pyro_place_sum *find_sum(pyro_cause_places *places, const place_key *wanted)
{
    uint32_t mixed = (wanted->name ^ wanted->layer * 40503u) * 2654435761u + wanted->cause;
    uint32_t slot = (mixed ^ mixed >> 16) % PYRO_RECENT_PLACES;
    uint32_t recent = places->recent[slot];
    if (recent && is_sum_of(&places->sums[recent - 1], wanted))
        return &places->sums[recent - 1];
    pyro_place_sum *sum = look_up(places, wanted);
    if (sum)
        places->recent[slot] = (uint32_t)(sum - places->sums) + 1;
    return sum;
}

/* Calls count for the op around them; other events stand for themselves. */
static uint32_t named_event(const pyro_analysis_context *context, uint32_t event)
{
    uint8_t category = context->trace->category[event];
    uint32_t op = context->joins->op[event];
    return category == PYRO_EVENT_PYTHON || op == PYRO_NO_EVENT ? event : op;
}

/* The sum of a part's place, created if missing; NULL when memory is out. */
static pyro_place_sum *sum_of_part(pyro_cause_places *places, const pyro_analysis_context *context,
                                   const pyro_lost_part *part)
{
    const pyro_joins *joins = context->joins;
    uint32_t event = part->event;
    place_key wanted = {part->cause, PYRO_NO_ID, PYRO_NO_LAYER, PYRO_NO_ID, 0};
    if (event != PYRO_NO_EVENT) {
        uint32_t call = joins->call[event];
        wanted.layer = call == PYRO_NO_LAYER ? PYRO_NO_LAYER : joins->calls[call].layer;
        wanted.name = context->trace->name[named_event(context, event)];
        wanted.phase = joins->phase[event];
    }
    if (part->sync != PYRO_NO_EVENT)
        wanted.sync_name = context->trace->name[part->sync];
    return find_sum(places, &wanted);
}

bool pyro_cause_places_add(pyro_cause_places *places, const pyro_analysis_context *context,
                           const pyro_lost_part *part)
{
    pyro_recent_event *recent = &places->recent_events[part->event % PYRO_RECENT_EVENTS];
    pyro_place_sum *sum;
    if (recent->sum && recent->event == part->event && recent->cause == part->cause &&
        recent->sync == part->sync) {
        sum = &places->sums[recent->sum - 1];
    } else {
        sum = sum_of_part(places, context, part);
        if (!sum)
            return false;
        *recent = (pyro_recent_event){part->event, part->sync, part->cause,
                                      (uint32_t)(sum - places->sums) + 1};
    }
    sum->time_ns = pyro_add_ns(sum->time_ns, part->time_ns);
    sum->profiler_ns = pyro_add_ns(sum->profiler_ns, part->profiler_ns);
    sum->stretches++;
    if (part->time_ns > sum->event_ns) {
        sum->event = part->event;
        sum->event_ns = part->time_ns;
    }
    return true;
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
    place->row = (pyro_cause_place){.cause = sum->key.cause,
                                    .op = "",
                                    .layer = "",
                                    .line = "",
                                    .sync = pyro_trace_text(context->trace, sum->key.sync_name),
                                    .phase = (pyro_phase)sum->key.phase,
                                    .time_ns = sum->time_ns,
                                    .profiler_ns = sum->profiler_ns,
                                    .stretches = sum->stretches};
}

static bool describe_place(pyro_cause_place *row, pyro_analysis_context *context, uint32_t event)
{
    if (event == PYRO_NO_EVENT)
        return true;
    uint32_t launch = pyro_event_is_device_work(context->trace->category[event])
                          ? context->joins->launch[event]
                          : event;
    row->op = name_of_host(context, named_event(context, event));
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
    pyro_map_free(&places->by_key);
}
