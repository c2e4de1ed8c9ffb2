/*
 * The collector on CUPTI: callbacks report calls and graph nodes (cupti_callbacks.c), activity records
 * report work. A thread of its own asks CUPTI for finished records about once per second, reads them
 * and passes them on, so that the program's threads only swap buffers.
 */
#include "device/collector.h"

#include "base/thread.h"
#include "device/activity_buffers.h"
#include "device/clock_map.h"
#include "device/cupti.h"
#include "device/cupti_callbacks.h"
#include "device/cupti_records.h"
#include "device/kernel_names.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define AHEAD 4 /* empty buffers */
#define FLUSH_NS INT64_C(1000000000)
#define QUIET_NS 1e9 /* after the last node of a graph: its capture may go on */
#define PAIR_BASE_NS 1000000
#define CLOCK_SLACK_NS 1e6
/* If this many records and no other were read, the records have another layout than expected. */
#define MOST_STRANGE 64
/* Records of a buffer that was discarded cannot be counted; this is the size of a kernel's. */
#define USUAL_RECORD_BYTES 200

typedef struct collector {
    pthread_mutex_t control; /* guards start and stop */
    pthread_mutex_t lock;    /* guards the members below; never held while CUPTI is called */
    pthread_cond_t wakes, flushed;
    bool is_prepared, has_thread, is_stopping, has_full, flushes_always;
    uint64_t flushes_wanted, flushes_done;

    const pyro_device_sink *sink;
    bool is_loaded;
    pyro_cupti cupti;
    pyro_cupti_subscription use;

    pyro_cupti_callbacks callbacks;
    pyro_activity_buffers buffers;
    pthread_t thread;

    /* Used by the collector's thread only, and read by others. */
    pyro_clock_map clock;
    pyro_kernel_names names;
    uint64_t records, dropped, malformed, clock_error_ns;
    pyro_collector_state state;
    char reason[256];
} collector;

static collector the = {.control = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

/* With `control`; pyro_collector_look() reads it without. */
static pyro_collector_state set_state(pyro_collector_state state)
{
    __atomic_store_n(&the.state, state, __ATOMIC_RELAXED);
    return state;
}

static void request_buffer(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *buffer = pyro_activity_buffers_take(&the.buffers);
    *size = PYRO_ACTIVITY_BUFFER_BYTES;
    *most_records = 0;
}

static void complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    if (!buffer)
        return;
    pyro_activity_buffers_complete(&the.buffers, buffer, valid);
    pthread_mutex_lock(&the.lock);
    the.has_full = true;
    pthread_cond_signal(&the.wakes);
    pthread_mutex_unlock(&the.lock);
}

static bool read_device_clock(void *user, uint64_t *time)
{
    (void)user;
    return pyro_cupti_read_clock(&the.use, time) == PYRO_CUPTI_SUCCESS;
}

/* Two pairs at least, so that the rate is known. */
static void compare_clocks(void)
{
    bool fine = pyro_clock_map_read(&the.clock, the.sink->now, read_device_clock, NULL);
    if (fine && the.clock.count == 1) {
        struct timespec pause = {0, PAIR_BASE_NS};
        nanosleep(&pause, NULL);
        pyro_clock_map_read(&the.clock, the.sink->now, read_device_clock, NULL);
    }
    double error_ns = (double)pyro_clock_map_error(&the.clock) * the.sink->ns_per_unit();
    __atomic_store_n(&the.clock_error_ns, (uint64_t)(error_ns + 0.5), __ATOMIC_RELAXED);
}

/*
 * Work starts after its call began and before now. If only the unchanged time fits, the records
 * carry the recorder's clock: the profiler that used CUPTI before left its clock there.
 */
static void prove_clock(const pyro_device_work *work, uint64_t now)
{
    if (the.callbacks.is_clock_proven)
        return;
    uint64_t begun = pyro_cupti_launch_begun(&the.callbacks.calls, work->correlation);
    uint64_t slack = (uint64_t)(CLOCK_SLACK_NS / the.sink->ns_per_unit());
    if (begun == 0)
        return;
    uint64_t start = pyro_clock_map_time(&the.clock, work->start);
    bool is_mapped = start + slack >= begun && start <= now + slack;
    bool is_recorders = !is_mapped && work->start >= begun && work->start <= now;
    the.clock.is_recorder_clock |= is_recorders;
    __atomic_store_n(&the.callbacks.is_clock_proven, is_mapped || is_recorders, __ATOMIC_RELAXED);
}

