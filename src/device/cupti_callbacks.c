#include "device/cupti_callbacks.h"

#include "base/every_event.h"

#include <pyrometer/capture.h>

#include <string.h>

/* What every launch uses: one cache line. */
static struct every_launch {
    _Alignas(64) uint32_t is_on; /* the number of the start, if callbacks are passed on; or 0 */
    const pyro_recorder_api *recorder; /* the sink's */
    pyro_launches launches;
} every PYRO_EVERY_EVENT;

static __thread pyro_calling_thread this_thread __attribute__((tls_model("initial-exec")));

/* No work of this thread's launch will arrive, which could prove the clock. */
static void end_without_work(pyro_cupti_callbacks *callbacks)
{
    uint32_t wanted = __atomic_load_n(&every.launches.wants_times, __ATOMIC_RELAXED);
    pyro_cupti_launch_ended(&callbacks->calls);
    this_thread.launch = 0;
    if (!__atomic_load_n(&callbacks->is_clock_proven, __ATOMIC_RELAXED))
        __atomic_store_n(&every.launches.wants_times, wanted + 1, __ATOMIC_RELAXED);
}

static __attribute__((noinline, cold)) void
on_resource(pyro_cupti_callbacks *callbacks, uint32_t id, const pyro_cupti_resource *resource)
{
    const pyro_cupti *cupti = callbacks->cupti;
    const pyro_cupti_graph *graph = resource->descriptor;
    uint64_t node = 0, original = 0;
    if (id != PYRO_CUPTI_NODE_CREATED && id != PYRO_CUPTI_NODE_CLONED)
        return;
    if (!graph || !graph->node || !cupti->node_id ||
        cupti->node_id(graph->node, &node) != PYRO_CUPTI_SUCCESS)
        return;
    if (id == PYRO_CUPTI_NODE_CLONED && graph->original_node)
        cupti->node_id(graph->original_node, &original);
    if (id == PYRO_CUPTI_NODE_CREATED && this_thread.launch)
        end_without_work(callbacks);
    /* Nodes are cloned when a captured graph is made executable. */
    uint64_t last = id == PYRO_CUPTI_NODE_CREATED ? callbacks->sink->now() : 0;
    __atomic_store_n(&callbacks->last_node, last, __ATOMIC_RELAXED);
    callbacks->sink->node_added(node, original);
}

/* Notes when this thread's launch began, which may prove the device's clock. */
static __attribute__((noinline, cold)) void keep_time(pyro_cupti_callbacks *callbacks,
                                                      uint32_t correlation, uint64_t begun)
{
    uint32_t wanted = __atomic_load_n(&every.launches.wants_times, __ATOMIC_RELAXED);
    if (wanted)
        __atomic_store_n(&every.launches.wants_times, wanted - 1, __ATOMIC_RELAXED);
    pyro_cupti_launch_keep_time(&callbacks->calls, correlation, begun);
}

/* The sink learns that a call begins. */
static void begin_call(pyro_cupti_callbacks *callbacks, const pyro_device_call *call, uint32_t key,
                       uint32_t correlation, uint64_t begun)
{
    pyro_call_kind kind = callbacks->sink->call_begins(call, correlation, begun);
    if (kind.head)
        pyro_cupti_call_is_plain(&this_thread, key, call, kind);
    else
        pyro_cupti_forget_kinds(&this_thread);
}

/* The sink learns of the pending call: something happens in it, or it ends in an unusual way. */
static void settle_pending(pyro_cupti_callbacks *callbacks)
{
    pyro_calling_thread *thread = &this_thread;
    uint32_t key = thread->pending, correlation = thread->launch;
    const pyro_device_call *call = NULL;
    if (!key)
        return;
    thread->pending = thread->launch = 0;
    if (thread->start == __atomic_load_n(&every.is_on, __ATOMIC_RELAXED))
        call = pyro_cupti_calls_find(&callbacks->calls, pyro_cupti_domain_of_key(key),
                                     pyro_cupti_id_of_key(key));
    if (!call)
        return;
    thread->launch = call->starts_kernels ? correlation : 0;
    begin_call(callbacks, call, key, correlation, thread->begun);
}

static void on_call_begins(pyro_cupti_callbacks *callbacks, const pyro_device_call *call,
                           uint32_t key, uint32_t correlation)
{
    uint64_t begun = callbacks->sink->now();
    pyro_cupti_call_begins(&every.launches, &this_thread);
    if (call->starts_kernels) {
        pyro_cupti_launch_begins(&every.launches, &this_thread, correlation);
        if (__atomic_load_n(&every.launches.wants_times, __ATOMIC_RELAXED))
            keep_time(callbacks, correlation, begun);
    }
    begin_call(callbacks, call, key, correlation, begun);
}

