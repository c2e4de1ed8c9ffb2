/* Turns records into rows of a trace. Trusts nothing in a record but its tag. */
#include "trace/recording/recording.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "trace/kineto/scanner.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USER_SCOPE 7 /* at::RecordScope */
#define MOST_THREADS 60000
#define DEEPEST_NESTING 4096
#define MOST_PROPERTIES 1000
#define OWN_THREAD 0 /* number of no thread of the program */

static uint32_t *none_of(size_t count)
{
    uint32_t *ids = malloc((count + 1) * sizeof *ids);
    for (size_t i = 0; ids && i <= count; i++)
        ids[i] = PYRO_NO_ID;
    return ids;
}

/* Whether a trigger saved the file: what had not ended was still running then. */
static bool is_saved(const pyro_recorded_tables *tables)
{
    static const char key[] = PYRO_PROPERTY_TRIGGER;
    for (uint32_t id = 1; id < tables->counts[PYRO_DATA_PROPERTY]; id++) {
        const pyro_recorded_data *data = pyro_recorded_get(tables, PYRO_DATA_PROPERTY, id);
        if (data->bytes && data->length > sizeof key && memcmp(data->bytes, key, sizeof key) == 0)
            return true;
    }
    return false;
}

int pyro_recording_begin(pyro_recording *recording, pyro_trace *trace,
                         const pyro_recording_header *header, const pyro_recorded_tables *tables,
                         pyro_error *error)
{
    *recording = (pyro_recording){.trace = trace,
                                  .tables = tables,
                                  .header = *header,
                                  .to_raw = UINT64_MAX,
                                  .flags = UINT32_MAX,
                                  .ns_per_raw = 1 / header->raw_per_ns,
                                  .error = error,
                                  .is_saved = is_saved(tables),
                                  .last_raw = header->first.raw};
    recording->names = none_of(tables->counts[PYRO_DATA_NAME]);
    recording->stacks = none_of(tables->counts[PYRO_DATA_STACK]);
    recording->signatures = calloc(tables->counts[PYRO_DATA_SIGNATURE] + 1,
                                   sizeof *recording->signatures);
    recording->memory_name = pyro_intern_add(&trace->names, "[memory]", 8);
    recording->out_of_memory_name = pyro_intern_add(&trace->names, "[OutOfMemory]", 13);
    trace->base_time_ns = header->start_realtime_ns;
    trace->is_recording = true;
    if (!recording->names || !recording->stacks || !recording->signatures ||
        recording->memory_name == PYRO_INTERN_NONE ||
        recording->out_of_memory_name == PYRO_INTERN_NONE)
        return pyro_fail_memory(error);
    return PYRO_OK;
}

void pyro_recording_free(pyro_recording *recording)
{
    for (size_t i = 0; i < recording->thread_count; i++)
        free(recording->threads[i].spans);
    free(recording->threads);
    free(recording->names);
    free(recording->stacks);
    free(recording->signatures);
    free(recording->calls);
    free(recording->blocks);
    free(recording->unfinished);
    pyro_map_free(&recording->tracks);
    pyro_map_free(&recording->thread_index);
    pyro_recorded_work_free(&recording->work);
}

/* The thread with a number; a reused number may have had another system thread id before. */
static pyro_recorded_thread *thread_of(pyro_recording *recording, uint32_t number,
                                       int64_t system_thread)
{
    pyro_trace *trace = recording->trace;
    uint32_t index = pyro_map_get(&recording->thread_index, number);
    if (index != PYRO_MAP_NONE)
        return &recording->threads[index];
    if (recording->thread_count >= MOST_THREADS)
        return NULL;
    uint32_t track = pyro_trace_track(trace, &recording->tracks,
                                      (uint64_t)recording->header.process & INT64_MAX,
                                      (uint64_t)system_thread & INT64_MAX);
    if (track == PYRO_NO_ID || track >= trace->track_count ||
        !pyro_grow(&recording->threads, &recording->thread_capacity, recording->thread_count + 1,
                   sizeof *recording->threads) ||
        !pyro_map_put(&recording->thread_index, number, (uint32_t)recording->thread_count))
        return NULL;
    recording->threads[recording->thread_count] = (pyro_recorded_thread){
        .number = number, .track = (uint16_t)track, .last_raw = recording->header.first.raw};
    return &recording->threads[recording->thread_count++];
}

