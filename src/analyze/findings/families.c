/*
 * Makes the list of findings. Those that share time become one finding with parts; gains are limited
 * so that those of different findings never overlap; severity follows the gain.
 */
#include "analyze/findings/families.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Shares of the time from which a gain makes a finding a warning, or severe. */
#define WARNING_SHARE 0.05
#define SEVERE_SHARE 0.20

enum { MOST_MEMBERS = 6 };

static const char *const families[][MOST_MEMBERS] = {
#define FAMILY(...) {__VA_ARGS__},
#include "analyze/findings/families.def"
#undef FAMILY
};

/* Index of the id's family, and its place there; -1: none. */
static int family_of(const char *id, int *place)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (int k = 0; k < MOST_MEMBERS && families[i][k]; k++)
            if (!strcmp(families[i][k], id)) {
                *place = k;
                return (int)i;
            }
    *place = 0;
    return -1;
}

static bool is_about_kernels(const char *id)
{
    static const char *const ids[] = {
        "full-precision",    "tf32-off",         "no-tensor-cores",    "unaligned-sizes",
        "fusible-chains",    "memory-bound",     "layout-conversions", "small-grids",
        "far-from-roofline", "double-precision", "unfused-attention",  "needless-copies"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (!strcmp(ids[i], id))
            return true;
    return false;
}

/* Orders the members of a family: most gain first, then as in families.def. The first of the table
 * counts for more. */
static bool leads(const pyro_found *a, const pyro_found *b)
{
    int left, right;
    family_of(a->id, &left);
    family_of(b->id, &right);
    if (left == 0 && a->evidence.gain_ns > 0)
        return a->evidence.gain_ns >= b->evidence.gain_ns / 4 * 3;
    if (right == 0 && b->evidence.gain_ns > 0)
        return a->evidence.gain_ns / 4 * 3 > b->evidence.gain_ns;
    if (a->evidence.gain_ns != b->evidence.gain_ns)
        return a->evidence.gain_ns > b->evidence.gain_ns;
    return left < right;
}

static int64_t rank_of(const pyro_found *found)
{
    const pyro_evidence *evidence = &found->evidence;
    return evidence->gain_ns >= 0 ? evidence->gain_ns : evidence->rank_ns;
}

static int compare_found(const void *a, const void *b)
{
    const pyro_found *left = *(const pyro_found *const *)a, *right = *(const pyro_found *const *)b;
    if (rank_of(left) != rank_of(right))
        return rank_of(left) < rank_of(right) ? 1 : -1;
    return strcmp(left->id, right->id);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Findings about the work itself: kernels, or ops and Python code where nothing ran on a device. */
static bool is_about_work(const pyro_finder *finder, const char *id)
{
    static const char *const ids[] = {"single-tensor-optimizer", "items-in-loops",
                                      "repeated-selects", "small-ops"};
    return is_about_kernels(id) || (!finder->has_device_work && IS_ONE_OF(id, ids));
}

/* Kernels of the steps can run beside each other, and after the steps. */
static void scale_kernel_gains(pyro_found **leaders, size_t count, const pyro_finder *finder,
                               int64_t work_ns)
{
    double scale = finder->compute_ns > work_ns ? (double)work_ns / (double)finder->compute_ns : 1;
    for (size_t i = 0; i < count && scale < 1; i++)
        if (is_about_kernels(leaders[i]->id) && leaders[i]->evidence.gain_ns > 0)
            leaders[i]->evidence.gain_ns = (int64_t)((double)leaders[i]->evidence.gain_ns * scale);
}

/* Time that one finding would save cannot be saved again by the next: that of kernels (of ops, where
 * nothing ran on a device), and there also that of Python code. The gap to the roofline is what the
 * others leave of it. */
static void limit_work_gains(pyro_found **leaders, size_t count, const pyro_finder *finder)
{
    bool is_on_host = !finder->has_device_work;
    int64_t kernels_ns = finder->cause_ns[is_on_host ? PYRO_CAUSE_OPS : PYRO_CAUSE_COMPUTE];
    int64_t left_ns = kernels_ns + (is_on_host ? finder->cause_ns[PYRO_CAUSE_PYTHON] : 0);
    int64_t kernels_left_ns = kernels_ns, taken_ns = 0;
    pyro_found *roofline = NULL;
    scale_kernel_gains(leaders, count, finder, kernels_ns);
    for (size_t i = 0; i < count; i++) {
        pyro_evidence *evidence = &leaders[i]->evidence;
        if (!is_about_work(finder, leaders[i]->id) || evidence->gain_ns < 0)
            continue;
        if (!strcmp(leaders[i]->id, "far-from-roofline")) {
            roofline = leaders[i];
            continue;
        }
        bool is_kernels = is_about_kernels(leaders[i]->id);
        evidence->gain_ns = least(evidence->gain_ns, left_ns);
        if (is_kernels)
            evidence->gain_ns = least(evidence->gain_ns, kernels_left_ns);
        kernels_left_ns -= is_kernels ? evidence->gain_ns : 0;
        left_ns -= evidence->gain_ns;
        taken_ns += evidence->gain_ns;
    }
    if (!roofline)
        return;
    int64_t rest_ns = least(roofline->evidence.gain_ns, kernels_ns);
    /* Where others explain most of it, they name its place too. */
    roofline->evidence.gain_ns = rest_ns > 2 * taken_ns ? rest_ns - taken_ns : 0;
    if (!roofline->evidence.gain_basis[0])
        roofline->evidence.gain_basis = "kernel time over the roofline that no other finding saves";
}

static bool is_in_family(const char *id, const char *leader)
{
    int place;
    return family_of(id, &place) >= 0 && family_of(id, &place) == family_of(leader, &place);
}

/* Findings about a late host take from the same idle time: the specific ones first, and what they
 * leave is the general one's. */
static void limit_host_gains(pyro_found **leaders, size_t count, const pyro_finder *finder)
{
    int64_t left_ns = pyro_finder_late_ns(finder, PYRO_LATE_CAUSES);
    for (size_t i = 0; finder->has_device_work && i < 2 * count; i++) {
        pyro_found *found = leaders[i % count];
        bool is_general = is_in_family(found->id, "host-bound");
        bool is_specific = is_in_family(found->id, "synchronizing-calls") ||
                           !strcmp(found->id, "single-tensor-optimizer") ||
                           (!strcmp(found->id, "small-collectives") &&
                            !finder->result->collective_count);
        if (!(i < count ? is_specific : is_general) || found->evidence.gain_ns < 0)
            continue;
        if (found->evidence.gain_ns > left_ns)
            found->evidence.gain_ns = left_ns;
        left_ns -= found->evidence.gain_ns;
    }
}

/* No more than the whole time can be saved; the largest gains count. */
static void limit_all_gains(pyro_found **leaders, size_t count, const pyro_finder *finder)
{
    int64_t left_ns = finder->span_ns;
    for (size_t i = 0; i < count; i++) {
        pyro_evidence *evidence = &leaders[i]->evidence;
        if (evidence->gain_ns > left_ns)
            evidence->gain_ns = left_ns;
        left_ns -= evidence->gain_ns > 0 ? evidence->gain_ns : 0;
    }
}

/* The general findings are what specific ones leave. That about the host needs some time of its own;
 * that about the roofline, which has no remedy of its own, as much as makes a warning. */
static bool is_explained(const pyro_found *found, const pyro_finder *finder)
{
    double gain_ns = (double)found->evidence.gain_ns;
    if (!strcmp(found->id, "far-from-roofline"))
        return gain_ns >= 0 && gain_ns < WARNING_SHARE * (double)finder->span_ns;
    return !found->evidence.gain_ns && is_in_family(found->id, "host-bound");
}

/* Drops general findings where specific ones explain their time. */
static size_t drop_explained(pyro_found **leaders, size_t count, const pyro_finder *finder)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_explained(leaders[i], finder))
            leaders[kept++] = leaders[i];
    return kept;
}