/* Work of other launches than the timed ones has arrived: those may have been added to a graph. */
static void want_times_again(uint64_t records_before)
{
    if (the.callbacks.is_clock_proven || the.records > records_before)
        pyro_cupti_callbacks_want_times(!the.callbacks.is_clock_proven);
}

/* Counters have one writer, and pyro_collector_look as a reader. */
static void count(uint64_t *counter, uint64_t amount)
{
    __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

static void pass_on(pyro_device_work *work, uint64_t now)
{
    char text[64];
    if (work->start == 0) /* CUPTI has no time for it */
        return;
    if (work->kind == PYRO_WORK_KERNEL) {
        prove_clock(work, now);
        if (work->name)
            work->name = pyro_kernel_names_get(&the.names, work->name);
    }
    if (work->kind != PYRO_WORK_KERNEL || !work->name) {
        pyro_cupti_name_work(work, text, sizeof text);
        work->name = text;
    }
    work->duration_ns = the.clock.is_recorder_clock ? 0 : work->end - work->start;
    work->start = pyro_clock_map_time(&the.clock, work->start);
    work->end = pyro_clock_map_time(&the.clock, work->end);
    the.sink->work(work);
    if (work->kind == PYRO_WORK_KERNEL || work->graph)
        pyro_cupti_launch_worked(&the.callbacks.calls, work->correlation, work->graph);
}

static void read_buffer(const pyro_activity_buffer *buffer)
{
    void *record = NULL;
    uint64_t now = the.sink->now();
    while (pyro_cupti_next_record(&the.use, buffer->bytes, buffer->valid, &record) ==
           PYRO_CUPTI_SUCCESS) {
        pyro_device_work work;
        size_t offset = (size_t)((const uint8_t *)record - buffer->bytes);
        if ((const uint8_t *)record < buffer->bytes || offset >= buffer->valid)
            break;
        pyro_record_reading reading = pyro_cupti_read_record(record, buffer->valid - offset, &work);
        count(&the.records, reading == PYRO_READING_WORK);
        count(&the.malformed, reading == PYRO_READING_BAD);
        bool is_strange = the.malformed >= MOST_STRANGE && the.records < the.malformed;
        if (reading == PYRO_READING_WORK && !is_strange)
            pass_on(&work, now);
    }
}

static void read_full_buffers(void)
{
    pyro_activity_buffer *buffer = pyro_activity_buffers_next(&the.buffers);
    if (!buffer)
        return;
    uint64_t records_before = the.records;
    compare_clocks();
    the.sink->work_begins();
    for (; buffer; buffer = pyro_activity_buffers_next(&the.buffers)) {
        if (buffer->is_discarded)
            count(&the.dropped, buffer->valid / USUAL_RECORD_BYTES + 1);
        else
            read_buffer(buffer);
        pyro_activity_buffers_recycle(&the.buffers, buffer);
    }
    the.sink->work_ends();
    want_times_again(records_before);
    pyro_activity_buffers_refill(&the.buffers, AHEAD);
}

static void flush_and_read(void)
{
    the.cupti.flush(0);
    count(&the.dropped, pyro_cupti_dropped(&the.use));
    read_full_buffers();
}

static struct timespec after(int64_t delay_ns)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ns = now.tv_nsec + delay_ns;
    return (struct timespec){now.tv_sec + ns / 1000000000, ns % 1000000000};
}

static bool is_due(const struct timespec *time)
{
    struct timespec now = after(0);
    return now.tv_sec > time->tv_sec ||
           (now.tv_sec == time->tv_sec && now.tv_nsec >= time->tv_nsec);
}

/* Asking CUPTI for records while a graph is captured could disturb the capture. Its last node was
 * added a short time ago, and it is not executable yet. */
static bool may_be_capturing(void)
{
    uint64_t last = __atomic_load_n(&the.callbacks.last_node, __ATOMIC_RELAXED);
    return last && (double)(the.sink->now() - last) * the.sink->ns_per_unit() < QUIET_NS;
}

