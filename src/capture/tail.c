/*
 * Reads chunks in place and checks their sequence afterwards, as readers of the file do. `lock` of
 * the tail is taken before `lock` of the session, and never by a thread that records.
 */
#include "capture/tail.h"

#include "base/containers/buf.h"
#include "capture/session.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS ((PYRO_RECORDING_CHUNK_BYTES - sizeof(pyro_chunk_header)) / sizeof(pyro_record))
#define BATCH 256

const int64_t pyro_step_bounds_ns[PYRO_STEP_BOUNDS] = {
    100000,     250000,      500000,      1000000,     2500000,      5000000,      10000000,
    25000000,   50000000,    100000000,   250000000,   500000000,    1000000000,   2500000000,
    5000000000, 10000000000, 30000000000, 60000000000, 300000000000, 1800000000000};

/* How far a chunk has been read. */
typedef struct cursor {
    uint64_t sequence; /* 0: not seen */
    size_t read;
    uint32_t thread; /* of the next record */
    bool is_closed; /* before it was read last: nothing can be added */
} cursor;

static struct {
    pthread_mutex_t lock;
    bool has_sink, is_open;
    pyro_tail_sink sink;
    cursor *cursors; /* by index of the chunk */
    size_t count, capacity;
    size_t *order; /* indices, by sequence */
    size_t order_capacity;
    pyro_recorded_tables tables;
    uint32_t seen[PYRO_DATA_TYPES];
    double raw_per_ns;
    uint64_t lost_chunks, lost_records; /* lost_records: of sessions that have ended */
} tail = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int by_sequence(const void *left, const void *right)
{
    uint64_t a = tail.cursors[*(const size_t *)left].sequence;
    uint64_t b = tail.cursors[*(const size_t *)right].sequence;
    return (a > b) - (a < b);
}

/* With the session's lock: makes cursors of new chunks, and marks those that have been read. */
static bool look_at_chunks(pyro_session *session)
{
    if (!pyro_grow(&tail.cursors, &tail.capacity, session->slot_count, sizeof *tail.cursors))
        return false;
    for (; tail.count < session->slot_count; tail.count++)
        tail.cursors[tail.count] = (cursor){0};
    for (size_t i = 0; i < session->slot_count; i++) {
        pyro_chunk_slot *slot = &session->slots[i];
        cursor *at = &tail.cursors[i];
        if (at->sequence && at->sequence != slot->sequence) {
            tail.lost_chunks += !at->is_closed;
            *at = (cursor){0};
        }
        if (slot->kind != PYRO_CHUNK_RECORDS || !slot->sequence || slot->held)
            continue;
        const pyro_chunk_header *header = (const void *)pyro_chunk_address(session, i);
        if (!at->sequence)
            *at = (cursor){.sequence = slot->sequence, .thread = header->thread};
        slot->is_read = at->is_closed;
        at->is_closed = slot->closed_raw != 0;
    }
    return true;
}

static bool extend_tables(pyro_session *session)
{
    pthread_mutex_lock(&session->lock);
    bool done = pyro_tables_extend(&tail.tables, tail.seen, session);
    pthread_mutex_unlock(&session->lock);
    return done;
}

/* Copies what is committed; returns the number of records, 0 if the chunk has another owner. */
static size_t copy_records(const pyro_chunk_header *header, const cursor *at, pyro_record *out)
{
    const pyro_record *records = (const pyro_record *)(header + 1);
    size_t count = 0;
    while (count < BATCH && at->read + count < RECORDS) {
        const pyro_record *record = &records[at->read + count];
        if (__atomic_load_n(&record->tag, __ATOMIC_ACQUIRE) != (uint32_t)at->sequence)
            break;
        out[count++] = *record;
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&header->sequence, __ATOMIC_SEQ_CST) == at->sequence ? count : 0;
}

static void read_chunk(pyro_session *session, size_t index, const char *address)
{
    const pyro_chunk_header *header = (const pyro_chunk_header *)(const void *)address;
    cursor *at = &tail.cursors[index];
    pyro_record records[BATCH];
    size_t count;
    while ((count = copy_records(header, at, records)) > 0 && extend_tables(session)) {
        pyro_chunk_header copy = {.sequence = at->sequence, .thread = at->thread};
        pyro_tail_batch batch = {
            &copy, records, count, {index, at->read, at->sequence}, &tail.tables, tail.raw_per_ns};
        tail.sink.add(tail.sink.user, &batch);
        for (size_t i = 0; i < count; i++)
            if (records[i].kind == PYRO_RECORD_THREAD)
                at->thread = records[i].name;
        at->read += count;
    }
}

