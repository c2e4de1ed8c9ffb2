/*
 * The flight recorder: triggers add files to a queue, and a thread of the recorder writes them, so
 * that the program waits for none.
 */
#include "capture/session.h"

#include "base/text/units.h"
#include "base/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_MS 200
#define MOST_NUMBER 9999

static pyro_flight_saved_fn on_saved;

void pyro_flight_on_saved(pyro_flight_saved_fn saved)
{
    on_saved = saved;
}

static void wake(const pyro_flight *flight)
{
    uint64_t one = 1;
    ssize_t written = flight->wake_fd >= 0 ? write(flight->wake_fd, &one, sizeof one) : 0;
    (void)written; /* the thread looks from time to time anyway */
}

static pyro_trigger_count *count_of(pyro_flight *flight, const char *trigger)
{
    for (size_t i = 0; i < PYRO_FLIGHT_TRIGGERS; i++) {
        pyro_trigger_count *count = &flight->counts[i];
        if (!count->name[0])
            snprintf(count->name, sizeof count->name, "%s", trigger);
        if (strcmp(count->name, trigger) == 0)
            return count;
    }
    return NULL;
}

bool pyro_flight_add(pyro_session *session, const pyro_flight_job *job)
{
    pyro_flight *flight = &session->flight;
    uint32_t most = session->options.flight.most_files;
    pyro_trigger_count *count = count_of(flight, job->trigger);
    if (!flight->has_thread || flight->is_stopping || !count ||
        count->files >= (most ? most : PYRO_FLIGHT_MOST_FILES) ||
        flight->job_count == PYRO_FLIGHT_QUEUE) {
        flight->skipped += flight->is_on;
        return false;
    }
    pyro_flight_job *added = &flight->jobs[flight->job_count++];
    *added = *job;
    added->number = ++count->files;
    added->launches = pyro_device_work_launches();
    if (!added->fired_raw)
        added->fired_raw = pyro_raw_time(&pyro_the_recorder_api);
    wake(flight);
    return true;
}

bool pyro_flight_trigger(const char *trigger, const char *text)
{
    pyro_session *session = &pyro_the_session;
    pyro_recorder_thread *thread = pyro_recorder_enter(&pyro_the_recorder_api);
    pyro_flight_job job = {0};
    if (!thread)
        return false;
    snprintf(job.trigger, sizeof job.trigger, "%s", trigger);
    snprintf(job.text, sizeof job.text, "%s", text);
    pthread_mutex_lock(&session->lock);
    bool is_added = session->flight.is_on && pyro_flight_add(session, &job);
    pthread_mutex_unlock(&session->lock);
    pyro_recorder_leave(thread);
    return is_added;
}

/* Called by observers of memory, on the thread whose allocation failed. */
static void out_of_memory(int64_t bytes, int device_type, int device_index)
{
    char text[PYRO_FLIGHT_TEXT], size[PYRO_UNIT_TEXT], device[32] = "the CPU";
    if (!pyro_the_session.options.flight.on_out_of_memory)
        return;
    if (device_type == 1)
        snprintf(device, sizeof device, "cuda:%d", device_index);
    else if (device_type != 0)
        snprintf(device, sizeof device, "device type %d:%d", device_type, device_index);
    snprintf(text, sizeof text, "an allocation of %s failed on %s",
             pyro_format_bytes(size, bytes < 0 ? -bytes : bytes), device);
    pyro_flight_trigger("oom", text);
}

static void end_window(pyro_session *session)
{
    pyro_flight_job job = {.trigger = "cuda-profiler",
                           .text = "the program called cudaProfilerStart and cudaProfilerStop",
                           .begin_raw = session->flight.window_raw,
                           .is_window = true};
    job.fired_raw = job.end_raw = pyro_raw_time(&pyro_the_recorder_api);
    session->flight.window_raw = 0;
    pyro_flight_add(session, &job);
}

