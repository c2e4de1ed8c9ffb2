/*
 * Regions of storages. Two regions overlap if a linear equation has a bounded solution. The search
 * goes from the largest stride down; greatest common divisors end most branches early.
 */
#include "dataflow/region.h"

#include "base/checked.h"
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DIMS = 64,
    MOST_TERMS = 2 * PYRO_REGION_AXES,
    MOST_BRANCHES = 20000,   /* per search */
    MOST_ATOMS = 1 << 22     /* per stack */
};

pyro_region pyro_region_run(int64_t begin, int64_t end)
{
    pyro_region region = {.begin = begin, .end = end, .exact = end >= begin};
    if (end - begin > 1) {
        region.axis_count = 1;
        region.axes[0] = (pyro_axis){end - begin, 1};
    }
    return region;
}

pyro_region pyro_region_somewhere(int64_t begin, int64_t end)
{
    return (pyro_region){.begin = begin, .end = end};
}

static int by_falling_stride(const void *left, const void *right)
{
    const pyro_axis *a = left, *b = right;
    return a->stride > b->stride ? -1 : a->stride < b->stride;
}

/* Joins progressions that form one without gaps: adjacent rows. */
static size_t join_axes(pyro_axis *axes, size_t count)
{
    size_t kept = count;
    for (size_t i = count; i-- > 0;) {
        pyro_axis *inner = kept < count ? &axes[kept] : NULL;
        int64_t times = inner && axes[i].stride % inner->stride == 0
                            ? axes[i].stride / inner->stride
                            : INT64_MAX;
        if (inner && times <= inner->count)
            inner->count += (axes[i].count - 1) * times;
        else
            axes[--kept] = axes[i];
    }
    memmove(axes, axes + kept, (count - kept) * sizeof *axes);
    return count - kept;
}

pyro_region pyro_region_strided(int64_t begin, int64_t element_bytes, size_t rank,
                                const int64_t *sizes, const int64_t *strides)
{
    pyro_axis axes[MOST_DIMS + 1];
    int64_t last = element_bytes - 1, reach;
    size_t count = 0;
    if (begin < 0 || element_bytes < 1 || rank > MOST_DIMS)
        return pyro_region_somewhere(0, -1);
    for (size_t d = 0; d < rank; d++)
        if (sizes[d] == 0)
            return pyro_region_run(begin, begin);
    for (size_t d = 0; d < rank; d++) {
        if (sizes[d] == 1 || strides[d] == 0)
            continue;
        pyro_axis axis = {sizes[d], 0};
        if (sizes[d] < 0 || strides[d] < 0 ||
            !pyro_mul_i64(strides[d], element_bytes, &axis.stride) ||
            !pyro_mul_i64(axis.stride, sizes[d] - 1, &reach) || !pyro_add_i64(last, reach, &last))
            return pyro_region_somewhere(0, -1);
        axes[count++] = axis;
    }
    if (element_bytes > 1)
        axes[count++] = (pyro_axis){element_bytes, 1};
    pyro_region region = {.begin = begin};
    if (!pyro_add_i64(begin, last, &region.end) || region.end == INT64_MAX)
        return pyro_region_somewhere(0, -1);
    region.end++;
    qsort(axes, count, sizeof *axes, by_falling_stride);
    count = join_axes(axes, count);
    if (count > PYRO_REGION_AXES)
        return region;
    region.exact = true;
    region.axis_count = (uint32_t)count;
    memcpy(region.axes, axes, count * sizeof *axes);
    return region;
}

static bool is_run(const pyro_region *region)
{
    return region->exact &&
           (region->axis_count == 0 || (region->axis_count == 1 && region->axes[0].stride == 1));
}

/* Sum of terms `factor` * x with 0 <= x <= `most`, by falling factor. */
typedef struct equation {
    size_t count;
    int64_t factor[MOST_TERMS], most[MOST_TERMS];
    int64_t largest[MOST_TERMS + 1]; /* largest sum that the terms from here on can reach */
    int64_t divisor[MOST_TERMS + 1]; /* greatest common divisor of their factors */
    bool full[MOST_TERMS + 1];       /* they reach every multiple of it up to that sum */
    int branches;
} equation;

