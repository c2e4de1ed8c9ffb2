/* Wanted calls by name: numbers differ between versions, and variants have suffixes. */
#include "device/cupti_calls.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Ids of a domain have gaps, but not longer ones. */
#define LONGEST_GAP 200

typedef enum use_of_call { STARTS_KERNELS, ENDS_SOON, MAY_WAIT, CONTROLS_PROFILER } use_of_call;

/* The driver's calls start work; of the runtime's calls only those that may wait are of interest. */
typedef struct wanted_call {
    int domain;
    const char *name;
    bool is_prefix;
    use_of_call use;
} wanted_call;

static const wanted_call wanted[] = {
    {PYRO_CUPTI_DRIVER, "cuLaunchKernel", false, STARTS_KERNELS},
    {PYRO_CUPTI_DRIVER, "cuLaunchKernelEx", false, STARTS_KERNELS},
    {PYRO_CUPTI_DRIVER, "cuLaunchCooperativeKernel", false, STARTS_KERNELS},
    {PYRO_CUPTI_DRIVER, "cuLaunchCooperativeKernelMultiDevice", false, STARTS_KERNELS},
    {PYRO_CUPTI_DRIVER, "cuGraphLaunch", false, STARTS_KERNELS},
    {PYRO_CUPTI_DRIVER, "cuMemcpy", true, MAY_WAIT},
    {PYRO_CUPTI_DRIVER, "cuMemset", true, ENDS_SOON},
    {PYRO_CUPTI_RUNTIME, "cudaStreamSynchronize", false, MAY_WAIT},
    {PYRO_CUPTI_RUNTIME, "cudaDeviceSynchronize", false, MAY_WAIT},
    {PYRO_CUPTI_RUNTIME, "cudaEventSynchronize", false, MAY_WAIT},
    {PYRO_CUPTI_RUNTIME, "cudaMalloc", false, MAY_WAIT},
    {PYRO_CUPTI_RUNTIME, "cudaFree", false, MAY_WAIT},
    {PYRO_CUPTI_RUNTIME, "cudaHostAlloc", false, MAY_WAIT},
    {PYRO_CUPTI_RUNTIME, "cudaFreeHost", false, MAY_WAIT},
    {PYRO_CUPTI_RUNTIME, "cudaGraphInstantiate", true, MAY_WAIT},
    {PYRO_CUPTI_RUNTIME, "cudaProfilerStart", false, CONTROLS_PROFILER},
    {PYRO_CUPTI_RUNTIME, "cudaProfilerStop", false, CONTROLS_PROFILER},
    {PYRO_CUPTI_DRIVER, "cuProfilerStart", false, CONTROLS_PROFILER},
    {PYRO_CUPTI_DRIVER, "cuProfilerStop", false, CONTROLS_PROFILER},
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

/* Calls that differ in suffixes only have one name, and one number; 0: no number is left. */
static uint16_t number_of(pyro_cupti_calls *calls, const char *name)
{
    for (uint16_t number = 1; number <= calls->name_count; number++)
        if (strcmp(calls->names[number], name) == 0)
            return number;
    if (calls->name_count + 1 == PYRO_MOST_CALL_NUMBERS)
        return 0;
    strcpy(calls->names[++calls->name_count], name);
    return calls->name_count;
}

static void learn_call(pyro_cupti_calls *calls, pyro_device_call *known, int domain,
                       const char *full_name)
{
    char name[PYRO_LONGEST_CALL_NAME];
    if (snprintf(name, sizeof name, "%s", full_name) >= (int)sizeof name)
        return;
    cut_suffixes(name);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const wanted_call *one = &wanted[i];
        bool is_it = one->is_prefix ? strncmp(name, one->name, strlen(one->name)) == 0
                                    : strcmp(name, one->name) == 0;
        if (one->domain != domain || !is_it || !(known->number = number_of(calls, name)))
            continue;
        known->name = calls->names[known->number];
        known->is_runtime = domain == PYRO_CUPTI_RUNTIME;
        known->starts_kernels = one->use == STARTS_KERNELS;
        known->ends_soon = one->use == STARTS_KERNELS || one->use == ENDS_SOON;
        known->controls_profiler = one->use == CONTROLS_PROFILER;
        return;
    }
}