void pyro_flight_window(bool begins)
{
    pyro_session *session = &pyro_the_session;
    pyro_recorder_thread *thread = pyro_recorder_enter(&pyro_the_recorder_api);
    if (!thread)
        return;
    pthread_mutex_lock(&session->lock);
    bool is_wanted = session->flight.is_on && session->options.flight.on_cuda_profiler;
    bool changes = is_wanted && begins == !session->flight.window_raw;
    if (changes && begins)
        session->flight.window_raw = pyro_raw_time(&pyro_the_recorder_api);
    else if (changes)
        end_window(session);
    bool rests = pyro_flight_rests(&session->options.flight);
    pthread_mutex_unlock(&session->lock);
    pyro_recorder_leave(thread);
    if (changes && rests)
        pyro_recorder_rest(!begins);
}

/* run.pyro gives run.oom-1.pyro; unless files may be replaced, a number that is not in use. */
static bool name_file(const pyro_session *session, const pyro_flight_job *job, char *path,
                      size_t size)
{
    const char *base = session->path, *dot = strrchr(base, '.'), *slash = strrchr(base, '/');
    if (!dot || (slash && dot < slash))
        dot = base + strlen(base);
    for (uint32_t number = job->number; number <= MOST_NUMBER; number++) {
        if (snprintf(path, size, "%.*s.%s-%u%s", (int)(dot - base), base, job->trigger, number,
                     dot) >= (int)size)
            return false;
        if (session->options.overwrite || access(path, F_OK) != 0)
            return true;
    }
    return false;
}

static void write_file(pyro_session *session, const pyro_flight_job *job)
{
    char path[PATH_MAX + 64];
    pyro_error error;
    pyro_error_clear(&error);
    int status = name_file(session, job, path, sizeof path)
                     ? pyro_flight_save(session, job, path, &error)
                     : pyro_fail(&error, PYRO_ERROR_ARGUMENT, "no name is left for the file");
    pthread_mutex_lock(&session->lock);
    session->flight.files += status == PYRO_OK;
    pthread_mutex_unlock(&session->lock);
    pyro_flight_saved_fn saved = on_saved;
    if (saved)
        saved(path, job->text, status == PYRO_OK ? NULL : &error);
    pyro_flight_signal_done(job->signal);
}

static void take_signals(pyro_session *session)
{
    for (int signal; (signal = pyro_flight_signals_take());) {
        pyro_flight_job job = {.signal = signal};
        snprintf(job.trigger, sizeof job.trigger, "%s", pyro_flight_signal_name(signal));
        snprintf(job.text, sizeof job.text, "the process received %s", job.trigger);
        if (!pyro_flight_add(session, &job))
            pyro_flight_signal_done(signal);
    }
}

static void wait_for_work(const pyro_flight *flight)
{
    struct pollfd one = {.fd = flight->wake_fd, .events = POLLIN};
    uint64_t count;
    if (poll(&one, 1, LOOK_MS) > 0 && read(flight->wake_fd, &count, sizeof count) < 0)
        errno = 0;
}

static void *write_files(void *argument)
{
    pyro_session *session = argument;
    pyro_flight *flight = &session->flight;
    /* Lower priority than the measured program. */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
    pthread_mutex_lock(&session->lock);
    for (;;) {
        take_signals(session);
        if (flight->job_count > 0) {
            pyro_flight_job job = flight->jobs[0];
            bool waits = !flight->is_stopping;
            pthread_mutex_unlock(&session->lock);
            if (waits)
                pyro_device_work_wait_briefly(job.launches);
            write_file(session, &job);
            pthread_mutex_lock(&session->lock);
            memmove(flight->jobs, flight->jobs + 1, --flight->job_count * sizeof *flight->jobs);
            pthread_cond_broadcast(&flight->done);
        } else if (flight->is_stopping) {
            break;
        } else {
            pthread_mutex_unlock(&session->lock);
            wait_for_work(flight);
            pthread_mutex_lock(&session->lock);
            pyro_flight_signals_renew();
        }
    }
    pthread_mutex_unlock(&session->lock);
    return NULL;
}

