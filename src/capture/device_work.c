/*
 * Writes what the device collector sees into the recording. Calls and graph nodes become records of
 * the threads that make them, so that their place among layers and ops needs no further lookup; work
 * becomes records of the collector's thread.
 */
#include "capture/session.h"

#include "device/collector.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)PYRO_DEVICES_OLD_DRIVER == (int)PYRO_COLLECTOR_OLD_DRIVER &&
                   (int)PYRO_DEVICES_TAKEN == (int)PYRO_COLLECTOR_TAKEN,
               "states of the collector");
_Static_assert(PYRO_DEVICES_MEMSETS == PYRO_COLLECT_SETS &&
                   PYRO_DEVICES_SYNCHRONIZATIONS == PYRO_COLLECT_SYNCS &&
                   PYRO_DEVICES_OVERHEAD == PYRO_COLLECT_OVERHEAD,
               "bits of records");
_Static_assert((int)PYRO_DEVICE_OVERHEAD == (int)PYRO_WORK_OVERHEAD &&
                   (int)PYRO_DEVICE_COPY == (int)PYRO_WORK_COPY &&
                   PYRO_DEVICE_NO_STREAM == PYRO_ALL_STREAMS,
               "kinds of work");

#define CALL_SLOTS ((uint32_t)1 << 18)

/* Which calls are recorded. Work arrives later than its call, maybe in another session. */
static struct recorded_calls {
    uint32_t generation; /* of the session */
    uint32_t first;      /* correlation of its first call; 0: none yet */
    uint32_t are_for_passes;
    uint32_t plain_generation; /* the same, if the collector may write calls; or 0 */
    /* Of each call the id of its name and, above, kind and scope of its records; 0: not known in
     * this session. A lookup by text costs as much as the rest of a record. */
    uint64_t heads[PYRO_MOST_CALL_NUMBERS];
} calls;

/* Which calls belong to passes. */
static uint32_t pass_calls[CALL_SLOTS];

/* Used by the collector's thread only. */
static struct reported {
    uint32_t generation;
    uint64_t clock_error_ns, dropped;
} reported;

static uint64_t read_clock(void)
{
    return pyro_raw_time(&pyro_the_recorder_api);
}

static double ns_per_unit(void)
{
    return 1 / pyro_clock_rate(&pyro_the_recorder_api);
}

