/*
 * Writes the file of a trigger: a recording of its own, with the chunks that hold the last part, the
 * data that their records refer to, and the blocks of memory that were allocated before. The program
 * continues meanwhile: chunks are copied one by one, and each may be reused as soon as it is copied.
 */
#include "capture/session.h"

#include "base/containers/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CHUNK ((size_t)PYRO_RECORDING_CHUNK_BYTES)
#define RECORDS ((CHUNK - sizeof(pyro_chunk_header)) / sizeof(pyro_record))
#define PADDED(size) (((size) + 15) & ~(size_t)15)

typedef struct saved_chunk {
    size_t index;
    uint64_t sequence;
    uint32_t kind;
    size_t used; /* bytes of a data chunk */
} saved_chunk;

typedef struct saver {
    pyro_session *session;
    const pyro_flight_job *job;
    uint64_t from_raw;
    pyro_recording_header header;
    saved_chunk *chunks;
    size_t count, capacity;
    uint32_t first_property; /* id of the first property that is added */
    uint64_t last_sequence;
    pyro_live_blocks blocks;
    int fd;
    size_t written; /* chunks */
    char *buffer;
    int reason; /* errno of the first failure */
} saver;

static int by_sequence(const void *left, const void *right)
{
    const saved_chunk *a = left, *b = right;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

static uint64_t first_needed(const pyro_session *session, const pyro_flight_job *job)
{
    if (job->is_window)
        return job->begin_raw;
    uint64_t last = pyro_flight_last_raw(session);
    uint64_t from = pyro_flight_keeps_from(session, last < job->fired_raw ? last : job->fired_raw);
    return job->begin_raw && job->begin_raw < from ? job->begin_raw : from;
}

/* With `lock`: lists the chunks and keeps the allocator away from those with records. */
static bool list_chunks(saver *saver)
{
    pyro_session *session = saver->session;
    for (size_t i = 0; i < session->slot_count; i++) {
        pyro_chunk_slot *slot = &session->slots[i];
        if (slot->sequence == 0 || slot->held)
            continue;
        if (!pyro_grow(&saver->chunks, &saver->capacity, saver->count + 1, sizeof *saver->chunks))
            return false;
        saver->chunks[saver->count++] = (saved_chunk){
            i, slot->sequence, slot->kind, i == session->data_chunk ? session->data_used : CHUNK};
        slot->is_wanted = slot->kind == PYRO_CHUNK_RECORDS;
    }
    if (saver->count)
        qsort(saver->chunks, saver->count, sizeof *saver->chunks, by_sequence);
    return true;
}

static bool begin(saver *saver)
{
    pyro_session *session = saver->session;
    pthread_mutex_lock(&session->lock);
    while (session->flight.is_dropping)
        pthread_cond_wait(&session->flight.done, &session->lock);
    pyro_clock_renew(session);
    saver->header = *session->header;
    saver->from_raw = first_needed(session, saver->job);
    saver->last_sequence = session->last_sequence;
    saver->first_property = session->written[PYRO_DATA_PROPERTY] + 1;
    session->flight.is_saving = true;
    bool ok = list_chunks(saver);
    pyro_live_blocks_copy(&saver->blocks, &session->flight.blocks);
    pthread_mutex_unlock(&session->lock);
    return ok;
}

static void release(pyro_session *session, const saved_chunk *chunk)
{
    pthread_mutex_lock(&session->lock);
    if (session->slots[chunk->index].sequence == chunk->sequence)
        session->slots[chunk->index].is_wanted = false;
    pthread_cond_signal(&session->allocator_wakes);
    pthread_mutex_unlock(&session->lock);
}

static void end(saver *saver)
{
    pyro_session *session = saver->session;
    pthread_mutex_lock(&session->lock);
    for (size_t i = 0; i < session->slot_count; i++)
        session->slots[i].is_wanted = false;
    session->flight.is_saving = false;
    pthread_cond_signal(&session->allocator_wakes);
    pthread_mutex_unlock(&session->lock);
    pyro_live_blocks_free(&saver->blocks);
    free(saver->chunks);
    free(saver->buffer);
}

static void write_at(saver *saver, const void *bytes, size_t size, size_t offset)
{
    const char *at = bytes;
    while (size > 0 && !saver->reason) {
        ssize_t done = pwrite(saver->fd, at, size, (off_t)offset);
        if (done < 0 && errno != EINTR)
            saver->reason = errno;
        if (done <= 0)
            continue;
        at += done;
        offset += (size_t)done;
        size -= (size_t)done;
    }
}

/* Beyond its file size limit a process would get SIGXFSZ. */
static bool is_over_limit(size_t end)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           end > limit.rlim_cur;
}