static void sort_found(pyro_found **leaders, size_t count)
{
    if (count)
        qsort(leaders, count, sizeof(pyro_found *), compare_found);
}

/* The smaller the share of the time, the less severe; findings without a gain in time (memory) are
 * judged by their thresholds, or by the time that they explain. */
static pyro_severity severity_of(const pyro_found *found, int64_t span_ns)
{
    const pyro_evidence *evidence = &found->evidence;
    double share = span_ns > 0 ? (double)evidence->gain_ns / (double)span_ns : 0;
    if (evidence->gain_ns >= 0)
        return share >= SEVERE_SHARE    ? PYRO_SEVERITY_SEVERE
               : share >= WARNING_SHARE ? PYRO_SEVERITY_WARNING
                                        : PYRO_SEVERITY_INFO;
    if (found->severe <= 0) {
        bool explains = span_ns > 0 && (double)evidence->rank_ns >= WARNING_SHARE * (double)span_ns;
        return explains ? PYRO_SEVERITY_WARNING : PYRO_SEVERITY_INFO;
    }
    return evidence->value >= found->severe ? PYRO_SEVERITY_SEVERE : PYRO_SEVERITY_WARNING;
}

/* Splits what was found into leaders of families and others; members follow in no order. */
static size_t find_leaders(pyro_found *found, size_t count, pyro_found **leaders)
{
    size_t leader_count = 0;
    for (size_t i = 0; i < count; i++) {
        int place, family = family_of(found[i].id, &place);
        bool is_leader = true;
        for (size_t k = 0; k < count && family >= 0; k++)
            is_leader = is_leader && (k == i || family_of(found[k].id, &place) != family ||
                                      leads(&found[i], &found[k]));
        if (is_leader)
            leaders[leader_count++] = &found[i];
    }
    return leader_count;
}

