/*
 * Replaces libcupti.so: a device that runs what stub_* functions tell it to. Tests find those
 * functions with dlsym. The environment variable PYRO_STUB_CUPTI makes it fail: "taken",
 * "privileges", "old", "driver". Records have more bytes than the collector knows, as in newer versions.
 *
 * With STUB_SHARED it also has the functions for several subscribers. While one of their subscribers
 * lives, the others fail, as in CUPTI. PYRO_STUB_CUPTI can be "preview" (the clock fails), "refused"
 * (subscribing fails) or "no kernels" (enabling fails). stub_log() lists the calls in their order.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { FAILED = 7, END_OF_BUFFER = 12, NO_DRIVER = 15, NO_PRIVILEGES = 35, TAKEN = 39 };
enum { DRIVER = 1, RUNTIME = 2, RESOURCE = 3 };
enum { LAUNCH = 307, GRAPH_LAUNCH = 514, COPY = 279, SET = 220, WAIT = 131, ALLOCATE = 20 };
enum { PROFILER_START = 170, PROFILER_STOP = 171 };
enum { MOST_IDS = 800, RECORD_BYTES = 240, MOST_NODES = 4096 };
/* The device's clock is far from the host's. */
#define CLOCK_OFFSET UINT64_C(1700000000000000000)

typedef void (*callback)(void *user, int domain, uint32_t id, const void *data);

typedef struct call_data {
    uint32_t site;
    const char *function;
    const void *parameters;
    const int *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *shared;
    uint32_t correlation;
} call_data;

static struct stub {
    pthread_mutex_t lock;
    callback called;
    void *user;
    bool enabled[4][MOST_IDS], kinds[64];
    void (*request)(uint8_t **, size_t *, size_t *);
    void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
    uint8_t *buffer;
    size_t size, used, dropped, zeroed, flushes;
    uint32_t correlation;
    uint64_t free_at; /* when the device is free */
    uint64_t ahead_ns; /* of the system's clock, by stub_advance() */
    uint64_t (*left_clock)(void); /* that records carry; NULL: the device's */
    bool is_capturing, fails, records_queries;
    uint64_t next_node, nodes[MOST_NODES], clones[MOST_NODES];
    const char *names[MOST_NODES];
    size_t node_count;
    bool is_shared; /* by the functions for several subscribers */
    void (*request_shared)(uint8_t **, size_t *, size_t *, void *);
    void (*complete_shared)(uint8_t *, size_t, size_t, void *);
    char log[4096];
} the = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .correlation = 100, .next_node = 1, .records_queries = true};

static bool mode_is(const char *mode)
{
    const char *wanted = getenv("PYRO_STUB_CUPTI");
    return wanted && strcmp(wanted, mode) == 0;
}

/* Repeated calls are logged once. */
static void note(const char *call)
{
    size_t used = strlen(the.log), length = strlen(call);
    if (used >= length && strcmp(the.log + used - length, call) == 0)
        return;
    snprintf(the.log + used, sizeof the.log - used, "%s%s", used ? " " : "", call);
}

/* Whether a function for one subscriber may be called. */
static bool is_allowed(const char *call)
{
    if (the.is_shared)
        note(call);
    return !the.is_shared;
}

static uint64_t device_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + CLOCK_OFFSET + the.ahead_ns;
}

EXPORT int cuptiGetVersion(uint32_t *version)
{
    *version = mode_is("old") ? 12 : 130001;
    return 0;
}

EXPORT int cuptiGetResultString(int result, const char **text)
{
    *text = result == TAKEN ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR_STUB";
    return 0;
}

EXPORT int cuptiGetTimestamp(uint64_t *time)
{
    if (!is_allowed("cuptiGetTimestamp"))
        return FAILED;
    *time = device_clock();
    return 0;
}

EXPORT int cuptiSubscribe(void **subscriber, callback called, void *user)
{
    if (mode_is("driver"))
        return NO_DRIVER;
    if (the.called || mode_is("taken"))
        return TAKEN;
    the.called = called;
    the.user = user;
    *subscriber = &the;
    return 0;
}

