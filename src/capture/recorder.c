/* The recorder's API: starts, stops, and adds what is written once. */
#include "capture/session.h"

#include "base/containers/buf.h"
#include "base/text/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void connect_functions(void)
{
    pyro_the_recorder_api.thread = pyro_thread_current;
    pyro_the_recorder_api.place = pyro_thread_place;
    pyro_the_recorder_api.refill = pyro_chunk_refill;
    pyro_the_recorder_api.name = pyro_table_name;
    pyro_the_recorder_api.signature = pyro_table_signature;
    pyro_the_recorder_api.storages = pyro_table_storages;
}

pyro_recorder_api *pyro_recorder_entrance(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, connect_functions);
    return &pyro_the_recorder_api;
}

static int prepare_process(pyro_error *error)
{
    static bool is_prepared;
    if (is_prepared)
        return PYRO_OK;
    int status = pyro_threads_prepare(pyro_fork_continue, error);
    if (status == PYRO_OK)
        status = pyro_fork_prepare(error);
    if (status == PYRO_OK)
        pyro_clock_choose(pyro_recorder_entrance());
    is_prepared = status == PYRO_OK;
    return status;
}

#define LEAST_CHUNKS 4
#define LEAST_BYTES (PYRO_RECORDING_HEADER_BYTES + LEAST_CHUNKS * PYRO_RECORDING_CHUNK_BYTES)

int pyro_recorder_parse_size(uint64_t *max_bytes, const char *text, pyro_error *error)
{
    if (!pyro_parse_size(text, max_bytes))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "\"%.60s\" is not a size; write 500M or 2G",
                         text);
    if (*max_bytes < LEAST_BYTES)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "\"%.60s\" is too small; a recording needs at least %d bytes, such as 2M",
                         text, LEAST_BYTES);
    return PYRO_OK;
}

static int check_options(const char *path, const pyro_recorder_options *options, pyro_error *error)
{
    if (!options->temporary && (!path || !path[0]))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "a recording requires a file");
    if (path && strlen(path) + 32 > PATH_MAX)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the path of the recording is too long");
    if (options->max_bytes && options->max_bytes < LEAST_BYTES)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "the size limit of a recording must be at least %d bytes", LEAST_BYTES);
    if (options->temporary && pyro_flight_is_on(&options->flight))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "triggers require a recording with a name");
    if (options->keep_last && !options->max_bytes && !options->flight.keep_ns &&
        !options->flight.keep_steps && !pyro_flight_is_on(&options->flight))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "keep_last requires a size limit");
    return PYRO_OK;
}

int pyro_recorder_start(const char *path, const pyro_recorder_options *options, pyro_error *error)
{
    pyro_session *session = &pyro_the_session;
    int status = check_options(path, options, error);
    if (status != PYRO_OK)
        return status;
    pthread_mutex_lock(&session->control);
    if (session->is_running)
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT, "this process is already being recorded");
    if (status == PYRO_OK)
        status = prepare_process(error);
    if (status == PYRO_OK) {
        session->options = *options;
        pyro_flight_complete(&session->options);
        pyro_the_recorder_api.is_resting = 0;
        strcpy(session->base_path, path ? path : "");
        session->passes_written = 0;
        pyro_error_clear(&session->pass_error);
        pyro_session_begin_tables(session);
        status = pyro_session_open(session, session->base_path, options->overwrite, error);
        if (status != PYRO_OK)
            pyro_session_end_tables(session);
    }
    if (status == PYRO_OK) {
        session->is_running = true;
        pyro_the_recorder_api.flags = options->flags;
        __atomic_store_n(&pyro_the_recorder_api.generation, pyro_the_recorder_api.generation + 1,
                         __ATOMIC_SEQ_CST);
    }
    pthread_mutex_unlock(&session->control);
    return status;
}

/* At the end: readers skip what is older than what is kept, though its chunk was not reused. */
static void mark_kept(pyro_session *session)
{
    char text[sizeof PYRO_PROPERTY_DISCARDED + 24];
    pthread_mutex_lock(&session->lock);
    uint64_t from = session->is_running && !session->is_forked
                        ? pyro_flight_keeps_from(session, pyro_flight_last_raw(session))
                        : 0;
    int length = snprintf(text, sizeof text, "%s%c%llu", PYRO_PROPERTY_DISCARDED, '\0',
                          (unsigned long long)from);
    if (from && length > 0)
        pyro_data_add(session, PYRO_DATA_PROPERTY, text, (size_t)length + 1);
    pthread_mutex_unlock(&session->lock);
}

