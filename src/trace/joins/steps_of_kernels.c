/*
 * Infers steps from device work that repeats, for traces in which neither marks nor an optimizer, a
 * data loader or a module show a loop. One kernel or copy that occurs once per step starts each
 * step: the work between its occurrences is the same nearly every time. Layers repeat too, so each
 * period must also hold what only a loop has (a copy from or to the host, a synchronization, or a
 * graph launch), and periods inside one call of a module are layers.
 */
#include "trace/joins/internal.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_REPEATS = 3,
    LEAST_LENGTH = 3,       /* pieces of work in a period */
    MOST_CANDIDATES = 64,   /* each costs one pass over the work */
    SAME_PERCENT = 80,      /* of the periods */
    EVIDENCE_PERCENT = 90,  /* of the periods */
    INSIDE_PERCENT = 10     /* of the periods, in one call of a module */
};

/* A piece of device work, in order of launches. */
typedef struct piece {
    int64_t time_ns; /* of its launch, else its start */
    uint32_t place; /* in order of starts: one call may launch several */
    uint32_t name;
} piece;

typedef struct sequence {
    pyro_join_state *state;
    piece *pieces;
    uint64_t *hashes; /* hashes[i]: of the first i names */
    size_t count, capacity;
    int64_t *evidence; /* times of host copies, synchronizations and graph launches, in order */
    size_t evidence_count, evidence_capacity;
    uint32_t *roots; /* events of calls of outermost modules, in order */
    size_t root_count;
    uint32_t *places; /* of the candidate that is looked at */
    uint64_t *periods; /* hashes of its periods */
    int64_t *waits; /* of the host before each period but the first */
    bool memory_out;
} sequence;

/* A kernel that may start the steps. */
typedef struct candidate {
    uint32_t name, count;
    int64_t wait_ns; /* before its occurrences, median: steps begin where the host pauses */
} candidate;

static const uint64_t BASE = UINT64_C(0x9E3779B97F4A7C15);

static uint64_t power(size_t exponent)
{
    uint64_t result = 1, factor = BASE;
    for (; exponent; exponent >>= 1, factor *= factor)
        if (exponent & 1)
            result *= factor;
    return result;
}

static uint64_t hash_between(const sequence *work, size_t begin, size_t end)
{
    return work->hashes[end] - work->hashes[begin] * power(end - begin);
}