EXPORT int cuptiUnsubscribe(void *subscriber)
{
    the.called = NULL;
    the.is_shared = false;
    note("unsubscribe");
    return subscriber == &the ? 0 : FAILED;
}

EXPORT int cuptiEnableCallback(uint32_t enable, void *subscriber, int domain, uint32_t id)
{
    if (subscriber != &the || domain > 3 || id >= MOST_IDS)
        return FAILED;
    the.enabled[domain][id] = enable;
    return 0;
}

EXPORT int cuptiGetCallbackName(int domain, uint32_t id, const char **name)
{
    static const struct {
        int domain;
        uint32_t id;
        const char *name;
    } names[] = {{DRIVER, LAUNCH, "cuLaunchKernel"},
                 {DRIVER, 442, "cuLaunchKernel_ptsz"},
                 {DRIVER, GRAPH_LAUNCH, "cuGraphLaunch"},
                 {DRIVER, COPY, "cuMemcpyHtoDAsync_v2_ptsz"},
                 {DRIVER, SET, "cuMemsetD8Async"},
                 {RUNTIME, WAIT, "cudaStreamSynchronize_v3020"},
                 {RUNTIME, ALLOCATE, "cudaMalloc_v3020"},
                 {RUNTIME, PROFILER_START, "cudaProfilerStart_v4000"},
                 {RUNTIME, PROFILER_STOP, "cudaProfilerStop_v4000"}};
    if (id >= MOST_IDS)
        return FAILED;
    *name = "cuSomethingElse";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].domain == domain && names[i].id == id)
            *name = names[i].name;
    return 0;
}

EXPORT int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
                                          void (*complete)(void *, uint32_t, uint8_t *, size_t,
                                                           size_t))
{
    if (!is_allowed("cuptiActivityRegisterCallbacks"))
        return FAILED;
    the.request = request;
    the.complete = complete;
    return 0;
}

EXPORT int cuptiActivityEnable(int kind)
{
    if (!is_allowed("cuptiActivityEnable"))
        return FAILED;
    if (mode_is("privileges"))
        return NO_PRIVILEGES;
    the.kinds[kind] = true;
    return 0;
}

EXPORT int cuptiActivityDisable(int kind)
{
    if (!is_allowed("cuptiActivityDisable"))
        return FAILED;
    the.kinds[kind] = false;
    return 0;
}

EXPORT int cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
    if (attribute != 5 || *size != 1 || !is_allowed("cuptiActivitySetAttribute"))
        return FAILED;
    the.zeroed = *(uint8_t *)value;
    return 0;
}

EXPORT int cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
    the.records_queries = enable;
    return 0;
}

EXPORT size_t stub_flushes(void)
{
    pthread_mutex_lock(&the.lock);
    size_t count = the.flushes;
    pthread_mutex_unlock(&the.lock);
    return count;
}

EXPORT bool stub_records_queries(void)
{
    return the.records_queries;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    (void)context;
    (void)stream;
    if (!is_allowed("cuptiActivityGetNumDroppedRecords"))
        return FAILED;
    *count = the.dropped;
    the.dropped = 0;
    return 0;
}

static int step(uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + RECORD_BYTES : buffer;
    if (next + RECORD_BYTES > buffer + valid)
        return END_OF_BUFFER;
    *record = next;
    return 0;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    return is_allowed("cuptiActivityGetNextRecord") ? step(buffer, valid, record) : FAILED;
}

EXPORT int cuptiGetGraphNodeId(void *node, uint64_t *id)
{
    *id = (uint64_t)(uintptr_t)node;
    return 0;
}

static void hand_over(void)
{
    uint8_t *buffer = the.buffer;
    size_t size = the.size, used = the.used;
    the.buffer = NULL;
    the.used = 0;
    pthread_mutex_unlock(&the.lock);
    if (the.is_shared)
        the.complete_shared(buffer, size, used, NULL);
    else
        the.complete((void *)1, 0, buffer, size, used);
    pthread_mutex_lock(&the.lock);
}

EXPORT int cuptiActivityFlushAll(uint32_t flags)
{
    (void)flags;
    pthread_mutex_lock(&the.lock);
    the.flushes++;
    if (the.buffer)
        hand_over();
    pthread_mutex_unlock(&the.lock);
    return 0;
}

