/* The rules about defects of a trace: each counts one, and says how it shows. */
#include "analyze/defects/rules.h"
#include "base/text/units.h"

/* Fewer launches at an end of the recording may lack kernels by chance. */
#define LEAST_LOST 5
/* Share of the other launches that have kernels, for the lost ones to be a prefix or suffix. */
#define LEAST_WHOLE 0.9
#define LEAST_SHARE 0.01

/* Launches without kernels at the start, at the end, and in all. */
typedef struct lost_launches {
    size_t prefix, suffix, all;
} lost_launches;

static bool has_work(const pyro_defect_facts *facts, uint32_t launch)
{
    return facts->has_work[launch >> 3] >> (launch & 7) & 1;
}

static lost_launches count_lost(const pyro_defect_facts *facts)
{
    lost_launches lost = {0};
    size_t count = facts->launch_count;
    for (size_t i = 0; i < count; i++)
        lost.all += !has_work(facts, facts->launches[i]);
    while (lost.prefix < count && !has_work(facts, facts->launches[lost.prefix]))
        lost.prefix++;
    while (lost.suffix < count - lost.prefix &&
           !has_work(facts, facts->launches[count - 1 - lost.suffix]))
        lost.suffix++;
    return lost;
}

/* Whether nearly all launches between the two ends have kernels. */
static bool is_whole_inside(const pyro_defect_facts *facts, const lost_launches *lost)
{
    size_t inside = facts->launch_count - lost->prefix - lost->suffix;
    size_t missing = lost->all - lost->prefix - lost->suffix;
    return inside > 0 && (double)(inside - missing) >= LEAST_WHOLE * (double)inside;
}

static bool is_prefix(const pyro_defect_facts *facts, const lost_launches *lost)
{
    return lost->prefix >= LEAST_LOST && is_whole_inside(facts, lost);
}

static bool is_suffix(const pyro_defect_facts *facts, const lost_launches *lost)
{
    return lost->suffix >= LEAST_LOST && is_whole_inside(facts, lost);
}

int64_t pyro_defect_damage(const pyro_defect_facts *facts, const pyro_analysis_context *context,
                           pyro_buf *evidence)
{
    const pyro_trace *trace = context->trace;
    (void)facts;
    if (!trace->warning_count)
        return 0;
    pyro_buf_adds(evidence, trace->warnings[0]);
    if (trace->warning_count > 1)
        pyro_buf_addf(evidence, "; and %zu more", trace->warning_count - 1);
    return (int64_t)trace->warning_count;
}

int64_t pyro_defect_no_device(const pyro_defect_facts *facts, const pyro_analysis_context *context,
                              pyro_buf *evidence)
{
    if (facts->work)
        return 0;
    if (facts->launch_count >= LEAST_LOST) {
        pyro_buf_addf(evidence, "%zu launches, no kernels", facts->launch_count);
        return (int64_t)facts->launch_count;
    }
    if (facts->device_ops)
        pyro_buf_addf(evidence, "%lld ops that run on devices only, such as %s, but no kernels",
                      (long long)facts->device_ops,
                      pyro_event_name(context->trace, facts->device_op));
    return facts->device_ops;
}

int64_t pyro_defect_lost_prefix(const pyro_defect_facts *facts,
                                const pyro_analysis_context *context, pyro_buf *evidence)
{
    lost_launches lost = count_lost(facts);
    char time[PYRO_UNIT_TEXT];
    if (!facts->work || !is_prefix(facts, &lost))
        return 0;
    const pyro_trace *trace = context->trace;
    int64_t lost_ns = trace->start_ns[facts->launches[lost.prefix]] -
                      trace->start_ns[facts->launches[0]];
    pyro_buf_addf(evidence,
                  "the first %zu of %zu launches (in %s) have no kernels; %zu of the later ones "
                  "have none",
                  lost.prefix, facts->launch_count, pyro_format_duration(time, lost_ns),
                  lost.all - lost.prefix);
    return (int64_t)lost.prefix;
}

int64_t pyro_defect_lost_suffix(const pyro_defect_facts *facts,
                                const pyro_analysis_context *context, pyro_buf *evidence)
{
    lost_launches lost = count_lost(facts);
    (void)context;
    if (!facts->work || !is_suffix(facts, &lost))
        return 0;
    pyro_buf_addf(evidence, "the last %zu of %zu launches have no kernels", lost.suffix,
                  facts->launch_count);
    return (int64_t)lost.suffix;
}

