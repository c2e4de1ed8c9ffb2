/*
 * Assigns chunks of the file to threads and tables. The allocator, a thread of the recorder, makes
 * them ahead and renews the clock in the header. A writing thread makes its own only when none is
 * ready.
 */
#include "capture/session.h"

#include "base/containers/buf.h"
#include "base/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNK ((size_t)PYRO_RECORDING_CHUNK_BYTES)
#define FIRST_CLOCK_NS 10000000
#define WAITS_FROM_CHUNKS 64

static bool has_room(const pyro_session *session)
{
    uint64_t bytes = PYRO_RECORDING_HEADER_BYTES + (uint64_t)(session->slot_count + 1) * CHUNK;
    return session->options.max_bytes == 0 || bytes <= session->options.max_bytes;
}

/* Adds a chunk at the end of the file; releases `lock` meanwhile if `releases_lock`. */
static size_t grow_file(pyro_session *session, bool over_limit, bool releases_lock)
{
    size_t index = session->slot_count;
    if (session->cannot_grow)
        return PYRO_NO_CHUNK;
    if (!over_limit && !has_room(session)) {
        session->cannot_grow = PYRO_RECORDING_FULL;
        return PYRO_NO_CHUNK;
    }
    if (!pyro_grow(&session->slots, &session->slot_capacity, index + 1, sizeof *session->slots) ||
        !pyro_file_map(session, index)) {
        session->cannot_grow = PYRO_RECORDING_DISK_FULL;
        return PYRO_NO_CHUNK;
    }
    session->slots[session->slot_count++] = (pyro_chunk_slot){.held = true};
    char *chunk = pyro_chunk_address(session, index);
    if (releases_lock)
        pthread_mutex_unlock(&session->lock);
    int reason = pyro_file_extend(session, index, chunk);
    if (releases_lock)
        pthread_mutex_lock(&session->lock);
    if (reason) {
        /* The slot stays: its number is used, but its bytes are never touched. */
        session->cannot_grow = PYRO_RECORDING_DISK_FULL;
        return PYRO_NO_CHUNK;
    }
    if (session->header->chunk_count < index + 1)
        session->header->chunk_count = index + 1;
    return index;
}

static bool reuses_first(const pyro_session *session)
{
    return session->options.temporary;
}

size_t pyro_chunk_make(pyro_session *session, bool may_reuse)
{
    size_t index = PYRO_NO_CHUNK;
    uint64_t kept_from = reuses_first(session)
                             ? UINT64_MAX
                             : pyro_flight_keeps_from(session,
                                                      pyro_raw_time(&pyro_the_recorder_api));
    if (may_reuse && kept_from)
        index = pyro_chunk_reuse(session, kept_from, reuses_first(session) && session->is_followed);
    if (index == PYRO_NO_CHUNK)
        index = grow_file(session, false, true);
    if (index == PYRO_NO_CHUNK && may_reuse &&
        (reuses_first(session) ? session->is_followed : session->options.keep_last))
        index = pyro_chunk_reuse(session, UINT64_MAX, false);
    return index;
}

/* Marks a chunk as full. A chunk whose threads have all ended stays open for a new thread. */
void pyro_chunk_close(pyro_session *session, size_t index)
{
    if (index == PYRO_NO_CHUNK)
        return;
    session->slots[index].closed_raw = pyro_raw_time(&pyro_the_recorder_api);
    if (session->options.temporary)
        pthread_cond_signal(&session->allocator_wakes);
}

/* Takes the oldest: unused chunks at the end of the file are cut off when it is closed. */
static size_t pop_ready(pyro_session *session)
{
    if (session->ready_count == 0)
        return PYRO_NO_CHUNK;
    size_t index = session->ready[0];
    memmove(session->ready, session->ready + 1, --session->ready_count * sizeof *session->ready);
    return index;
}

