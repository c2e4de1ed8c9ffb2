/*
 * Finds the cause of a gap: the op (or Python frame) with the largest own time on the launching
 * thread while the device was idle. Sums the time of an op over its calls in the gap, because a
 * thousand short calls are one cause.
 */
#include "analyze/device/gaps.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* The search for the event that ran when the gap started ends after this many events. */
#define LONGEST_LOOK_BACK 65536

typedef struct suspect {
    uint64_t key;
    uint32_t event; /* the call with the largest part */
    int64_t event_ns, total_ns;
} suspect;

/* Most gaps have few suspects: a table of this many slots finds them, a map those beyond. */
enum { SLOTS = 1024, MOST_IN_SLOTS = 512, DEEPEST_CHAIN = 1000 };

typedef struct search {
    pyro_analysis_context *context;
    const pyro_gap *gap;
    uint16_t track;
    uint32_t running; /* innermost event at `now`; PYRO_NO_EVENT */
    int64_t now_ns;
    uint16_t slots[SLOTS]; /* suspects plus 1, by a hash of the key */
    pyro_map by_key; /* of suspects that have no slot */
    suspect *suspects;
    size_t count, capacity;
    uint32_t sync; /* synchronising call with the largest part; PYRO_NO_EVENT */
    int64_t sync_ns;
} search;

/* The key of a suspect: an op in a layer, else the frame itself. */
static uint64_t cause_key(const pyro_analysis_context *context, uint32_t event)
{
    uint32_t op = context->joins->op[event];
    uint32_t named = op == PYRO_NO_EVENT ? event : op;
    return (uint64_t)context->joins->call[named] << 32 | context->trace->name[named];
}

static suspect *add_suspect(search *search, uint64_t key)
{
    size_t least = search->count < MOST_IN_SLOTS ? MOST_IN_SLOTS : search->count + 1;
    if (search->count == search->capacity &&
        !pyro_grow(&search->suspects, &search->capacity, least, sizeof *search->suspects))
        return NULL;
    search->suspects[search->count] = (suspect){.key = key};
    return &search->suspects[search->count++];
}

/* The suspect with a key, created if missing, which is not in the first slot for it; NULL when memory
 * is out. */
static suspect *find_far(search *search, uint64_t key, uint32_t slot)
{
    for (; search->slots[slot]; slot = (slot + 1) % SLOTS)
        if (search->suspects[search->slots[slot] - 1].key == key)
            return &search->suspects[search->slots[slot] - 1];
    if (search->count < MOST_IN_SLOTS) {
        suspect *added = add_suspect(search, key);
        search->slots[slot] = added ? (uint16_t)search->count : 0;
        return added;
    }
    uint32_t index = pyro_map_get(&search->by_key, key);
    if (index != PYRO_MAP_NONE)
        return &search->suspects[index];
    return pyro_map_put(&search->by_key, key, (uint32_t)search->count) ? add_suspect(search, key)
                                                                       : NULL;
}

static inline suspect *find_suspect(search *search, uint64_t key)
{
    uint32_t slot = (uint32_t)((key ^ key >> 32) * 0x9E3779B97F4A7C15u >> 32) % SLOTS;
    uint16_t number = search->slots[slot];
    if (number && search->suspects[number - 1].key == key)
        return &search->suspects[number - 1];
    return find_far(search, key, slot);
}

static int blame(search *search, uint32_t event, int64_t duration_ns)
{
    const pyro_analysis_context *context = search->context;
    uint8_t category = context->trace->category[event];
    if ((category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER) &&
        duration_ns > search->sync_ns &&
        pyro_context_traits(search->context, event) & PYRO_TRAIT_SYNC) {
        search->sync = event;
        search->sync_ns = duration_ns;
    }
    suspect *suspect = find_suspect(search, cause_key(context, event));
    if (!suspect)
        return pyro_fail_memory(context->error);
    suspect->total_ns += duration_ns;
    if (duration_ns > suspect->event_ns) {
        suspect->event = event;
        suspect->event_ns = duration_ns;
    }
    return PYRO_OK;
}

