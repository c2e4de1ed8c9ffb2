/*
 * Reads the file of a recording: header, chunks in the order in which they were taken, data
 * entries. The file may still be written, end anywhere, or be hostile: every number is checked
 * before use.
 */
#include "trace/recording/recording.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "trace/kineto/defects.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_CHUNK ((size_t)64 << 20)
#define LARGEST_STREAM ((size_t)4 << 30)
#define SLOWEST_RAW_PER_NS 1e-6
#define FASTEST_RAW_PER_NS 1e3
#define LARGEST_CLOCK_ERROR_NS 20000

/* As docs/reference/recording-format.md defines it. */
_Static_assert(sizeof(pyro_recording_header) == 256 && sizeof(pyro_chunk_header) == 64 &&
                   sizeof(pyro_data_entry) == 16 && sizeof(pyro_module_data) == 24,
               "the format of recordings");
_Static_assert(sizeof(pyro_record) == PYRO_RECORDING_RECORD_BYTES &&
                   sizeof(pyro_memory_record) == sizeof(pyro_record) &&
                   offsetof(pyro_memory_record, kind) == offsetof(pyro_record, kind) &&
                   offsetof(pyro_memory_record, tag) == offsetof(pyro_record, tag),
               "records of one size");
_Static_assert(sizeof(pyro_device_record) == sizeof(pyro_record) &&
                   offsetof(pyro_device_record, kind) == offsetof(pyro_record, kind) &&
                   offsetof(pyro_device_record, tag) == offsetof(pyro_record, tag) &&
                   sizeof(pyro_graph_node_record) == sizeof(pyro_record) &&
                   offsetof(pyro_graph_node_record, kind) == offsetof(pyro_record, kind) &&
                   offsetof(pyro_graph_node_record, tag) == offsetof(pyro_record, tag) &&
                   sizeof(pyro_counter_record) == sizeof(pyro_record) &&
                   offsetof(pyro_counter_record, kind) == offsetof(pyro_record, kind) &&
                   offsetof(pyro_counter_record, tag) == offsetof(pyro_record, tag) &&
                   sizeof(pyro_launch_data) == 40 && sizeof(pyro_device_data) == 32 &&
                   sizeof(pyro_held_record) == sizeof(pyro_record) &&
                   offsetof(pyro_held_record, kind) == offsetof(pyro_record, kind) &&
                   offsetof(pyro_held_record, tag) == offsetof(pyro_record, tag),
               "records of device work");

typedef struct file_chunk {
    pyro_chunk_header header;
    int64_t offset;
    size_t bytes; /* of it that are in the file */
} file_chunk;

typedef struct recording_reader {
    pyro_trace *trace;
    pyro_source *source;
    pyro_error *error;
    pyro_recording_header header;
    int64_t size;
    file_chunk *chunks;
    size_t chunk_count, chunk_capacity;
    pyro_recorded_tables tables;
    uint64_t most_ids;
    uint64_t from_raw; /* what began earlier is not wanted */
    bool is_cut;
} recording_reader;

bool pyro_recording_recognise(const unsigned char *head, size_t size)
{
    /* A file that was cut off may end inside of the mark. */
    return size > 0 && memcmp(head, PYRO_RECORDING_MAGIC, size < 8 ? size : 8) == 0;
}

bool pyro_recorded_put(pyro_recorded_tables *tables, uint32_t type, uint32_t id, const char *bytes,
                       uint32_t length)
{
    size_t *count = &tables->counts[type];
    if (id >= *count) {
        if (!pyro_grow(&tables->entries[type], &tables->capacities[type], (size_t)id + 1,
                       sizeof **tables->entries))
            return false;
        memset(tables->entries[type] + *count, 0,
               ((size_t)id + 1 - *count) * sizeof **tables->entries);
        *count = (size_t)id + 1;
    }
    tables->entries[type][id] = (pyro_recorded_data){bytes, length};
    return true;
}

void pyro_recorded_free(pyro_recorded_tables *tables)
{
    for (size_t i = 0; i < PYRO_RECORDING_TYPES; i++)
        free(tables->entries[i]);
    *tables = (pyro_recorded_tables){0};
}

