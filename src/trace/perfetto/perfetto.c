/* Writes a trace as packets of Perfetto: processes, devices, steps, the slices of each track. */
#include "trace/perfetto/perfetto.h"

#include "base/error.h"
#include "trace/export/categories.h"

#include <stdio.h>
#include <stdlib.h>

/* In the lane of a stream: it shows annotations, which enclose the stream's work. */
#define ANNOTATIONS 128

/* Ids of processes and threads have 31 bits in Perfetto; a textual one is known by its hash. */
static uint64_t short_id(uint64_t id)
{
    return id & 0x7fffffff;
}

static int describe_process(pyro_perfetto *perfetto, uint64_t pid)
{
    pyro_buf *buf = &perfetto->buf;
    size_t packet = pyro_perfetto_begin_packet(perfetto, PYRO_PERFETTO_NO_TIME);
    size_t body = pyro_message_begin(buf, PACKET_TRACK);

    pyro_message_number(buf, TRACK_UUID, pyro_perfetto_uuid(PYRO_PERFETTO_PROCESS, pid, 0));
    size_t process = pyro_message_begin(buf, TRACK_PROCESS);
    pyro_message_number(buf, PROCESS_PID, pid);
    pyro_message_text(buf, PROCESS_NAME, "python");
    pyro_message_end(buf, process);
    pyro_message_end(buf, body);
    return pyro_perfetto_end_packet(perfetto, packet);
}

/* Later lanes of a thread are tracks inside it. */
static int describe_thread(pyro_perfetto *perfetto, const pyro_lanes *lanes, uint64_t uuid)
{
    const pyro_track *track = lanes->subject;
    pyro_buf *buf = &perfetto->buf;

    if (uuid != lanes->uuid)
        return pyro_perfetto_describe(
            perfetto, &(pyro_perfetto_track){
                          .uuid = uuid, .parent = lanes->uuid, .name = "overlapping slices"});
    size_t packet = pyro_perfetto_begin_packet(perfetto, PYRO_PERFETTO_NO_TIME);
    size_t body = pyro_message_begin(buf, PACKET_TRACK);
    pyro_message_number(buf, TRACK_UUID, uuid);
    pyro_message_number(buf, TRACK_PARENT,
                        pyro_perfetto_uuid(PYRO_PERFETTO_PROCESS, short_id(track->pid), 0));
    size_t thread = pyro_message_begin(buf, TRACK_THREAD);
    pyro_message_number(buf, THREAD_PID, short_id(track->pid));
    pyro_message_number(buf, THREAD_TID, short_id(track->tid));
    if (track->name != PYRO_NO_ID)
        pyro_message_text(buf, THREAD_NAME, pyro_trace_text(perfetto->trace, track->name));
    pyro_message_end(buf, thread);
    pyro_message_end(buf, body);
    return pyro_perfetto_end_packet(perfetto, packet);
}

static int describe_stream(pyro_perfetto *perfetto, const pyro_lanes *lanes, uint64_t uuid)
{
    const pyro_track *track = lanes->subject;
    char name[64];

    snprintf(name, sizeof name, "stream %lld%s", (long long)track->stream,
             uuid & ANNOTATIONS ? " annotations"
             : track->has_work  ? ""
                                : " (sync)");
    return pyro_perfetto_describe(
        perfetto,
        &(pyro_perfetto_track){
            .uuid = uuid,
            .parent = pyro_perfetto_uuid(PYRO_PERFETTO_DEVICE, (uint32_t)track->device, 0),
            .name = name,
        });
}

static const char *device_name(const pyro_trace *trace, int32_t id)
{
    for (size_t i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == id)
            return pyro_trace_text(trace, trace->devices[i].name);
    return "";
}

/* Describes the processes and devices of the tracks that have kept events. */
static int describe_owners(pyro_perfetto *perfetto, const uint8_t *used)
{
    const pyro_trace *trace = perfetto->trace;
    pyro_map known = PYRO_MAP_INIT;
    int status = PYRO_OK;

    for (size_t i = 0; status == PYRO_OK && i < trace->track_count; i++) {
        const pyro_track *track = &trace->tracks[i];
        uint64_t uuid = track->is_device
                            ? pyro_perfetto_uuid(PYRO_PERFETTO_DEVICE, (uint32_t)track->device, 0)
                            : pyro_perfetto_uuid(PYRO_PERFETTO_PROCESS, short_id(track->pid), 0);
        char name[160];

        if (!used[i] || pyro_map_get(&known, uuid) != PYRO_MAP_NONE)
            continue;
        if (!pyro_map_put(&known, uuid, 1)) {
            status = pyro_fail_memory(perfetto->error);
        } else if (track->is_device) {
            snprintf(name, sizeof name, "device %ld %.120s", (long)track->device,
                     device_name(trace, track->device));
            status = pyro_perfetto_describe(perfetto,
                                            &(pyro_perfetto_track){.uuid = uuid, .name = name});
        } else {
            status = describe_process(perfetto, short_id(track->pid));
        }
    }
    pyro_map_free(&known);
    return status;
}