/* With the tail's lock. */
static void read_new(pyro_session *session)
{
    size_t count = 0;
    pthread_mutex_lock(&session->lock);
    tail.raw_per_ns = session->header->raw_per_ns;
    bool ok = look_at_chunks(session) &&
              pyro_grow(&tail.order, &tail.order_capacity, tail.count + 1, sizeof *tail.order);
    for (size_t i = 0; ok && i < tail.count; i++)
        if (tail.cursors[i].sequence && tail.cursors[i].read < RECORDS)
            tail.order[count++] = i;
    pthread_mutex_unlock(&session->lock);
    if (count)
        qsort(tail.order, count, sizeof *tail.order, by_sequence);
    for (size_t i = 0; i < count; i++) {
        pthread_mutex_lock(&session->lock); /* the array of mappings may move */
        const char *address = pyro_chunk_address(session, tail.order[i]);
        pthread_mutex_unlock(&session->lock);
        read_chunk(session, tail.order[i], address);
    }
}

static void set_followed(pyro_session *session, bool is_followed)
{
    pthread_mutex_lock(&session->lock);
    session->is_followed = is_followed;
    pthread_mutex_unlock(&session->lock);
}

static void open_tail(pyro_session *session)
{
    tail.is_open = true;
    tail.count = 0;
    memset(tail.seen, 0, sizeof tail.seen);
    pyro_recorded_free(&tail.tables);
    tail.tables = (pyro_recorded_tables){0};
    set_followed(session, true);
    pyro_the_recorder_api.wants_steps = 1;
    if (tail.sink.begin)
        tail.sink.begin(tail.sink.user);
}

bool pyro_tail_is_followed(void)
{
    return __atomic_load_n(&tail.has_sink, __ATOMIC_RELAXED);
}

void pyro_tail_begin(pyro_session *session)
{
    pthread_mutex_lock(&tail.lock);
    set_followed(session, false);
    if (tail.has_sink)
        open_tail(session);
    pthread_mutex_unlock(&tail.lock);
}

void pyro_tail_end(pyro_session *session)
{
    pthread_mutex_lock(&tail.lock);
    if (tail.is_open) {
        read_new(session);
        tail.lost_records += session->header->lost_records;
    }
    tail.is_open = false;
    pthread_mutex_unlock(&tail.lock);
}

void pyro_tail_forget(void)
{
    pthread_mutex_init(&tail.lock, NULL);
    tail.has_sink = tail.is_open = false;
    pyro_the_session.is_followed = false;
}

void pyro_tail_follow(const pyro_tail_sink *sink)
{
    pyro_session *session = &pyro_the_session;
    pthread_mutex_lock(&session->control);
    pthread_mutex_lock(&tail.lock);
    tail.has_sink = sink != NULL;
    tail.is_open = false;
    if (sink) {
        tail.sink = *sink;
        tail.lost_chunks = tail.lost_records = 0;
        pthread_mutex_lock(&session->lock);
        session->step_counts = (pyro_step_counts){0};
        pthread_mutex_unlock(&session->lock);
        if (session->is_running && !session->is_forked)
            open_tail(session);
    } else {
        set_followed(session, false);
        pyro_recorded_free(&tail.tables);
        tail.tables = (pyro_recorded_tables){0};
    }
    pthread_mutex_unlock(&tail.lock);
    pthread_mutex_unlock(&session->control);
}

void pyro_tail_read(void)
{
    pthread_mutex_lock(&tail.lock);
    if (tail.is_open)
        read_new(&pyro_the_session);
    pthread_mutex_unlock(&tail.lock);
}

uint64_t pyro_tail_end_raw(const pyro_record_place *place)
{
    pyro_session *session = &pyro_the_session;
    if (!place->sequence || !tail.is_open || place->chunk >= tail.count)
        return 1;
    pthread_mutex_lock(&session->lock);
    const char *address = pyro_chunk_address(session, place->chunk);
    pthread_mutex_unlock(&session->lock);
    const pyro_chunk_header *header = (const pyro_chunk_header *)(const void *)address;
    const pyro_record *record = (const pyro_record *)(header + 1) + place->record;
    uint64_t end = __atomic_load_n(&record->end_raw, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&header->sequence, __ATOMIC_SEQ_CST) == place->sequence ? end : 1;
}

void pyro_tail_count_step(pyro_session *session, pyro_flight_mark mark, int64_t duration_ns)
{
    size_t bucket = 0;
    while (bucket < PYRO_STEP_BOUNDS && duration_ns > pyro_step_bounds_ns[bucket])
        bucket++;
    session->step_counts.buckets[mark][bucket]++;
    session->step_counts.seconds[mark] += (double)duration_ns / 1e9;
}

void pyro_tail_steps(pyro_step_counts *counts, pyro_tail_losses *losses)
{
    pyro_session *session = &pyro_the_session;
    pthread_mutex_lock(&tail.lock);
    pthread_mutex_lock(&session->lock);
    *counts = session->step_counts;
    *losses = (pyro_tail_losses){tail.lost_records, tail.lost_chunks};
    if (tail.is_open)
        losses->records += session->header->lost_records;
    pthread_mutex_unlock(&session->lock);
    pthread_mutex_unlock(&tail.lock);
}