static int read_header(recording_reader *reader)
{
    pyro_recording_header *header = &reader->header;
    if (reader->size < (int64_t)sizeof *header)
        return pyro_fail(reader->error, PYRO_ERROR_FORMAT,
                         "truncated recording: the file ends inside its header");
    int status = pyro_source_read_at(reader->source, 0, header, sizeof *header, reader->error);
    if (status != PYRO_OK)
        return status;
    if (header->version != PYRO_RECORDING_VERSION)
        return pyro_fail(reader->error, PYRO_ERROR_UNSUPPORTED,
                         "unsupported recording version %u; this program reads version %d",
                         header->version, PYRO_RECORDING_VERSION);
    if (header->header_bytes < sizeof *header || header->header_bytes > LARGEST_CHUNK ||
        header->chunk_bytes < 2 * sizeof(pyro_chunk_header) || header->chunk_bytes % 64 ||
        header->chunk_bytes > LARGEST_CHUNK || header->record_bytes != sizeof(pyro_record) ||
        !(header->raw_per_ns >= SLOWEST_RAW_PER_NS && header->raw_per_ns <= FASTEST_RAW_PER_NS))
        return pyro_fail(reader->error, PYRO_ERROR_FORMAT, "the recording's header is damaged");
    reader->most_ids = (uint64_t)reader->size / sizeof(pyro_data_entry);
    return PYRO_OK;
}

