/* Detects findings about device memory. */
#include "analyze/findings/findings.h"
#include "base/containers/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double mib(int64_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* Memory of the device that a row is about ("cuda:1"); 0 when unknown. */
static int64_t capacity_of(const pyro_finder *finder, const pyro_memory_device *memory)
{
    const pyro_trace *trace = finder->context->trace;
    const char *colon = strchr(memory->device, ':');
    int64_t index = colon ? atoll(colon + 1) : -1;
    for (size_t i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == index)
            return trace->devices[i].total_memory_bytes;
    return 0;
}

static int64_t held_bytes(const pyro_memory_device *memory)
{
    return memory->peak_reserved_bytes > memory->peak_bytes ? memory->peak_reserved_bytes
                                                            : memory->peak_bytes;
}

DETECTOR(memory_nearly_full)
{
    const pyro_analysis *result = finder->result;
    /* A serving engine reserves most of the memory for its cache of keys and values. */
    if (finder->in_use & PYRO_USE_SERVING)
        return false;
    for (size_t i = 0; i < result->memory_count; i++) {
        const pyro_memory_device *memory = &result->memory[i];
        int64_t capacity = capacity_of(finder, memory);
        double used = capacity > 0 ? (double)held_bytes(memory) / (double)capacity : 0;
        if (used <= evidence->value)
            continue;
        evidence->value = used;
        evidence->place = memory->device;
        pyro_evidence_say(evidence,
                          "at the peak, %.1f%% of the memory of %s (%.0f of %.0f MiB) is in use",
                          used * 100, memory->device, mib(held_bytes(memory)), mib(capacity));
    }
    return evidence->value > 0;
}

static int64_t count_failures(const pyro_trace *trace)
{
    int64_t failures = 0;
    for (size_t i = 0; i < trace->memory_count; i++)
        failures += trace->memory[i].out_of_memory && trace->memory[i].device_type != 0;
    return failures;
}

/* The calls of an allocation that failed, freed memory and was retried. */
enum { TRIED = 1, FREED = 2, TRIED_AGAIN = 3 };

static bool follow_call(pyro_map *state_of_op, uint32_t op, bool is_free, int64_t *retries)
{
    uint32_t state = pyro_map_get(state_of_op, op);
    state = state == PYRO_MAP_NONE ? 0 : state;
    if (is_free ? state != TRIED : state != 0 && state != FREED)
        return true;
    state = is_free ? FREED : state == FREED ? TRIED_AGAIN : TRIED;
    *retries += state == TRIED_AGAIN;
    return pyro_map_put(state_of_op, op, state);
}

/* Libraries that an op uses for the first time allocate and free as they start, and create streams:
 * none of their calls is a retry. */