/* Adds an empty row at a time; PYRO_NO_EVENT when memory is out. */
static uint32_t add_row(pyro_recording *recording, const pyro_recorded_thread *thread,
                        uint8_t category, uint32_t name, uint64_t start_raw)
{
    pyro_trace *trace = recording->trace;
    if (!pyro_trace_reserve(trace, trace->count + 1))
        return PYRO_NO_EVENT;
    size_t row = trace->count++;
    trace->start_ns[row] = pyro_recording_time_ns(recording, start_raw);
    trace->duration_ns[row] = 0;
    trace->name[row] = name;
    trace->correlation[row] = 0;
    trace->external_id[row] = 0;
    trace->detail[row] = PYRO_NO_ID;
    trace->track[row] = thread->track;
    trace->category[row] = category;
    return (uint32_t)row;
}

/* The span around a new span; drops those that ended before it. */
static uint32_t enclosing(pyro_recorded_thread *thread, uint64_t start_raw)
{
    for (size_t i = 0; i < thread->depth; i++) {
        if (thread->spans[i].end_raw != 0 && thread->spans[i].end_raw <= start_raw) {
            thread->depth = i;
            break;
        }
    }
    return thread->depth ? thread->spans[thread->depth - 1].row : PYRO_NO_EVENT;
}

static bool push(pyro_recorded_thread *thread, uint32_t row, uint64_t end_raw)
{
    if (thread->depth >= DEEPEST_NESTING)
        return true;
    if (!pyro_grow(&thread->spans, &thread->capacity, thread->depth + 1, sizeof *thread->spans))
        return false;
    thread->spans[thread->depth++] = (pyro_recorded_span){row, end_raw};
    return true;
}

/* Sets the end of a span, or notes that it has none. */
static bool close_span(pyro_recording *recording, pyro_recorded_thread *thread, uint32_t row,
                       const pyro_record *record)
{
    uint32_t around = enclosing(thread, record->start_raw);
    uint64_t end_raw = record->end_raw;
    if (end_raw != 0 && end_raw < record->start_raw) {
        recording->damaged_records++;
        end_raw = record->start_raw;
    }
    uint64_t last = end_raw ? end_raw : record->start_raw;
    thread->last_raw = last > thread->last_raw ? last : thread->last_raw;
    recording->last_raw = last > recording->last_raw ? last : recording->last_raw;
    if (!push(thread, row, end_raw))
        return false;
    if (end_raw != 0) {
        recording->trace->duration_ns[row] = pyro_recording_time_ns(recording, end_raw) -
                                             recording->trace->start_ns[row];
        return true;
    }
    if (!pyro_grow(&recording->unfinished, &recording->unfinished_capacity,
                   recording->unfinished_count + 1, sizeof *recording->unfinished))
        return false;
    recording->unfinished[recording->unfinished_count++] = (pyro_unfinished){
        row, around, (uint32_t)(thread - recording->threads)};
    return true;
}