static void write_chunk(saver *saver)
{
    size_t offset = PYRO_RECORDING_HEADER_BYTES + saver->written * CHUNK;
    if (is_over_limit(offset + CHUNK))
        saver->reason = saver->reason ? saver->reason : EFBIG;
    write_at(saver, saver->buffer, CHUNK, offset);
    saver->written++;
}

static bool is_open_span(const pyro_record *record)
{
    return record->end_raw == 0 &&
           (record->kind == PYRO_RECORD_OP || record->kind == PYRO_RECORD_LAYER ||
            record->kind == PYRO_RECORD_MARK);
}

/* Copies records up to the first that is not committed; tag first, as its writer stores it last.
 * Whether one of them has not ended. */
__attribute__((no_sanitize("thread"))) static bool copy_records(saver *saver, const char *from)
{
    bool has_open = false;
    const pyro_chunk_header *header = (const pyro_chunk_header *)from;
    const pyro_record *records = (const pyro_record *)(header + 1);
    pyro_record *to = (pyro_record *)(saver->buffer + sizeof *header);
    uint32_t tag = (uint32_t)header->sequence;
    for (size_t i = 0; i < RECORDS; i++) {
        if (__atomic_load_n(&records[i].tag, __ATOMIC_ACQUIRE) != tag)
            break;
        const volatile uint64_t *words = (const volatile uint64_t *)&records[i];
        uint64_t copy[sizeof *to / sizeof(uint64_t)];
        for (size_t k = 0; k < sizeof copy / sizeof *copy; k++)
            copy[k] = words[k];
        memcpy(&to[i], copy, sizeof copy);
        has_open |= is_open_span(&to[i]);
    }
    return has_open;
}

/* Whether a chunk's records are all older than what is saved. Its owner may still write to it. */
static bool is_old(saver *saver, const saved_chunk *chunk)
{
    pyro_session *session = saver->session;
    pthread_mutex_lock(&session->lock);
    uint64_t closed = session->slots[chunk->index].closed_raw;
    pthread_mutex_unlock(&session->lock);
    return closed && closed < saver->from_raw;
}

static void save_chunk(saver *saver, const saved_chunk *chunk)
{
    pthread_mutex_lock(&saver->session->lock);
    const char *from = pyro_chunk_address(saver->session, chunk->index);
    pthread_mutex_unlock(&saver->session->lock);
    memset(saver->buffer, 0, CHUNK);
    memcpy(saver->buffer, from, sizeof(pyro_chunk_header));
    if (chunk->kind == PYRO_CHUNK_DATA) {
        memcpy(saver->buffer, from, chunk->used);
        write_chunk(saver);
        return;
    }
    bool is_needed = !is_old(saver, chunk);
    is_needed |= copy_records(saver, from);
    pyro_live_blocks_add(&saver->blocks, (const pyro_chunk_header *)saver->buffer,
                         (const pyro_record *)(saver->buffer + sizeof(pyro_chunk_header)), RECORDS,
                         saver->from_raw);
    if (is_needed)
        write_chunk(saver);
    release(saver->session, chunk);
}

/* Begins a chunk that exists only in the file. */
static uint32_t begin_own_chunk(saver *saver, uint32_t kind)
{
    pyro_chunk_header *header = (pyro_chunk_header *)saver->buffer;
    memset(saver->buffer, 0, CHUNK);
    header->kind = kind;
    header->first_raw = saver->from_raw;
    header->sequence = ++saver->last_sequence;
    return (uint32_t)header->sequence;
}

static void add_property(saver *saver, size_t *used, uint32_t tag, const char *key,
                         const char *value)
{
    size_t key_size = strlen(key) + 1, size = key_size + strlen(value) + 1;
    pyro_data_entry entry = {(uint32_t)size, saver->first_property++, PYRO_DATA_PROPERTY, tag};
    memcpy(saver->buffer + *used, &entry, sizeof entry);
    memcpy(saver->buffer + *used + sizeof entry, key, key_size);
    memcpy(saver->buffer + *used + sizeof entry + key_size, value, size - key_size);
    *used += sizeof entry + PADDED(size);
}