void pyro_cupti_calls_begin(pyro_cupti_calls *calls, const pyro_cupti *cupti,
                            pyro_launches *launches)
{
    memset(calls, 0, sizeof *calls);
    calls->launches = launches;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (wanted[i].use == STARTS_KERNELS)
            number_of(calls, wanted[i].name);
    for (int domain = PYRO_CUPTI_DRIVER; domain <= PYRO_CUPTI_RUNTIME; domain++) {
        int gap = 0;
        for (uint32_t id = 1; id < PYRO_MOST_CALL_IDS && gap < LONGEST_GAP; id++) {
            const char *name = NULL;
            gap++;
            if (cupti->callback_name(domain, id, &name) != PYRO_CUPTI_SUCCESS || !name)
                continue;
            gap = 0;
            learn_call(calls, &calls->known[domain][id], domain, name);
        }
    }
}

void pyro_cupti_calls_restart(pyro_cupti_calls *calls)
{
    calls->launches_before += pyro_cupti_count_launches(calls);
    calls->done = 0;
    calls->launches->start++;
    calls->launches->first = 0;
    calls->launches->wants_times = PYRO_TIMED_LAUNCHES;
    memset(calls->seen_graphs, 0, sizeof calls->seen_graphs);
}

uint64_t pyro_cupti_count_launches(const pyro_cupti_calls *calls)
{
    uint64_t all = 0;
    for (size_t i = 0; calls->launches && i < PYRO_LAUNCH_COUNTERS; i++)
        all += __atomic_load_n(&calls->launches->counts[i], __ATOMIC_RELAXED);
    return all - calls->launches_before;
}

const pyro_device_call *pyro_cupti_calls_find(const pyro_cupti_calls *calls, int domain,
                                              uint32_t id)
{
    if ((domain != PYRO_CUPTI_DRIVER && domain != PYRO_CUPTI_RUNTIME) || id >= PYRO_MOST_CALL_IDS ||
        !calls->known[domain][id].name)
        return NULL;
    return &calls->known[domain][id];
}

/* Counters are not reused: threads that launch live long. */
static uint32_t next_counter(void)
{
    static uint32_t given;
    uint32_t number = __atomic_load_n(&given, __ATOMIC_RELAXED);
    if (number < PYRO_LAUNCH_COUNTERS)
        number = __atomic_add_fetch(&given, 1, __ATOMIC_RELAXED);
    return number < PYRO_LAUNCH_COUNTERS ? number : PYRO_LAUNCH_COUNTERS;
}

void pyro_cupti_call_begins(const pyro_launches *launches, pyro_calling_thread *thread)
{
    if (thread->start != launches->start)
        pyro_cupti_forget_kinds(thread);
    thread->start = launches->start;
}

