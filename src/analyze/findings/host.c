/* Detects findings about the host: loading, idle devices, launches, synchronisation, copies. */
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

DETECTOR(data_loading)
{
    const pyro_data_loading *loading = &finder->result->data_loading;
    if (!loading->calls)
        return false;
    evidence->value = share(loading->uncovered_ns, finder->span_ns);
    evidence->gain_ns = loading->uncovered_ns;
    pyro_evidence_say(evidence,
                      "%.1f%% of the step time (%.3f ms in %" PRId64
                      " loads) is data loading while no device worked",
                      evidence->value * 100, ms(loading->uncovered_ns), loading->calls);
    return true;
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
    evidence->gain_ns = finder->result->data_loading.uncovered_ns;
    pyro_evidence_say(evidence,
                      "the training process itself loaded %" PRId64
                      " batches (num_workers=0), %.1f%% of the step time",
                      calls, evidence->value * 100);
    return true;
}

DETECTOR(device_idle)
{
    if (!finder->has_device_work)
        return false;
    evidence->value = share(finder->idle_ns, finder->span_ns);
    evidence->gain_ns = finder->idle_ns;
    pyro_evidence_say(evidence, "no device worked for %.1f%% of the step time (%.3f of %.3f ms)",
                      evidence->value * 100, ms(finder->idle_ns), ms(finder->span_ns));
    return true;
}

/* The value is in mean steps, or in units of 500 ms where steps are longer or missing. */
DETECTOR(long_gap)
{
    enum { LONGEST_STEP_MS = 500 };
    const pyro_analysis *result = finder->result;
    int64_t limit = LONGEST_STEP_MS * INT64_C(1000000), step = finder->span_ns / finder->steps;
    if (!result->gap_count)
        return false;
    if (finder->context->windows_are_steps && step > 0 && step < limit)
        limit = step;
    const pyro_gap_row *gap = &result->gaps[0];
    evidence->value = share(gap->duration_ns, limit);
    evidence->gain_ns = gap->duration_ns;
    evidence->place = pyro_first_text(gap->line, gap->layer, gap->op);
    pyro_evidence_say(evidence, "the longest gap is %.3f ms%s%s", ms(gap->duration_ns),
                      gap->op[0] ? ", during " : "", gap->op);
    pyro_evidence_limit(evidence, "%.3f ms (one step, at most %d ms)",
                        evidence->threshold * ms(limit), LONGEST_STEP_MS);
    return true;
}

static const pyro_gap_row *longest_of(const pyro_analysis *result, pyro_gap_kind kind)
{
    for (size_t i = 0; i < result->gap_count; i++)
        if (result->gaps[i].kind == kind)
            return &result->gaps[i];
    return NULL;
}

DETECTOR(host_bound)
{
    const pyro_analysis *result = finder->result;
    int64_t waited = result->gap_total_ns[PYRO_GAP_HOST_WAIT];
    const pyro_gap_row *worst = longest_of(result, PYRO_GAP_HOST_WAIT);
    if (!worst)
        return false;
    evidence->value = share(waited, finder->span_ns);
    evidence->gain_ns = waited;
    evidence->place = pyro_first_text(worst->line, worst->layer, worst->op);
    pyro_evidence_say(evidence,
                      "the device had nothing queued for %.1f%% of the time (%.3f ms); %" PRId64
                      " kernels were launched after all earlier ones had finished",
                      evidence->value * 100, ms(waited), result->launch.late_kernels);
    return true;
}

DETECTOR(kernel_gaps)
{
    enum { LONG_GAP_US = 30 };
    const pyro_analysis *result = finder->result;
    int64_t total = 0, count = 0;
    for (size_t i = 0; i < result->gap_count; i++) {
        const pyro_gap_row *gap = &result->gaps[i];
        if (gap->kind != PYRO_GAP_KERNEL_WAIT || gap->duration_ns <= LONG_GAP_US * 1000)
            continue;
        total += gap->duration_ns;
        count++;
    }
    if (!count)
        return false;
    evidence->value = share(total, finder->span_ns);
    evidence->gain_ns = total;
    pyro_evidence_say(evidence,
                      "%" PRId64
                      " gaps over %d us although the next kernel was queued, %.1f%% of the time",
                      count, LONG_GAP_US, evidence->value * 100);
    return true;
}