static bool add_op_detail(pyro_recording *recording, uint32_t row, const pyro_record *record)
{
    pyro_trace *trace = recording->trace;
    bool failed = false, with_shapes = recording->flags & PYRO_RECORD_SHAPES;
    const pyro_signature_texts *inputs = pyro_recording_signature(
        recording, with_shapes ? record->inputs : 0, &failed);
    pyro_op_extra extra = {
        .outputs =
            pyro_recording_signature(recording, with_shapes ? record->outputs : 0, &failed)->dims,
        .path = PYRO_NO_ID,
        .input_storages = record->input_storages,
        .output_storages = record->output_storages};
    uint32_t extra_index = PYRO_NO_ID;
    uint32_t stack = recording->flags & PYRO_RECORD_STACKS
                         ? pyro_recording_stack(recording, record->stack, &failed)
                         : PYRO_NO_ID;
    if (failed || !pyro_trace_add_op_extra(trace, &extra, &extra_index) ||
        !pyro_grow(&trace->ops, &trace->op_capacity, trace->op_count + 1, sizeof *trace->ops))
        return false;
    trace->detail[row] = (uint32_t)trace->op_count;
    trace->ops[trace->op_count++] = (pyro_op_detail){
        .sequence = record->sequence < 0 ? PYRO_NO_SEQUENCE : record->sequence,
        .forward_thread = record->forward_thread,
        .dims = inputs->dims,
        .types = inputs->types,
        .concrete = inputs->concrete,
        .strides = PYRO_NO_ID,
        .stack = stack,
        .collective = PYRO_NO_ID,
        .extra = extra_index};
    trace->has_shapes |= inputs->dims != PYRO_NO_ID;
    trace->has_stacks |= stack != PYRO_NO_ID;
    return true;
}

static bool add_op(pyro_recording *recording, pyro_recorded_thread *thread,
                   const pyro_record *record)
{
    bool failed = false;
    pyro_trace *trace = recording->trace;
    bool is_label = record->scope == USER_SCOPE || record->kind == PYRO_RECORD_MARK;
    uint32_t name = pyro_recording_name(recording, record->name, &failed);
    uint32_t row = failed ? PYRO_NO_EVENT
                          : add_row(recording, thread,
                                    is_label ? PYRO_EVENT_ANNOTATION : PYRO_EVENT_OP, name,
                                    record->start_raw);
    if (row == PYRO_NO_EVENT || !add_op_detail(recording, row, record))
        return false;
    trace->external_id[row] = row + 1;
    if (record->torch_thread)
        trace->tracks[thread->track].torch_thread = record->torch_thread;
    return close_span(recording, thread, row, record);
}

static bool add_layer(pyro_recording *recording, pyro_recorded_thread *thread,
                      const pyro_record *record)
{
    bool failed = false, with_shapes = recording->flags & PYRO_RECORD_SHAPES;
    uint32_t dims =
        pyro_recording_signature(recording, with_shapes ? record->inputs : 0, &failed)->dims;
    uint32_t row = add_row(recording, thread, PYRO_EVENT_PYTHON, PYRO_NO_ID, record->start_raw);
    if (failed || row == PYRO_NO_EVENT ||
        !pyro_grow(&recording->calls, &recording->call_capacity, recording->call_count + 1,
                   sizeof *recording->calls))
        return false;
    recording->calls[recording->call_count++] = (pyro_recorded_call){row, record->name, dims};
    if (record->sequence > 0 && record->sequence <= INT32_MAX)
        recording->trace->external_id[row] =
            (uint32_t)record->sequence; /* until marks.c removes it */
    return close_span(recording, thread, row, record);
}

static bool add_memory(pyro_recording *recording, pyro_recorded_thread *thread,
                       const pyro_record *record)
{
    pyro_trace *trace = recording->trace;
    pyro_memory_record memory;
    memcpy(&memory, record, sizeof memory);
    uint32_t row = add_row(recording, thread, PYRO_EVENT_MEMORY,
                           memory.out_of_memory ? recording->out_of_memory_name
                                                : recording->memory_name,
                           memory.start_raw);
    if (row == PYRO_NO_EVENT || !pyro_grow(&trace->memory, &trace->memory_capacity,
                                           trace->memory_count + 1, sizeof *trace->memory))
        return false;
    trace->detail[row] = (uint32_t)trace->memory_count;
    trace->memory[trace->memory_count++] = (pyro_memory_detail){
        .address = (int64_t)memory.address,
        .bytes = memory.bytes,
        .total_allocated = memory.total_allocated < 0 ? -1 : memory.total_allocated,
        .total_reserved = memory.total_reserved < 0 ? -1 : memory.total_reserved,
        .device_type = memory.device_type,
        .device_index = memory.device_index,
        .out_of_memory = memory.out_of_memory};
    trace->has_memory = true;
    return true;
}