void pyro_cupti_launch_begins(pyro_launches *launches, pyro_calling_thread *thread,
                              uint32_t correlation)
{
    uint32_t none = 0;
    if (!thread->counter)
        thread->counter = next_counter();
    thread->launch = correlation;
    if (thread->counter < PYRO_LAUNCH_COUNTERS)
        pyro_cupti_count_launch(launches, thread);
    else
        __atomic_fetch_add(&launches->counts[thread->counter - 1], 1, __ATOMIC_RELAXED);
    if (!__atomic_load_n(&launches->first, __ATOMIC_RELAXED))
        __atomic_compare_exchange_n(&launches->first, &none, correlation, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
}

void pyro_cupti_forget_kinds(pyro_calling_thread *thread)
{
    memset(thread->keys, 0, sizeof thread->keys);
    memset(thread->other_keys, 0, sizeof thread->other_keys);
}

static void keep_launch(pyro_calling_thread *thread, uint32_t key, uint64_t head)
{
    if (thread->keys[1] == key) {
        thread->heads[1] = head;
        return;
    }
    if (thread->keys[0] != key) {
        thread->keys[1] = thread->keys[0];
        thread->heads[1] = thread->heads[0];
    }
    thread->keys[0] = key;
    thread->heads[0] = head;
}

/* In the first place; the kind in the last one is forgotten. */
static void keep_other(pyro_calling_thread *thread, pyro_other_kind kind)
{
    size_t place = 0;
    while (place < PYRO_OTHER_CALLS - 1 &&
           (thread->other_keys[place] & ~PYRO_ENDS_SOON) != kind.key)
        place++;
    for (; place > 0; place--) {
        thread->other_heads[place] = thread->other_heads[place - 1];
        thread->other_keys[place] = thread->other_keys[place - 1];
    }
    thread->other_heads[0] = kind.head;
    thread->other_keys[0] = (uint16_t)(kind.key | (kind.ends_soon ? PYRO_ENDS_SOON : 0));
}

void pyro_cupti_call_is_plain(pyro_calling_thread *thread, uint32_t key,
                              const pyro_device_call *call, pyro_call_kind kind)
{
    if (call->starts_kernels && thread->counter >= PYRO_LAUNCH_COUNTERS)
        return;
    if (thread->session != kind.session)
        pyro_cupti_forget_kinds(thread);
    thread->session = kind.session;
    thread->writer = kind.writer;
    if (call->starts_kernels)
        keep_launch(thread, key, kind.head);
    else
        keep_other(thread, (pyro_other_kind){kind.head, key, call->ends_soon});
}

size_t pyro_cupti_calls_enable(const pyro_cupti_calls *calls,
                               const pyro_cupti_subscription *subscription, bool enable)
{
    size_t count = 0;
    for (int domain = PYRO_CUPTI_DRIVER; domain <= PYRO_CUPTI_RUNTIME; domain++)
        for (uint32_t id = 1; id < PYRO_MOST_CALL_IDS; id++)
            if (calls->known[domain][id].name)
                count += pyro_cupti_enable_callback(subscription, enable, domain, id) ==
                         PYRO_CUPTI_SUCCESS;
    return count;
}

void pyro_cupti_launch_ended(pyro_cupti_calls *calls)
{
    __atomic_fetch_add(&calls->done, 1, __ATOMIC_RELEASE);
}

void pyro_cupti_launch_worked(pyro_cupti_calls *calls, uint32_t correlation, uint32_t graph)
{
    uint32_t first = __atomic_load_n(&calls->launches->first, __ATOMIC_RELAXED);
    uint32_t *seen = &calls->seen_graphs[correlation % PYRO_SEEN_GRAPHS];
    /* Kernels that were launched before the callbacks were enabled do not count. */
    if (!first || (int32_t)(correlation - first) < 0 || (graph && *seen == correlation))
        return;
    if (graph)
        *seen = correlation;
    __atomic_fetch_add(&calls->done, 1, __ATOMIC_RELEASE);
}

void pyro_cupti_launch_keep_time(pyro_cupti_calls *calls, uint32_t correlation, uint64_t now)
{
    pyro_call_time *time = &calls->times[correlation % PYRO_CALL_TIMES];
    __atomic_store_n(&time->correlation, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&time->begun, now, __ATOMIC_RELEASE);
    __atomic_store_n(&time->correlation, correlation, __ATOMIC_RELEASE);
}

uint64_t pyro_cupti_launch_begun(const pyro_cupti_calls *calls, uint32_t correlation)
{
    const pyro_call_time *time = &calls->times[correlation % PYRO_CALL_TIMES];
    if (correlation == 0 || __atomic_load_n(&time->correlation, __ATOMIC_ACQUIRE) != correlation)
        return 0;
    uint64_t begun = __atomic_load_n(&time->begun, __ATOMIC_ACQUIRE);
    /* Another launch may have taken the place meanwhile. */
    return __atomic_load_n(&time->correlation, __ATOMIC_RELAXED) == correlation ? begun : 0;
}
