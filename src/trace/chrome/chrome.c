/* Writes a trace as Chrome JSON: selects events, then streams head, events, counters and tail. */
#include "trace/chrome/chrome.h"

#include "base/error.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

/* The requested selection, and a cache of names that were matched. */
typedef struct selection {
    const pyro_analysis_options *options;
    const regex_t *filter;  /* NULL: everything */
    uint8_t *name_matches;  /* by interned text: 0 not looked at, 1 matches, 2 does not */
    uint8_t *layer_matches; /* by layer */
    const pyro_step **steps; /* steps with the requested number, in order of time */
    size_t step_count;
} selection;

static bool matches(const regex_t *filter, const char *text, uint8_t *known)
{
    if (*known == 0)
        *known = regexec(filter, text, 0, NULL, 0) == 0 ? 1 : 2;
    return *known == 1;
}

/* An event is chosen by its name or by the layer that it belongs to. */
static bool passes_filter(const pyro_chrome *chrome, const selection *chosen, uint32_t event)
{
    const pyro_trace *trace = chrome->trace;
    const pyro_joins *joins = chrome->joins;
    uint32_t name = trace->name[event], call = joins->call[event];

    if (!chosen->filter)
        return true;
    if (name != PYRO_NO_ID &&
        matches(chosen->filter, pyro_trace_text(trace, name), &chosen->name_matches[name]))
        return true;
    if (call == PYRO_NO_LAYER)
        return false;
    uint32_t layer = joins->calls[call].layer;
    return matches(chosen->filter, joins->layers[layer].path, &chosen->layer_matches[layer]);
}

/* When an event was caused: work that runs late belongs to the step that launched it. */
static int64_t cause_ns(const pyro_chrome *chrome, uint32_t event)
{
    const pyro_trace *trace = chrome->trace;
    uint32_t launch = pyro_event_is_device_work(trace->category[event])
                          ? chrome->joins->launch[event]
                          : PYRO_NO_EVENT;

    return trace->start_ns[launch != PYRO_NO_EVENT ? launch : event];
}

static bool in_step(const selection *chosen, int64_t time_ns)
{
    size_t low = 0, high = chosen->step_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (chosen->steps[middle]->start_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && time_ns < chosen->steps[low - 1]->end_ns;
}

static bool wants(const pyro_chrome *chrome, const selection *chosen, uint32_t event)
{
    const pyro_analysis_options *options = chosen->options;
    uint8_t category = chrome->trace->category[event];
    bool has_phase = pyro_event_is_device_work(category) || pyro_event_is_host(category);

    if (options->phase != PYRO_PHASE_OTHER && has_phase &&
        chrome->joins->phase[event] != options->phase)
        return false;
    return passes_filter(chrome, chosen, event) &&
           (options->step < 0 || in_step(chosen, cause_ns(chrome, event)));
}

/* Keeps the call that launched the work, and the op around that call. */
static void keep_launch(pyro_chrome *chrome, uint32_t event)
{
    uint32_t launch = chrome->joins->launch[event];

    if (launch == PYRO_NO_EVENT)
        return;
    chrome->keep[launch] = 1;
    if (chrome->joins->op[launch] != PYRO_NO_EVENT)
        chrome->keep[chrome->joins->op[launch]] = 1;
}

/* Keeps the steps, so that a reader can find the place in the run. */
static void choose_steps(pyro_chrome *chrome, selection *chosen)
{
    for (size_t i = 0; i < chrome->joins->step_count; i++) {
        const pyro_step *step = &chrome->joins->steps[i];

        if (chosen->options->step >= 0 && step->number != chosen->options->step)
            continue;
        chosen->steps[chosen->step_count++] = step;
        if (step->event != PYRO_NO_EVENT)
            chrome->keep[step->event] = 1;
    }
}

/* Marks the events to write, and finds the time range that they cover. */
static void choose_events(pyro_chrome *chrome, selection *chosen)
{
    const pyro_trace *trace = chrome->trace;
    bool begun = false;

    choose_steps(chrome, chosen);
    for (uint32_t event = 0; event < trace->count; event++) {
        if (!wants(chrome, chosen, event))
            continue;
        chrome->keep[event] = 1;
        if (pyro_event_is_device_work(trace->category[event]))
            keep_launch(chrome, event);
    }
    for (uint32_t event = 0; event < trace->count; event++) {
        int64_t start_ns = trace->start_ns[event], end_ns = pyro_event_end_ns(trace, event);
        if (!chrome->keep[event])
            continue;
        chrome->start_ns = !begun || start_ns < chrome->start_ns ? start_ns : chrome->start_ns;
        chrome->end_ns = !begun || end_ns > chrome->end_ns ? end_ns : chrome->end_ns;
        begun = true;
    }
}

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
    pyro_chrome_time(chrome, "ts", chrome->start_ns);
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
        used[trace->track[event]] |= chrome->keep[event];
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

        if (chrome->keep[event]) {
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

/* Allocates the marks, selects the events and writes them. */
static int choose_and_write(pyro_chrome *chrome, selection *chosen)
{
    size_t texts = chrome->trace->names.count + 1;
    int status;

    chrome->keep = calloc(chrome->trace->count + 1, 1);
    chrome->quoted = calloc(texts, sizeof *chrome->quoted);
    chrome->lists = calloc(texts, sizeof *chrome->lists);
    chrome->layers = calloc(chrome->joins->layer_count + 1, sizeof *chrome->layers);
    chosen->name_matches = calloc(texts, 1);
    chosen->layer_matches = calloc(chrome->joins->layer_count + 1, 1);
    chosen->steps = calloc(chrome->joins->step_count + 1, sizeof *chosen->steps);
    if (chrome->keep && chrome->quoted && chrome->lists && chrome->layers && chosen->name_matches &&
        chosen->layer_matches && chosen->steps) {
        choose_events(chrome, chosen);
        status = write_all(chrome);
    } else {
        status = pyro_fail_memory(chrome->error);
    }
    free(chrome->keep);
    free(chrome->quoted);
    free(chrome->lists);
    free(chrome->layers);
    pyro_arena_free(&chrome->arena);
    free(chosen->name_matches);
    free(chosen->layer_matches);
    free(chosen->steps);
    pyro_buf_free(&chrome->buf);
    return status;
}

int pyro_trace_write_chrome(pyro_trace *trace, const pyro_analysis_options *options,
                            pyro_write_fn write, void *user, pyro_error *error)
{
    static const pyro_analysis_options everything = {.step = -1};
    selection chosen = {.options = options ? options : &everything};
    pyro_joins joins;
    pyro_chrome chrome = {
        .trace = trace, .joins = &joins, .write = write, .user = user, .error = error};
    regex_t filter;
    int status;

    if (chosen.options->filter) {
        if (regcomp(&filter, chosen.options->filter, REG_EXTENDED | REG_NOSUB) != 0)
            return pyro_fail(error, PYRO_ERROR_ARGUMENT, "invalid regular expression \"%.200s\"",
                             chosen.options->filter);
        chosen.filter = &filter;
    }
    status = pyro_joins_make(&joins, trace, chosen.options, error);
    if (status == PYRO_OK)
        status = choose_and_write(&chrome, &chosen);
    pyro_joins_free(&joins);
    if (chosen.filter)
        regfree(&filter);
    return status;
}
