/* Detects findings about the host: loading, launches, copies, communication. */
#include "analyze/findings/findings.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

/* Loading in the training process has a separate name. */
DETECTOR(single_process_loading)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t name = pyro_finder_name(finder,
                                     "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    int64_t total = 0, calls = 0;
    for (uint32_t i = 0; name != PYRO_NO_ID && i < trace->count; i++) {
        if (trace->name[i] != name || !pyro_context_wants(finder->context, i))
            continue;
        total += trace->duration_ns[i];
        calls++;
    }
    if (!calls)
        return false;
    evidence->value = share(total, finder->span_ns);
    evidence->gain_ns = finder->cause_ns[PYRO_CAUSE_DATA_LOADING];
    evidence->gain_basis = "time in data loading while nothing else ran";
    pyro_evidence_say(evidence,
                      "the training process itself loaded %" PRId64
                      " batches (num_workers=0), %.1f%% of %s",
                      calls, evidence->value * 100, pyro_finder_whole(finder));
    return true;
}

/* Launches other than those of graphs, which start many kernels at once. */
static int64_t single_launches(const pyro_launch_summary *launch)
{
    return launch->launches - launch->graph_launches;
}

/* Whether the device waits for launches at all: else it does not matter how they are. */
static bool launches_matter(const pyro_finder *finder)
{
    enum { LEAST_PERCENT = 1 };
    return pyro_finder_late_ns(finder, PYRO_LATE_CAUSES) / LEAST_PERCENT > finder->span_ns / 100;
}

DETECTOR(short_kernels)
{
    const pyro_launch_summary *launch = &finder->result->launch;
    int64_t launches = single_launches(launch);
    if (!launches || !launches_matter(finder))
        return false;
    evidence->value = share(launch->short_kernels, launches);
    pyro_evidence_say(
        evidence,
        "%" PRId64 " of %" PRId64 " launches (%.1f%%) took longer than their kernels, "
        "which run %.3f ms in total",
        launch->short_kernels, launches, evidence->value * 100, ms(launch->short_kernel_total_ns));
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
    pyro_evidence_say(evidence, "launch calls take %.1f%% of %s (%" PRId64 " calls, %.3f ms)",
                      share(total, finder->span_ns) * 100, pyro_finder_whole(finder),
                      single_launches(launch), ms(total));
    return true;
}

DETECTOR(slow_launches)
{
    const pyro_launch_summary *launch = &finder->result->launch;
    int64_t launches = single_launches(launch);
    if (!launches || !launches_matter(finder))
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

static bool is_host_copy(const char *kind)
{
    return strstr(kind, "HtoD") || strstr(kind, "DtoH");
}

/* The longest copy from or to pageable memory; PYRO_NO_EVENT. */
static uint32_t longest_pageable(const pyro_finder *finder)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t longest = PYRO_NO_EVENT;
    for (uint32_t i = 0; i < trace->count; i++)
        if (trace->category[i] == PYRO_EVENT_MEMCPY &&
            strcasestr(pyro_event_name(trace, i), "pageable") &&
            pyro_context_wants(finder->context, i) &&
            (longest == PYRO_NO_EVENT || trace->duration_ns[i] > trace->duration_ns[longest]))
            longest = i;
    return longest;
}

/* Where device work was launched. */
static const char *launch_place(pyro_finder *finder, uint32_t event)
{
    uint32_t launch = event == PYRO_NO_EVENT ? event : finder->context->joins->launch[event];
    return pyro_finder_place(finder, launch);
}

/* Numbers fetched by item() are pageable too, but too small to matter. */
DETECTOR(pageable_copies)
{
    enum { LEAST_MEAN_BYTES = 64 << 10 };
    const pyro_analysis *result = finder->result;
    int64_t bytes = 0, calls = 0, total = 0;
    for (size_t i = 0; i < result->copy_count; i++) {
        const pyro_copy_row *copy = &result->copies[i];
        if (!strcasestr(copy->kind, "pageable") || copy->bytes < 0 || !copy->calls ||
            copy->bytes / copy->calls < LEAST_MEAN_BYTES)
            continue;
        bytes += copy->bytes;
        calls += copy->calls;
        total += copy->total_ns;
    }
    if (!calls)
        return false;
    /* Copies that other work covers delay nothing. */
    int64_t exposed = finder->cause_ns[PYRO_CAUSE_COPY];
    evidence->value = (double)bytes / (1 << 20);
    evidence->gain_ns = total < exposed ? total : exposed;
    evidence->gain_basis = "time of these copies that nothing covers";
    evidence->place = launch_place(finder, longest_pageable(finder));
    pyro_evidence_say(evidence,
                      "%" PRId64 " copies of %.1f MiB from or to pageable memory take %.3f ms",
                      calls, evidence->value, ms(total));
    return true;
}

DETECTOR(copy_time)
{
    const pyro_analysis *result = finder->result;
    int64_t exposed = finder->cause_ns[PYRO_CAUSE_COPY];
    if (!result->copy_count)
        return false;
    evidence->value = share(exposed, finder->span_ns);
    evidence->gain_ns = exposed;
    evidence->gain_basis = "time in which only copies ran";
    pyro_evidence_say(evidence, "copies that overlap with nothing take %.1f%% of %s (%.3f ms)",
                      evidence->value * 100, pyro_finder_whole(finder), ms(exposed));
    return true;
}

/* More than the threshold: copies between host and device in a step. */
DETECTOR(copy_count)
{
    const pyro_analysis *result = finder->result;
    int64_t calls = 0, total = 0;
    for (size_t i = 0; i < result->copy_count; i++) {
        if (!is_host_copy(result->copies[i].kind))
            continue;
        calls += result->copies[i].calls;
        total += result->copies[i].total_ns;
    }
    /* Many copies that take no time need no advice. */
    if (!calls || !finder->context->windows_are_steps || total < finder->span_ns / 200)
        return false;
    evidence->value = (double)calls / (double)finder->steps;
    pyro_evidence_say(evidence, "%.1f copies between host and device per step, %.3f ms in total",
                      evidence->value, ms(total));
    return evidence->value > evidence->threshold;
}

DETECTOR(communication)
{
    const pyro_analysis *result = finder->result;
    int64_t exposed = 0, total = 0;
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
    pyro_evidence_say(evidence,
                      "communication that does not overlap with compute takes %.1f%% of %s "
                      "(%.3f of %.3f ms of communication)",
                      evidence->value * 100, pyro_finder_whole(finder), ms(exposed), ms(total));
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
    pyro_evidence_say(evidence,
                      "%.1f%% of the communication (%.3f ms) runs while the device computes",
                      100 - evidence->value * 100, ms(total - exposed));
    return evidence->value > evidence->threshold;
}
