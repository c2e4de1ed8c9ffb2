/* Writes counter curves: kernels that wait, copy bandwidth, memory in use, the file's own. */
#include "trace/chrome/put.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

/* The category of counters that follow from the events: a reader of the file derives them again. */
#define DERIVED "pyrometer"

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

static void write_value(pyro_chrome *chrome, const char *name, uint16_t track, int64_t time_ns,
                        const char *key, int64_t value)
{
    pyro_chrome_begin_event(chrome, "C", name);
    pyro_json_member_string(&chrome->json, "cat", DERIVED);
    pyro_chrome_place(chrome, &chrome->trace->tracks[track]);
    pyro_chrome_time(chrome, "ts", time_ns);
    pyro_json_key(&chrome->json, "args");
    pyro_json_begin_object(&chrome->json);
    pyro_json_member_integer(&chrome->json, key, value);
    pyro_json_end_object(&chrome->json);
    pyro_json_end_object(&chrome->json);
}

/* Adds the changes up and writes the curve where it has a new value. */
static int write_curves(pyro_chrome *chrome, curve_changes *list, const char *what, const char *key)
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
        write_value(chrome, name, item->track, item->time_ns, key, value);
        int status = pyro_chrome_flush(chrome, false);
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
static bool add_waiting(curve_changes *queue, const pyro_chrome *chrome, uint32_t event)
{
    const pyro_trace *trace = chrome->trace;
    uint32_t launch = chrome->joins->launch[event];

    if (launch == PYRO_NO_EVENT || trace->start_ns[launch] > trace->start_ns[event])
        return true;
    return add_change(queue, trace->start_ns[launch], 1, trace, event) &&
           add_change(queue, trace->start_ns[event], -1, trace, event);
}

static bool add_copy(curve_changes *copies, const pyro_chrome *chrome, uint32_t event)
{
    const pyro_trace *trace = chrome->trace;
    int64_t rate = copy_rate(trace, event);

    return rate == 0 || (add_change(copies, trace->start_ns[event], rate, trace, event) &&
                         add_change(copies, pyro_event_end_ns(trace, event), -rate, trace, event));
}

static void write_memory(pyro_chrome *chrome, uint32_t event)
{
    const pyro_trace *trace = chrome->trace;
    const pyro_memory_detail *memory = &trace->memory[trace->detail[event]];
    const pyro_track *track = &trace->tracks[trace->track[event]];

    pyro_json_raw(&chrome->json, ""); /* the comma */
    PUT(chrome, "{\"ph\":\"C\",\"cat\":\"" DERIVED "\",\"name\":\"memory of ");
    if (memory->device_type == 0) {
        PUT(chrome, "the host");
    } else {
        PUT(chrome, "device ");
        pyro_chrome_put_integer(chrome, memory->device_index);
    }
    PUT(chrome, "\",\"pid\":");
    pyro_chrome_put_integer(chrome, pyro_chrome_id(track->pid));
    PUT(chrome, ",\"tid\":");
    pyro_chrome_put_integer(chrome, pyro_chrome_id(track->tid));
    PUT(chrome, ",\"ts\":");
    pyro_chrome_put_time(chrome, trace->start_ns[event]);
    PUT(chrome, ",\"args\":{\"allocated bytes\":");
    pyro_chrome_put_integer(chrome, memory->total_allocated);
    if (memory->total_reserved >= 0) {
        PUT(chrome, ",\"reserved bytes\":");
        pyro_chrome_put_integer(chrome, memory->total_reserved);
    }
    PUT(chrome, "}}");
}

/* Memory is in use whatever was selected, so all memory events of the kept time range count. */
static int write_memory_curves(pyro_chrome *chrome)
{
    const pyro_trace *trace = chrome->trace;

    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = chrome->joins->by_time[i];
        int64_t start_ns = trace->start_ns[event];

        if (trace->category[event] != PYRO_EVENT_MEMORY || trace->detail[event] == PYRO_NO_ID ||
            start_ns < chrome->start_ns || start_ns > chrome->end_ns ||
            trace->memory[trace->detail[event]].total_allocated < 0)
            continue;
        write_memory(chrome, event);
        int status = pyro_chrome_flush(chrome, false);
        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

/* All samples if all events are kept; else those in the kept time, the last before and the first
 * after it: a step may be shorter than the interval between samples. */
static void find_samples(const pyro_chrome *chrome, int64_t *from_ns, int64_t *to_ns)
{
    const pyro_trace *trace = chrome->trace;
    size_t kept = 0;

    *from_ns = INT64_MIN;
    *to_ns = INT64_MAX;
    for (size_t event = 0; event < trace->count; event++)
        kept += chrome->keep[event];
    if (kept == trace->count)
        return;
    for (size_t i = 0; i < trace->counter_count; i++) {
        int64_t time_ns = trace->counters[i].time_ns;

        if (time_ns <= chrome->start_ns && time_ns > *from_ns)
            *from_ns = time_ns;
        if (time_ns >= chrome->end_ns && time_ns < *to_ns)
            *to_ns = time_ns;
    }
}

/* Counters of the file itself. */
static int write_samples(pyro_chrome *chrome)
{
    const pyro_trace *trace = chrome->trace;
    int64_t from_ns, to_ns;

    find_samples(chrome, &from_ns, &to_ns);
    for (size_t i = 0; i < trace->counter_count; i++) {
        const pyro_counter_sample *sample = &trace->counters[i];

        if (sample->time_ns < from_ns || sample->time_ns > to_ns)
            continue;
        pyro_chrome_begin_event(chrome, "C", pyro_trace_text(trace, sample->name));
        pyro_chrome_place(chrome, &trace->tracks[sample->track]);
        pyro_chrome_time(chrome, "ts", sample->time_ns);
        pyro_json_key(&chrome->json, "args");
        pyro_json_begin_object(&chrome->json);
        pyro_json_member_number(&chrome->json, pyro_trace_text(trace, sample->series),
                                sample->value);
        pyro_json_end_object(&chrome->json);
        pyro_json_end_object(&chrome->json);
        int status = pyro_chrome_flush(chrome, false);
        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

int pyro_chrome_counters(pyro_chrome *chrome)
{
    const pyro_trace *trace = chrome->trace;
    curve_changes queue = {0}, copies = {0};
    bool room = true;
    int status;

    for (uint32_t event = 0; room && event < trace->count; event++) {
        if (!chrome->keep[event] || !pyro_event_is_device_work(trace->category[event]))
            continue;
        if (trace->category[event] == PYRO_EVENT_KERNEL)
            room = add_waiting(&queue, chrome, event);
        else
            room = add_copy(&copies, chrome, event);
    }
    status = room ? PYRO_OK : pyro_fail_memory(chrome->error);
    if (status == PYRO_OK)
        status = write_curves(chrome, &queue, "queue length", "kernels");
    if (status == PYRO_OK)
        status = write_curves(chrome, &copies, "copy bandwidth", "MB/s");
    if (status == PYRO_OK)
        status = write_memory_curves(chrome);
    if (status == PYRO_OK)
        status = write_samples(chrome);
    free(queue.items);
    free(copies.items);
    return status;
}
