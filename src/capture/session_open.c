/* Opens and closes what a session records into: its file, its tables, its chunk allocator. */
#include "capture/session.h"

#include "base/containers/buf.h"

#include <string.h>
#include <unistd.h>

static void init_conditions(pyro_session *session)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&session->allocator_wakes, &monotonic);
    pthread_cond_init(&session->chunk_ready, &monotonic);
    pthread_cond_init(&session->writer_wakes, &monotonic);
    pthread_cond_init(&session->pass_done, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void fill_header(pyro_session *session)
{
    pyro_recording_header *header = session->header;
    struct timespec real;
    header->version = PYRO_RECORDING_VERSION;
    header->header_bytes = PYRO_RECORDING_HEADER_BYTES;
    header->chunk_bytes = PYRO_RECORDING_CHUNK_BYTES;
    header->record_bytes = PYRO_RECORDING_RECORD_BYTES;
    header->flags = session->options.flags;
    header->process = getpid();
    header->parent_process = getppid();
    header->max_bytes = session->options.max_bytes;
    header->chunk_count = 1;
    header->raw_per_ns = pyro_clock_rate(&pyro_the_recorder_api);
    header->first = header->last = pyro_clock_read(&pyro_the_recorder_api);
    clock_gettime(CLOCK_REALTIME, &real);
    header->start_realtime_ns = (int64_t)real.tv_sec * 1000000000 + real.tv_nsec;
    uint64_t magic;
    memcpy(&magic, PYRO_RECORDING_MAGIC, sizeof magic);
    __atomic_store_n((uint64_t *)(void *)header->magic, magic, __ATOMIC_RELEASE);
}

int pyro_session_open(pyro_session *session, const char *path, bool overwrite, pyro_error *error)
{
    int status = pyro_file_open(session, path, overwrite, error);
    if (status != PYRO_OK)
        return status;
    strcpy(session->path, session->options.temporary ? "" : path);
    init_conditions(session);
    session->cannot_grow = 0;
    session->last_sequence = 0;
    session->data_chunk = session->data_spare = PYRO_NO_CHUNK;
    session->data_used = 0;
    session->data_sealed = false;
    session->ready_count = 0;
    session->thread_count = 0;
    if (!pyro_membarrier_register() && !pyro_the_recorder_api.needs_fence)
        pyro_the_recorder_api.needs_fence = 1;
    fill_header(session);
    bool ok = pyro_grow(&session->slots, &session->slot_capacity, 1, sizeof *session->slots);
    if (ok) {
        session->slots[0] = (pyro_chunk_slot){.held = true};
        session->slot_count = 1;
        session->ready[session->ready_count++] = 0;
        ok = pyro_data_rewrite(session);
    }
    status = ok ? pyro_flight_begin(session, error) : pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = pyro_chunk_allocator_start(session, error);
    if (status == PYRO_OK)
        pyro_tail_begin(session);
    if (status != PYRO_OK) {
        pyro_flight_end(session);
        pyro_flight_forget(session);
        pyro_file_close(session, false);
    }
    return status;
}

void pyro_session_begin_tables(pyro_session *session)
{
    pyro_arena_init(&session->arena);
    for (size_t i = 0; i < PYRO_DATA_TYPES; i++) {
        pyro_intern_init(&session->data[i], &session->arena);
        session->written[i] = 0;
    }
}

void pyro_session_end_tables(pyro_session *session)
{
    for (size_t i = 0; i < PYRO_DATA_TYPES; i++)
        pyro_intern_free(&session->data[i]);
    pyro_arena_free(&session->arena);
}

void pyro_session_close(pyro_session *session)
{
    pyro_flight_end(session);
    pyro_chunk_allocator_stop(session);
    pyro_tail_end(session);
    pyro_flight_forget(session);
    pyro_clock_renew(session);
    if (session->header->state == PYRO_RECORDING_RUNNING)
        session->header->state = PYRO_RECORDING_CLOSED;
    pyro_file_close(session, !session->options.temporary);
    pyro_session_end_tables(session);
}
