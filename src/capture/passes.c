/*
 * Passes: what happened between two calls. The model's thread queues them, and a thread of the
 * recorder writes them as Chrome JSON (pass_writer.c). When that falls too far behind, the model
 * waits at the end of a pass: nothing is lost and memory stays bounded.
 */
#include "capture/session.h"

#include "base/containers/buf.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_JOBS 256
#define MOST_BACKLOG_BYTES ((size_t)512 << 20)

uint64_t pyro_passes_need_from(const pyro_session *session)
{
    uint64_t from = UINT64_MAX;
    for (size_t i = 0; i < session->open_pass_count; i++)
        if (session->open_passes[i].begin_raw < from)
            from = session->open_passes[i].begin_raw;
    for (const pyro_pass_job *job = session->first_job; job; job = job->next)
        if (job->begin_raw < from)
            from = job->begin_raw;
    return from;
}

void pyro_passes_forget(pyro_session *session)
{
    while (session->first_job) {
        pyro_pass_job *job = session->first_job;
        session->first_job = job->next;
        pyro_pass_job_free(job);
    }
    session->last_job = NULL;
    for (size_t i = 0; i < session->open_pass_count; i++)
        free(session->open_passes[i].foreign);
    session->job_count = session->open_pass_count = 0;
    pyro_recorded_free(&session->pass_tables);
    memset(session->pass_seen, 0, sizeof session->pass_seen);
}

uint64_t pyro_pass_begin(void)
{
    pyro_session *session = &pyro_the_session;
    pyro_recorder_thread *thread = pyro_recorder_enter(&pyro_the_recorder_api);
    uint64_t now = 0;
    if (!thread)
        return 0;
    pthread_mutex_lock(&session->lock);
    if (session->open_pass_count < PYRO_MOST_OPEN_PASSES) {
        /* Times of passes must be unique, because passes are found by time. */
        while (now <= session->last_pass_raw)
            now = pyro_raw_time(&pyro_the_recorder_api);
        session->last_pass_raw = now;
        session->open_passes[session->open_pass_count++] = (pyro_open_pass){
            .begin_raw = now, .thread = thread->number};
    }
    pthread_mutex_unlock(&session->lock);
    pyro_recorder_leave(thread);
    return now;
}

/* When memory is out, the other pass's records are in this file too. */
static void add_foreign(pyro_open_pass *pass, uint32_t thread, uint64_t begin_raw, uint64_t end_raw)
{
    if (thread != pass->thread && pyro_grow(&pass->foreign, &pass->foreign_capacity,
                                            pass->foreign_count + 1, sizeof *pass->foreign))
        pass->foreign[pass->foreign_count++] = (pyro_foreign_span){thread, begin_raw, end_raw};
}

/* Removes it from the list and updates the others; false if it is not of this session. */
static bool close_pass(pyro_session *session, uint64_t begun, uint64_t now, pyro_open_pass *out)
{
    pyro_open_pass *open = session->open_passes;
    for (size_t i = session->open_pass_count; i > 0; i--) {
        if (open[i - 1].begin_raw != begun)
            continue;
        *out = open[i - 1];
        open[i - 1] = open[--session->open_pass_count];
        for (size_t k = 0; k < session->open_pass_count; k++) {
            add_foreign(&open[k], out->thread, begun, now);
            add_foreign(out, open[k].thread, open[k].begin_raw, UINT64_MAX);
        }
        return true;
    }
    return false;
}

/* The program may change its working folder before the file is written. */
static char *absolute_path(const char *path)
{
    char folder[PATH_MAX];
    if (path[0] == '/' || !getcwd(folder, sizeof folder))
        return strdup(path);
    size_t size = strlen(folder) + strlen(path) + 2;
    char *whole = malloc(size);
    if (whole) {
        strcpy(whole, folder);
        strcat(whole, "/");
        strcat(whole, path);
    }
    return whole;
}

static pyro_pass_job *make_job(uint64_t begun, const pyro_pass_options *options)
{
    pyro_pass_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->begin_raw = begun;
    job->number = options->number;
    job->flags = options->flags;
    job->launches = pyro_device_work_launches();
    job->done = options->done;
    job->user = options->user;
    job->lacks_ops = options->lacks_ops;
    job->path = absolute_path(options->path);
    job->model = strdup(options->model ? options->model : "");
    job->profile = options->profile ? absolute_path(options->profile) : NULL;
    job->missing = options->missing ? strdup(options->missing) : NULL;
    if (job->path && job->model && (job->profile || !options->profile) &&
        (job->missing || !options->missing))
        return job;
    pyro_pass_job_free(job);
    return NULL;
}

