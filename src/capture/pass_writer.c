/*
 * The thread that writes passes. It reads records in place: chunks that a pass needs are not reused
 * before it is done. A file gets its name only when it is complete.
 */
#include "capture/session.h"

#include "base/containers/buf.h"
#include "trace/kineto/scanner.h"
#include "trace/recording/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_NS 2000000
#define MOST_IDLE_LOOKS 100

/* What is read of a session; the chunks are read without its lock. */
typedef struct snapshot {
    const pyro_chunk_header **chunks; /* in the order in which they were taken */
    size_t count, capacity;
    pyro_recording_header header;
} snapshot;

static int by_sequence(const void *left, const void *right)
{
    uint64_t a = (*(const pyro_chunk_header *const *)left)->sequence;
    uint64_t b = (*(const pyro_chunk_header *const *)right)->sequence;
    return (a > b) - (a < b);
}

/* With `lock`: collects the chunks that may hold records of the pass; those of device work are
 * written after it. */
static bool take_snapshot(pyro_session *session, const pyro_pass_job *job, snapshot *out)
{
    out->count = 0;
    out->header = *session->header;
    for (size_t i = 0; i < session->slot_count; i++) {
        const pyro_chunk_slot *slot = &session->slots[i];
        if (slot->kind != PYRO_CHUNK_RECORDS || slot->sequence == 0 || slot->held ||
            (slot->first_raw > job->end_raw && !(job->flags & PYRO_RECORD_DEVICES)) ||
            (slot->closed_raw != 0 && slot->closed_raw < job->begin_raw))
            continue;
        if (!pyro_grow(&out->chunks, &out->capacity, out->count + 1, sizeof *out->chunks))
            return false;
        out->chunks[out->count++] = (const pyro_chunk_header *)pyro_chunk_address(session, i);
    }
    if (out->count)
        qsort(out->chunks, out->count, sizeof *out->chunks, by_sequence);
    return pyro_tables_extend(&session->pass_tables, session->pass_seen, session);
}

static int add_property(pyro_trace *trace, const char *key, const char *value, pyro_error *error)
{
    return pyro_trace_property(trace, key, value) ? PYRO_OK : pyro_fail_memory(error);
}

static int read_pass(pyro_session *session, const pyro_pass_job *job, const snapshot *chunks,
                     pyro_trace *trace, pyro_error *error)
{
    pyro_recording recording = {0};
    char number[24];
    int status = pyro_recording_begin(&recording, trace, &chunks->header, &session->pass_tables,
                                      error);
    recording.from_raw = job->begin_raw;
    recording.to_raw = job->end_raw;
    recording.pass_thread = job->thread;
    recording.foreign = job->foreign;
    recording.foreign_count = job->foreign_count;
    recording.flags = job->flags;
    for (size_t i = 0; i < chunks->count && status == PYRO_OK; i++)
        status = pyro_recording_add(
            &recording, chunks->chunks[i], (const pyro_record *)(chunks->chunks[i] + 1),
            (PYRO_RECORDING_CHUNK_BYTES - sizeof(pyro_chunk_header)) / sizeof(pyro_record));
    if (status == PYRO_OK)
        status = pyro_recording_finish(&recording);
    if (status == PYRO_OK)
        status = pyro_recording_properties(&recording);
    snprintf(number, sizeof number, "%lld", (long long)job->number);
    if (status == PYRO_OK)
        status = add_property(trace, "model", job->model, error);
    if (status == PYRO_OK)
        status = add_property(trace, "pass", number, error);
    snprintf(number, sizeof number, "%llu", (unsigned long long)chunks->header.lost_records);
    if (status == PYRO_OK && chunks->header.lost_records)
        status = add_property(trace, "lost_records", number, error);
    if (status == PYRO_OK && job->missing)
        status = add_property(trace, PYRO_NOTE_MISSING, job->missing, error);
    if (status == PYRO_OK && job->lacks_ops)
        status = add_property(trace, PYRO_NOTE_OPS, PYRO_NOTE_MISSING, error);
    pyro_recording_free(&recording);
    return status;
}

/* Adds what torch.profiler saw. If that is unreadable, the pass is written without it. */
static int add_profile(const pyro_pass_job *job, pyro_trace *trace, pyro_error *error)
{
    pyro_error reason;
    char line[512], text[600];
    int status = PYRO_OK;
    pyro_error_clear(&reason);
    if (job->profile && pyro_trace_join_devices(trace, job->profile, &reason) != PYRO_OK) {
        snprintf(text, sizeof text, "what torch.profiler saw: %s",
                 pyro_error_line(&reason, line, sizeof line));
        status = add_property(trace, PYRO_NOTE_MISSING, text, error);
        if (status == PYRO_OK)
            status = add_property(trace, PYRO_NOTE_OPS, PYRO_NOTE_MISSING, error);
    }
    if (job->profile)
        unlink(job->profile);
    pyro_marks_forget(trace);
    return status;
}

