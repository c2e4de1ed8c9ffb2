/* Detects that a GPU lowered its clocks because of heat or a hardware slowdown. */
#include "analyze/findings/findings.h"

#include <stdio.h>

/* "steps 3, 4, 9 and 2 more" */
static void list_steps(const pyro_analysis *result, char *text, size_t size)
{
    enum { MOST_STEPS = 5 };
    int64_t listed = 0, more = 0, last = -1;
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < result->power_count; i++) {
        const pyro_power_row *row = &result->power[i];
        if (row->throttled_share <= 0 || row->step < 0 || row->step == last)
            continue;
        last = row->step;
        if (listed == MOST_STEPS || length >= size) {
            more++;
            continue;
        }
        length += (size_t)snprintf(text + length, size - length, "%s%lld",
                                   listed++ ? ", " : ", in steps ", (long long)row->step);
    }
    if (more && length < size)
        snprintf(text + length, size - length, " and %lld more", (long long)more);
}

DETECTOR(gpu_throttled)
{
    const pyro_power_summary *summary = &finder->result->power_summary;
    char steps[160];
    if (summary->throttled_share < 0)
        return false;
    list_steps(finder->result, steps, sizeof steps);
    evidence->value = summary->throttled_share;
    pyro_evidence_say(
        evidence,
        "clocks were lowered in %.0f%% of the samples (%.0f%% by heat)%s; SM clock %.0f "
        "to %.0f MHz",
        100 * summary->throttled_share, 100 * (summary->heat_share > 0 ? summary->heat_share : 0),
        steps, summary->min_clock_mhz > 0 ? summary->min_clock_mhz : 0,
        summary->max_clock_mhz > 0 ? summary->max_clock_mhz : 0);
    return true;
}