static int describe_steps(pyro_perfetto *perfetto, const pyro_lanes *lanes, uint64_t uuid)
{
    (void)lanes;
    return pyro_perfetto_describe(perfetto, &(pyro_perfetto_track){.uuid = uuid, .name = "steps"});
}

static int write_steps(pyro_perfetto *perfetto)
{
    pyro_lanes lanes = {.uuid = pyro_perfetto_uuid(PYRO_PERFETTO_STEPS, 0, 0),
                        .describe = describe_steps};
    int status = PYRO_OK;

    for (size_t i = 0; status == PYRO_OK && i < perfetto->joins->step_count; i++) {
        const pyro_step *step = &perfetto->joins->steps[i];
        int64_t end_ns = step->end_ns;
        uint64_t uuid;

        if (step->end_ns < perfetto->selection->start_ns ||
            step->start_ns > perfetto->selection->end_ns)
            continue;
        status = pyro_lanes_place(perfetto, &lanes, step->start_ns, &end_ns, &uuid);
        if (status == PYRO_OK)
            status = pyro_perfetto_begin_slice(perfetto, uuid, step->start_ns, step->name);
    }
    if (status == PYRO_OK)
        status = pyro_lanes_finish(perfetto, &lanes);
    pyro_lanes_free(&lanes);
    return status;
}

/* An arrow goes from a launch to each piece of its work; the work's number names it. */
static void put_flows(pyro_perfetto *perfetto, uint32_t event)
{
    uint32_t launch = pyro_event_is_device_work(perfetto->trace->category[event])
                          ? perfetto->joins->launch[event]
                          : PYRO_NO_EVENT;

    for (uint32_t work = perfetto->first_work[event]; work != PYRO_NO_EVENT;
         work = perfetto->next_work[work])
        pyro_message_fixed(&perfetto->buf, EVENT_FLOWS, (uint64_t)work + 1);
    if (launch != PYRO_NO_EVENT && perfetto->selection->keep[launch])
        pyro_message_fixed(&perfetto->buf, EVENT_FLOW_ENDS, (uint64_t)event + 1);
}

static int write_event(pyro_perfetto *perfetto, uint32_t event, uint64_t uuid)
{
    const pyro_trace *trace = perfetto->trace;
    pyro_buf *buf = &perfetto->buf;
    size_t packet = pyro_perfetto_begin_packet(perfetto, trace->start_ns[event]);
    size_t body = pyro_message_begin(buf, PACKET_TRACK_EVENT);

    pyro_message_number(buf, EVENT_TYPE, TYPE_BEGIN);
    pyro_message_number(buf, EVENT_TRACK, uuid);
    if (trace->name[event] != PYRO_NO_ID)
        pyro_message_number(buf, EVENT_NAME_ID, pyro_perfetto_name(perfetto, trace->name[event]));
    pyro_message_text(buf, EVENT_CATEGORY, pyro_event_category_name(trace, event));
    put_flows(perfetto, event);
    pyro_perfetto_arguments(perfetto, event);
    pyro_message_end(buf, body);
    return pyro_perfetto_end_packet(perfetto, packet);
}

/* The events of one thread or stream, in order of time: of a stream its work or its annotations.
 * Allocations are shown by curves. */
static int write_lanes(pyro_perfetto *perfetto, pyro_lanes *lanes, const uint32_t *events,
                       size_t count)
{
    const pyro_trace *trace = perfetto->trace;
    int status = PYRO_OK;

    for (size_t i = 0; status == PYRO_OK && i < count; i++) {
        int64_t end_ns = pyro_event_end_ns(trace, events[i]);
        uint8_t category = trace->category[events[i]];
        uint64_t uuid;

        if (category == PYRO_EVENT_MEMORY ||
            (category == PYRO_EVENT_DEVICE_ANNOTATION) != ((lanes->uuid & ANNOTATIONS) != 0))
            continue;
        status = pyro_lanes_place(perfetto, lanes, trace->start_ns[events[i]], &end_ns, &uuid);
        if (status == PYRO_OK)
            status = write_event(perfetto, events[i], uuid);
    }
    if (status == PYRO_OK)
        status = pyro_lanes_finish(perfetto, lanes);
    pyro_lanes_free(lanes);
    return status;
}

static int write_track(pyro_perfetto *perfetto, size_t index, const uint32_t *events, size_t count)
{
    const pyro_track *track = &perfetto->trace->tracks[index];
    uint64_t uuid = pyro_perfetto_uuid(PYRO_PERFETTO_TRACK, index, 0);
    pyro_lanes lanes = {.uuid = uuid,
                        .nests = !track->is_device,
                        .describe = track->is_device ? describe_stream : describe_thread,
                        .subject = track};
    pyro_lanes annotations = {
        .uuid = uuid | ANNOTATIONS, .nests = true, .describe = describe_stream, .subject = track};
    int status = write_lanes(perfetto, &lanes, events, count);

    return status == PYRO_OK ? write_lanes(perfetto, &annotations, events, count) : status;
}

