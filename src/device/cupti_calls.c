/* Wanted calls by name: numbers differ between versions, and variants have suffixes. */
#include "device/cupti_calls.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ids of a domain have gaps, but not longer ones. */
#define LONGEST_GAP 200

/* The driver's calls start work; of the runtime's calls only those that may wait are of interest. */
typedef struct wanted_call {
    int domain;
    const char *name;
    bool is_prefix, starts_kernels;
} wanted_call;

static const wanted_call wanted[] = {
    {PYRO_CUPTI_DRIVER, "cuLaunchKernel", false, true},
    {PYRO_CUPTI_DRIVER, "cuLaunchKernelEx", false, true},
    {PYRO_CUPTI_DRIVER, "cuLaunchCooperativeKernel", false, true},
    {PYRO_CUPTI_DRIVER, "cuLaunchCooperativeKernelMultiDevice", false, true},
    {PYRO_CUPTI_DRIVER, "cuGraphLaunch", false, true},
    {PYRO_CUPTI_DRIVER, "cuMemcpy", true, false},
    {PYRO_CUPTI_DRIVER, "cuMemset", true, false},
    {PYRO_CUPTI_RUNTIME, "cudaStreamSynchronize", false, false},
    {PYRO_CUPTI_RUNTIME, "cudaDeviceSynchronize", false, false},
    {PYRO_CUPTI_RUNTIME, "cudaEventSynchronize", false, false},
    {PYRO_CUPTI_RUNTIME, "cudaMalloc", false, false},
    {PYRO_CUPTI_RUNTIME, "cudaFree", false, false},
    {PYRO_CUPTI_RUNTIME, "cudaHostAlloc", false, false},
    {PYRO_CUPTI_RUNTIME, "cudaFreeHost", false, false},
    {PYRO_CUPTI_RUNTIME, "cudaGraphInstantiate", true, false},
    {PYRO_CUPTI_RUNTIME, "cudaProfilerStart", false, false},
    {PYRO_CUPTI_RUNTIME, "cudaProfilerStop", false, false},
    {PYRO_CUPTI_DRIVER, "cuProfilerStart", false, false},
    {PYRO_CUPTI_DRIVER, "cuProfilerStop", false, false},
};

static bool cut_suffix(char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);
    if (length <= end || strcmp(name + length - end, suffix) != 0)
        return false;
    name[length - end] = '\0';
    return true;
}

/* Removes "_v7000", "_v2", "_ptsz", "_ptds" and combinations. */
static void cut_suffixes(char *name)
{
    for (;;) {
        char *last = strrchr(name, '_');
        bool is_version = last && last > name && last[1] == 'v' &&
                          isdigit((unsigned char)last[2]) &&
                          strspn(last + 2, "0123456789") == strlen(last + 2);
        if (is_version)
            *last = '\0';
        else if (!cut_suffix(name, "_ptsz") && !cut_suffix(name, "_ptds"))
            return;
    }
}

static void learn_call(pyro_known_call *known, int domain, const char *full_name)
{
    char name[sizeof known->name];
    if (snprintf(name, sizeof name, "%s", full_name) >= (int)sizeof name)
        return;
    cut_suffixes(name);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const wanted_call *one = &wanted[i];
        bool is_it = one->is_prefix ? strncmp(name, one->name, strlen(one->name)) == 0
                                    : strcmp(name, one->name) == 0;
        if (one->domain != domain || !is_it)
            continue;
        memcpy(known->name, name, sizeof name);
        known->starts_kernels = one->starts_kernels;
    }
}

bool pyro_cupti_calls_begin(pyro_cupti_calls *calls, const pyro_cupti *cupti)
{
    memset(calls, 0, sizeof *calls);
    for (int domain = PYRO_CUPTI_DRIVER; domain <= PYRO_CUPTI_RUNTIME; domain++) {
        int gap = 0;
        for (uint32_t id = 1; id < PYRO_MOST_CALL_IDS && gap < LONGEST_GAP; id++) {
            const char *name = NULL;
            gap++;
            if (cupti->callback_name(domain, id, &name) != PYRO_CUPTI_SUCCESS || !name)
                continue;
            gap = 0;
            learn_call(&calls->known[domain][id], domain, name);
        }
    }
    calls->slots = calloc(PYRO_CALL_SLOTS, sizeof *calls->slots);
    return calls->slots != NULL;
}

void pyro_cupti_calls_end(pyro_cupti_calls *calls)
{
    free(calls->slots);
    calls->slots = NULL;
}

size_t pyro_cupti_calls_enable(const pyro_cupti_calls *calls, const pyro_cupti *cupti,
                               void *subscriber, bool enable)
{
    size_t count = 0;
    for (int domain = PYRO_CUPTI_DRIVER; domain <= PYRO_CUPTI_RUNTIME; domain++)
        for (uint32_t id = 1; id < PYRO_MOST_CALL_IDS; id++)
            if (calls->known[domain][id].name[0])
                count += cupti->enable_callback(enable, subscriber, domain, id) ==
                         PYRO_CUPTI_SUCCESS;
    return count;
}

const pyro_known_call *pyro_cupti_calls_find(const pyro_cupti_calls *calls, int domain, uint32_t id)
{
    if ((domain != PYRO_CUPTI_DRIVER && domain != PYRO_CUPTI_RUNTIME) || id >= PYRO_MOST_CALL_IDS ||
        !calls->known[domain][id].name[0])
        return NULL;
    return &calls->known[domain][id];
}

static pyro_call_slot *slot_of(const pyro_cupti_calls *calls, uint32_t correlation)
{
    return &calls->slots[correlation & (PYRO_CALL_SLOTS - 1)];
}

void pyro_cupti_call_begins(pyro_cupti_calls *calls, uint32_t correlation, uint64_t now,
                            bool starts_kernels)
{
    pyro_call_slot *slot = slot_of(calls, correlation);
    slot->begun = now;
    __atomic_store_n(&slot->state, starts_kernels ? PYRO_CALL_WAITS : PYRO_CALL_DONE,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&slot->correlation, correlation, __ATOMIC_RELEASE);
    if (starts_kernels)
        __atomic_fetch_add(&calls->launches, 1, __ATOMIC_RELAXED);
}

void pyro_cupti_call_done(pyro_cupti_calls *calls, uint32_t correlation)
{
    pyro_call_slot *slot = slot_of(calls, correlation);
    uint32_t waits = PYRO_CALL_WAITS;
    if (__atomic_load_n(&slot->correlation, __ATOMIC_ACQUIRE) == correlation &&
        __atomic_compare_exchange_n(&slot->state, &waits, PYRO_CALL_DONE, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED))
        __atomic_fetch_add(&calls->done, 1, __ATOMIC_RELEASE);
}

uint64_t pyro_cupti_call_begun(const pyro_cupti_calls *calls, uint32_t correlation)
{
    const pyro_call_slot *slot = slot_of(calls, correlation);
    if (correlation == 0 || __atomic_load_n(&slot->correlation, __ATOMIC_ACQUIRE) != correlation)
        return 0;
    return slot->begun;
}