static int64_t divisor_of(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void finish_equation(equation *e)
{
    e->largest[e->count] = 0;
    e->divisor[e->count] = 0;
    e->full[e->count] = true;
    for (size_t i = e->count; i-- > 0;) {
        int64_t below = e->largest[i + 1], divisor = e->divisor[i + 1];
        e->largest[i] = below + e->factor[i] * e->most[i];
        e->divisor[i] = divisor_of(e->factor[i], divisor);
        e->full[i] = e->full[i + 1] &&
                     (!divisor || (e->divisor[i] == divisor && e->factor[i] <= below + divisor));
    }
}

/* The terms of both regions, by falling stride; merges those with equal stride. */
static void make_equation(equation *e, const pyro_region *a, const pyro_region *b)
{
    uint32_t i = 0, j = 0;
    e->count = 0;
    e->branches = 0;
    while (i < a->axis_count || j < b->axis_count) {
        int64_t left = i < a->axis_count ? a->axes[i].stride : 0;
        int64_t right = j < b->axis_count ? b->axes[j].stride : 0;
        int64_t factor = left > right ? left : right;
        e->factor[e->count] = factor;
        e->most[e->count] = 0;
        if (left == factor)
            e->most[e->count] += a->axes[i++].count - 1;
        if (right == factor)
            e->most[e->count] += b->axes[j++].count - 1;
        e->count++;
    }
    finish_equation(e);
}

/* Whether the terms from `at` on can sum to `wanted`. */
static pyro_meeting solve(equation *e, size_t at, int64_t wanted)
{
    if (wanted == 0)
        return PYRO_MEET;
    if (wanted < 0 || wanted > e->largest[at] || wanted % e->divisor[at])
        return PYRO_APART;
    if (e->full[at])
        return PYRO_MEET;
    int64_t factor = e->factor[at], rest = e->largest[at + 1];
    int64_t high = wanted / factor < e->most[at] ? wanted / factor : e->most[at];
    int64_t low = wanted > rest ? (wanted - rest + factor - 1) / factor : 0;
    for (int64_t x = high; x >= low; x--) {
        if (++e->branches > MOST_BRANCHES)
            return PYRO_MAY_MEET;
        pyro_meeting found = solve(e, at + 1, wanted - x * factor);
        if (found != PYRO_APART)
            return found;
    }
    return PYRO_APART;
}

pyro_meeting pyro_regions_meet(const pyro_region *a, const pyro_region *b)
{
    if (a->end == a->begin || b->end == b->begin)
        return PYRO_APART;
    if (a->end < 0 || b->end < 0)
        return PYRO_MAY_MEET;
    if (a->begin >= b->end || b->begin >= a->end)
        return PYRO_APART;
    /* A region certainly has its first byte, even if the others are unknown. */
    if ((is_run(a) && b->begin >= a->begin) || (is_run(b) && a->begin >= b->begin))
        return PYRO_MEET;
    if (!a->exact || !b->exact)
        return PYRO_MAY_MEET;
    /* a + terms = b + terms: counting those of b down from their largest makes all of them
       additions. */
    equation e;
    make_equation(&e, a, b);
    return solve(&e, 0, (b->begin - a->begin) + (b->end - 1 - b->begin));
}

bool pyro_region_covers(const pyro_region *outer, const pyro_region *inner)
{
    if (inner->begin == inner->end)
        return true;
    if (outer->end < 0 || inner->end < 0 || outer->begin > inner->begin || outer->end < inner->end)
        return false;
    if (is_run(outer))
        return true;
    return outer->exact && inner->exact && outer->begin == inner->begin &&
           outer->axis_count == inner->axis_count &&
           !memcmp(outer->axes, inner->axes, outer->axis_count * sizeof *outer->axes);
}

/* A stack of regions in atoms: pieces of equal size that no region splits. */
typedef struct stack {
    unsigned char *is_bare; /* by atom */
    int64_t begin, atom, count;
    int64_t bare; /* atoms of the lowest region that nothing covers yet */
} stack;

static int64_t atom_of(int64_t atom, const pyro_region *region, int64_t begin)
{
    bool has_run = region->axis_count && region->axes[region->axis_count - 1].stride == 1;
    for (uint32_t i = 0; i < region->axis_count; i++)
        atom = divisor_of(
            region->axes[i].stride == 1 ? region->axes[i].count : region->axes[i].stride, atom);
    int64_t apart = region->begin > begin ? region->begin - begin : begin - region->begin;
    return has_run ? divisor_of(atom, apart) : 1;
}

static double atoms_in(const pyro_region *region, int64_t atom)
{
    double atoms = 1;
    for (uint32_t i = 0; i < region->axis_count; i++)
        atoms *= (double)region->axes[i].count / (region->axes[i].stride == 1 ? (double)atom : 1);
    return atoms;
}

/* Lays a run of atoms; returns whether one of them is the first in its place. */
static bool lay_run(stack *s, int64_t at, int64_t atoms, bool is_lowest)
{
    bool is_seen = false;
    int64_t first = at < 0 ? 0 : at, end = at + atoms < s->count ? at + atoms : s->count;
    for (int64_t i = first; i < end; i++) {
        if (s->is_bare[i] == is_lowest)
            continue;
        s->is_bare[i] = is_lowest;
        s->bare += is_lowest ? 1 : -1;
        is_seen = true;
    }
    return is_seen;
}

static bool lay(stack *s, const pyro_region *region, uint32_t axis, int64_t at, bool is_lowest)
{
    if (axis == region->axis_count)
        return lay_run(s, at, 1, is_lowest);
    if (region->axes[axis].stride == 1)
        return lay_run(s, at, region->axes[axis].count / s->atom, is_lowest);
    bool is_seen = false;
    for (int64_t i = 0; i < region->axes[axis].count; i++)
        is_seen |= lay(s, region, axis + 1, at + i * (region->axes[axis].stride / s->atom),
                       is_lowest);
    return is_seen;
}

/* Removes the outermost axis; leaves the first of its equal pieces. */
static void take_first(pyro_region *region)
{
    region->end -= (region->axes[0].count - 1) * region->axes[0].stride;
    memmove(region->axes, region->axes + 1, --region->axis_count * sizeof *region->axes);
}

/*
 * If all regions repeat alike, each piece within its own window of the lowest one, one window is
 * enough: columns of equal rows. regions[0] is the lowest.
 */
static bool take_first_window(pyro_region *regions, size_t count)
{
    if (count < 2 || regions[1].axis_count == 0 || regions[1].axes[0].stride == 1)
        return false;
    pyro_axis outer = regions[1].axes[0];
    int64_t begin = regions[0].begin, bytes = regions[0].end - begin;
    bool is_all = is_run(&regions[0]) && bytes % outer.stride == 0 &&
                  bytes / outer.stride == outer.count;
    for (size_t i = is_all; i < count; i++) {
        const pyro_region *one = &regions[i];
        if (one->axis_count == 0 || memcmp(&one->axes[0], &outer, sizeof outer) ||
            one->begin < begin ||
            one->end - (outer.count - 1) * outer.stride > begin + outer.stride)
            return false;
    }
    if (is_all)
        regions[0] = pyro_region_run(begin, begin + outer.stride);
    for (size_t i = is_all; i < count; i++)
        take_first(&regions[i]);
    return true;
}

/* regions[0] is the lowest. */
static bool prepare(stack *s, pyro_region *regions, size_t count, int64_t *budget)
{
    double work = 0;
    for (size_t i = 0; i < count; i++)
        if (!regions[i].exact || regions[i].end <= regions[i].begin)
            return false;
    while (take_first_window(regions, count))
        continue;
    s->begin = regions[0].begin;
    for (size_t i = 0; i < count; i++)
        s->atom = atom_of(s->atom, &regions[i], s->begin);
    for (size_t i = 0; i < count; i++)
        work += atoms_in(&regions[i], s->atom);
    s->count = (regions[0].end - regions[0].begin) / s->atom;
    if (s->count > MOST_ATOMS || work > MOST_ATOMS || work > (double)*budget)
        return false;
    *budget -= (int64_t)work;
    s->is_bare = calloc((size_t)s->count, 1);
    return s->is_bare != NULL;
}

bool pyro_regions_stack(const pyro_region *below, const pyro_region *const *above, size_t count,
                        int64_t *budget, bool *visible)
{
    stack s = {0};
    pyro_region *regions = malloc((count + 1) * sizeof *regions);
    if (!regions)
        return false;
    regions[0] = *below;
    for (size_t i = 0; i < count; i++)
        regions[i + 1] = *above[i];
    bool decided = prepare(&s, regions, count + 1, budget);
    if (decided) {
        lay(&s, &regions[0], 0, 0, true);
        for (size_t i = 1; i <= count; i++)
            visible[i - 1] = s.bare &&
                             lay(&s, &regions[i], 0, (regions[i].begin - s.begin) / s.atom, false);
        visible[count] = s.bare > 0;
    }
    free(s.is_bare);
    free(regions);
    return decided;
}

double pyro_region_most_bytes(const pyro_region *region)
{
    double bytes = 1;
    for (uint32_t i = 0; i < region->axis_count; i++)
        bytes *= (double)region->axes[i].count;
    return region->exact ? bytes : (double)(region->end - region->begin);
}

double pyro_region_least_bytes(const pyro_region *region)
{
    int64_t reach = 0;
    double bytes = region->exact && region->end > region->begin;
    for (uint32_t i = region->axis_count; i-- > 0;) {
        const pyro_axis *axis = &region->axes[i];
        if (axis->stride <= reach)
            return bytes;
        bytes *= (double)axis->count;
        reach += (axis->count - 1) * axis->stride;
    }
    return bytes;
}