/* Counts the time up to `until_ns` for the running events, and leaves those that end before it. */
static int advance(search *search, int64_t until_ns)
{
    const pyro_analysis_context *context = search->context;
    int status = PYRO_OK;
    while (search->now_ns < until_ns && status == PYRO_OK) {
        uint32_t running = search->running;
        int64_t next = until_ns;
        if (running == PYRO_NO_EVENT) {
            search->now_ns = next;
            break;
        }
        int64_t end = pyro_event_end_ns(context->trace, running);
        if (end < next)
            next = end;
        if (next > search->now_ns) {
            status = blame(search, running, next - search->now_ns);
            search->now_ns = next;
        }
        if (end <= search->now_ns)
            search->running = context->joins->parent[running];
    }
    return status;
}

static size_t first_at_or_after(const pyro_analysis_context *context, int64_t time_ns)
{
    size_t low = 0, high = context->trace->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (context->trace->start_ns[context->joins->by_time[middle]] < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_on_thread(const search *search, uint32_t event)
{
    const pyro_trace *trace = search->context->trace;
    return trace->track[event] == search->track && pyro_event_is_host(trace->category[event]);
}

/* The event that ran when the gap started: the last one that started before, or one around it. */
static uint32_t find_running(const search *search, size_t position)
{
    const pyro_analysis_context *context = search->context;
    for (size_t steps = 0; position && steps < LONGEST_LOOK_BACK; steps++) {
        uint32_t event = context->joins->by_time[--position];
        if (is_on_thread(search, event))
            return event;
    }
    return PYRO_NO_EVENT;
}

static int search_gap(search *search, size_t most_events)
{
    const pyro_analysis_context *context = search->context;
    int64_t end = search->gap->end_ns;
    size_t position = first_at_or_after(context, search->gap->start_ns);
    size_t last = context->trace->count - position;
    last = position + (last < most_events ? last : most_events);
    search->now_ns = search->gap->start_ns;
    search->running = find_running(search, position);
    int status = PYRO_OK;
    for (; position < last && status == PYRO_OK; position++) {
        uint32_t event = context->joins->by_time[position];
        if (context->trace->start_ns[event] >= end)
            break;
        if (!is_on_thread(search, event))
            continue;
        status = advance(search, context->trace->start_ns[event]);
        search->running = event;
    }
    return status == PYRO_OK ? advance(search, end) : status;
}

/* Between ops, user annotations are most specific; a data loader's is one. */
static const char *annotation_around(const pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    for (int i = 0; i < DEEPEST_CHAIN && event != PYRO_NO_EVENT &&
                    trace->category[event] != PYRO_EVENT_ANNOTATION;
         i++)
        event = context->joins->parent[event];
    bool found = event != PYRO_NO_EVENT && trace->category[event] == PYRO_EVENT_ANNOTATION;
    const char *name = !found ? "" : pyro_event_name(trace, event);
    return strncmp(name, "ProfilerStep", strlen("ProfilerStep")) == 0 ? "" : name;
}

static int name_cause(pyro_gap_row *row, search *search)
{
    pyro_analysis_context *context = search->context;
    const suspect *worst = NULL;
    for (size_t i = 0; i < search->count; i++) {
        if (!worst || search->suspects[i].total_ns > worst->total_ns)
            worst = &search->suspects[i];
    }
    if (search->sync != PYRO_NO_EVENT)
        row->sync = pyro_event_name(context->trace, search->sync);
    if (!worst)
        return PYRO_OK;
    row->op = pyro_context_op(context, worst->event);
    if (!*row->op)
        row->op = annotation_around(context, worst->event);
    row->layer = pyro_context_layer(context, worst->event);
    row->line = pyro_context_line(context, worst->event);
    return row->line ? PYRO_OK : pyro_fail_memory(context->error);
}

int pyro_gap_explain(pyro_gap_row *row, pyro_analysis_context *context, const pyro_gap *gap,
                     size_t most_events)
{
    uint32_t launch = pyro_context_latest_launch(context, gap->next);
    row->op = row->layer = row->line = row->sync = "";
    if (launch == PYRO_NO_EVENT)
        return PYRO_OK;
    search search = {.context = context,
                     .gap = gap,
                     .track = context->trace->track[launch],
                     .sync = PYRO_NO_EVENT,
                     .by_key = PYRO_MAP_INIT};
    int status = search_gap(&search, most_events);
    if (status == PYRO_OK)
        status = name_cause(row, &search);
    free(search.suspects);
    pyro_map_free(&search.by_key);
    return status;
}