int64_t pyro_defect_lost_kernels(const pyro_defect_facts *facts,
                                 const pyro_analysis_context *context, pyro_buf *evidence)
{
    lost_launches lost = count_lost(facts);
    size_t missing = lost.all - (is_prefix(facts, &lost) ? lost.prefix : 0) -
                     (is_suffix(facts, &lost) ? lost.suffix : 0);
    (void)context;
    if (!facts->work || missing < LEAST_LOST ||
        (double)missing < LEAST_SHARE * (double)facts->launch_count)
        return 0;
    pyro_buf_addf(evidence, "%zu of %zu launches have no kernels", missing, facts->launch_count);
    return (int64_t)missing;
}

static int64_t say_orphans(const pyro_defect_facts *facts, int64_t count, int64_t time_ns,
                           pyro_buf *evidence)
{
    char time[PYRO_UNIT_TEXT];
    if (!count)
        return 0;
    pyro_buf_addf(evidence, "%lld of %lld kernels, copies and memsets, %s of device time",
                  (long long)count, (long long)facts->work, pyro_format_duration(time, time_ns));
    return count;
}

int64_t pyro_defect_missing_launches(const pyro_defect_facts *facts,
                                     const pyro_analysis_context *context, pyro_buf *evidence)
{
    (void)context;
    return say_orphans(facts, facts->orphans - facts->launched_before,
                       facts->orphan_ns - facts->before_ns, evidence);
}

int64_t pyro_defect_launched_before(const pyro_defect_facts *facts,
                                    const pyro_analysis_context *context, pyro_buf *evidence)
{
    (void)context;
    return say_orphans(facts, facts->launched_before, facts->before_ns, evidence);
}

int64_t pyro_defect_early_kernels(const pyro_defect_facts *facts,
                                  const pyro_analysis_context *context, pyro_buf *evidence)
{
    char time[PYRO_UNIT_TEXT];
    (void)context;
    if (facts->early_kernels)
        pyro_buf_addf(evidence, "%lld of %lld, by up to %s", (long long)facts->early_kernels,
                      (long long)facts->work, pyro_format_duration(time, facts->earliest_ns));
    return facts->early_kernels;
}

int64_t pyro_defect_sync_ids(const pyro_defect_facts *facts, const pyro_analysis_context *context,
                             pyro_buf *evidence)
{
    const pyro_trace *trace = context->trace;
    size_t invalid = 0, later = 0, unknown = 0;
    for (size_t i = 0; i < facts->wait_count; i++) {
        uint32_t event = facts->waits[i];
        int64_t id = trace->syncs[trace->detail[event]].wait_record;
        uint32_t record = id > 0 && id < UINT32_MAX ? pyro_map_get(&facts->records, (uint64_t)id)
                                                    : PYRO_MAP_NONE;
        if (id < 0)
            invalid++;
        else if (record == PYRO_MAP_NONE)
            unknown += facts->records.count > 0;
        else
            later += trace->start_ns[record] > trace->start_ns[event];
    }
    size_t bad = invalid + later + unknown;
    if (bad)
        pyro_buf_addf(evidence,
                      "%zu of %zu waits: %zu without an id, %zu of a call that is not in "
                      "the file, %zu of a later call",
                      bad, facts->wait_count, invalid, unknown, later);
    return (int64_t)bad;
}

int64_t pyro_defect_partial_overlaps(const pyro_defect_facts *facts,
                                     const pyro_analysis_context *context, pyro_buf *evidence)
{
    int64_t count = context->joins->partial_overlaps;
    (void)facts;
    if (count)
        pyro_buf_addf(evidence, "%lld slices end after the slice that encloses their start",
                      (long long)count);
    return count;
}

int64_t pyro_defect_stream_overlaps(const pyro_defect_facts *facts,
                                    const pyro_analysis_context *context, pyro_buf *evidence)
{
    (void)context;
    if (facts->stream_overlaps)
        pyro_buf_addf(evidence, "%lld of %lld start more than 1 us before the one before has ended",
                      (long long)facts->stream_overlaps, (long long)facts->work);
    return facts->stream_overlaps;
}

int64_t pyro_defect_bare_collectives(const pyro_defect_facts *facts,
                                     const pyro_analysis_context *context, pyro_buf *evidence)
{
    (void)context;
    if (facts->bare_collectives)
        pyro_buf_addf(evidence, "%lld of %lld record_param_comms",
                      (long long)facts->bare_collectives, (long long)facts->collectives);
    return facts->bare_collectives;
}