/* Blocks that are live where the recording begins: allocations at its first moment. */
static bool add_held(pyro_recording *recording, pyro_recorded_thread *thread,
                     const pyro_record *record)
{
    pyro_trace *trace = recording->trace;
    bool failed = false;
    pyro_held_record held;
    memcpy(&held, record, sizeof held);
    uint64_t raw = held.start_raw > recording->from_raw ? held.start_raw : recording->from_raw;
    uint32_t op = pyro_recording_name(recording, held.op, &failed);
    uint32_t row = held.bytes <= 0
                       ? PYRO_NO_EVENT
                       : add_row(recording, thread, PYRO_EVENT_MEMORY, recording->memory_name, raw);
    if (held.bytes <= 0)
        return true; /* damaged */
    if (failed || row == PYRO_NO_EVENT ||
        !pyro_grow(&trace->memory, &trace->memory_capacity, trace->memory_count + 1,
                   sizeof *trace->memory) ||
        !pyro_grow(&recording->blocks, &recording->block_capacity, recording->block_count + 1,
                   sizeof *recording->blocks))
        return false;
    recording->blocks[recording->block_count++] = (pyro_recorded_block){
        (uint32_t)trace->memory_count, held.module};
    trace->detail[row] = (uint32_t)trace->memory_count;
    trace->memory[trace->memory_count++] = (pyro_memory_detail){.address = (int64_t)held.address,
                                                                .bytes = held.bytes,
                                                                .total_allocated = -1,
                                                                .total_reserved = -1,
                                                                .device_type = held.device_type,
                                                                .device_index = held.device_index,
                                                                .is_held = true,
                                                                .holder_layer = PYRO_NO_ID,
                                                                .holder_op = op};
    trace->has_memory = true;
    return true;
}

/* A row outside of all threads: a step may begin and end inside of spans. */
static bool add_labelled(pyro_recording *recording, const char *name, uint64_t start_raw,
                         uint64_t end_raw)
{
    pyro_recorded_thread *thread = thread_of(recording, OWN_THREAD, 0);
    uint32_t id = pyro_intern_add(&recording->trace->names, name, strlen(name));
    uint32_t row = thread && id != PYRO_INTERN_NONE
                       ? add_row(recording, thread, PYRO_EVENT_ANNOTATION, id, start_raw)
                       : PYRO_NO_EVENT;
    if (row == PYRO_NO_EVENT)
        return false;
    if (end_raw > start_raw)
        recording->trace->duration_ns[row] = pyro_recording_time_ns(recording, end_raw) -
                                             recording->trace->start_ns[row];
    recording->last_raw = end_raw > recording->last_raw ? end_raw : recording->last_raw;
    recording->trace->file_events++;
    return true;
}

static bool add_step(pyro_recording *recording, const pyro_record *record)
{
    char name[48];
    if (record->start_raw < recording->from_raw || record->start_raw > recording->to_raw ||
        record->sequence < 0)
        return true;
    snprintf(name, sizeof name, "ProfilerStep#%lld", (long long)record->sequence);
    return add_labelled(recording, name, record->start_raw, record->end_raw);
}

static bool add_call(pyro_recording *recording, pyro_recorded_thread *thread,
                     const pyro_record *record)
{
    bool failed = false;
    uint32_t name = pyro_recording_name(recording, record->name, &failed);
    uint8_t category = record->scope & PYRO_CALL_IS_RUNTIME ? PYRO_EVENT_RUNTIME
                                                            : PYRO_EVENT_DRIVER;
    uint32_t row = failed ? PYRO_NO_EVENT
                          : add_row(recording, thread, category, name, record->start_raw);
    if (row == PYRO_NO_EVENT || !pyro_recorded_work_call(&recording->work, record, row))
        return false;
    recording->trace->correlation[row] = (uint32_t)record->sequence;
    return close_span(recording, thread, row, record);
}