int pyro_flight_begin(pyro_session *session, pyro_error *error)
{
    const pyro_flight_options *options = &session->options.flight;
    pyro_flight *flight = &session->flight;
    *flight = (pyro_flight){.is_on = pyro_flight_is_on(options), .wake_fd = -1};
    bool has_steps = options->slow_factor > 0 || options->slow_ns || options->keep_steps;
    pyro_the_recorder_api.wants_steps = has_steps || pyro_tail_is_followed();
    if (options->keep_steps) {
        flight->steps.begins = calloc((size_t)options->keep_steps, sizeof(uint64_t));
        if (!flight->steps.begins)
            return pyro_fail_memory(error);
    }
    if (!flight->is_on)
        return PYRO_OK;
    pthread_cond_init(&flight->done, NULL);
    flight->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (flight->wake_fd < 0)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot create an event: %s", strerror(errno));
    pyro_flight_signals_begin(options->signals, PYRO_FLIGHT_MOST_SIGNALS, flight->wake_fd);
    flight->has_thread = true;
    int reason = pyro_thread_start(&flight->thread, "pyrometer-save", write_files, session);
    if (reason) {
        flight->has_thread = false;
        pyro_flight_signals_end();
        return pyro_fail(error, PYRO_ERROR_IO, "cannot start the thread that saves recordings: %s",
                         strerror(reason));
    }
    pyro_the_recorder_api.out_of_memory = out_of_memory;
    if (pyro_flight_rests(options))
        pyro_recorder_rest(true);
    return PYRO_OK;
}

void pyro_flight_forget(pyro_session *session)
{
    pyro_flight *flight = &session->flight;
    if (flight->wake_fd > 0)
        close(flight->wake_fd);
    free(flight->steps.begins);
    pyro_live_blocks_free(&flight->blocks);
    *flight = (pyro_flight){.wake_fd = -1};
    pyro_the_recorder_api.wants_steps = 0;
}

static void wait_for_files(pyro_session *session)
{
    while (session->flight.has_thread && session->flight.job_count > 0)
        pthread_cond_wait(&session->flight.done, &session->lock);
}

void pyro_flight_wait(void)
{
    pyro_session *session = &pyro_the_session;
    pthread_mutex_lock(&session->lock);
    if (session->is_running && !session->is_forked)
        wait_for_files(session);
    pthread_mutex_unlock(&session->lock);
}

void pyro_flight_drain(pyro_session *session)
{
    pthread_mutex_lock(&session->lock);
    if (session->is_running && !session->is_forked && session->flight.is_on) {
        if (session->flight.window_raw)
            end_window(session);
        wait_for_files(session);
    }
    pthread_mutex_unlock(&session->lock);
}

void pyro_flight_end(pyro_session *session)
{
    pyro_flight *flight = &session->flight;
    if (!flight->has_thread)
        return;
    pthread_mutex_lock(&session->lock);
    flight->is_stopping = true;
    wake(flight);
    pthread_mutex_unlock(&session->lock);
    pthread_join(flight->thread, NULL);
    pthread_mutex_lock(&session->lock);
    flight->has_thread = false;
    pyro_flight_signals_end();
    pthread_mutex_unlock(&session->lock);
}

void pyro_flight_handlers_changed(void)
{
    pyro_session *session = &pyro_the_session;
    pthread_mutex_lock(&session->lock);
    if (session->is_running && !session->is_forked && session->flight.has_thread)
        pyro_flight_signals_renew();
    pthread_mutex_unlock(&session->lock);
}

void pyro_flight_look(pyro_flight_status *status)
{
    pyro_session *session = &pyro_the_session;
    pthread_mutex_lock(&session->lock);
    const pyro_flight *flight = &session->flight;
    *status = (pyro_flight_status){.files = flight->files,
                                   .skipped = flight->skipped,
                                   .is_writing = flight->job_count > 0,
                                   .steps = flight->steps.count};
    pthread_mutex_unlock(&session->lock);
}