/* Waits until the allocator has a chunk, or has searched for one without success. */
static size_t wait_for_allocator(pyro_session *session, pyro_thread_slot *thread)
{
    uint64_t seen = session->failed_searches;
    __atomic_store_n(&thread->is_waiting, 1, __ATOMIC_RELEASE);
    while (session->ready_count == 0 && session->failed_searches < seen + 2 &&
           !session->is_stopping) {
        pthread_cond_signal(&session->allocator_wakes);
        pthread_cond_wait(&session->chunk_ready, &session->lock);
    }
    __atomic_store_n(&thread->is_waiting, 0, __ATOMIC_RELEASE);
    return pop_ready(session);
}

/* Ready chunks are empty: if making them drops the oldest data, few are enough. */
static size_t wanted_ready(const pyro_session *session)
{
    size_t few = session->slot_count / 8;
    if (!session->cannot_grow || !session->options.keep_last || few >= PYRO_READY_CHUNKS)
        return PYRO_READY_CHUNKS;
    return few ? few : 1;
}

/* Gives a chunk its owner. */
static void assign_chunk(pyro_session *session, size_t index, uint32_t kind,
                         const pyro_thread_slot *thread)
{
    pyro_chunk_header *header = (pyro_chunk_header *)pyro_chunk_address(session, index);
    uint64_t now = pyro_raw_time(&pyro_the_recorder_api), sequence = ++session->last_sequence;
    session->slots[index] = (pyro_chunk_slot){
        .sequence = sequence, .first_raw = now, .kind = (uint8_t)kind};
    header->thread = thread ? thread->open.number : 0;
    header->system_thread = thread ? syscall(SYS_gettid) : 0;
    header->first_raw = now;
    header->kind = kind;
    __atomic_store_n(&header->sequence, sequence, __ATOMIC_RELEASE);
    /* Waking the allocator costs more than a chunk, so it makes several at once. */
    if (session->ready_count <= wanted_ready(session) / 2)
        pthread_cond_signal(&session->allocator_wakes);
}

static bool can_reuse(const pyro_session *session)
{
    return session->has_allocator && (session->options.keep_last || session->options.temporary);
}

static void mark_full(pyro_session *session)
{
    if (session->cannot_grow && !can_reuse(session))
        __atomic_store_n(&session->header->state, session->cannot_grow, __ATOMIC_RELAXED);
}

/* A temporary file that is long enough: the allocator is late, but there are chunks to reuse. */
static bool prefers_waiting(const pyro_session *session)
{
    return session->options.temporary && session->has_allocator &&
           session->slot_count >= WAITS_FROM_CHUNKS;
}

size_t pyro_chunk_take(pyro_session *session, pyro_thread_slot *thread)
{
    size_t index = pop_ready(session);
    if (index == PYRO_NO_CHUNK && prefers_waiting(session))
        index = wait_for_allocator(session, thread);
    if (index == PYRO_NO_CHUNK)
        index = pyro_chunk_make(session, false);
    if (index == PYRO_NO_CHUNK && can_reuse(session))
        index = wait_for_allocator(session, thread);
    if (index == PYRO_NO_CHUNK)
        mark_full(session);
    else
        assign_chunk(session, index, PYRO_CHUNK_RECORDS, thread);
    return index;
}

/*
 * Never waits: the caller may be about to end a span, and the allocator might empty its chunk. If
 * the allocator is too slow and chunks are reused, the file grows beyond its limit by one chunk.
 * Keeps `lock`: no thread may look up an id before it is written.
 */
size_t pyro_chunk_take_for_data(pyro_session *session)
{
    size_t index = session->data_spare;
    session->data_spare = PYRO_NO_CHUNK;
    if (index == PYRO_NO_CHUNK)
        index = pop_ready(session);
    if (index == PYRO_NO_CHUNK && can_reuse(session) && session->cannot_grow == PYRO_RECORDING_FULL)
        session->cannot_grow = PYRO_RECORDING_RUNNING;
    if (index == PYRO_NO_CHUNK)
        index = grow_file(session, can_reuse(session), false);
    if (index == PYRO_NO_CHUNK)
        mark_full(session);
    else
        assign_chunk(session, index, PYRO_CHUNK_DATA, NULL);
    return index;
}