static void on_call_ends(pyro_cupti_callbacks *callbacks, const pyro_device_call *call,
                         const pyro_cupti_call *data)
{
    pyro_call_outcome outcome = {.failed = data->result && *data->result != 0};
    if (call->starts_kernels) {
        outcome.is_captured = !this_thread.launch;
        if (outcome.failed && this_thread.launch)
            end_without_work(callbacks);
        this_thread.launch = 0;
    }
    callbacks->sink->call_ends(call, data->correlation, outcome);
}

/* What is not written as a whole: nodes of graphs, failures, and the first call of a kind. */
static __attribute__((noinline, cold)) void on_other(void *user, int domain, uint32_t id,
                                                     const void *data)
{
    pyro_cupti_callbacks *callbacks = user;
    const pyro_cupti_call *of_call = data;
    if (!__atomic_load_n(&every.is_on, __ATOMIC_ACQUIRE) || !data)
        return;
    settle_pending(callbacks);
    if (domain == PYRO_CUPTI_RESOURCE) {
        on_resource(callbacks, id, data);
        return;
    }
    const pyro_device_call *call = pyro_cupti_calls_find(&callbacks->calls, domain, id);
    if (!call)
        return;
    if (of_call->site == 0)
        on_call_begins(callbacks, call, pyro_cupti_call_key(domain, id), of_call->correlation);
    else
        on_call_ends(callbacks, call, of_call);
}

/* Like pyro_recorder_enter_with(), of a thread that has been in the session of its kinds. NULL if the
 * sink must learn of the call instead. */
static inline __attribute__((always_inline)) pyro_recorder_thread *
enter(const pyro_calling_thread *thread, uint32_t *busy)
{
    const pyro_recorder_api *recorder = every.recorder;
    pyro_recorder_thread *writer = *thread->writer;
    if (__builtin_expect(!writer || recorder->is_resting || writer->next == writer->end, 0))
        return NULL;
    return pyro_recorder_enter_quickly(recorder, writer, thread->session, busy) ? writer : NULL;
}

static inline __attribute__((always_inline)) void
commit(pyro_recorder_thread *writer, pyro_record *record, uint64_t head, uint32_t correlation)
{
    uint32_t word = (uint32_t)(head >> 32);
    record->sequence = correlation;
    record->name = (uint32_t)head;
    memcpy(&record->kind, &word, sizeof word);
    pyro_record_commit(writer, record);
    pyro_record_prefetch(record + 2);
}

/* Writes the thread's pending call as a record. */
static inline __attribute__((always_inline)) bool write_call(const pyro_calling_thread *thread,
                                                             uint64_t head)
{
    uint32_t busy;
    pyro_recorder_thread *writer = enter(thread, &busy);
    if (__builtin_expect(!writer, 0))
        return false;
    pyro_record *record = writer->next;
    /* After all loads have begun: reading the counter takes as long as a miss of the cache. */
    record->end_raw = pyro_counter();
    record->start_raw = thread->begun;
    commit(writer, record, head, thread->launch);
    pyro_recorder_leave_quickly(writer, busy);
    return true;
}

/* Opens the span of a call that may wait: if the program is killed meanwhile, the recording has it. */
static bool open_call(const pyro_calling_thread *thread, uint64_t head, uint32_t correlation)
{
    uint32_t busy;
    pyro_recorder_thread *writer = enter(thread, &busy);
    if (!writer)
        return false;
    pyro_record *record = writer->next;
    record->start_raw = pyro_counter();
    pyro_span_open(writer, record, pyro_call_span_key(correlation));
    commit(writer, record, head, correlation);
    pyro_recorder_leave_quickly(writer, busy);
    return true;
}

static bool close_call(const pyro_calling_thread *thread, uint32_t correlation)
{
    uint64_t now = pyro_counter();
    uint32_t busy;
    pyro_recorder_thread *writer = enter(thread, &busy);
    if (!writer)
        return false;
    pyro_record *record = pyro_span_close(writer, pyro_call_span_key(correlation));
    if (record)
        __atomic_store_n(&record->end_raw, now, __ATOMIC_RELEASE);
    pyro_recorder_leave_quickly(writer, busy);
    return true;
}

/* Whether the callback ends the pending call, which has succeeded. */
static inline __attribute__((always_inline)) bool
ends_pending(const pyro_calling_thread *thread, uint32_t key, const pyro_cupti_call *of_call)
{
    return thread->pending == key && thread->launch == of_call->correlation && of_call->result &&
           !*of_call->result;
}