static int start_writer(pyro_session *session, pyro_error *error)
{
    if (session->has_writer)
        return PYRO_OK;
    session->writer_stops = session->writer_sleeps = false;
    int reason = pyro_thread_start(&session->writer, "pyrometer-pass", pyro_pass_writer, session);
    if (reason)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot start the thread that writes passes: %s",
                         strerror(reason));
    session->has_writer = true;
    return PYRO_OK;
}

static bool is_behind(const pyro_session *session)
{
    return session->job_count >= MOST_JOBS ||
           (session->job_count > 1 && session->options.temporary &&
            session->slot_count * PYRO_RECORDING_CHUNK_BYTES > MOST_BACKLOG_BYTES);
}

static void add_job(pyro_session *session, pyro_pass_job *job)
{
    if (session->last_job)
        session->last_job->next = job;
    else
        session->first_job = job;
    session->last_job = job;
    session->job_count++;
    if (session->writer_sleeps)
        pthread_cond_signal(&session->writer_wakes);
}

int pyro_pass_end(uint64_t begun, const pyro_pass_options *options, pyro_error *error)
{
    pyro_session *session = &pyro_the_session;
    pyro_recorder_thread *thread = begun ? pyro_recorder_enter(&pyro_the_recorder_api) : NULL;
    uint64_t now = pyro_raw_time(&pyro_the_recorder_api);
    int status = PYRO_OK;
    if (!thread)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "nothing was recorded of this pass");
    pyro_pass_job *job = make_job(begun, options);
    pyro_open_pass pass = {0};
    if (!job)
        status = pyro_fail_memory(error);
    pthread_mutex_lock(&session->lock);
    if (!close_pass(session, begun, now, &pass) && status == PYRO_OK)
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT, "nothing was recorded of this pass");
    if (status == PYRO_OK)
        status = start_writer(session, error);
    if (status == PYRO_OK) {
        job->end_raw = now;
        job->thread = pass.thread;
        job->foreign = pass.foreign;
        job->foreign_count = pass.foreign_count;
        pass.foreign = NULL;
        add_job(session, job);
        job = NULL;
        /* Between passes this thread holds no record, so chunks may be reused meanwhile. */
        __atomic_store_n(&((pyro_thread_slot *)thread)->is_waiting, 1, __ATOMIC_RELEASE);
        while (is_behind(session))
            pthread_cond_wait(&session->pass_done, &session->lock);
        __atomic_store_n(&((pyro_thread_slot *)thread)->is_waiting, 0, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&session->lock);
    pyro_recorder_leave(thread);
    pyro_pass_job_free(job);
    free(pass.foreign);
    return status;
}

void pyro_pass_abandon(uint64_t begun)
{
    pyro_session *session = &pyro_the_session;
    pyro_recorder_thread *thread = begun ? pyro_recorder_enter(&pyro_the_recorder_api) : NULL;
    if (!thread)
        return;
    pyro_open_pass pass = {0};
    pthread_mutex_lock(&session->lock);
    close_pass(session, begun, pyro_raw_time(&pyro_the_recorder_api), &pass);
    pthread_mutex_unlock(&session->lock);
    free(pass.foreign);
    pyro_recorder_leave(thread);
}

static int take_failure(pyro_session *session, pyro_error *error)
{
    int status = session->pass_error.code;
    if (status != PYRO_OK && error && error->code == PYRO_OK)
        *error = session->pass_error;
    pyro_error_clear(&session->pass_error);
    return status;
}

int pyro_recorder_wait(pyro_error *error)
{
    pyro_session *session = &pyro_the_session;
    int status = PYRO_OK;
    pthread_mutex_lock(&session->lock);
    if (session->is_running && !session->is_forked) {
        pthread_cond_signal(&session->writer_wakes);
        while (session->job_count > 0 && session->has_writer)
            pthread_cond_wait(&session->pass_done, &session->lock);
        status = take_failure(session, error);
    }
    pthread_mutex_unlock(&session->lock);
    return status;
}

void pyro_passes_stop(pyro_session *session)
{
    pthread_mutex_lock(&session->lock);
    pthread_cond_signal(&session->writer_wakes);
    while (session->job_count > 0 && session->has_writer)
        pthread_cond_wait(&session->pass_done, &session->lock);
    session->writer_stops = true;
    pthread_cond_signal(&session->writer_wakes);
    pthread_mutex_unlock(&session->lock);
    if (session->has_writer)
        pthread_join(session->writer, NULL);
    pthread_mutex_lock(&session->lock);
    session->has_writer = false;
    pyro_passes_forget(session);
    pthread_mutex_unlock(&session->lock);
}