static bool contains_any(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

static bool is_evidence(const pyro_trace *trace, uint32_t event)
{
    static const char *const copies[] = {"HtoD", "DtoH", "HostToDevice", "DeviceToHost"};
    static const char *const calls[] = {"Synchronize", "GraphLaunch"};
    const char *name = pyro_event_name(trace, event);
    switch (trace->category[event]) {
    case PYRO_EVENT_MEMCPY:
        return contains_any(name, copies, sizeof copies / sizeof *copies);
    case PYRO_EVENT_RUNTIME:
    case PYRO_EVENT_DRIVER:
        return contains_any(name, calls, sizeof calls / sizeof *calls);
    default:
        return false;
    }
}

static int64_t cause_ns(const pyro_join_state *state, uint32_t event)
{
    uint32_t launch = state->joins->launch[event];
    bool is_work = pyro_event_is_device_work(state->trace->category[event]);
    return state->trace->start_ns[is_work && launch != PYRO_NO_EVENT ? launch : event];
}

static int by_time(const void *a, const void *b)
{
    const piece *left = a, *right = b;
    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return left->place < right->place ? -1 : left->place > right->place;
}

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void read_event(sequence *work, uint32_t event)
{
    const pyro_trace *trace = work->state->trace;
    int64_t time_ns = cause_ns(work->state, event);
    uint8_t category = trace->category[event];
    bool proves_loop = is_evidence(trace, event);
    if (proves_loop) {
        if (pyro_grow(&work->evidence, &work->evidence_capacity, work->evidence_count + 1,
                      sizeof *work->evidence))
            work->evidence[work->evidence_count++] = time_ns;
        else
            work->memory_out = true;
    }
    /* Names of memsets and of copies on the device differ between a graph and its eager form. */
    if (trace->name[event] == PYRO_NO_ID ||
        (category != PYRO_EVENT_KERNEL && !(category == PYRO_EVENT_MEMCPY && proves_loop)))
        return;
    if (pyro_grow(&work->pieces, &work->capacity, work->count + 1, sizeof *work->pieces))
        work->pieces[work->count] = (piece){time_ns, (uint32_t)work->count, trace->name[event]};
    else
        work->memory_out = true;
    work->count += !work->memory_out;
}

static void read_work(sequence *work)
{
    const pyro_trace *trace = work->state->trace;
    bool is_sorted = true;
    for (size_t i = 0; i < trace->count && !work->memory_out; i++)
        read_event(work, work->state->joins->by_time[i]);
    for (size_t i = 1; i < work->count && is_sorted; i++)
        is_sorted = work->pieces[i - 1].time_ns <= work->pieces[i].time_ns;
    if (!is_sorted)
        qsort(work->pieces, work->count, sizeof *work->pieces, by_time);
    if (work->evidence_count)
        qsort(work->evidence, work->evidence_count, sizeof *work->evidence, compare_times);
}

/* Calls are numbered in order of time. */
static void find_roots(sequence *work)
{
    const pyro_joins *joins = work->state->joins;
    work->roots = malloc((joins->call_count + 1) * sizeof *work->roots);
    work->memory_out |= !work->roots;
    for (size_t i = 0; i < joins->call_count && work->roots; i++)
        if (joins->calls[i].parent == PYRO_NO_LAYER)
            work->roots[work->root_count++] = joins->calls[i].event;
}

static void hash_work(sequence *work)
{
    work->hashes = malloc((work->count + 1) * sizeof *work->hashes);
    work->places = malloc((work->count + 1) * sizeof *work->places);
    work->periods = malloc((work->count + 1) * sizeof *work->periods);
    work->waits = malloc((work->count + 1) * sizeof *work->waits);
    if (!work->hashes || !work->places || !work->periods || !work->waits) {
        work->memory_out = true;
        return;
    }
    work->hashes[0] = 0;
    for (size_t i = 0; i < work->count; i++)
        work->hashes[i + 1] = work->hashes[i] * BASE + work->pieces[i].name + 1;
}

static bool has_evidence(const sequence *work, int64_t start_ns, int64_t end_ns)
{
    size_t low = 0, high = work->evidence_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (work->evidence[middle] < start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < work->evidence_count && work->evidence[low] < end_ns;
}

/* The period that most are equal to; its place, or `count` if too few are. */
static size_t find_usual(const uint64_t *periods, size_t count)
{
    size_t usual = 0, votes = 0, same = 0;
    for (size_t i = 0; i < count; i++) {
        if (!votes)
            usual = i;
        votes += periods[i] == periods[usual] ? 1 : (size_t)-1;
    }
    for (size_t i = 0; i < count; i++)
        same += periods[i] == periods[usual];
    return same * 100 >= count * SAME_PERCENT ? usual : count;
}

/* What follows the last start is a period that the end of the trace may cut: after one pass through
 * the layers of a model comes something else. */
static bool ends_within_period(const sequence *work, size_t usual, size_t count)
{
    size_t begin = work->places[usual], length = work->places[usual + 1] - begin;
    size_t last = work->places[count - 1], left = work->count - last;
    return length >= LEAST_LENGTH && left <= length &&
           hash_between(work, last, work->count) == hash_between(work, begin, begin + left);
}

static size_t find_places(sequence *work, uint32_t name)
{
    size_t count = 0;
    for (size_t i = 0; i < work->count; i++)
        if (work->pieces[i].name == name)
            work->places[count++] = (uint32_t)i;
    return count;
}

/* Whether one call of an outermost module covers both times. */
static bool is_inside_call(const sequence *work, int64_t start_ns, int64_t end_ns)
{
    const pyro_trace *trace = work->state->trace;
    size_t low = 0, high = work->root_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (trace->start_ns[work->roots[middle]] <= start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low && pyro_join_end_ns(trace, work->roots[low - 1]) >= end_ns;
}

static bool starts_steps(sequence *work, candidate *candidate)
{
    size_t count = find_places(work, candidate->name), found = 0, inside = 0;
    const uint32_t *places = work->places;
    for (size_t i = 0; i + 1 < count; i++)
        work->periods[i] = hash_between(work, places[i], places[i + 1]);
    size_t usual = find_usual(work->periods, count - 1);
    if (usual == count - 1 || !ends_within_period(work, usual, count))
        return false;
    for (size_t i = 0; i + 1 < count; i++) {
        int64_t start_ns = work->pieces[places[i]].time_ns;
        int64_t end_ns = work->pieces[places[i + 1]].time_ns;
        int64_t before_ns = work->pieces[places[i + 1] - 1].time_ns;
        found += has_evidence(work, start_ns, end_ns);
        inside += is_inside_call(work, start_ns, end_ns);
        work->waits[i] = pyro_join_span_ns(before_ns, end_ns);
    }
    qsort(work->waits, count - 1, sizeof *work->waits, compare_times);
    candidate->wait_ns = work->waits[(count - 1) / 2];
    return found * 100 >= (count - 1) * EVIDENCE_PERCENT &&
           inside * 100 <= (count - 1) * INSIDE_PERCENT;
}

static int by_count(const void *a, const void *b)
{
    const candidate *left = a, *right = b;
    if (left->count != right->count)
        return left->count < right->count ? -1 : 1;
    return left->name < right->name ? -1 : left->name > right->name;
}

/* The names that occur often enough, rarest first. */
static candidate *list_candidates(sequence *work, size_t *count)
{
    size_t names = work->state->trace->names.count;
    candidate *all = calloc(names + 1, sizeof *all);
    *count = 0;
    if (!all) {
        work->memory_out = true;
        return NULL;
    }
    for (size_t i = 0; i < work->count; i++)
        if (work->pieces[i].name < names)
            all[work->pieces[i].name].count++;
    for (uint32_t i = 0; i < names; i++)
        if (all[i].count >= LEAST_REPEATS && all[i].count <= work->count / LEAST_LENGTH)
            all[(*count)++] = (candidate){.name = i, .count = all[i].count};
    qsort(all, *count, sizeof *all, by_count);
    return all;
}

/* The rarest that starts steps; of equally rare ones that after which the host paused most. */
static bool find_start(sequence *work, candidate *best)
{
    size_t count;
    candidate *all = list_candidates(work, &count);
    *best = (candidate){.count = 0};
    for (size_t i = 0; all && i < count && i < MOST_CANDIDATES; i++) {
        if (best->count && all[i].count > best->count)
            break;
        if (starts_steps(work, &all[i]) && (!best->count || all[i].wait_ns > best->wait_ns))
            *best = all[i];
    }
    free(all);
    return best->count > 0;
}

static int add_steps(sequence *work, const candidate *start)
{
    pyro_joins *joins = work->state->joins;
    const pyro_trace *trace = work->state->trace;
    size_t count = find_places(work, start->name);
    int64_t end_of_all_ns = INT64_MIN;
    for (size_t i = 0; i < trace->count; i++)
        if (pyro_event_is_device_work(trace->category[i]) &&
            pyro_join_end_ns(trace, (uint32_t)i) > end_of_all_ns)
            end_of_all_ns = pyro_join_end_ns(trace, (uint32_t)i);
    size_t left = work->count - work->places[count - 1];
    bool last_counts = left * 2 >= work->places[count - 1] - work->places[count - 2];
    for (size_t i = 0; i + !last_counts < count; i++) {
        int64_t start_ns = work->pieces[work->places[i]].time_ns;
        int64_t end_ns = i + 1 < count ? work->pieces[work->places[i + 1]].time_ns : end_of_all_ns;
        int status = pyro_add_step(work->state, (pyro_step){.event = PYRO_NO_EVENT,
                                                            .number = (int64_t)i,
                                                            .start_ns = start_ns,
                                                            .end_ns = end_ns});
        if (status)
            return status;
    }
    joins->step_source = PYRO_STEPS_KERNELS;
    joins->step_mark = pyro_trace_text(trace, start->name);
    return PYRO_OK;
}

int pyro_infer_steps_of_kernels(pyro_join_state *state)
{
    sequence work = {.state = state};
    candidate start;
    int status = PYRO_OK;
    read_work(&work);
    if (!work.memory_out && work.evidence_count >= LEAST_REPEATS &&
        work.count >= (size_t)LEAST_REPEATS * LEAST_LENGTH) {
        hash_work(&work);
        find_roots(&work);
        if (!work.memory_out && find_start(&work, &start))
            status = add_steps(&work, &start);
    }
    if (!status && work.memory_out)
        status = pyro_fail_memory(state->error);
    free(work.pieces);
    free(work.hashes);
    free(work.evidence);
    free(work.roots);
    free(work.places);
    free(work.periods);
    free(work.waits);
    return status;
}