static inline __attribute__((always_inline)) void
begin_pending(pyro_calling_thread *thread, uint32_t key, const pyro_cupti_call *of_call)
{
    thread->pending = key;
    thread->launch = of_call->correlation;
    thread->begun = pyro_counter();
}

/* A call of a known kind, but no launch; false if the sink must learn of what happens. */
static bool on_known_call(pyro_calling_thread *thread, pyro_other_kind kind,
                          const pyro_cupti_call *of_call)
{
    bool is_inside = thread->pending || thread->launch;
    if (of_call->site == 0) {
        if (is_inside || !kind.ends_soon)
            return !is_inside && open_call(thread, kind.head, of_call->correlation);
        begin_pending(thread, kind.key, of_call);
        return true;
    }
    if (!kind.ends_soon)
        return !is_inside && of_call->result && !*of_call->result &&
               close_call(thread, of_call->correlation);
    if (!ends_pending(thread, kind.key, of_call) || !write_call(thread, kind.head))
        return false;
    thread->pending = thread->launch = 0;
    return true;
}

static __attribute__((hot, noinline)) void on_other_call(void *user, int domain, uint32_t id,
                                                         const void *data)
{
    pyro_calling_thread *thread = &this_thread;
    uint32_t is_on = __atomic_load_n(&every.is_on, __ATOMIC_ACQUIRE);
    pyro_other_kind kind = pyro_cupti_find_other(thread, pyro_cupti_call_key(domain, id));
    if (!kind.head || thread->start != is_on || !on_known_call(thread, kind, data))
        on_other(user, domain, id, data);
}

/*
 * Small, and without calls: the program evicts code from the caches between two callbacks. Arguments
 * stay in their registers, because on_other_call() gets them. A callback of the pending launch's
 * function is its end, or that function is called inside.
 */
__attribute__((hot, aligned(64))) void pyro_cupti_on_callback(void *user, int domain, uint32_t id,
                                                              const void *data)
{
    const pyro_cupti_call *of_call = data;
    pyro_calling_thread *thread = &this_thread;
    __asm__("" : "+r"(thread)); /* the compiler would compute the address at every use */
    uint32_t key = pyro_cupti_call_key(domain, id), kind = thread->keys[1] == key;
    if (__builtin_expect(thread->keys[kind] != key ||
                             thread->start != __atomic_load_n(&every.is_on, __ATOMIC_ACQUIRE),
                         0)) {
        on_other_call(user, domain, id, data);
        return;
    }
    if (thread->pending | of_call->site) {
        if (__builtin_expect(!ends_pending(thread, key, of_call) ||
                                 !write_call(thread, thread->heads[kind]),
                             0)) {
            on_other(user, domain, id, data);
            return;
        }
        thread->pending = thread->launch = 0;
        return;
    }
    pyro_cupti_count_launch(&every.launches, thread);
    begin_pending(thread, key, of_call);
    if (__builtin_expect(__atomic_load_n(&every.launches.wants_times, __ATOMIC_RELAXED), 0))
        keep_time(user, of_call->correlation, thread->begun);
}

void pyro_cupti_callbacks_begin(pyro_cupti_callbacks *callbacks, const pyro_cupti *cupti)
{
    callbacks->cupti = cupti;
    pyro_cupti_calls_begin(&callbacks->calls, cupti, &every.launches);
}

void pyro_cupti_callbacks_restart(pyro_cupti_callbacks *callbacks, const pyro_device_sink *sink)
{
    pyro_cupti_calls_restart(&callbacks->calls);
    callbacks->sink = sink;
    callbacks->last_node = 0;
    callbacks->is_clock_proven = false;
    every.recorder = sink->recorder;
}

void pyro_cupti_callbacks_report(bool reports)
{
    __atomic_store_n(&every.is_on, reports ? every.launches.start : 0, __ATOMIC_RELEASE);
}

void pyro_cupti_callbacks_enable(const pyro_cupti_callbacks *callbacks,
                                 const pyro_cupti_subscription *subscription, bool enable)
{
    pyro_cupti_calls_enable(&callbacks->calls, subscription, enable);
    pyro_cupti_enable_callback(subscription, enable, PYRO_CUPTI_RESOURCE, PYRO_CUPTI_NODE_CREATED);
    pyro_cupti_enable_callback(subscription, enable, PYRO_CUPTI_RESOURCE, PYRO_CUPTI_NODE_CLONED);
}

void pyro_cupti_callbacks_want_times(bool wants)
{
    __atomic_store_n(&every.launches.wants_times, wants ? PYRO_TIMED_LAUNCHES : 0,
                     __ATOMIC_RELAXED);
}