/*
 * Rows that stand for the layer and op of a node whose capture is not in the file: without duration,
 * on a track of their own, one pair per layer and op.
 */
static bool stand_in(pyro_recording *recording, pyro_recorded_thread *thread,
                     const pyro_graph_node_record *node, uint32_t *row)
{
    enum { APART = 64 }; /* raw units, so that no pair lies inside of another */
    pyro_map *origins = &recording->work.origins;
    uint64_t key = (uint64_t)node->module << 32 | node->op;
    *row = pyro_map_get(origins, key);
    if (*row != PYRO_MAP_NONE)
        return true;
    uint64_t start_raw = recording->from_raw + origins->count * APART;
    pyro_record layer = {.start_raw = start_raw,
                         .end_raw = start_raw + APART / 2,
                         .sequence = -1,
                         .name = node->module,
                         .kind = PYRO_RECORD_LAYER};
    pyro_record op = {.start_raw = start_raw + APART / 8,
                      .end_raw = start_raw + APART / 4,
                      .sequence = -1,
                      .name = node->op,
                      .kind = PYRO_RECORD_OP};
    if ((node->module && !add_layer(recording, thread, &layer)) ||
        (node->op && !add_op(recording, thread, &op)))
        return false;
    *row = (uint32_t)recording->trace->count - 1;
    return pyro_map_put(origins, key, *row);
}

static bool add_node(pyro_recording *recording, pyro_recorded_thread *thread,
                     const pyro_record *record, bool is_outside)
{
    pyro_graph_node_record node;
    uint32_t row = is_outside ? PYRO_NO_EVENT : enclosing(thread, record->start_raw);
    memcpy(&node, record, sizeof node);
    if ((node.module || node.op) && !stand_in(recording, thread, &node, &row))
        return false;
    return pyro_recorded_work_node(&recording->work, record, row);
}

/* Device work is selected by its call, which may come later; nodes are needed by later replays. */
static bool note_device(pyro_recording *recording, pyro_recorded_thread *thread,
                        const pyro_record *record, bool is_outside)
{
    switch (record->kind) {
    case PYRO_RECORD_DEVICE:
        return pyro_recorded_work_add(&recording->work, record);
    case PYRO_RECORD_GRAPH_NODE:
        return add_node(recording, thread, record, is_outside);
    case PYRO_RECORD_CALL:
        return !is_outside || pyro_recorded_work_call(&recording->work, record, PYRO_CALL_OUTSIDE);
    default:
        return true;
    }
}

static bool is_foreign(const pyro_recording *recording, uint32_t thread, uint64_t raw)
{
    for (size_t i = 0; i < recording->foreign_count; i++) {
        const pyro_foreign_span *span = &recording->foreign[i];
        if (span->thread == thread && raw >= span->begin_raw && raw <= span->end_raw)
            return true;
    }
    return false;
}

static bool is_open_span(const pyro_record *record)
{
    return record->end_raw == 0 &&
           (record->kind == PYRO_RECORD_OP || record->kind == PYRO_RECORD_LAYER ||
            record->kind == PYRO_RECORD_MARK);
}

