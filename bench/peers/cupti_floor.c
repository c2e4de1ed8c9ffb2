/*
 * What recording with CUPTI costs before anything is done with it: activity records whose buffers
 * are dropped unread, and callbacks that return at once, or that only note both times of a launch.
 * Records of kernels alone are the least that recording kernels costs. For bench/gpu.py.
 */
#include "notes.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { BUFFER_BYTES = 8 << 20, MOST_IDS = 1536 };

/* What is switched on; each is a bit. */
enum {
    KERNELS = 1,
    COPIES = 2,
    SYNCHRONIZATIONS = 4,
    OVERHEADS = 8,
    LAUNCHES = 16,
    CALLS = 32,
    NOTES = 64 /* callbacks note times */
};

static int (*enable)(int), (*disable)(int), (*flush)(uint32_t);
static int (*register_buffers)(void *, void *);
static int (*subscribe)(void **, void *, void *), (*unsubscribe)(void *);
static int (*enable_callback)(uint32_t, void *, int, uint32_t);
static int (*callback_name)(int, uint32_t, const char **);
static void *subscriber;
static note_memory notes;

static const struct function {
    void *pointer;
    const char *name;
} functions[] = {
    {&enable, "cuptiActivityEnable"},
    {&disable, "cuptiActivityDisable"},
    {&flush, "cuptiActivityFlushAll"},
    {&register_buffers, "cuptiActivityRegisterCallbacks"},
    {&subscribe, "cuptiSubscribe"},
    {&unsubscribe, "cuptiUnsubscribe"},
    {&enable_callback, "cuptiEnableCallback"},
    {&callback_name, "cuptiGetCallbackName"},
};

/* Activity kinds by bit. */
static const struct kind {
    int bit, number;
} kinds[] = {{KERNELS, 10},          {COPIES, 1},    {COPIES, 22}, {COPIES, 2},
             {SYNCHRONIZATIONS, 38}, {OVERHEADS, 17}};

/* Callbacks by bit: the driver's domain is 1, the runtime's 2. */
static const struct call {
    int bit, domain;
    const char *start;
} calls[] = {
    {LAUNCHES, 1, "cuLaunch"},
    {LAUNCHES, 1, "cuGraphLaunch"},
    {CALLS, 1, "cuMemcpy"},
    {CALLS, 1, "cuMemset"},
    {CALLS, 2, "cudaStreamSynchronize"},
    {CALLS, 2, "cudaDeviceSynchronize"},
    {CALLS, 2, "cudaEventSynchronize"},
    {CALLS, 2, "cudaMalloc"},
    {CALLS, 2, "cudaFree"},
    {CALLS, 2, "cudaHostAlloc"},
};

static void request(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = BUFFER_BYTES;
    *buffer = aligned_alloc(8, *size);
    *most = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    (void)valid;
    free(buffer);
}

static void called(void *user, int domain, uint32_t id, const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

/* The least that a record of a launch takes: two times and a line of memory. */
static void noted(void *user, int domain, uint32_t id, const void *data)
{
    static __thread uint64_t begun __attribute__((tls_model("initial-exec")));
    const struct {
        uint32_t site;
        const void *others[7];
        uint32_t correlation;
    } *call = data;
    (void)user;
    if (call->site == 0) {
        begun = notes_time();
        return;
    }
    note *note = notes_next(&notes);
    note->end = notes_time();
    note->begin = begun;
    note->what = (uint64_t)domain << 32 | id;
    note->number = call->correlation;
}

EXPORT int floor_load(const char *path)
{
    void *library = dlopen(path, RTLD_LAZY);
    for (size_t i = 0; library && i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(library, functions[i].name);
        if (!found)
            return 1;
        memcpy(functions[i].pointer, &found, sizeof found);
    }
    return !library || notes_begin(&notes);
}

static int enable_calls(int what)
{
    int result = subscribe(&subscriber, what & NOTES ? (void *)noted : (void *)called, NULL);
    for (int domain = 1; !result && domain <= 2; domain++) {
        for (uint32_t id = 1; id < MOST_IDS; id++) {
            const char *name = NULL;
            if (callback_name(domain, id, &name) || !name)
                continue;
            for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
                if (calls[i].bit & what && calls[i].domain == domain &&
                    strncmp(name, calls[i].start, strlen(calls[i].start)) == 0)
                    enable_callback(1, subscriber, domain, id);
        }
    }
    return result;
}

/* Switches on what the bits say, or everything off (0). */
EXPORT int floor_set(int what)
{
    int result = 0;
    if (what)
        result = register_buffers((void *)request, (void *)complete);
    for (size_t i = 0; !result && i < sizeof kinds / sizeof *kinds; i++) {
        if (what & kinds[i].bit)
            result = enable(kinds[i].number);
        else if (!what)
            disable(kinds[i].number);
    }
    if (!result && what & (LAUNCHES | CALLS))
        result = enable_calls(what);
    if (!what && subscriber) {
        unsubscribe(subscriber);
        subscriber = NULL;
    }
    return what ? result : flush(0);
}