static void count_loss(pyro_session *session)
{
    __atomic_fetch_add(&session->header->lost_records, 1, __ATOMIC_RELAXED);
}

bool pyro_chunk_refill(pyro_recorder_thread *thread)
{
    pyro_session *session = &pyro_the_session;
    pyro_thread_slot *slot = (pyro_thread_slot *)thread;
    if (__atomic_load_n(&session->header->state, __ATOMIC_RELAXED) != PYRO_RECORDING_RUNNING) {
        count_loss(session);
        return false;
    }
    pthread_mutex_lock(&session->lock);
    pyro_chunk_close(session, slot->chunk);
    size_t index = slot->chunk = pyro_chunk_take(session, slot);
    if (index != PYRO_NO_CHUNK) {
        char *chunk = pyro_chunk_address(session, index);
        thread->chunk = session->slots[index].sequence;
        thread->next = (pyro_record *)(chunk + sizeof(pyro_chunk_header));
        thread->end = (pyro_record *)(chunk + CHUNK);
    } else {
        count_loss(session);
    }
    pthread_mutex_unlock(&session->lock);
    return index != PYRO_NO_CHUNK;
}

static struct timespec later(int64_t delay_ns)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t ns = time.tv_nsec + delay_ns;
    return (struct timespec){time.tv_sec + ns / 1000000000, ns % 1000000000};
}

static bool has_passed(const struct timespec *time)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > time->tv_sec ||
           (now.tv_sec == time->tv_sec && now.tv_nsec >= time->tv_nsec);
}

/* Makes chunks until enough are ready or no more can be made; true if none is ready. */
static bool fill_up(pyro_session *session)
{
    if (session->data_spare == PYRO_NO_CHUNK &&
        session->data_used > PYRO_RECORDING_CHUNK_BYTES / 2 && session->data_chunk != PYRO_NO_CHUNK)
        session->data_spare = pyro_chunk_make(session, true);
    while (session->ready_count < wanted_ready(session) && !session->is_stopping) {
        size_t index = pyro_chunk_make(session, true);
        if (index == PYRO_NO_CHUNK)
            return session->ready_count == 0;
        if (session->ready_count < PYRO_READY_CHUNKS)
            session->ready[session->ready_count++] = index;
        pthread_cond_broadcast(&session->chunk_ready);
    }
    return false;
}

static void *allocate_chunks(void *argument)
{
    pyro_session *session = argument;
    struct timespec next_clock = later(FIRST_CLOCK_NS);
    pthread_mutex_lock(&session->lock);
    while (!session->is_stopping) {
        /* While a trigger's file is written, its chunks become free one by one. */
        if (fill_up(session) && !session->flight.is_saving) {
            session->failed_searches++;
            pthread_cond_broadcast(&session->chunk_ready);
        }
        if (session->is_stopping)
            break;
        pthread_cond_timedwait(&session->allocator_wakes, &session->lock, &next_clock);
        if (has_passed(&next_clock)) {
            pyro_clock_renew(session);
            next_clock = later(PYRO_CLOCK_INTERVAL_NS);
        }
    }
    pthread_mutex_unlock(&session->lock);
    return NULL;
}

int pyro_chunk_allocator_start(pyro_session *session, pyro_error *error)
{
    session->is_stopping = false;
    int reason = pyro_thread_start(&session->allocator, "pyrometer", allocate_chunks, session);
    if (reason)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot start the recorder's thread: %s",
                         strerror(reason));
    session->has_allocator = true;
    return PYRO_OK;
}

void pyro_chunk_allocator_stop(pyro_session *session)
{
    if (!session->has_allocator)
        return;
    pthread_mutex_lock(&session->lock);
    session->is_stopping = true;
    pthread_cond_broadcast(&session->allocator_wakes);
    pthread_cond_broadcast(&session->chunk_ready);
    pthread_mutex_unlock(&session->lock);
    pthread_join(session->allocator, NULL);
    session->has_allocator = false;
}
