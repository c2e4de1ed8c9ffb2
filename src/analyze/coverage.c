/* Keeps sorted intervals with running totals, so that an overlap takes two searches. */
#include "analyze/coverage.h"
#include "base/containers/buf.h"

#include <stdlib.h>

bool pyro_coverage_add(pyro_coverage *coverage, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return true;
    /* Events come nearly in order: most extend the last interval or start a new one. */
    if (coverage->count) {
        pyro_stretch *last = &coverage->items[coverage->count - 1];
        if (start_ns >= last->start_ns && start_ns <= last->end_ns) {
            last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
            return true;
        }
    }
    if (!pyro_grow(&coverage->items, &coverage->capacity, coverage->count + 1,
                   sizeof *coverage->items))
        return false;
    coverage->items[coverage->count++] = (pyro_stretch){.start_ns = start_ns, .end_ns = end_ns};
    return true;
}

static int by_start(const void *left, const void *right)
{
    const pyro_stretch *a = left, *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

void pyro_coverage_finish(pyro_coverage *coverage)
{
    size_t kept = 0;
    int64_t before = 0;
    if (coverage->count)
        qsort(coverage->items, coverage->count, sizeof *coverage->items, by_start);
    for (size_t i = 0; i < coverage->count; i++) {
        pyro_stretch next = coverage->items[i];
        pyro_stretch *last = kept ? &coverage->items[kept - 1] : NULL;
        if (last && next.start_ns <= last->end_ns) {
            last->end_ns = next.end_ns > last->end_ns ? next.end_ns : last->end_ns;
            continue;
        }
        coverage->items[kept++] = next;
    }
    coverage->count = kept;
    for (size_t i = 0; i < kept; i++) {
        coverage->items[i].before_ns = before;
        before += coverage->items[i].end_ns - coverage->items[i].start_ns;
    }
}

/* Covered before a time. */
static int64_t covered_before(const pyro_coverage *coverage, int64_t time_ns)
{
    size_t low = 0, high = coverage->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (coverage->items[middle].start_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    const pyro_stretch *last = &coverage->items[low - 1];
    int64_t until = time_ns < last->end_ns ? time_ns : last->end_ns;
    return last->before_ns + (until - last->start_ns);
}

int64_t pyro_coverage_overlap(const pyro_coverage *coverage, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return 0;
    return covered_before(coverage, end_ns) - covered_before(coverage, start_ns);
}

bool pyro_coverage_difference(pyro_coverage *out, const pyro_coverage *whole,
                              const pyro_coverage *part)
{
    size_t next = 0;
    for (size_t i = 0; i < whole->count; i++) {
        int64_t now = whole->items[i].start_ns, end = whole->items[i].end_ns;
        while (next < part->count && part->items[next].end_ns <= now)
            next++;
        for (size_t at = next; at < part->count && part->items[at].start_ns < end; at++) {
            if (!pyro_coverage_add(out, now, part->items[at].start_ns))
                return false;
            now = part->items[at].end_ns > now ? part->items[at].end_ns : now;
        }
        if (!pyro_coverage_add(out, now, end))
            return false;
    }
    pyro_coverage_finish(out);
    return true;
}

void pyro_coverage_free(pyro_coverage *coverage)
{
    free(coverage->items);
}