DETECTOR(short_kernels)
{
    const pyro_launch_summary *launch = &finder->result->launch;
    if (!launch->launches)
        return false;
    evidence->value = share(launch->short_kernels, launch->launches);
    pyro_evidence_say(evidence,
                      "%" PRId64 " of %" PRId64
                      " launches (%.1f%%) took longer than their kernels, "
                      "which run %.3f ms in total",
                      launch->short_kernels, launch->launches, evidence->value * 100,
                      ms(launch->short_kernel_total_ns));
    return true;
}

DETECTOR(launch_overhead)
{
    const pyro_launch_summary *launch = &finder->result->launch;
    if (!launch->launches)
        return false;
    evidence->value = share(launch->launch_total_ns, finder->span_ns);
    /* A launch costs only where the device waits for it. */
    evidence->gain_ns = launch->launch_total_ns < finder->idle_ns ? launch->launch_total_ns
                                                                  : finder->idle_ns;
    pyro_evidence_say(evidence,
                      "launch calls take %.1f%% of the step time (%" PRId64 " calls, %.3f ms)",
                      evidence->value * 100, launch->launches, ms(launch->launch_total_ns));
    return true;
}

DETECTOR(slow_launches)
{
    const pyro_launch_summary *launch = &finder->result->launch;
    if (!launch->launches)
        return false;
    evidence->value = share(launch->slow_launches, launch->launches);
    pyro_evidence_say(evidence,
                      "%" PRId64 " of %" PRId64 " launch calls took over %d us (median %.1f us)",
                      launch->slow_launches, launch->launches, PYRO_SLOW_LAUNCH_US,
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
    return launch->launches > 0;
}

DETECTOR(synchronizations)
{
    const pyro_analysis *result = finder->result;
    int64_t calls = 0, total = 0, of_device = 0;
    for (size_t i = 0; i < result->sync_count; i++) {
        calls += result->syncs[i].calls;
        total += result->syncs[i].total_ns;
        if (strstr(result->syncs[i].call, "DeviceSynchronize"))
            of_device += result->syncs[i].calls;
    }
    if (!calls)
        return false;
    const pyro_sync_row *worst = &result->syncs[0];
    /* The profiler waits for the device when it starts and when it stops. */
    calls -= of_device < 2 ? of_device : 2;
    evidence->value = (double)calls / (double)finder->steps;
    evidence->gain_ns = total < finder->idle_ns ? total : finder->idle_ns;
    evidence->place = pyro_first_text(worst->line, worst->layer, worst->op);
    pyro_evidence_say(evidence,
                      "%.1f waits per step, %.3f ms in total; most of it in %s%s%s (%" PRId64
                      " calls, %.3f ms)",
                      evidence->value, ms(total), worst->call, worst->op[0] ? " of " : "",
                      worst->op, worst->calls, ms(worst->total_ns));
    return true;
}

static bool is_host_copy(const char *kind)
{
    return strstr(kind, "HtoD") || strstr(kind, "DtoH");
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
    evidence->value = (double)bytes / (1 << 20);
    evidence->gain_ns = total / 2;
    pyro_evidence_say(evidence,
                      "%" PRId64 " copies of %.1f MiB from or to pageable memory take %.3f ms",
                      calls, evidence->value, ms(total));
    return true;
}

DETECTOR(copy_time)
{
    const pyro_analysis *result = finder->result;
    int64_t exposed = 0;
    for (size_t i = 0; i < result->step_count; i++)
        exposed += result->steps[i].copy_exposed_ns;
    if (!result->copy_count)
        return false;
    evidence->value = share(exposed, finder->span_ns);
    evidence->gain_ns = exposed;
    pyro_evidence_say(evidence,
                      "copies that overlap with nothing take %.1f%% of the step time (%.3f ms)",
                      evidence->value * 100, ms(exposed));
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
    if (!calls || !finder->context->windows_are_steps)
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
    evidence->place = result->collective_count ? result->collectives[0].kind : "";
    pyro_evidence_say(
        evidence,
        "communication that does not overlap with compute takes %.1f%% of the step time "
        "(%.3f of %.3f ms of communication)",
        evidence->value * 100, ms(exposed), ms(total));
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
    pyro_evidence_say(evidence,
                      "%.1f%% of the communication (%.3f ms) runs while the device computes",
                      100 - evidence->value * 100, ms(total - exposed));
    return evidence->value > evidence->threshold;
}