/* Sorts the kept events by track, and keeps their order of time. `firsts` has an entry per track
 * and one more. */
static void sort_by_track(const pyro_perfetto *perfetto, uint32_t *events, size_t *firsts)
{
    const pyro_trace *trace = perfetto->trace;

    for (size_t event = 0; event < trace->count; event++)
        if (perfetto->selection->keep[event])
            firsts[trace->track[event] + 2]++;
    for (size_t i = 2; i < trace->track_count + 2; i++)
        firsts[i] += firsts[i - 1];
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = perfetto->joins->by_time[i];
        if (perfetto->selection->keep[event])
            events[firsts[trace->track[event] + 1]++] = event;
    }
}

static void link_work(pyro_perfetto *perfetto)
{
    const pyro_trace *trace = perfetto->trace;

    for (size_t event = 0; event < trace->count; event++)
        perfetto->first_work[event] = PYRO_NO_EVENT;
    for (uint32_t event = (uint32_t)trace->count; event-- > 0;) {
        uint32_t launch = pyro_event_is_device_work(trace->category[event])
                              ? perfetto->joins->launch[event]
                              : PYRO_NO_EVENT;
        if (launch == PYRO_NO_EVENT || !perfetto->selection->keep[event])
            continue;
        perfetto->next_work[event] = perfetto->first_work[launch];
        perfetto->first_work[launch] = event;
    }
}

static int write_tracks(pyro_perfetto *perfetto, const uint32_t *events, const size_t *firsts)
{
    int status = PYRO_OK;

    for (size_t i = 0; status == PYRO_OK && i < perfetto->trace->track_count; i++)
        status = write_track(perfetto, i, events + firsts[i], firsts[i + 1] - firsts[i]);
    return status;
}

static int write_all(pyro_perfetto *perfetto, uint32_t *events, size_t *firsts, uint8_t *used)
{
    int status;

    sort_by_track(perfetto, events, firsts);
    link_work(perfetto);
    for (size_t i = 0; i < perfetto->trace->track_count; i++)
        used[i] = firsts[i + 1] > firsts[i];
    status = describe_owners(perfetto, used);
    if (status == PYRO_OK)
        status = write_steps(perfetto);
    if (status == PYRO_OK)
        status = pyro_perfetto_layers(perfetto);
    if (status == PYRO_OK)
        status = write_tracks(perfetto, events, firsts);
    if (status == PYRO_OK)
        status = pyro_perfetto_counters(perfetto);
    return status == PYRO_OK ? pyro_perfetto_flush(perfetto) : status;
}

static int write_selected(pyro_perfetto *perfetto)
{
    const pyro_trace *trace = perfetto->trace;
    uint32_t *events = calloc(trace->count + 1, sizeof *events);
    size_t *firsts = calloc(trace->track_count + 3, sizeof *firsts);
    uint8_t *used = calloc(trace->track_count + 1, 1);
    int status = PYRO_ERROR_MEMORY;

    perfetto->has_name = calloc(trace->names.count + 1, 1);
    perfetto->has_value = calloc(trace->names.count + 1, 1);
    perfetto->has_layer = calloc(perfetto->joins->layer_count + 1, 1);
    perfetto->first_work = calloc(trace->count + 1, sizeof *perfetto->first_work);
    perfetto->next_work = calloc(trace->count + 1, sizeof *perfetto->next_work);
    if (events && firsts && used && perfetto->has_name && perfetto->has_value &&
        perfetto->has_layer && perfetto->first_work && perfetto->next_work)
        status = write_all(perfetto, events, firsts, used);
    else
        pyro_fail_memory(perfetto->error);
    free(events);
    free(firsts);
    free(used);
    free(perfetto->has_name);
    free(perfetto->has_value);
    free(perfetto->has_layer);
    free(perfetto->first_work);
    free(perfetto->next_work);
    pyro_map_free(&perfetto->counters);
    pyro_buf_free(&perfetto->buf);
    pyro_buf_free(&perfetto->interned);
    return status;
}

int pyro_trace_write_perfetto(pyro_trace *trace, const pyro_analysis_options *options,
                              pyro_write_fn write, void *user, pyro_error *error)
{
    static const pyro_analysis_options everything = {.step = -1};
    pyro_selection selection = {0};
    pyro_joins joins;
    pyro_perfetto perfetto = {.trace = trace,
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
    if (status == PYRO_OK) {
        perfetto.shift_ns = selection.start_ns < 0 ? -selection.start_ns : 0;
        status = write_selected(&perfetto);
    }
    pyro_selection_free(&selection);
    pyro_joins_free(&joins);
    return status;
}
