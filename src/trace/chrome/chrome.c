/* Writes a trace as Chrome JSON: streams head, events, counters and tail. */
#include "trace/chrome/chrome.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

static void write_devices(pyro_chrome *chrome)
{
    pyro_json_writer *json = &chrome->json;

    pyro_json_key(json, "deviceProperties");
    pyro_json_begin_array(json);
    for (size_t i = 0; i < chrome->trace->device_count; i++) {
        const pyro_device *device = &chrome->trace->devices[i];

        pyro_json_begin_object(json);
        pyro_json_member_integer(json, "id", device->id);
        pyro_json_member_string(json, "name", pyro_trace_text(chrome->trace, device->name));
        pyro_json_member_integer(json, "totalGlobalMem", device->total_memory_bytes);
        pyro_json_member_integer(json, "computeMajor", device->compute_major);
        pyro_json_member_integer(json, "computeMinor", device->compute_minor);
        pyro_json_member_integer(json, "maxThreadsPerMultiprocessor",
                                 device->max_threads_per_multiprocessor);
        pyro_json_member_integer(json, "numSms", device->multiprocessors);
        pyro_json_end_object(json);
    }
    pyro_json_end_array(json);
}

/* Notes of our recordings, which Kineto's format does not have. */
static void write_notes(pyro_chrome *chrome)
{
    const pyro_trace *trace = chrome->trace;
    pyro_json_writer *json = &chrome->json;

    if (!pyro_trace_is_captured(trace))
        return;
    pyro_json_member_integer(json, "record_shapes", trace->has_shapes);
    pyro_json_member_integer(json, "with_stack", trace->has_stacks);
    pyro_json_member_integer(json, "profile_memory", trace->has_memory);
    pyro_json_key(json, "pyrometer");
    pyro_json_begin_object(json);
    for (size_t i = 0; i < trace->note_count; i++)
        pyro_json_member_string(json, pyro_trace_text(trace, trace->notes[i].key),
                                pyro_trace_text(trace, trace->notes[i].value));
    pyro_json_end_object(json);
}

static void write_head(pyro_chrome *chrome)
{
    const pyro_trace *trace = chrome->trace;
    pyro_json_writer *json = &chrome->json;

    pyro_json_begin_object(json);
    pyro_json_member_integer(json, "schemaVersion", 1);
    write_devices(chrome);
    write_notes(chrome);
    if (trace->host != PYRO_NO_ID)
        pyro_json_member_string(json, "host_name", pyro_trace_text(trace, trace->host));
    if (trace->rank >= 0) {
        pyro_json_key(json, "distributedInfo");
        pyro_json_begin_object(json);
        pyro_json_member_string(json, "backend", pyro_trace_text(trace, trace->backend));
        pyro_json_member_integer(json, "rank", trace->rank);
        pyro_json_member_integer(json, "world_size", trace->world_size);
        pyro_json_end_object(json);
    }
    pyro_json_member_string(json, "displayTimeUnit", "ms");
    if (trace->base_time_ns != 0)
        pyro_json_member_integer(json, "baseTimeNanoseconds", trace->base_time_ns);
    pyro_json_key(json, "traceEvents");
    pyro_json_begin_array(json);
}

static void write_name(pyro_chrome *chrome, const pyro_track *track, const char *what,
                       const char *name)
{
    pyro_json_writer *json = &chrome->json;

    pyro_chrome_begin_event(chrome, "M", what);
    pyro_chrome_place(chrome, track);
    pyro_chrome_time(chrome, "ts", chrome->selection->start_ns);
    pyro_json_key(json, "args");
    pyro_json_begin_object(json);
    pyro_json_member_string(json, "name", name);
    pyro_json_end_object(json);
    pyro_json_end_object(json);
}

/* Names of the processes and threads that have a kept event. */
static int write_names(pyro_chrome *chrome)
{
    const pyro_trace *trace = chrome->trace;
    uint8_t *used = calloc(trace->track_count + 1, 1);
    char name[64];

    if (!used)
        return pyro_fail_memory(chrome->error);
    for (size_t event = 0; event < trace->count; event++)
        used[trace->track[event]] |= chrome->selection->keep[event];
    for (size_t i = 0; i < trace->track_count; i++) {
        const pyro_track *track = &trace->tracks[i];

        if (!used[i])
            continue;
        if (track->is_device) {
            snprintf(name, sizeof name, "device %ld", (long)track->device);
            write_name(chrome, track, "process_name", name);
            snprintf(name, sizeof name, track->has_work ? "stream %lld" : "stream %lld (sync)",
                     (long long)track->stream);
        } else {
            if (trace->is_recording && i == 0)
                write_name(chrome, track, "process_name", "python");
            snprintf(name, sizeof name, "thread %lld", (long long)(track->tid & INT64_MAX));
        }
        write_name(chrome, track, "thread_name",
                   track->name != PYRO_NO_ID ? pyro_trace_text(trace, track->name) : name);
    }
    free(used);
    return PYRO_OK;
}

static int write_events(pyro_chrome *chrome)
{
    const pyro_trace *trace = chrome->trace;

    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = chrome->joins->by_time[i];
        int status = PYRO_OK;

        if (chrome->selection->keep[event]) {
            pyro_chrome_event(chrome, event);
            status = pyro_chrome_flush(chrome, false);
        }
        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

static int write_all(pyro_chrome *chrome)
{
    int status;

    pyro_json_writer_init(&chrome->json, &chrome->buf, 0);
    write_head(chrome);
    status = write_names(chrome);
    if (status == PYRO_OK)
        status = write_events(chrome);
    if (status == PYRO_OK)
        status = pyro_chrome_counters(chrome);
    pyro_json_end_array(&chrome->json);
    pyro_json_end_object(&chrome->json);
    pyro_buf_addc(&chrome->buf, '\n');
    return status == PYRO_OK ? pyro_chrome_flush(chrome, true) : status;
}

/* Allocates the caches of texts and writes the selected events. */
static int write_selected(pyro_chrome *chrome)
{
    size_t texts = chrome->trace->names.count + 1;
    int status;

    chrome->quoted = calloc(texts, sizeof *chrome->quoted);
    chrome->lists = calloc(texts, sizeof *chrome->lists);
    chrome->layers = calloc(chrome->joins->layer_count + 1, sizeof *chrome->layers);
    if (chrome->quoted && chrome->lists && chrome->layers)
        status = write_all(chrome);
    else
        status = pyro_fail_memory(chrome->error);
    free(chrome->quoted);
    free(chrome->lists);
    free(chrome->layers);
    pyro_arena_free(&chrome->arena);
    pyro_buf_free(&chrome->buf);
    return status;
}

int pyro_trace_write_chrome(pyro_trace *trace, const pyro_analysis_options *options,
                            pyro_write_fn write, void *user, pyro_error *error)
{
    static const pyro_analysis_options everything = {.step = -1};
    pyro_selection selection = {0};
    pyro_joins joins;
    pyro_chrome chrome = {.trace = trace,
                          .joins = &joins,
                          .selection = &selection,
                          .write = write,
                          .user = user,
                          .error = error};
    int status;

    options = options ? options : &everything;
    status = pyro_joins_make(&joins, trace, options, error);
    if (status == PYRO_OK)
        status = pyro_selection_make(&selection, trace, &joins, options, error);
    if (status == PYRO_OK)
        status = write_selected(&chrome);
    pyro_selection_free(&selection);
    pyro_joins_free(&joins);
    return status;
}