static void *collect(void *unused)
{
    (void)unused;
    struct timespec next_flush = after(FLUSH_NS);
    /* Lower priority than the measured program. */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 5);
    pthread_mutex_lock(&the.lock);
    for (;;) {
        while (!the.has_full && the.flushes_wanted == the.flushes_done && !the.is_stopping &&
               !is_due(&next_flush))
            pthread_cond_timedwait(&the.wakes, &the.lock, &next_flush);
        uint64_t wanted = the.flushes_wanted;
        bool flushes = wanted != the.flushes_done || is_due(&next_flush);
        bool always = the.flushes_always, stops = the.is_stopping && !flushes;
        the.has_full = false;
        pthread_mutex_unlock(&the.lock);
        if (flushes)
            next_flush = after(FLUSH_NS);
        if (flushes && (always || !may_be_capturing()))
            flush_and_read();
        else
            read_full_buffers();
        pthread_mutex_lock(&the.lock);
        the.flushes_done = wanted;
        pthread_cond_broadcast(&the.flushed);
        if (stops)
            break;
    }
    pthread_mutex_unlock(&the.lock);
    return NULL;
}

/* Waits until the collector's thread has asked for everything that has finished and read it. Unless
 * `always`, it does not ask while a graph is captured, and reads what CUPTI has handed over. */
static void flush_and_wait(bool always)
{
    pthread_mutex_lock(&the.lock);
    uint64_t wanted = ++the.flushes_wanted;
    the.flushes_always |= always;
    pthread_cond_signal(&the.wakes);
    while (the.has_thread && the.flushes_done < wanted)
        pthread_cond_wait(&the.flushed, &the.lock);
    pthread_mutex_unlock(&the.lock);
}

/* The child has no thread of the collector, and torch allows it no CUDA. */
static void in_child(void)
{
    pthread_mutex_init(&the.control, NULL);
    pthread_mutex_init(&the.lock, NULL);
    pyro_cupti_callbacks_report(false);
    the.has_thread = false;
    the.state = PYRO_COLLECTOR_OFF;
}

static bool prepare(void)
{
    if (the.is_prepared)
        return true;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&the.wakes, &monotonic);
    pthread_cond_init(&the.flushed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_atfork(NULL, NULL, in_child);
    pyro_cupti_callbacks_begin(&the.callbacks, &the.cupti);
    the.is_prepared = pyro_activity_buffers_begin(&the.buffers, AHEAD, PYRO_MOST_ACTIVITY_BUFFERS);
    return the.is_prepared;
}

/* `result`: CUPTI's, or 0. */
static pyro_collector_state fail_with(const char *what, int result)
{
    return set_state(pyro_cupti_explain(&the.cupti, what, result, the.reason, sizeof the.reason));
}

static pyro_collector_state load(void)
{
    if (the.is_loaded)
        return PYRO_COLLECTOR_OFF;
    pyro_cupti_load found = pyro_cupti_open(&the.cupti, the.reason, sizeof the.reason);
    the.is_loaded = found == PYRO_CUPTI_LOADED;
    if (the.is_loaded)
        return PYRO_COLLECTOR_OFF;
    return set_state(found == PYRO_CUPTI_MISSING ? PYRO_COLLECTOR_NO_LIBRARY
                                                 : PYRO_COLLECTOR_TOO_OLD);
}

/* Subscribed and loaded: starts the thread and the records. */
static pyro_collector_state start_collecting(uint32_t more)
{
    the.clock = (pyro_clock_map){0};
    the.records = the.dropped = the.malformed = 0;
    pyro_cupti_callbacks_restart(&the.callbacks, the.sink);
    the.flushes_wanted = the.flushes_done = 0;
    the.is_stopping = the.flushes_always = false;
    pyro_kernel_names_begin(&the.names);
    pyro_clock_map_read(&the.clock, the.sink->now, read_device_clock, NULL);
    if (pyro_thread_start(&the.thread, "pyrometer-gpu", collect, NULL) != 0) {
        pyro_kernel_names_end(&the.names);
        return fail_with("cannot start the collector's thread", 0);
    }
    the.has_thread = true;
    pyro_cupti_set_attribute(&the.use, PYRO_CUPTI_ZEROED_BUFFERS, 1);
    int result = pyro_cupti_register_buffers(&the.use, request_buffer, complete_buffer);
    if (result == PYRO_CUPTI_SUCCESS)
        result = pyro_cupti_enable_kinds(&the.use, &the.cupti, more);
    if (result != PYRO_CUPTI_SUCCESS)
        return fail_with("cannot collect kernels", result);
    pyro_cupti_callbacks_report(true);
    pyro_cupti_callbacks_enable(&the.callbacks, &the.use, true);
    the.reason[0] = '\0';
    return set_state(PYRO_COLLECTOR_ON);
}

