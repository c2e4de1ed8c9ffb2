/* Sorted stretches with running totals, so that an overlap is two searches. */
#include "analyze/coverage.h"
#include "base/containers/buf.h"

#include <stdlib.h>

bool pyro_cover_add(pyro_cover *cover, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return true;
    /* Events come nearly in order: most prolong the last stretch or begin a new one. */
    if (cover->count) {
        pyro_stretch *last = &cover->items[cover->count - 1];
        if (start_ns >= last->start_ns && start_ns <= last->end_ns) {
            last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
            return true;
        }
    }
    if (!pyro_grow(&cover->items, &cover->capacity, cover->count + 1, sizeof *cover->items))
        return false;
    cover->items[cover->count++] = (pyro_stretch){.start_ns = start_ns, .end_ns = end_ns};
    return true;
}

static int by_start(const void *left, const void *right)
{
    const pyro_stretch *a = left, *b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

void pyro_cover_finish(pyro_cover *cover)
{
    size_t kept = 0;
    int64_t before = 0;
    if (cover->count)
        qsort(cover->items, cover->count, sizeof *cover->items, by_start);
    for (size_t i = 0; i < cover->count; i++) {
        pyro_stretch next = cover->items[i];
        pyro_stretch *last = kept ? &cover->items[kept - 1] : NULL;
        if (last && next.start_ns <= last->end_ns) {
            last->end_ns = next.end_ns > last->end_ns ? next.end_ns : last->end_ns;
            continue;
        }
        cover->items[kept++] = next;
    }
    cover->count = kept;
    for (size_t i = 0; i < kept; i++) {
        cover->items[i].before_ns = before;
        before += cover->items[i].end_ns - cover->items[i].start_ns;
    }
}

/* Covered before a time. */
static int64_t covered_before(const pyro_cover *cover, int64_t time_ns)
{
    size_t low = 0, high = cover->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cover->items[middle].start_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return 0;
    const pyro_stretch *last = &cover->items[low - 1];
    int64_t until = time_ns < last->end_ns ? time_ns : last->end_ns;
    return last->before_ns + (until - last->start_ns);
}

int64_t pyro_cover_overlap(const pyro_cover *cover, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return 0;
    return covered_before(cover, end_ns) - covered_before(cover, start_ns);
}

bool pyro_cover_difference(pyro_cover *out, const pyro_cover *whole, const pyro_cover *part)
{
    size_t next = 0;
    for (size_t i = 0; i < whole->count; i++) {
        int64_t now = whole->items[i].start_ns, end = whole->items[i].end_ns;
        while (next < part->count && part->items[next].end_ns <= now)
            next++;
        for (size_t at = next; at < part->count && part->items[at].start_ns < end; at++) {
            if (!pyro_cover_add(out, now, part->items[at].start_ns))
                return false;
            now = part->items[at].end_ns > now ? part->items[at].end_ns : now;
        }
        if (!pyro_cover_add(out, now, end))
            return false;
    }
    pyro_cover_finish(out);
    return true;
}

void pyro_cover_free(pyro_cover *cover)
{
    free(cover->items);
}