static void skip_initializations(pyro_finder *finder, pyro_map *state_of_op)
{
    const pyro_trace *trace = finder->context->trace;
    const pyro_joins *joins = finder->context->joins;
    uint32_t names[] = {pyro_finder_name(finder, "cudaStreamCreateWithFlags"),
                        pyro_finder_name(finder, "cudaStreamCreateWithPriority"),
                        pyro_finder_name(finder, "hipStreamCreateWithFlags"),
                        pyro_finder_name(finder, "hipStreamCreateWithPriority")};
    for (uint32_t i = 0; i < trace->count && !finder->memory_out; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (names[k] != PYRO_NO_ID && trace->name[i] == names[k] &&
                joins->op[i] != PYRO_NO_EVENT)
                finder->memory_out |= !pyro_map_put(state_of_op, joins->op[i], TRIED_AGAIN);
}

/* An op that allocates, frees and allocates: the first try of the caching allocator failed. */
DETECTOR(allocation_retries)
{
    const pyro_trace *trace = finder->context->trace;
    const pyro_joins *joins = finder->context->joins;
    uint32_t frees[2] = {pyro_finder_name(finder, "cudaFree"), pyro_finder_name(finder, "hipFree")};
    uint32_t tries[2] = {pyro_finder_name(finder, "cudaMalloc"),
                         pyro_finder_name(finder, "hipMalloc")};
    int64_t retries = 0, failures = count_failures(trace), total = 0;
    bool has_frees = frees[0] != PYRO_NO_ID || frees[1] != PYRO_NO_ID;
    pyro_map state_of_op = PYRO_MAP_INIT;
    if (has_frees)
        skip_initializations(finder, &state_of_op);
    for (size_t i = 0; has_frees && i < trace->count && !finder->memory_out; i++) {
        uint32_t event = joins->by_time[i], name = trace->name[event];
        bool is_free = name == frees[0] || name == frees[1];
        if ((!is_free && name != tries[0] && name != tries[1]) ||
            trace->category[event] != PYRO_EVENT_RUNTIME || joins->op[event] == PYRO_NO_EVENT)
            continue;
        total += is_free ? trace->duration_ns[event] : 0;
        finder->memory_out |= !follow_call(&state_of_op, joins->op[event], is_free, &retries);
    }
    pyro_map_free(&state_of_op);
    evidence->value = (double)(retries + failures);
    char failed[64] = "";
    if (failures)
        snprintf(failed, sizeof failed, "%" PRId64 " allocation%s failed", failures,
                 PYRO_PLURAL(failures));
    if (failures && !retries)
        pyro_evidence_say(evidence, "%s", failed);
    else
        pyro_evidence_say(evidence,
                          "%" PRId64
                          " op%s freed memory to make room for an allocation (%s of cudaFree "
                          "in all)%s%s",
                          retries, PYRO_PLURAL(retries), pyro_evidence_time(evidence, total),
                          failures ? "; " : "", failed);
    return true;
}

/* Only where much of the device is reserved: a small pool may well have holes. */
DETECTOR(fragmentation)
{
    const pyro_analysis *result = finder->result;
    for (size_t i = 0; i < result->memory_count; i++) {
        const pyro_memory_device *memory = &result->memory[i];
        int64_t reserved = memory->peak_reserved_bytes, capacity = capacity_of(finder, memory);
        if (reserved <= 0 || capacity <= 0 || reserved < capacity / 2)
            continue;
        double unused = 1 - (double)memory->peak_bytes / (double)reserved;
        if (unused <= evidence->value)
            continue;
        evidence->value = unused;
        evidence->place = memory->device;
        pyro_evidence_say(evidence,
                          "%.1f%% of the %.0f MiB reserved on %s are unused even at the peak",
                          unused * 100, mib(reserved), memory->device);
    }
    return evidence->value > 0;
}

/* A leak costs no time until it ends the run. One that doubles the memory within 50 steps matters more
 * than anything else. */
static int64_t rank_growth(double growth, int64_t span_ns)
{
    double share = growth / 0.02;
    return (int64_t)((share < 1 ? share : 1) * (double)span_ns);
}

/* Growth per step as a share of the peak, where nearly every step grew. */
DETECTOR(memory_growth)
{
    enum { GROWING_PERCENT = 95 };
    const pyro_analysis *result = finder->result;
    for (size_t i = 0; i < result->memory_count; i++) {
        const pyro_memory_device *memory = &result->memory[i];
        if (memory->growth_confidence < GROWING_PERCENT / 100.0 || memory->peak_bytes <= 0)
            continue;
        double growth = (double)memory->growth_bytes_per_step / (double)memory->peak_bytes;
        if (growth <= evidence->value)
            continue;
        evidence->value = growth;
        evidence->place = pyro_first_text(memory->growth_place, memory->device, "");
        evidence->rank_ns = rank_growth(growth, finder->span_ns);
        pyro_evidence_say(
            evidence,
            "memory on %s grows by %.2f MiB per step, %.1f%% of its peak, in %.0f%% of the "
            "steps",
            memory->device, mib(memory->growth_bytes_per_step), growth * 100,
            memory->growth_confidence * 100);
        pyro_evidence_limit(evidence, "%g%% per step in %d%%", evidence->threshold * 100,
                            GROWING_PERCENT);
    }
    return evidence->value > 0;
}