static void stop_thread(void)
{
    if (!the.has_thread)
        return;
    pthread_mutex_lock(&the.lock);
    the.is_stopping = true;
    pthread_cond_signal(&the.wakes);
    pthread_mutex_unlock(&the.lock);
    pthread_join(the.thread, NULL);
    the.has_thread = false;
    pyro_kernel_names_end(&the.names);
}

static void stop_collecting(void)
{
    pyro_cupti_callbacks_report(false);
    pyro_cupti_callbacks_enable(&the.callbacks, &the.use, false);
    if (the.has_thread)
        flush_and_wait(true);
    pyro_cupti_disable_kinds(&the.use);
    if (the.has_thread)
        flush_and_wait(true); /* what the kinds still held */
    stop_thread();
    /* Other profilers hand over buffers with anything in them. */
    pyro_cupti_set_attribute(&the.use, PYRO_CUPTI_ZEROED_BUFFERS, 0);
    pyro_cupti_unsubscribe(&the.use);
}

/* `shares`: with the functions for several subscribers. */
static pyro_collector_state subscribe(bool shares, uint32_t more)
{
    int result = pyro_cupti_subscribe(&the.use, &the.cupti, shares, pyro_cupti_on_callback,
                                      &the.callbacks);
    if (result != PYRO_CUPTI_SUCCESS)
        return fail_with("cannot subscribe", result);
    pyro_collector_state state = start_collecting(more);
    if (state != PYRO_COLLECTOR_ON)
        stop_collecting();
    return state;
}

pyro_collector_state pyro_collector_start(const pyro_device_sink *sink, uint32_t more)
{
    pthread_mutex_lock(&the.control);
    pyro_collector_state state = the.state;
    if (state != PYRO_COLLECTOR_ON) {
        the.sink = sink;
        state = load();
        if (state == PYRO_COLLECTOR_OFF && !prepare())
            state = fail_with("out of memory", 0);
        if (state == PYRO_COLLECTOR_OFF && the.cupti.has_shared)
            state = subscribe(true, more);
        /* Where several subscribers are not possible, the reason why one is not counts. */
        if (state != PYRO_COLLECTOR_ON && the.is_loaded && the.is_prepared)
            state = subscribe(false, more);
    }
    pthread_mutex_unlock(&the.control);
    return state;
}

void pyro_collector_stop(void)
{
    pthread_mutex_lock(&the.control);
    if (the.state == PYRO_COLLECTOR_ON)
        stop_collecting();
    set_state(PYRO_COLLECTOR_OFF);
    pthread_mutex_unlock(&the.control);
}

void pyro_collector_flush(void)
{
    pthread_mutex_lock(&the.control);
    if (the.state == PYRO_COLLECTOR_ON)
        flush_and_wait(false);
    pthread_mutex_unlock(&the.control);
}

void pyro_collector_look(pyro_collector_status *status)
{
    uint64_t launches = pyro_cupti_count_launches(&the.callbacks.calls);
    uint64_t done = __atomic_load_n(&the.callbacks.calls.done, __ATOMIC_ACQUIRE);
    *status = (pyro_collector_status){
        .state = __atomic_load_n(&the.state, __ATOMIC_RELAXED),
        .version = the.cupti.version,
        .records = __atomic_load_n(&the.records, __ATOMIC_RELAXED),
        .dropped = __atomic_load_n(&the.dropped, __ATOMIC_RELAXED),
        .malformed = __atomic_load_n(&the.malformed, __ATOMIC_RELAXED),
        .buffers = pyro_activity_buffers_count(&the.buffers),
        .launches = launches,
        .unfinished = launches > done ? launches - done : 0,
    };
    status->clock_error_ns = __atomic_load_n(&the.clock_error_ns, __ATOMIC_RELAXED);
    snprintf(status->reason, sizeof status->reason, "%s", the.reason);
    snprintf(status->library, sizeof status->library, "%s", the.cupti.path);
}

void pyro_collector_probe(pyro_collector_status *status)
{
    pthread_mutex_lock(&the.control);
    if (the.state != PYRO_COLLECTOR_ON && load() == PYRO_COLLECTOR_OFF) {
        set_state(PYRO_COLLECTOR_OFF);
        the.reason[0] = '\0';
    }
    pyro_collector_look(status);
    pthread_mutex_unlock(&the.control);
}