static bool add_record(pyro_recording *recording, pyro_recorded_thread *thread,
                       const pyro_record *record)
{
    static const uint32_t wanted[] = {[PYRO_RECORD_OP] = PYRO_RECORD_OPS,
                                      [PYRO_RECORD_LAYER] = PYRO_RECORD_LAYERS,
                                      [PYRO_RECORD_ALLOCATION] = PYRO_RECORD_MEMORY,
                                      [PYRO_RECORD_MARK] = PYRO_RECORD_OPS,
                                      [PYRO_RECORD_DEVICE] = PYRO_RECORD_DEVICES,
                                      [PYRO_RECORD_THREAD] = UINT32_MAX,
                                      [PYRO_RECORD_CALL] = PYRO_RECORD_DEVICES,
                                      [PYRO_RECORD_GRAPH_NODE] = PYRO_RECORD_DEVICES,
                                      [PYRO_RECORD_STEP] = UINT32_MAX,
                                      [PYRO_RECORD_HELD] = PYRO_RECORD_MEMORY,
                                      [PYRO_RECORD_COUNTER] = PYRO_RECORD_DEVICES};
    if (record->kind < sizeof wanted / sizeof *wanted && !(recording->flags & wanted[record->kind]))
        return true;
    if (record->kind == PYRO_RECORD_HELD)
        return add_held(recording, thread, record);
    pyro_record clipped;
    if (recording->is_saved && record->start_raw < recording->from_raw && is_open_span(record)) {
        clipped = *record;
        clipped.start_raw = recording->from_raw;
        record = &clipped;
    }
    bool is_outside = record->start_raw < recording->from_raw ||
                      record->start_raw > recording->to_raw ||
                      is_foreign(recording, thread->number, record->start_raw);
    if (!note_device(recording, thread, record, is_outside))
        return false;
    if (is_outside || record->kind == PYRO_RECORD_DEVICE || record->kind == PYRO_RECORD_GRAPH_NODE)
        return true;
    recording->trace->file_events++;
    switch (record->kind) {
    case PYRO_RECORD_OP:
    case PYRO_RECORD_MARK:
        return add_op(recording, thread, record);
    case PYRO_RECORD_LAYER:
        return add_layer(recording, thread, record);
    case PYRO_RECORD_ALLOCATION:
        return add_memory(recording, thread, record);
    case PYRO_RECORD_CALL:
        return add_call(recording, thread, record);
    case PYRO_RECORD_COUNTER:
        return pyro_recording_counter(recording, record);
    default:
        return true; /* future kinds */
    }
}

/* The writer may fill in the ends of spans meanwhile: whole words, in any order. */
__attribute__((no_sanitize("thread"))) static void copy_record(pyro_record *to,
                                                               const pyro_record *from)
{
    const volatile uint64_t *words = (const volatile uint64_t *)from;
    uint64_t copy[sizeof *to / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof copy / sizeof *copy; i++)
        copy[i] = words[i];
    memcpy(to, copy, sizeof *to);
}

int pyro_recording_add(pyro_recording *recording, const pyro_chunk_header *chunk,
                       const pyro_record *records, size_t count)
{
    pyro_recorded_thread *thread = thread_of(recording, chunk->thread, chunk->system_thread);
    for (size_t i = 0; i < count && thread; i++) {
        pyro_record record;
        if (__atomic_load_n(&records[i].tag, __ATOMIC_ACQUIRE) != (uint32_t)chunk->sequence)
            break;
        copy_record(&record, &records[i]);
        if (record.kind == PYRO_RECORD_THREAD) {
            thread = thread_of(recording, record.name, record.sequence);
        } else if (record.kind == PYRO_RECORD_STEP) {
            uint32_t number = thread->number;
            if (!add_step(recording, &record))
                return pyro_fail_memory(recording->error);
            thread = thread_of(recording, number, 0); /* the list of threads may have moved */
        } else if (!add_record(recording, thread, &record)) {
            return pyro_fail_memory(recording->error);
        }
    }
    return thread || recording->thread_count >= MOST_THREADS ? PYRO_OK
                                                             : pyro_fail_memory(recording->error);
}

/*
 * Goes from outer to inner spans, so that an inner one finds the end of the span around it. What is
 * open when the recording is closed or saved lasts until then; in one that ended early, for all that
 * is known, until the thread's last record.
 */
