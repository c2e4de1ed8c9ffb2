/* Turns records into rows of a trace. Trusts nothing in a record but its tag. */
#include "trace/recording/recording.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "trace/kineto/scanner.h"
#include <stdlib.h>
#include <string.h>

#define USER_SCOPE 7 /* at::RecordScope */
#define MOST_THREADS 60000
#define DEEPEST_NESTING 4096
#define MOST_PROPERTIES 1000

static uint32_t *none_of(size_t count)
{
    uint32_t *ids = malloc((count + 1) * sizeof *ids);
    for (size_t i = 0; ids && i <= count; i++)
        ids[i] = PYRO_NO_ID;
    return ids;
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
    uint32_t outputs =
        pyro_recording_signature(recording, with_shapes ? record->outputs : 0, &failed)->dims;
    uint32_t stack = recording->flags & PYRO_RECORD_STACKS
                         ? pyro_recording_stack(recording, record->stack, &failed)
                         : PYRO_NO_ID;
    if (failed ||
        !pyro_grow(&trace->ops, &trace->op_capacity, trace->op_count + 1, sizeof *trace->ops))
        return false;
    trace->detail[row] = (uint32_t)trace->op_count;
    trace->ops[trace->op_count++] = (pyro_op_detail){
        .sequence = record->sequence < 0 ? PYRO_NO_SEQUENCE : record->sequence,
        .forward_thread = record->forward_thread,
        .dims = inputs->dims,
        .types = inputs->types,
        .concrete = inputs->concrete,
        .stack = stack,
        .collective = PYRO_NO_ID,
        .outputs = outputs,
        .path = PYRO_NO_ID,
        .input_storages = record->input_storages,
        .output_storages = record->output_storages};
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

/* Device work is selected by its call, which may come later; nodes are needed by later replays. */
static bool note_device(pyro_recording *recording, pyro_recorded_thread *thread,
                        const pyro_record *record, bool is_outside)
{
    switch (record->kind) {
    case PYRO_RECORD_DEVICE:
        return pyro_recorded_work_add(&recording->work, record);
    case PYRO_RECORD_GRAPH_NODE:
        return pyro_recorded_work_node(&recording->work, record,
                                       is_outside ? PYRO_NO_EVENT
                                                  : enclosing(thread, record->start_raw));
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
                                      [PYRO_RECORD_COUNTER] = PYRO_RECORD_DEVICES};
    if (record->kind < sizeof wanted / sizeof *wanted && !(recording->flags & wanted[record->kind]))
        return true;
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
        if (record.kind == PYRO_RECORD_THREAD)
            thread = thread_of(recording, record.name, record.sequence);
        else if (!add_record(recording, thread, &record))
            return pyro_fail_memory(recording->error);
    }
    return thread || recording->thread_count >= MOST_THREADS ? PYRO_OK
                                                             : pyro_fail_memory(recording->error);
}

/* Goes from outer to inner spans, so that an inner one finds the end of the span around it. */
static void close_unfinished(pyro_recording *recording)
{
    pyro_trace *trace = recording->trace;
    for (size_t i = 0; i < recording->unfinished_count; i++) {
        const pyro_unfinished *span = &recording->unfinished[i];
        uint64_t last_raw = recording->threads[span->thread].last_raw;
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

int pyro_recording_properties(pyro_recording *recording)
{
    const pyro_recorded_tables *tables = recording->tables;
    for (uint32_t id = 1; id < tables->counts[PYRO_DATA_PROPERTY] && id < MOST_PROPERTIES; id++)
        if (!add_property(recording->trace, pyro_recorded_get(tables, PYRO_DATA_PROPERTY, id)))
            return pyro_fail_memory(recording->error);
    return PYRO_OK;
}
