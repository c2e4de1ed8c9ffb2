/* Detects findings about the host: loading, launches, copies, communication. */
#include "analyze/findings/findings.h"
#include "analyze/intervals.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* Loading in the main process has a separate name. */
DETECTOR(single_process_loading)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t name = pyro_finder_name(finder,
                                     "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    int64_t total = 0, calls = 0;
    for (uint32_t i = 0; name != PYRO_NO_ID && i < trace->count; i++) {
        if (trace->name[i] != name || !pyro_finder_wants(finder, i))
            continue;
        total += trace->duration_ns[i];
        calls++;
    }
    if (!calls)
        return false;
    /* A load can last longer than the steps. */
    evidence->value = share(total < finder->span_ns ? total : finder->span_ns, finder->span_ns);
    evidence->gain_ns = finder->cause_ns[PYRO_CAUSE_DATA_LOADING];
    evidence->gain_basis = "time in data loading while nothing else ran";
    pyro_evidence_say(
        evidence,
        "the main process itself loaded %" PRId64 " batch%s (num_workers=0), %.1f%% of %s", calls,
        calls == 1 ? "" : "es", evidence->value * 100, pyro_finder_whole(finder));
    return true;
}

/* Launches other than those of graphs, which start many kernels at once. */
static int64_t single_launches(const pyro_launch_summary *launch)
{
    return launch->launches - launch->graph_launches;
}

/* Shares of fewer launches, as beside graphs, say little. */
enum { LEAST_LAUNCHES = 10 };

/* Whether the device waits for launches: else it does not matter how they are. Calls of other devices
 * than those of CUDA and HIP can last until the work is done. */
static bool launches_matter(const pyro_finder *finder)
{
    enum { LEAST_PERCENT = 5 };
    return finder->in_use & PYRO_USE_LAUNCHES &&
           pyro_finder_late_ns(finder, PYRO_LATE_CAUSES) / LEAST_PERCENT > finder->span_ns / 100;
}

DETECTOR(short_kernels)
{
    const pyro_launch_summary *launch = &finder->result->launch;
    int64_t launches = single_launches(launch);
    if (launches < LEAST_LAUNCHES || !launches_matter(finder))
        return false;
    evidence->value = share(launch->short_kernels, launches);
    pyro_evidence_say(evidence,
                      "%" PRId64 " of %" PRId64
                      " launches (%.1f%%) took longer than their kernels, "
                      "which run %s in total",
                      launch->short_kernels, launches, evidence->value * 100,
                      pyro_evidence_time(evidence, launch->short_kernel_total_ns));
    return true;
}

/* A launch costs only where the device waits for it, and not while its kernel runs in it. */
DETECTOR(launch_overhead)
{
    const pyro_launch_summary *launch = &finder->result->launch;
    int64_t total = launch->launch_total_ns - launch->graph_launch_total_ns - launch->executed_ns;
    int64_t late = pyro_finder_late_ns(finder, PYRO_LATE_CAUSES);
    if (!single_launches(launch) || total <= 0)
        return false;
    evidence->gain_ns = total < late ? total : late;
    evidence->gain_basis = "time of launch calls, at most the idle time before launches";
    evidence->value = share(evidence->gain_ns, finder->span_ns);
    pyro_evidence_say(evidence,
                      "%" PRId64 " launch call%s take%s %s; the device waits for them for up to "
                      "%.1f%% of %s",
                      single_launches(launch), PYRO_PLURAL(single_launches(launch)),
                      single_launches(launch) == 1 ? "s" : "", pyro_evidence_time(evidence, total),
                      evidence->value * 100, pyro_finder_whole(finder));
    return true;
}

DETECTOR(slow_launches)
{
    const pyro_launch_summary *launch = &finder->result->launch;
    int64_t launches = single_launches(launch);
    if (launches < LEAST_LAUNCHES || !launches_matter(finder))
        return false;
    evidence->value = share(launch->slow_launches, launches);
    pyro_evidence_say(evidence,
                      "%" PRId64 " of %" PRId64 " launch calls took over %d us (median %.1f us)",
                      launch->slow_launches, launches, PYRO_SLOW_LAUNCH_US,
                      (double)launch->launch_median_ns / 1e3);
    return true;
}