static int write_piece(void *user, const char *bytes, size_t size, pyro_error *error)
{
    int fd = *(int *)user;
    while (size > 0) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return pyro_fail(error, PYRO_ERROR_IO, "%s", strerror(done < 0 ? errno : ENOSPC));
        bytes += done;
        size -= (size_t)done;
    }
    return PYRO_OK;
}

static int write_file(const char *path, pyro_trace *trace, pyro_error *error)
{
    char unfinished[PATH_MAX];
    if (snprintf(unfinished, sizeof unfinished, "%s.%ld.tmp", path, (long)getpid()) >=
        (int)sizeof unfinished)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the path of the pass is too long");
    int fd = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return pyro_fail(error, PYRO_ERROR_IO, "%s", strerror(errno));
    int status = pyro_trace_write_chrome(trace, NULL, write_piece, &fd, error);
    if (close(fd) != 0 && status == PYRO_OK)
        status = pyro_fail(error, PYRO_ERROR_IO, "%s", strerror(errno));
    if (status == PYRO_OK && rename(unfinished, path) != 0)
        status = pyro_fail(error, PYRO_ERROR_IO, "%s", strerror(errno));
    if (status != PYRO_OK)
        unlink(unfinished);
    return status;
}

/* `chunks` NULL: there was not enough memory for them. */
static int write_pass(pyro_session *session, const pyro_pass_job *job, const snapshot *chunks,
                      pyro_error *error)
{
    pyro_trace *trace = chunks ? pyro_trace_new(job->path) : NULL;
    int status = trace ? read_pass(session, job, chunks, trace, error) : pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = add_profile(job, trace, error);
    if (status == PYRO_OK)
        status = write_file(job->path, trace, error);
    if (status != PYRO_OK)
        pyro_error_where(error, job->path, NULL);
    if (job->done)
        job->done(job->user, status == PYRO_OK ? trace : NULL, error);
    pyro_trace_close(trace);
    return status;
}

void pyro_pass_job_free(pyro_pass_job *job)
{
    if (!job)
        return;
    free(job->path);
    free(job->model);
    free(job->profile);
    free(job->missing);
    free(job->foreign);
    free(job);
}

static void finish_job(pyro_session *session, pyro_pass_job *job, const pyro_error *error)
{
    if (error->code != PYRO_OK && session->pass_error.code == PYRO_OK)
        session->pass_error = *error;
    session->first_job = job->next;
    if (!session->first_job)
        session->last_job = NULL;
    session->job_count--;
    session->passes_written++;
    pyro_pass_job_free(job);
    pthread_cond_broadcast(&session->pass_done);
    pthread_cond_signal(&session->allocator_wakes);
}

/*
 * Waits for a pass. While passes come one after the other it polls every few milliseconds: waking
 * it would cost the model more than everything else in a pass.
 */
static void wait_for_job(pyro_session *session, int *idle_looks)
{
    if (++*idle_looks < MOST_IDLE_LOOKS) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        int64_t ns = until.tv_nsec + LOOK_NS;
        until = (struct timespec){until.tv_sec + ns / 1000000000, ns % 1000000000};
        pthread_cond_timedwait(&session->writer_wakes, &session->lock, &until);
        return;
    }
    session->writer_sleeps = true;
    pthread_cond_wait(&session->writer_wakes, &session->lock);
    session->writer_sleeps = false;
}

void *pyro_pass_writer(void *argument)
{
    pyro_session *session = argument;
    snapshot chunks = {0};
    int idle_looks = 0;
    /* Lower priority than the measured program. */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
    pthread_mutex_lock(&session->lock);
    for (;;) {
        while (!session->first_job && !session->writer_stops)
            wait_for_job(session, &idle_looks);
        idle_looks = 0;
        pyro_pass_job *job = session->first_job;
        if (!job)
            break;
        pyro_error error;
        pyro_error_clear(&error);
        if (job->flags & PYRO_RECORD_DEVICES && job->launches) {
            pthread_mutex_unlock(&session->lock);
            pyro_device_work_wait(job->launches);
            pthread_mutex_lock(&session->lock);
        }
        bool ok = take_snapshot(session, job, &chunks);
        pthread_mutex_unlock(&session->lock);
        write_pass(session, job, ok ? &chunks : NULL, &error);
        pthread_mutex_lock(&session->lock);
        finish_job(session, job, &error);
    }
    pthread_mutex_unlock(&session->lock);
    free(chunks.chunks);
    return NULL;
}