/* A part gains at most what its finding does. */
static size_t add_parts(pyro_finding_part *parts, const pyro_found *leader, const pyro_found *found,
                        size_t count)
{
    int place, family = family_of(leader->id, &place);
    int64_t most_ns = leader->evidence.gain_ns < 0 ? INT64_MAX : leader->evidence.gain_ns;
    size_t added = 0;
    for (size_t i = 0; i < leader->evidence.part_count; i++) {
        const pyro_evidence_part *part = &leader->evidence.parts[i];
        parts[added++] = (pyro_finding_part){.finding = leader->id,
                                             .id = part->id,
                                             .title = part->title,
                                             .evidence = "",
                                             .advice = "",
                                             .place = part->place,
                                             .gain_ns = least(part->gain_ns, most_ns)};
    }
    for (size_t i = 0; i < count && family >= 0; i++) {
        const pyro_evidence *evidence = &found[i].evidence;
        if (&found[i] == leader || family_of(found[i].id, &place) != family)
            continue;
        parts[added++] = (pyro_finding_part){.finding = leader->id,
                                             .id = found[i].id,
                                             .title = found[i].title,
                                             .evidence = evidence->text,
                                             .advice = found[i].advice,
                                             .place = evidence->place,
                                             .gain_ns = least(evidence->gain_ns, most_ns)};
    }
    return added;
}

static pyro_finding make_finding(const pyro_found *found, int64_t span_ns)
{
    const pyro_evidence *evidence = &found->evidence;
    const char *basis = evidence->gain_basis;
    if (evidence->gain_ns >= 0 && !basis[0])
        basis = "estimate of the kernel time that this saves";
    return (pyro_finding){.id = found->id,
                          .severity = severity_of(found, span_ns),
                          .title = found->title,
                          .evidence = evidence->text,
                          .advice = found->advice,
                          .place = evidence->place,
                          .gain_ns = evidence->gain_ns,
                          .gain_basis = evidence->gain_ns < 0 ? "" : basis};
}

int pyro_list_findings(pyro_analysis_context *context, const pyro_finder *finder, pyro_found *found,
                       size_t count)
{
    size_t most_parts = count * (1 + PYRO_MOST_EVIDENCE_PARTS), part_count = 0;
    pyro_found **leaders = pyro_arena_array(context->scratch, count + 1, sizeof *leaders);
    pyro_finding *findings = pyro_arena_array(context->arena, count, sizeof *findings);
    pyro_finding_part *parts = pyro_arena_array(context->arena, most_parts, sizeof *parts);
    if (!leaders || !findings || !parts)
        return pyro_fail_memory(context->error);
    size_t leader_count = find_leaders(found, count, leaders);
    sort_found(leaders, leader_count);
    limit_work_gains(leaders, leader_count, finder);
    limit_host_gains(leaders, leader_count, finder);
    leader_count = drop_explained(leaders, leader_count, finder);
    sort_found(leaders, leader_count);
    limit_all_gains(leaders, leader_count, finder);
    sort_found(leaders, leader_count);
    for (size_t i = 0; i < leader_count; i++) {
        findings[i] = make_finding(leaders[i], finder->span_ns);
        part_count += add_parts(&parts[part_count], leaders[i], found, count);
    }
    context->result->findings = findings;
    context->result->finding_count = leader_count;
    context->result->finding_parts = parts;
    context->result->finding_part_count = part_count;
    return PYRO_OK;
}