DETECTOR(launch_queue)
{
    const pyro_launch_summary *launch = &finder->result->launch;
    evidence->value = (double)launch->max_queue;
    pyro_evidence_say(evidence,
                      "up to %" PRId64 " kernels were launched but not started, %.1f on average",
                      launch->max_queue, launch->mean_queue);
    /* A graph queues all its kernels at once, and blocks nothing. */
    return launch->launches > 0 && !launch->graph_launches;
}

/* Copies of the steps. */
typedef struct copy_sums {
    int64_t calls, bytes, total_ns;
    uint32_t longest; /* PYRO_NO_EVENT: none */
} copy_sums;

static copy_sums sum_copies(const pyro_finder *finder, bool (*counts)(const char *, int64_t))
{
    const pyro_trace *trace = finder->context->trace;
    copy_sums sums = {.longest = PYRO_NO_EVENT};
    for (size_t i = 0; i < finder->work_count; i++) {
        uint32_t event = finder->work[i];
        if (trace->category[event] != PYRO_EVENT_MEMCPY)
            continue;
        uint32_t detail = trace->detail[event];
        int64_t bytes = detail == PYRO_NO_ID ? -1 : trace->transfer_bytes[detail];
        if (!counts(pyro_event_name(trace, event), bytes) || !pyro_finder_wants(finder, event))
            continue;
        sums.calls++;
        sums.bytes = pyro_add_ns(sums.bytes, bytes > 0 ? bytes : 0);
        sums.total_ns = pyro_add_ns(sums.total_ns, trace->duration_ns[event]);
        if (sums.longest == PYRO_NO_EVENT ||
            trace->duration_ns[event] > trace->duration_ns[sums.longest])
            sums.longest = event;
    }
    return sums;
}

static bool is_host_copy(const char *name, int64_t bytes)
{
    (void)bytes;
    return strstr(name, "HtoD") || strstr(name, "DtoH") || strstr(name, "HostToDevice") ||
           strstr(name, "DeviceToHost");
}

/* Where device work was launched. */
static const char *launch_place(pyro_finder *finder, uint32_t event)
{
    uint32_t launch = event == PYRO_NO_EVENT ? event : finder->context->joins->launch[event];
    return pyro_finder_place(finder, launch);
}

/* Numbers fetched by item() are pageable too, but too small to matter. */
static bool is_large_pageable(const char *name, int64_t bytes)
{
    enum { LEAST_BYTES = 64 << 10 };
    return bytes >= LEAST_BYTES && strcasestr(name, "pageable");
}

DETECTOR(pageable_copies)
{
    copy_sums copies = sum_copies(finder, is_large_pageable);
    if (!copies.calls)
        return false;
    /* Copies that other work covers delay nothing. */
    int64_t exposed = finder->cause_ns[PYRO_CAUSE_COPY];
    evidence->value = (double)copies.bytes / (1 << 20);
    evidence->gain_ns = copies.total_ns < exposed ? copies.total_ns : exposed;
    evidence->gain_basis = "time of these copies that nothing covers";
    evidence->place = launch_place(finder, copies.longest);
    pyro_evidence_say(evidence,
                      "%" PRId64 " large cop%s from or to pageable memory take%s %s (%.1f MiB)",
                      copies.calls, copies.calls == 1 ? "y" : "ies", copies.calls == 1 ? "s" : "",
                      pyro_evidence_time(evidence, copies.total_ns), evidence->value);
    return true;
}

static bool is_any(const char *name, int64_t bytes)
{
    (void)name;
    (void)bytes;
    return true;
}

static bool is_not_within_device(const char *name, int64_t bytes)
{
    (void)bytes;
    return !strstr(name, "DtoD") && !strstr(name, "DeviceToDevice");
}

DETECTOR(copy_time)
{
    const pyro_analysis *result = finder->result;
    if (!result->copy_count)
        return false;
    /* A copy within the device (of a clone, say) is work like that of kernels. */
    copy_sums copies = sum_copies(finder, is_not_within_device), all = sum_copies(finder, is_any);
    int64_t exposed = (int64_t)((double)finder->cause_ns[PYRO_CAUSE_COPY] *
                                share(copies.total_ns, all.total_ns));
    evidence->value = share(exposed, finder->span_ns);
    evidence->gain_ns = exposed;
    evidence->gain_basis = "time in which only copies ran";
    evidence->place = launch_place(finder, copies.longest);
    pyro_evidence_say(evidence, "copies that overlap with nothing take %.1f%% of %s (%s)",
                      evidence->value * 100, pyro_finder_whole(finder),
                      pyro_evidence_time(evidence, exposed));
    return true;
}