int pyro_recorder_stop(pyro_error *error)
{
    pyro_session *session = &pyro_the_session;
    /* Passes wait for the collector, which may wait for `control`. */
    int status = pyro_recorder_wait(error);
    pyro_flight_drain(session);
    mark_kept(session);
    pthread_mutex_lock(&session->control);
    if (session->is_running) {
        session->is_running = false;
        __atomic_store_n(&pyro_the_recorder_api.generation, pyro_the_recorder_api.generation + 1,
                         __ATOMIC_SEQ_CST);
        if (session->is_forked) {
            /* A child that recorded nothing: the mapping is still its parent's. */
            session->is_forked = false;
            pyro_flight_forget(session);
            pyro_passes_forget(session);
            pyro_file_close(session, false);
            pyro_session_end_tables(session);
        } else {
            pyro_threads_quiesce(session, false);
            pyro_passes_stop(session);
            pyro_session_close(session);
        }
        if (session->pass_error.code != PYRO_OK) {
            status = session->pass_error.code;
            if (error && error->code == PYRO_OK)
                *error = session->pass_error;
        }
    }
    pthread_mutex_unlock(&session->control);
    return status;
}

const char *pyro_recorder_path(void)
{
    return pyro_the_session.is_running ? pyro_the_session.path : "";
}

void pyro_recorder_look(pyro_recorder_status *status)
{
    pyro_session *session = &pyro_the_session;
    *status = (pyro_recorder_status){0};
    pthread_mutex_lock(&session->control);
    status->running = session->is_running;
    if (session->is_running && !session->is_forked) {
        pthread_mutex_lock(&session->lock);
        status->state = session->header->state;
        status->chunks = session->header->chunk_count;
        status->dropped_chunks = session->header->dropped_chunks;
        status->lost_records = session->header->lost_records;
        status->file_bytes = PYRO_RECORDING_HEADER_BYTES +
                             status->chunks * PYRO_RECORDING_CHUNK_BYTES;
        status->threads = session->thread_count;
        pthread_mutex_unlock(&session->lock);
    }
    pthread_mutex_unlock(&session->control);
}

/* Adds an entry from outside of writing: the session cannot end meanwhile. */
static uint32_t add_data(uint32_t type, const void *bytes, size_t size)
{
    pyro_session *session = &pyro_the_session;
    pyro_recorder_thread *thread = pyro_recorder_enter(&pyro_the_recorder_api);
    if (!thread)
        return 0;
    pthread_mutex_lock(&session->lock);
    uint32_t id = pyro_data_add(session, type, bytes, size);
    pthread_mutex_unlock(&session->lock);
    pyro_recorder_leave(thread);
    return id;
}

/* Adds two NUL-terminated texts, after `head`. */
static uint32_t add_texts(uint32_t type, const void *head, size_t head_bytes, const char *first,
                          const char *second)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_buf_add(&buf, head, head_bytes);
    pyro_buf_add(&buf, first, strlen(first) + 1);
    pyro_buf_add(&buf, second, strlen(second) + 1);
    uint32_t id = buf.failed ? 0 : add_data(type, buf.data, buf.length);
    pyro_buf_free(&buf);
    return id;
}

uint32_t pyro_recorder_module(const pyro_module_data *data, const char *path,
                              const char *class_name)
{
    return add_texts(PYRO_DATA_MODULE, data, sizeof *data, path, class_name);
}

uint32_t pyro_recorder_weight(const pyro_weight_data *data, const char *name)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_buf_add(&buf, data, sizeof *data);
    pyro_buf_add(&buf, name, strlen(name) + 1);
    uint32_t id = buf.failed ? 0 : add_data(PYRO_DATA_WEIGHT, buf.data, buf.length);
    pyro_buf_free(&buf);
    return id;
}

uint32_t pyro_recorder_device(const pyro_device_data *data, const char *name)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_buf_add(&buf, data, sizeof *data);
    pyro_buf_add(&buf, name, strlen(name) + 1);
    uint32_t id = buf.failed ? 0 : add_data(PYRO_DATA_DEVICE, buf.data, buf.length);
    pyro_buf_free(&buf);
    return id;
}

uint32_t pyro_recorder_frame(const char *text)
{
    return add_data(PYRO_DATA_FRAME, text, strlen(text));
}

uint32_t pyro_recorder_stack(uint32_t around, const uint32_t *frames, size_t count)
{
    uint32_t few[64], *words = few;
    if (count + 1 > sizeof few / sizeof *few)
        words = malloc((count + 1) * sizeof *words);
    if (!words)
        return 0;
    words[0] = around;
    memcpy(words + 1, frames, count * sizeof *words);
    uint32_t id = add_data(PYRO_DATA_STACK, words, (count + 1) * sizeof *words);
    if (words != few)
        free(words);
    return id;
}

void pyro_recorder_property(const char *key, const char *value)
{
    add_texts(PYRO_DATA_PROPERTY, NULL, 0, key, value);
}

void pyro_recorder_discard(void)
{
    char raw[24];
    snprintf(raw, sizeof raw, "%llu", (unsigned long long)pyro_raw_time(&pyro_the_recorder_api));
    pyro_recorder_property(PYRO_PROPERTY_DISCARDED, raw);
}

void pyro_recorder_thread_name(const char *name)
{
    pyro_recorder_thread *thread = pyro_recorder_enter(&pyro_the_recorder_api);
    if (!thread)
        return;
    pthread_mutex_lock(&pyro_the_session.lock);
    pyro_data_thread_name(&pyro_the_session, thread->number, name);
    pthread_mutex_unlock(&pyro_the_session.lock);
    pyro_recorder_leave(thread);
}