static int by_sequence(const void *left, const void *right)
{
    const file_chunk *a = left, *b = right;
    if (a->header.sequence != b->header.sequence)
        return a->header.sequence < b->header.sequence ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Lists the chunks that were taken. */
static int list_chunks(recording_reader *reader)
{
    size_t chunk_bytes = reader->header.chunk_bytes;
    int64_t offset = reader->header.header_bytes;
    for (; offset < reader->size; offset += (int64_t)chunk_bytes) {
        file_chunk chunk = {.offset = offset};
        int64_t rest = reader->size - offset;
        chunk.bytes = rest < (int64_t)chunk_bytes ? (size_t)rest : chunk_bytes;
        reader->is_cut |= chunk.bytes < chunk_bytes;
        if (chunk.bytes < sizeof chunk.header)
            break;
        int status = pyro_source_read_at(reader->source, offset, &chunk.header, sizeof chunk.header,
                                         reader->error);
        if (status != PYRO_OK)
            return status;
        if (chunk.header.sequence == 0 || chunk.header.kind == PYRO_CHUNK_FREE)
            continue;
        if (!pyro_grow(&reader->chunks, &reader->chunk_capacity, reader->chunk_count + 1,
                       sizeof *reader->chunks))
            return pyro_fail_memory(reader->error);
        reader->chunks[reader->chunk_count++] = chunk;
    }
    if (reader->chunk_count)
        qsort(reader->chunks, reader->chunk_count, sizeof *reader->chunks, by_sequence);
    return PYRO_OK;
}

/* Loads a chunk's bytes; `*still` is false when its owner changed meanwhile. */
static int load(recording_reader *reader, const file_chunk *chunk, char *bytes, bool *still)
{
    pyro_chunk_header again;
    int status = pyro_source_read_at(reader->source, chunk->offset, bytes, chunk->bytes,
                                     reader->error);
    if (status == PYRO_OK)
        status = pyro_source_read_at(reader->source, chunk->offset, &again, sizeof again,
                                     reader->error);
    *still = status == PYRO_OK && again.sequence == chunk->header.sequence;
    return status;
}

/* Reads entries up to the first incomplete one. */
static int read_entries(recording_reader *reader, const file_chunk *chunk, const char *bytes)
{
    size_t at = sizeof(pyro_chunk_header);
    while (at + sizeof(pyro_data_entry) <= chunk->bytes) {
        pyro_data_entry entry;
        memcpy(&entry, bytes + at, sizeof entry);
        size_t room = chunk->bytes - at - sizeof entry;
        if (entry.tag != (uint32_t)chunk->header.sequence || entry.bytes > room)
            break;
        at += sizeof entry;
        if (entry.type < PYRO_RECORDING_TYPES && entry.id <= reader->most_ids) {
            /* An aligned copy with a terminating NUL. */
            char *copy = pyro_arena_alloc(&reader->trace->arena, (size_t)entry.bytes + 1);
            if (!copy)
                return pyro_fail_memory(reader->error);
            memcpy(copy, bytes + at, entry.bytes);
            if (!pyro_recorded_put(&reader->tables, entry.type, entry.id, copy, entry.bytes))
                return pyro_fail_memory(reader->error);
        }
        at += ((size_t)entry.bytes + 15) & ~(size_t)15;
    }
    return PYRO_OK;
}

static int read_data(recording_reader *reader, char *bytes)
{
    for (size_t i = 0; i < reader->chunk_count; i++) {
        bool still;
        if (reader->chunks[i].header.kind != PYRO_CHUNK_DATA)
            continue;
        int status = load(reader, &reader->chunks[i], bytes, &still);
        if (status == PYRO_OK && still)
            status = read_entries(reader, &reader->chunks[i], bytes);
        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

/* Frees the chunks whose records all began too early: their thread went on to a next chunk before
 * the wanted time. */
static int drop_early(recording_reader *reader)
{
    pyro_map next_of = PYRO_MAP_INIT; /* thread -> its next chunk */
    bool room = true;
    for (size_t i = reader->chunk_count; room && i-- > 0;) {
        pyro_chunk_header *header = &reader->chunks[i].header;
        if (header->kind != PYRO_CHUNK_RECORDS)
            continue;
        uint32_t next = pyro_map_get(&next_of, header->thread);
        room = pyro_map_put(&next_of, header->thread, (uint32_t)i);
        if (next != PYRO_MAP_NONE && reader->chunks[next].header.first_raw <= reader->from_raw)
            header->kind = PYRO_CHUNK_FREE;
    }
    pyro_map_free(&next_of);
    return room ? PYRO_OK : pyro_fail_memory(reader->error);
}

static int read_records(recording_reader *reader, pyro_recording *recording, char *bytes)
{
    for (size_t i = 0; i < reader->chunk_count; i++) {
        const file_chunk *chunk = &reader->chunks[i];
        bool still;
        if (chunk->header.kind != PYRO_CHUNK_RECORDS)
            continue;
        int status = load(reader, chunk, bytes, &still);
        if (status == PYRO_OK && still)
            status = pyro_recording_add(
                recording, &chunk->header,
                (const pyro_record *)(const void *)(bytes + sizeof(pyro_chunk_header)),
                (chunk->bytes - sizeof(pyro_chunk_header)) / sizeof(pyro_record));
        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

/* Where the valid records begin; 0 when all are valid. */
static uint64_t discarded_until(const recording_reader *reader)
{
    static const char key[] = PYRO_PROPERTY_DISCARDED;
    uint64_t until = 0;
    for (uint32_t id = 1; id < reader->tables.counts[PYRO_DATA_PROPERTY]; id++) {
        const pyro_recorded_data *data = pyro_recorded_get(&reader->tables, PYRO_DATA_PROPERTY, id);
        if (data->length <= sizeof key || memcmp(data->bytes, key, sizeof key) != 0)
            continue;
        uint64_t raw = strtoull(data->bytes + sizeof key, NULL, 10);
        until = raw > until ? raw : until;
    }
    return until;
}

/* The entries of a type, in the trace's memory; NULL without entries or when memory is out. */
static const pyro_recorded_data *keep_entries(recording_reader *reader, uint32_t type,
                                              size_t *count)
{
    size_t entries = reader->tables.counts[type];
    pyro_recorded_data *kept = entries
                                   ? pyro_arena_array(&reader->trace->arena, entries, sizeof *kept)
                                   : NULL;
    if (kept)
        memcpy(kept, reader->tables.entries[type], entries * sizeof *kept);
    *count = kept ? entries : 0;
    return kept;
}

static bool warn(const recording_reader *reader, const pyro_recording *recording)
{
    pyro_trace *trace = reader->trace;
    const pyro_recording_header *header = &reader->header;
    bool ok = true;
    /* The program goes on after a trigger: what runs then is not worth a warning. */
    bool is_triggered = pyro_trace_note_text(trace, PYRO_PROPERTY_TRIGGER)[0];
    if (header->state == PYRO_RECORDING_RUNNING && !is_triggered)
        ok &= pyro_trace_warn(trace, "the recording has no end: its process is still running, "
                                     "was killed, or left by _exit");
    if (recording->unfinished_count && !is_triggered)
        ok &= pyro_trace_warn(trace, "%zu event%s had not ended", recording->unfinished_count,
                              recording->unfinished_count == 1 ? "" : "s");
    if (recording->damaged_records)
        ok &= pyro_trace_warn(trace, "%lld events end before they begin",
                              (long long)recording->damaged_records);
    if (header->state == PYRO_RECORDING_FULL)
        ok &= pyro_trace_warn(trace, "recording stopped at its limit of %llu bytes",
                              (unsigned long long)header->max_bytes);
    if (header->state == PYRO_RECORDING_DISK_FULL)
        ok &= pyro_trace_warn(trace, "recording stopped because the disk was full");
    if (header->lost_records)
        ok &= pyro_trace_warn(trace, "%llu events could not be recorded",
                              (unsigned long long)header->lost_records);
    if (recording->work.missing)
        ok &= pyro_trace_warn(trace,
                              "the kernels of %zu of %zu launches are missing: they had not ended, "
                              "or their records had not arrived",
                              recording->work.missing, recording->work.launch_count);
    const char *error_ns = pyro_trace_note_text(trace, PYRO_PROPERTY_DEVICE_CLOCK_ERROR);
    if (strtoll(error_ns, NULL, 10) > LARGEST_CLOCK_ERROR_NS)
        ok &= pyro_trace_warn(trace, "times of device work may be wrong by up to %.0f us",
                              (double)strtoll(error_ns, NULL, 10) / 1000);
    const char *dropped = pyro_trace_note_text(trace, PYRO_PROPERTY_DEVICE_DROPPED);
    if (dropped[0])
        ok &= pyro_trace_warn(trace, "%s records of device work were dropped", dropped);
    if (header->dropped_chunks)
        ok &= pyro_trace_warn(trace, "only the last part was kept: %llu older pieces were dropped",
                              (unsigned long long)header->dropped_chunks);
    if (reader->is_cut)
        ok &= pyro_trace_warn(trace, "file truncated at byte %lld", (long long)reader->size);
    return ok;
}

static int read_all(recording_reader *reader, int64_t last_ns)
{
    pyro_recording recording = {0};
    char *bytes = NULL;
    int status = read_header(reader);
    if (status == PYRO_OK && last_ns > 0) {
        double raw = (double)last_ns * reader->header.raw_per_ns;
        uint64_t end = reader->header.last.raw;
        reader->from_raw = raw < (double)end ? end - (uint64_t)raw : 0;
    }
    if (status == PYRO_OK)
        status = list_chunks(reader);
    if (status == PYRO_OK) {
        bytes = aligned_alloc(64, reader->header.chunk_bytes);
        status = bytes ? read_data(reader, bytes) : pyro_fail_memory(reader->error);
    }
    if (status == PYRO_OK)
        status = pyro_recording_begin(&recording, reader->trace, &reader->header, &reader->tables,
                                      reader->error);
    if (status == PYRO_OK) {
        uint64_t valid_from = discarded_until(reader);
        recording.from_raw = valid_from > reader->from_raw ? valid_from : reader->from_raw;
        status = reader->from_raw ? drop_early(reader) : PYRO_OK;
    }
    if (status == PYRO_OK)
        status = read_records(reader, &recording, bytes);
    if (status == PYRO_OK)
        status = pyro_recording_finish(&recording);
    if (status == PYRO_OK && reader->trace->count == 0)
        status = pyro_fail(reader->error, PYRO_ERROR_FORMAT, "the recording contains no events");
    if (status == PYRO_OK)
        status = pyro_recording_properties(&recording);
    if (status == PYRO_OK) {
        reader->trace->storages = keep_entries(reader, PYRO_DATA_STORAGES,
                                               &reader->trace->storage_count);
        reader->trace->weights = keep_entries(reader, PYRO_DATA_WEIGHT,
                                              &reader->trace->weight_count);
    }
    if (status == PYRO_OK)
        status = warn(reader, &recording) ? PYRO_OK : pyro_fail_memory(reader->error);
    pyro_recording_free(&recording);
    free(bytes);
    return status;
}

/* Reads all of a stream that is not seekable. */
static int swallow(pyro_source *source, pyro_buf *buf, pyro_error *error)
{
    for (;;) {
        char *room = pyro_buf_reserve(buf, PYRO_RECORDING_CHUNK_BYTES);
        if (!room)
            return pyro_fail_memory(error);
        int64_t got = pyro_source_read(source, room, PYRO_RECORDING_CHUNK_BYTES, error);
        if (got <= 0)
            return (int)got;
        buf->length += (size_t)got;
        if (buf->length > LARGEST_STREAM)
            return pyro_fail(
                error, PYRO_ERROR_LIMIT,
                "the recording is a stream of more than %zu bytes: read it from a file",
                LARGEST_STREAM);
    }
}

int pyro_recording_read(pyro_trace *trace, pyro_source *source, int64_t last_ns, pyro_error *error)
{
    recording_reader reader = {
        .trace = trace, .source = source, .error = error, .size = source->size};
    pyro_buf stream = PYRO_BUF_INIT;
    pyro_source *memory = NULL;
    int status = PYRO_OK;
    if (!pyro_source_is_seekable(source) || source->size < 0) {
        status = swallow(source, &stream, error);
        if (status == PYRO_OK)
            status = pyro_source_open_memory(&memory, stream.data, stream.length, error);
        reader.source = memory;
        reader.size = (int64_t)stream.length;
    }
    if (status == PYRO_OK)
        status = read_all(&reader, last_ns);
    pyro_source_close(memory);
    pyro_buf_free(&stream);
    pyro_recorded_free(&reader.tables);
    free(reader.chunks);
    return status;
}