/* More than the threshold: copies between host and device in a step. */
DETECTOR(copy_count)
{
    if (!finder->context->windows_are_steps)
        return false;
    copy_sums copies = sum_copies(finder, is_host_copy);
    /* Many copies that take no time need no advice. */
    if (!copies.calls || copies.total_ns < finder->span_ns / 200)
        return false;
    evidence->value = (double)copies.calls / (double)finder->steps;
    pyro_evidence_say(evidence, "%.1f copies between host and device per step, %s in total",
                      evidence->value, pyro_evidence_time(evidence, copies.total_ns));
    return evidence->value > evidence->threshold;
}

/* On the host, ops of process groups; many small ones have a separate finding. */
static bool find_host_communication(pyro_finder *finder, pyro_evidence *evidence)
{
    /* Processes on one machine share its processors, so that much of this is compute of others. */
    const double least_share = 0.5;
    pyro_evidence small = pyro_evidence_begin(evidence->arena, 0);
    int64_t total = 0;
    for (size_t i = 0; i < finder->result->training_count; i++)
        total = pyro_add_ns(total, finder->result->training[i].communication_ns);
    evidence->value = share(total, finder->span_ns);
    if (evidence->value < least_share ||
        (pyro_detect_small_collectives(finder, &small) && small.gain_ns > total / 2))
        return false;
    evidence->threshold = least_share;
    evidence->gain_ns = total;
    evidence->gain_basis = "time in communication";
    evidence->place = pyro_finder_cause_place(finder, PYRO_CAUSE_COMMUNICATION);
    pyro_evidence_say(evidence, "communication takes %.1f%% of %s (%s)", evidence->value * 100,
                      pyro_finder_whole(finder), pyro_evidence_time(evidence, total));
    return true;
}

/* From this share on, nothing overlaps. */
#define LEAST_EXPOSED 0.95

DETECTOR(communication)
{
    const pyro_analysis *result = finder->result;
    int64_t exposed = 0, total = 0;
    if (!finder->has_device_work)
        return find_host_communication(finder, evidence);
    for (size_t i = 0; i < result->step_count; i++) {
        exposed += result->steps[i].communication_exposed_ns;
        total += result->steps[i].communication_ns;
    }
    if (!total)
        return false;
    evidence->value = share(exposed, finder->span_ns);
    evidence->gain_ns = exposed;
    evidence->gain_basis = "time in which only collectives (and copies) ran";
    evidence->place = result->collective_count ? result->collectives[0].kind : "";
    if (finder->in_use & PYRO_USE_ALLREDUCE && share(exposed, total) > LEAST_EXPOSED)
        evidence->advice =
            "start it during the backward, which DDP does for each bucket whose gradients are there: a "
            "compiled backward hands over all of them at its end (compile block by block, or leave "
            "torch._dynamo.config.optimize_ddp on); gradient accumulation with no_sync() makes it rarer";
    pyro_evidence_say(evidence,
                      "communication that does not overlap with compute takes %.1f%% of %s "
                      "(%s of communication)",
                      evidence->value * 100, pyro_finder_whole(finder),
                      pyro_evidence_part_of(evidence, exposed, total));
    pyro_evidence_add_part(evidence, pyro_cause_name(PYRO_CAUSE_PEER_WAIT),
                           "collectives that wait for another rank", "",
                           finder->cause_ns[PYRO_CAUSE_PEER_WAIT]);
    return true;
}

/* The share that is not overlapped, where communication takes at least 5% of the time. */
DETECTOR(communication_overlap)
{
    const pyro_analysis *result = finder->result;
    int64_t exposed = 0, total = 0;
    for (size_t i = 0; i < result->step_count; i++) {
        exposed += result->steps[i].communication_exposed_ns;
        total += result->steps[i].communication_ns;
    }
    if (share(total, finder->span_ns) < 0.05)
        return false;
    evidence->value = share(exposed, total);
    evidence->gain_ns = exposed;
    evidence->gain_basis = "time in which only collectives (and copies) ran";
    pyro_evidence_say(evidence, "%.1f%% of the communication (%s) runs while the device computes",
                      100 - evidence->value * 100, pyro_evidence_time(evidence, total - exposed));
    return evidence->value > evidence->threshold;
}
