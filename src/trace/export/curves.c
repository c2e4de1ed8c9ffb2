/* Derives curves from events, and adds the counters of the file. */
#include "trace/export/curves.h"

#include "base/containers/buf.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

/* A change of one device's curve. */
typedef struct curve_change {
    int64_t time_ns, amount;
    int32_t device;
    uint16_t track; /* a track of the device: its process shows the curve */
} curve_change;

typedef struct curve_changes {
    curve_change *items;
    size_t count, capacity;
} curve_changes;

static bool add_change(curve_changes *list, int64_t time_ns, int64_t amount,
                       const pyro_trace *trace, uint32_t event)
{
    uint16_t track = trace->track[event];

    if (!pyro_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    list->items[list->count++] = (curve_change){time_ns, amount, trace->tracks[track].device,
                                                track};
    return true;
}

/* By device, then time. At equal times increases come first, so that no curve dips below zero. */
static int by_device_and_time(const void *left, const void *right)
{
    const curve_change *a = left, *b = right;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->amount == b->amount ? 0 : (a->amount > b->amount ? -1 : 1);
}

/* What is visited, and by whom. */
typedef struct walk {
    const pyro_trace *trace;
    const pyro_joins *joins;
    const pyro_selection *selection;
    const pyro_curve_visitor *visitor;
    void *user;
} walk;

/* Adds the changes up and visits the curve where it has a new value. */
static int visit_curves(const walk *walk, curve_changes *list, const char *what, const char *key)
{
    int64_t value = 0;
    char name[64];

    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_device_and_time);
    for (size_t i = 0; i < list->count; i++) {
        const curve_change *item = &list->items[i], *next = item + 1;
        bool first = i == 0 || item[-1].device != item->device;
        bool last = i + 1 == list->count || next->device != item->device;

        value = first ? item->amount : value + item->amount;
        if (!last && next->time_ns == item->time_ns)
            continue;
        snprintf(name, sizeof name, "%s of device %ld", what, (long)item->device);
        int status = walk->visitor->value(walk->user, name, key, item->track, item->time_ns, value);
        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

/* Megabytes per second, which is bytes per microsecond; 0: unknown. */
static int64_t copy_rate(const pyro_trace *trace, uint32_t event)
{
    uint32_t detail = trace->detail[event];
    int64_t bytes = detail != PYRO_NO_ID ? trace->transfer_bytes[detail] : -1;
    double rate = trace->duration_ns[event] > 0
                      ? (double)bytes / (double)trace->duration_ns[event] * 1000
                      : 0;

    return bytes <= 0 || rate > 1e12 ? 0 : (int64_t)rate;
}

/* A kernel waits from its launch until it starts. */
static bool add_waiting(curve_changes *queue, const walk *walk, uint32_t event)
{
    const pyro_trace *trace = walk->trace;
    uint32_t launch = walk->joins->launch[event];

    if (launch == PYRO_NO_EVENT || trace->start_ns[launch] > trace->start_ns[event])
        return true;
    return add_change(queue, trace->start_ns[launch], 1, trace, event) &&
           add_change(queue, trace->start_ns[event], -1, trace, event);
}

static bool add_copy(curve_changes *copies, const walk *walk, uint32_t event)
{
    const pyro_trace *trace = walk->trace;
    int64_t rate = copy_rate(trace, event);

    return rate == 0 || (add_change(copies, trace->start_ns[event], rate, trace, event) &&
                         add_change(copies, pyro_event_end_ns(trace, event), -rate, trace, event));
}

/* Memory is in use whatever was selected, so all memory events of the kept time range count. */
static int visit_memory(const walk *walk)
{
    const pyro_trace *trace = walk->trace;

    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = walk->joins->by_time[i];
        int64_t start_ns = trace->start_ns[event];

        if (trace->category[event] != PYRO_EVENT_MEMORY || trace->detail[event] == PYRO_NO_ID ||
            start_ns < walk->selection->start_ns || start_ns > walk->selection->end_ns ||
            trace->memory[trace->detail[event]].total_allocated < 0)
            continue;
        int status = walk->visitor->memory(walk->user, event);
        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

/* All samples if all events are kept; else those in the kept time, the last before and the first
 * after it: a step may be shorter than the interval between samples. */
static void find_samples(const walk *walk, int64_t *from_ns, int64_t *to_ns)
{
    const pyro_trace *trace = walk->trace;
    size_t kept = 0;

    *from_ns = INT64_MIN;
    *to_ns = INT64_MAX;
    for (size_t event = 0; event < trace->count; event++)
        kept += walk->selection->keep[event];
    if (kept == trace->count)
        return;
    for (size_t i = 0; i < trace->counter_count; i++) {
        int64_t time_ns = trace->counters[i].time_ns;

        if (time_ns <= walk->selection->start_ns && time_ns > *from_ns)
            *from_ns = time_ns;
        if (time_ns >= walk->selection->end_ns && time_ns < *to_ns)
            *to_ns = time_ns;
    }
}

/* Counters of the file itself. */
static int visit_samples(const walk *walk)
{
    const pyro_trace *trace = walk->trace;
    int64_t from_ns, to_ns;

    find_samples(walk, &from_ns, &to_ns);
    for (size_t i = 0; i < trace->counter_count; i++) {
        const pyro_counter_sample *sample = &trace->counters[i];

        if (sample->time_ns < from_ns || sample->time_ns > to_ns)
            continue;
        int status = walk->visitor->sample(walk->user, sample);
        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

int pyro_curves_visit(const pyro_trace *trace, const pyro_joins *joins,
                      const pyro_selection *selection, const pyro_curve_visitor *visitor,
                      void *user, pyro_error *error)
{
    walk whole = {trace, joins, selection, visitor, user}, *walk = &whole;
    curve_changes queue = {0}, copies = {0};
    bool room = true;
    int status;

    for (uint32_t event = 0; room && event < trace->count; event++) {
        if (!selection->keep[event] || !pyro_event_is_device_work(trace->category[event]))
            continue;
        if (trace->category[event] == PYRO_EVENT_KERNEL)
            room = add_waiting(&queue, walk, event);
        else
            room = add_copy(&copies, walk, event);
    }
    status = room ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = visit_curves(walk, &queue, "queue length", "kernels");
    if (status == PYRO_OK)
        status = visit_curves(walk, &copies, "copy bandwidth", "MB/s");
    if (status == PYRO_OK)
        status = visit_memory(walk);
    if (status == PYRO_OK)
        status = visit_samples(walk);
    free(queue.items);
    free(copies.items);
    return status;
}