static void put(uint8_t *record, size_t offset, uint64_t value, size_t bytes)
{
    memcpy(record + offset, &value, bytes);
}

/* The place of the next record, filled with what newer versions might append. */
static uint8_t *next_record(int kind)
{
    if (!the.kinds[kind])
        return NULL;
    if (the.buffer && the.used + RECORD_BYTES > the.size)
        hand_over();
    if (!the.buffer) {
        size_t most;
        if (the.is_shared)
            the.request_shared(&the.buffer, &the.size, &most, NULL);
        else
            the.request(&the.buffer, &the.size, &most);
        for (size_t i = 0; the.zeroed && i < the.size; i++)
            if (the.buffer[i])
                abort();
    }
    uint8_t *record = the.buffer + the.used;
    the.used += RECORD_BYTES;
    memset(record, 0xa5, RECORD_BYTES);
    put(record, 0, (uint64_t)kind, 4);
    return record;
}

static void put_times(uint8_t *record, size_t offset, uint64_t duration_ns)
{
    uint64_t start = the.left_clock ? the.left_clock() : device_clock() + 2000;
    start = start < the.free_at ? the.free_at : start;
    the.free_at = start + duration_ns;
    put(record, offset, start, 8);
    put(record, offset + 8, start + duration_ns, 8);
}

static void add_kernel(const char *name, uint64_t duration_ns, uint32_t stream,
                       uint32_t correlation, uint32_t graph, uint64_t node)
{
    pthread_mutex_lock(&the.lock);
    uint8_t *record = next_record(10);
    if (record) {
        put(record, 6, 32, 2);
        put_times(record, 16, duration_ns);
        put(record, 40, 0, 4);
        put(record, 48, stream, 4);
        for (size_t i = 0; i < 3; i++) {
            put(record, 52 + 4 * i, i ? 1 : 80, 4);
            put(record, 64 + 4 * i, i ? 1 : 256, 4);
        }
        put(record, 76, 1024, 4);
        put(record, 80, 2048, 4);
        put(record, 92, correlation, 4);
        put(record, 104, (uint64_t)(uintptr_t)name, 8);
        put(record, 144, node, 8);
        put(record, 156, graph, 4);
    }
    pthread_mutex_unlock(&the.lock);
}

static void tell(int domain, uint32_t id, uint32_t site, uint32_t correlation)
{
    static int fine, broken = 1;
    call_data data = {
        .site = site, .result = the.fails ? &broken : &fine, .correlation = correlation};
    if (the.called && the.enabled[domain][id])
        the.called(the.user, domain, id, &data);
}

static void tell_node(uint32_t id, uint64_t node, uint64_t original)
{
    void *graph[7] = {NULL, NULL, (void *)(uintptr_t)node, (void *)(uintptr_t)original};
    void *data[3] = {NULL, NULL, graph};
    if (the.called && the.enabled[RESOURCE][id])
        the.called(the.user, RESOURCE, id, data);
}

static uint32_t next_correlation(void)
{
    return __atomic_add_fetch(&the.correlation, 1, __ATOMIC_RELAXED);
}

/* Launches a kernel; while a graph is captured, adds it there instead. */
EXPORT uint32_t stub_launch(const char *name, uint64_t duration_ns, uint32_t stream)
{
    uint32_t correlation = next_correlation();
    tell(DRIVER, LAUNCH, 0, correlation);
    if (the.is_capturing && the.node_count < MOST_NODES) {
        uint64_t node = the.next_node++;
        the.nodes[the.node_count] = node;
        the.names[the.node_count++] = name;
        tell_node(13, node, 0);
    } else if (!the.fails) {
        add_kernel(name, duration_ns, stream, correlation, 0, 0);
    }
    tell(DRIVER, LAUNCH, 1, correlation);
    return correlation;
}