static void close_unfinished(pyro_recording *recording)
{
    pyro_trace *trace = recording->trace;
    bool is_whole = recording->is_saved || recording->header.state == PYRO_RECORDING_CLOSED;
    uint64_t closed_raw = is_whole ? recording->header.last.raw : 0;
    for (size_t i = 0; i < recording->unfinished_count; i++) {
        const pyro_unfinished *span = &recording->unfinished[i];
        uint64_t last_raw = recording->threads[span->thread].last_raw;
        last_raw = closed_raw > last_raw ? closed_raw : last_raw;
        int64_t end_ns = span->around != PYRO_NO_EVENT
                             ? pyro_event_end_ns(trace, span->around)
                             : pyro_recording_time_ns(recording, last_raw);
        int64_t duration_ns = end_ns - trace->start_ns[span->row];
        trace->duration_ns[span->row] = duration_ns > 0 ? duration_ns : 0;
    }
}

static void name_threads(pyro_recording *recording)
{
    for (size_t i = 0; i < recording->thread_count; i++) {
        const pyro_recorded_thread *thread = &recording->threads[i];
        const pyro_recorded_data *name = pyro_recorded_get(recording->tables, PYRO_DATA_THREAD,
                                                           thread->number);
        if (!name->bytes)
            continue;
        uint32_t id = pyro_intern_add(&recording->trace->names, name->bytes,
                                      strnlen(name->bytes, name->length));
        if (id != PYRO_INTERN_NONE)
            recording->trace->tracks[thread->track].name = id;
    }
}

int pyro_recording_finish(pyro_recording *recording)
{
    close_unfinished(recording);
    name_threads(recording);
    int status = pyro_recording_name_layers(recording);
    if (status == PYRO_OK)
        status = pyro_recording_place_work(recording);
    return status == PYRO_OK ? pyro_recording_join_memory(recording) : status;
}

/* Adds a property, "key" 0 "value" 0, as a note; the trace itself uses some of them. */
static bool add_property(pyro_trace *trace, const pyro_recorded_data *data)
{
    if (!data->bytes || data->length < 2 || data->bytes[data->length - 1] != '\0')
        return true;
    const char *key = data->bytes, *value = key + strlen(key) + 1;
    if (value >= data->bytes + data->length)
        return true;
    char *end;
    long long number = strtoll(value, &end, 10);
    bool is_count = *value && !*end && number >= 0 && number < INT32_MAX;
    if (strcmp(key, "rank") == 0 && is_count)
        trace->rank = number;
    else if (strcmp(key, "world_size") == 0 && is_count)
        trace->world_size = number;
    else if (strcmp(key, "backend") == 0)
        trace->backend = pyro_intern_add(&trace->names, value, strlen(value));
    return pyro_trace_property(trace, key, value);
}

/* Marks what a trigger was about: "slow-step: step 12 took...". */
static bool mark_trigger(pyro_recording *recording)
{
    const pyro_trace *trace = recording->trace;
    const char *trigger = pyro_trace_note_text(trace, PYRO_PROPERTY_TRIGGER);
    const char *text = pyro_trace_note_text(trace, PYRO_PROPERTY_TRIGGER_TEXT);
    const char *span = pyro_trace_note_text(trace, PYRO_PROPERTY_TRIGGER_SPAN);
    char name[600], *end;
    uint64_t begin_raw = strtoull(span, &end, 10), end_raw = strtoull(end, NULL, 10);
    if (!trigger[0] || !begin_raw || end_raw < begin_raw)
        return true;
    snprintf(name, sizeof name, "%.40s: %.500s", trigger, text);
    return add_labelled(recording, name, begin_raw, end_raw);
}

int pyro_recording_properties(pyro_recording *recording)
{
    const pyro_recorded_tables *tables = recording->tables;
    for (uint32_t id = 1; id < tables->counts[PYRO_DATA_PROPERTY] && id < MOST_PROPERTIES; id++)
        if (!add_property(recording->trace, pyro_recorded_get(tables, PYRO_DATA_PROPERTY, id)))
            return pyro_fail_memory(recording->error);
    return mark_trigger(recording) ? PYRO_OK : pyro_fail_memory(recording->error);
}