static void save_properties(saver *saver)
{
    const pyro_flight_job *job = saver->job;
    uint32_t tag = begin_own_chunk(saver, PYRO_CHUNK_DATA);
    size_t used = sizeof(pyro_chunk_header);
    char span[64];
    add_property(saver, &used, tag, PYRO_PROPERTY_TRIGGER, job->trigger);
    add_property(saver, &used, tag, PYRO_PROPERTY_TRIGGER_TEXT, job->text);
    if (job->begin_raw) {
        snprintf(span, sizeof span, "%llu %llu", (unsigned long long)job->begin_raw,
                 (unsigned long long)job->end_raw);
        add_property(saver, &used, tag, PYRO_PROPERTY_TRIGGER_SPAN, span);
    }
    snprintf(span, sizeof span, "%llu", (unsigned long long)saver->from_raw);
    if (saver->from_raw)
        add_property(saver, &used, tag, PYRO_PROPERTY_DISCARDED, span);
    write_chunk(saver);
}

/* Records that exist only in the file. */
typedef struct own_records {
    size_t next;
    uint32_t tag; /* 0: no chunk yet */
} own_records;

static void add_own(saver *saver, own_records *own, void *record)
{
    if (own->next == RECORDS || !own->tag) {
        if (own->tag)
            write_chunk(saver);
        own->tag = begin_own_chunk(saver, PYRO_CHUNK_RECORDS);
        own->next = 0;
    }
    memcpy((char *)record + offsetof(pyro_record, tag), &own->tag, sizeof own->tag);
    memcpy(saver->buffer + sizeof(pyro_chunk_header) + own->next++ * sizeof(pyro_record), record,
           sizeof(pyro_record));
}

static void save_blocks(saver *saver, own_records *own)
{
    for (size_t i = 0; i < saver->blocks.count; i++) {
        const pyro_live_block *block = &saver->blocks.items[i];
        if (!block->bytes)
            continue;
        pyro_held_record held = {.start_raw = block->raw,
                                 .address = block->address,
                                 .bytes = block->bytes,
                                 .module = block->module,
                                 .op = block->op,
                                 .device_type = block->device_type,
                                 .device_index = block->device_index,
                                 .kind = PYRO_RECORD_HELD};
        add_own(saver, own, &held);
    }
}

static void save_nodes(saver *saver, own_records *own)
{
    for (size_t i = 0; i < saver->blocks.node_count; i++) {
        const pyro_live_node *node = &saver->blocks.nodes[i];
        pyro_graph_node_record record = {.start_raw = saver->from_raw,
                                         .node = node->node,
                                         .original = node->original,
                                         .module = node->module,
                                         .op = node->op,
                                         .kind = PYRO_RECORD_GRAPH_NODE};
        add_own(saver, own, &record);
    }
}

static void save_rest(saver *saver)
{
    own_records own = {0};
    save_nodes(saver, &own);
    save_blocks(saver, &own);
    if (own.tag)
        write_chunk(saver);
}

/* Last, so that an incomplete file is no recording. */
static void save_header(saver *saver)
{
    pyro_recording_header *header = &saver->header;
    memset(saver->buffer, 0, PYRO_RECORDING_HEADER_BYTES);
    header->state = PYRO_RECORDING_CLOSED;
    header->chunk_count = saver->written;
    header->dropped_chunks = header->dropped_until_raw = 0;
    memcpy(saver->buffer, header, sizeof *header);
    write_at(saver, saver->buffer, PYRO_RECORDING_HEADER_BYTES, 0);
}

static void save_all(saver *saver)
{
    saver->buffer = aligned_alloc(64, CHUNK);
    if (!begin(saver) || !saver->buffer) {
        saver->reason = ENOMEM;
        return;
    }
    for (size_t i = 0; i < saver->count && !saver->reason; i++)
        save_chunk(saver, &saver->chunks[i]);
    if (!saver->reason)
        save_properties(saver);
    if (!saver->reason)
        save_rest(saver);
    if (!saver->reason)
        save_header(saver);
}

int pyro_flight_save(pyro_session *session, const pyro_flight_job *job, const char *path,
                     pyro_error *error)
{
    char temporary[PATH_MAX + 96];
    saver saver = {.session = session, .job = job};
    snprintf(temporary, sizeof temporary, "%s.%ld.part", path, (long)getpid());
    saver.fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (saver.fd < 0)
        return pyro_fail(error, PYRO_ERROR_IO, "%s: %s", path, strerror(errno));
    save_all(&saver);
    end(&saver);
    if (close(saver.fd) != 0 && !saver.reason)
        saver.reason = errno;
    if (!saver.reason && rename(temporary, path) != 0)
        saver.reason = errno;
    if (!saver.reason)
        return PYRO_OK;
    unlink(temporary);
    return pyro_fail(error, PYRO_ERROR_IO, "%s: %s", path, strerror(saver.reason));
}