/* The first call of a session, or its first of a pass. */
static __attribute__((noinline, cold)) void note_other_call(uint32_t generation,
                                                            uint32_t correlation)
{
    const pyro_recorder_api *api = &pyro_the_recorder_api;
    uint32_t none = 0, is_temporary = pyro_the_session.options.temporary;
    bool is_plain = !is_temporary && !api->uses_clock && !api->needs_fence;
    if (__atomic_load_n(&calls.generation, __ATOMIC_RELAXED) != generation) {
        __atomic_store_n(&calls.first, 0, __ATOMIC_RELAXED);
        for (size_t i = 0; i < PYRO_MOST_CALL_NUMBERS; i++)
            __atomic_store_n(&calls.heads[i], 0, __ATOMIC_RELAXED);
        __atomic_store_n(&calls.are_for_passes, is_temporary, __ATOMIC_RELAXED);
        __atomic_store_n(&calls.generation, generation, __ATOMIC_RELEASE);
    }
    __atomic_compare_exchange_n(&calls.first, &none, correlation, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    __atomic_store_n(&calls.plain_generation, is_plain ? generation : 0, __ATOMIC_RELEASE);
}

static inline void note_call(uint32_t generation, uint32_t correlation)
{
    bool is_known = __atomic_load_n(&calls.generation, __ATOMIC_ACQUIRE) == generation;
    if (__builtin_expect(!is_known || !__atomic_load_n(&calls.first, __ATOMIC_RELAXED), 0))
        note_other_call(generation, correlation);
    if (__builtin_expect(__atomic_load_n(&calls.are_for_passes, __ATOMIC_RELAXED), 0))
        __atomic_store_n(&pass_calls[correlation & (CALL_SLOTS - 1)], correlation,
                         __ATOMIC_RELEASE);
}

static __attribute__((noinline, cold)) uint64_t name_new_call(pyro_recorder_thread *thread,
                                                              const pyro_device_call *call)
{
    uint32_t scope = (call->is_runtime ? PYRO_CALL_IS_RUNTIME : 0u) |
                     (call->starts_kernels ? PYRO_CALL_STARTS_KERNELS : 0u);
    uint64_t id = pyro_table_name(thread, call->name);
    uint64_t head = (uint64_t)(PYRO_RECORD_CALL | scope << 8) << 32 | id;
    if (id)
        __atomic_store_n(&calls.heads[call->number], head, __ATOMIC_RELAXED);
    return head;
}

static inline uint64_t head_of_call(pyro_recorder_thread *thread, const pyro_device_call *call)
{
    uint64_t known = __atomic_load_n(&calls.heads[call->number], __ATOMIC_RELAXED);
    return __builtin_expect(known != 0, 1) ? known : name_new_call(thread, call);
}

/* Opens the span of a call. */
static void begin_span(pyro_recorder_api *api, pyro_recorder_thread *thread, uint64_t head,
                       uint32_t correlation, uint64_t start_raw)
{
    uint32_t word = (uint32_t)(head >> 32);
    pyro_record *record = pyro_record_room(api, thread);
    pyro_span_open(thread, record, pyro_call_span_key(correlation));
    if (!record)
        return;
    record->start_raw = start_raw;
    record->sequence = correlation;
    record->name = (uint32_t)head;
    memcpy(&record->kind, &word, sizeof word);
    pyro_record_commit(thread, record);
    pyro_record_prefetch(record + 2);
}

static __attribute__((noinline, cold)) void control_window(const pyro_device_call *call)
{
    size_t prefix = strlen(call->is_runtime ? "cuda" : "cu");
    pyro_flight_window(strcmp(call->name + prefix, "ProfilerStart") == 0);
}

/* Like pyro_recorder_enter(), with fewer calls. */
static inline pyro_recorder_thread *enter(pyro_recorder_api *api)
{
    pyro_recorder_thread *thread = pyro_this_thread;
    if (__builtin_expect(!thread || thread->generation != api->generation, 0))
        thread = pyro_is_recording(api) ? pyro_thread_current() : NULL;
    return thread ? pyro_recorder_enter_with(api, thread) : NULL;
}

/* The collector may write later calls of the kind itself, but not for passes, whose calls must be known
 * before their work arrives. */
static __attribute__((cold)) pyro_call_kind begin_call(const pyro_device_call *call,
                                                       uint32_t correlation, uint64_t begun)
{
    pyro_recorder_api *api = &pyro_the_recorder_api;
    pyro_call_kind kind = {.head = 0};
    if (call->controls_profiler) {
        control_window(call);
        return kind;
    }
    pyro_recorder_thread *thread = api->is_resting ? NULL : enter(api);
    if (!thread)
        return kind;
    note_call(thread->generation, correlation);
    uint64_t head = head_of_call(thread, call);
    if (begun >= pyro_the_session.header->first.raw) /* else it is none of this session */
        begin_span(api, thread, head, correlation, begun);
    bool has_name = (uint32_t)head != 0;
    kind.session = thread->generation;
    kind.writer = pyro_thread_place();
    if (has_name && __atomic_load_n(&calls.plain_generation, __ATOMIC_RELAXED) == kind.session)
        kind.head = head;
    pyro_recorder_leave(thread);
    return kind;
}

static __attribute__((cold)) void end_call(const pyro_device_call *call, uint32_t correlation,
                                           pyro_call_outcome outcome)
{
    pyro_recorder_api *api = &pyro_the_recorder_api;
    uint64_t now = pyro_raw_time(api);
    pyro_recorder_thread *thread = call->controls_profiler ? NULL : enter(api);
    if (!thread)
        return;
    pyro_record *record = pyro_span_close(thread, pyro_call_span_key(correlation));
    if (record) {
        if (outcome.failed)
            record->notes |= PYRO_NOTE_RAISED;
        if (outcome.is_captured)
            record->notes |= PYRO_NOTE_CAPTURED;
        record->end_raw = now;
    }
    pyro_recorder_leave(thread);
}

static void node_added(uint64_t node, uint64_t original)
{
    pyro_recorder_api *api = &pyro_the_recorder_api;
    pyro_recorder_thread *thread = pyro_recorder_enter(api);
    pyro_record *record = thread ? pyro_record_room(api, thread) : NULL;
    if (record) {
        pyro_graph_node_record *of_node = (pyro_graph_node_record *)(void *)record;
        of_node->start_raw = pyro_raw_time(api);
        of_node->node = node;
        of_node->original = original;
        pyro_record_is(record, PYRO_RECORD_GRAPH_NODE, 0);
        pyro_record_commit(thread, record);
    }
    if (thread)
        pyro_recorder_leave(thread);
}

/* Whether work belongs to the session: its call was recorded, or is later than the first one. */
static bool is_of_session(const pyro_device_work *work, uint32_t generation)
{
    uint32_t correlation = work->correlation;
    bool for_passes = pyro_the_session.options.temporary;
    if (correlation == 0)
        return !for_passes;
    if (__atomic_load_n(&calls.generation, __ATOMIC_RELAXED) != generation)
        return false;
    if (for_passes)
        return __atomic_load_n(&pass_calls[correlation & (CALL_SLOTS - 1)], __ATOMIC_ACQUIRE) ==
               correlation;
    uint32_t first = __atomic_load_n(&calls.first, __ATOMIC_RELAXED);
    return first && (int32_t)(correlation - first) >= 0;
}

static uint32_t launch_id(pyro_recorder_thread *thread, const pyro_device_work *work)
{
    if (work->kind != PYRO_WORK_KERNEL)
        return 0;
    pyro_launch_data launch = {.registers = work->registers,
                               .static_shared_bytes = work->static_shared_bytes,
                               .dynamic_shared_bytes = work->dynamic_shared_bytes};
    memcpy(launch.grid, work->grid, sizeof launch.grid);
    memcpy(launch.block, work->block, sizeof launch.block);
    return pyro_table_launch(thread, &launch);
}

static void add_work(const pyro_device_work *work)
{
    pyro_recorder_api *api = &pyro_the_recorder_api;
    pyro_recorder_thread *thread = pyro_recorder_enter(api);
    if (!thread)
        return;
    pyro_record *record = is_of_session(work, thread->generation) ? pyro_record_room(api, thread)
                                                                  : NULL;
    if (record) {
        pyro_device_record *of_work = (pyro_device_record *)(void *)record;
        of_work->start_raw = work->start;
        of_work->end_raw = work->end;
        of_work->graph_node = work->graph_node;
        of_work->bytes = (int64_t)work->bytes;
        of_work->name = api->name(thread, work->name);
        of_work->correlation = work->correlation;
        of_work->stream = work->stream;
        of_work->graph = work->graph;
        of_work->launch = launch_id(thread, work);
        of_work->duration_ns = work->duration_ns <= UINT32_MAX ? (uint32_t)work->duration_ns : 0;
        of_work->device = (uint16_t)work->device;
        of_work->work = work->kind;
        of_work->kind = PYRO_RECORD_DEVICE;
        pyro_record_commit(thread, record);
    }
    pyro_recorder_leave(thread);
}

static void work_begins(void)
{
    uint32_t generation = __atomic_load_n(&pyro_the_recorder_api.generation, __ATOMIC_RELAXED);
    if (reported.generation != generation)
        reported = (struct reported){.generation = generation};
}

static void report_number(const char *key, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    pyro_recorder_property(key, text);
}

/* Every new value is an entry of the file, so small changes are not reported. */
static void work_ends(void)
{
    pyro_collector_status status;
    pyro_collector_look(&status);
    if (!pyro_is_recording(&pyro_the_recorder_api))
        return;
    if (status.clock_error_ns > reported.clock_error_ns * 5 / 4) {
        reported.clock_error_ns = status.clock_error_ns;
        report_number(PYRO_PROPERTY_DEVICE_CLOCK_ERROR, status.clock_error_ns);
    }
    uint64_t dropped = status.dropped + status.malformed;
    if (dropped > reported.dropped * 5 / 4) {
        reported.dropped = dropped;
        report_number(PYRO_PROPERTY_DEVICE_DROPPED, dropped);
    }
}

static const pyro_device_sink sink = {.now = read_clock,
                                      .ns_per_unit = ns_per_unit,
                                      .recorder = &pyro_the_recorder_api,
                                      .call_begins = begin_call,
                                      .call_ends = end_call,
                                      .node_added = node_added,
                                      .work_begins = work_begins,
                                      .work = add_work,
                                      .work_ends = work_ends};

static void describe(pyro_devices_status *out, const pyro_collector_status *status)
{
    *out = (pyro_devices_status){.state = (pyro_devices_state)status->state,
                                 .version = status->version,
                                 .records = status->records,
                                 .dropped = status->dropped,
                                 .malformed = status->malformed,
                                 .launches = status->launches,
                                 .unfinished = status->unfinished,
                                 .clock_error_ns = status->clock_error_ns};
    memcpy(out->reason, status->reason, sizeof out->reason);
    memcpy(out->library, status->library, sizeof out->library);
}

/* A recording of layers alone is one that must cost little. Waits are calls of the host, which are
 * recorded without their records. */
static uint32_t usual_records(void)
{
    const pyro_recorder_api *api = &pyro_the_recorder_api;
    bool is_detailed = !pyro_is_recording(api) ||
                       api->flags & (PYRO_RECORD_OPS | PYRO_RECORD_MEMORY);
    return is_detailed ? PYRO_COLLECT_SETS : 0;
}

pyro_devices_state pyro_devices_start(pyro_devices_status *status)
{
    return pyro_devices_start_with(PYRO_DEVICES_USUAL, status);
}

pyro_devices_state pyro_devices_start_with(uint32_t more, pyro_devices_status *status)
{
    uint32_t wanted = more == PYRO_DEVICES_USUAL ? usual_records() : more;
    pyro_devices_state state = (pyro_devices_state)pyro_collector_start(&sink, wanted);
    if (status)
        pyro_devices_look(status);
    return state;
}

void pyro_devices_stop(void)
{
    pyro_collector_stop();
}

void pyro_devices_flush(void)
{
    pyro_collector_flush();
}

void pyro_devices_look(pyro_devices_status *status)
{
    pyro_collector_status of_collector;
    pyro_collector_look(&of_collector);
    describe(status, &of_collector);
}

void pyro_devices_probe(pyro_devices_status *status)
{
    pyro_collector_status of_collector;
    pyro_collector_probe(&of_collector);
    describe(status, &of_collector);
}