EXPORT uint32_t stub_copy(uint64_t bytes, uint64_t duration_ns)
{
    uint32_t correlation = next_correlation();
    tell(DRIVER, COPY, 0, correlation);
    pthread_mutex_lock(&the.lock);
    uint8_t *record = next_record(1);
    if (record) {
        put(record, 4, 1 | 1 << 8 | 3 << 16, 4); /* host to device, pageable to device */
        put(record, 8, bytes, 8);
        put_times(record, 16, duration_ns);
        put(record, 32, 0, 4);
        put(record, 40, 7, 4);
        put(record, 44, correlation, 4);
        put(record, 64, 0, 8);
        put(record, 72, 0, 4);
    }
    pthread_mutex_unlock(&the.lock);
    tell(DRIVER, COPY, 1, correlation);
    return correlation;
}

EXPORT uint32_t stub_set(uint64_t bytes, uint64_t duration_ns)
{
    uint32_t correlation = next_correlation();
    tell(DRIVER, SET, 0, correlation);
    pthread_mutex_lock(&the.lock);
    uint8_t *record = next_record(2);
    if (record) {
        put(record, 8, bytes, 8);
        put_times(record, 16, duration_ns);
        put(record, 32, 0, 4);
        put(record, 40, 7, 4);
        put(record, 44, correlation, 4);
        put(record, 50, 3, 2);
        put(record, 64, 0, 8);
        put(record, 72, 0, 4);
    }
    pthread_mutex_unlock(&the.lock);
    tell(DRIVER, SET, 1, correlation);
    return correlation;
}

/* Waits for the stream, and for the device's clock to get there. */
EXPORT uint32_t stub_wait(void)
{
    uint32_t correlation = next_correlation();
    uint64_t start = device_clock();
    tell(RUNTIME, WAIT, 0, correlation);
    while (device_clock() < the.free_at)
        ;
    pthread_mutex_lock(&the.lock);
    uint8_t *record = next_record(38);
    if (record) {
        put(record, 4, 3, 4);
        put(record, 8, start, 8);
        put(record, 16, device_clock(), 8);
        put(record, 24, correlation, 4);
        put(record, 32, 7, 4);
    }
    record = next_record(17);
    if (record) {
        put(record, 4, 1 << 16, 4);
        put(record, 24, start, 8);
        put(record, 32, start + 1000, 8);
    }
    pthread_mutex_unlock(&the.lock);
    tell(RUNTIME, WAIT, 1, correlation);
    return correlation;
}

EXPORT void stub_capture(bool begin)
{
    the.is_capturing = begin;
    if (begin) {
        the.node_count = 0;
        return;
    }
    for (size_t i = 0; i < the.node_count; i++) {
        the.clones[i] = the.next_node++;
        tell_node(20, the.clones[i], the.nodes[i]);
    }
}

EXPORT uint32_t stub_replay(uint64_t duration_ns)
{
    uint32_t correlation = next_correlation();
    tell(DRIVER, GRAPH_LAUNCH, 0, correlation);
    for (size_t i = 0; i < the.node_count; i++)
        add_kernel(the.names[i], duration_ns, 7, correlation, 5, the.clones[i]);
    tell(DRIVER, GRAPH_LAUNCH, 1, correlation);
    return correlation;
}

/* A record whose layout is not the one that is expected. */
EXPORT void stub_strange(void)
{
    pthread_mutex_lock(&the.lock);
    next_record(10);
    pthread_mutex_unlock(&the.lock);
}

/* Lets time pass. */
EXPORT void stub_advance(uint64_t ns)
{
    the.ahead_ns += ns;
}

/* Records carry this clock, which another profiler has registered before. */
EXPORT void stub_leave_clock(uint64_t (*clock)(void))
{
    the.left_clock = clock;
    the.free_at = 0;
}

EXPORT const char *stub_log(void)
{
    return the.log;
}

EXPORT void stub_forget_log(void)
{
    the.log[0] = '\0';
}

#ifdef STUB_SHARED
#include "cupti_stub_shared.h"
#endif

EXPORT void stub_fail_launches(bool fail)
{
    the.fails = fail;
}

EXPORT void stub_drop(size_t count)
{
    the.dropped += count;
}

EXPORT void stub_profiler(bool start)
{
    uint32_t correlation = next_correlation(), id = start ? PROFILER_START : PROFILER_STOP;
    tell(RUNTIME, id, 0, correlation);
    tell(RUNTIME, id, 1, correlation);
}
