/*
 * Pairs kernels that one run has and the other has not: libraries choose other kernels for the same
 * work. Kernels of one op are the same work if only their template arguments differ, or if the shapes
 * are the same; what is left of an op is paired if it is one old and one new kernel.
 */
#include "analyze/renamed_kernels.h"

#include <stdlib.h>
#include <string.h>

static bool is_gone(const pyro_kernel_change *change)
{
    return change->row.after_calls == 0;
}

static bool is_new(const pyro_kernel_change *change)
{
    return change->row.before_calls == 0;
}

static double time_of(const pyro_kernel_change *change)
{
    return change->row.before_ns + change->row.after_ns;
}

/* Of the same work, the one with the most time first. */
static int by_time(const pyro_kernel_change *a, const pyro_kernel_change *b)
{
    if (time_of(a) != time_of(b))
        return time_of(a) > time_of(b) ? -1 : 1;
    return strcmp(a->row.name, b->row.name);
}

static int by_short_name(const void *left, const void *right)
{
    const pyro_kernel_change *a = *(const pyro_kernel_change *const *)left;
    const pyro_kernel_change *b = *(const pyro_kernel_change *const *)right;
    int order = strcmp(a->op, b->op);
    order = order ? order : strcmp(a->row.short_name, b->row.short_name);
    return order ? order : by_time(a, b);
}

static int by_shapes(const void *left, const void *right)
{
    const pyro_kernel_change *a = *(const pyro_kernel_change *const *)left;
    const pyro_kernel_change *b = *(const pyro_kernel_change *const *)right;
    int order = strcmp(a->op, b->op);
    order = order ? order : strcmp(a->shapes, b->shapes);
    return order ? order : by_time(a, b);
}

/* The new row takes over the old one, which is then left out. */
static void pair(pyro_kernel_change *gone, pyro_kernel_change *new)
{
    new->row.before_name = gone->row.name;
    new->row.before_short_name = gone->row.short_name;
    new->row.before_ns = gone->row.before_ns;
    new->row.before_calls = gone->row.before_calls;
    gone->is_paired = new->is_paired = true;
}

/* Pairs rows of one group in their order: the longest with the longest. */
static void pair_group(pyro_kernel_change **group, size_t count)
{
    for (size_t i = 0, j = 0; i < count; i++) {
        if (!is_gone(group[i]) || group[i]->is_paired)
            continue;
        while (j < count && (!is_new(group[j]) || group[j]->is_paired))
            j++;
        if (j == count)
            return;
        pair(group[i], group[j]);
    }
}

/* An op with one old and one new kernel left. */
static void pair_last(pyro_kernel_change **group, size_t count)
{
    pyro_kernel_change *gone = NULL, *new = NULL;
    size_t gone_count = 0, new_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (group[i]->is_paired)
            continue;
        if (is_gone(group[i]))
            gone = group[i];
        else
            new = group[i];
        gone_count += is_gone(group[i]);
        new_count += is_new(group[i]);
    }
    if (gone_count == 1 && new_count == 1)
        pair(gone, new);
}

/* What kernels of a group have in common, besides the op. */
typedef enum common_part { SHORT_NAME, SHAPES, NOTHING } common_part;

static bool are_together(const pyro_kernel_change *a, const pyro_kernel_change *b, common_part part)
{
    return !strcmp(a->op, b->op) &&
           (part != SHORT_NAME || !strcmp(a->row.short_name, b->row.short_name)) &&
           (part != SHAPES || !strcmp(a->shapes, b->shapes));
}

static void pair_groups(pyro_kernel_change **list, size_t count, common_part part)
{
    if (count)
        qsort(list, count, sizeof *list, part == SHORT_NAME ? by_short_name : by_shapes);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && are_together(list[first], list[end], part);)
            end++;
        if (part == NOTHING)
            pair_last(list + first, end - first);
        else if (part == SHORT_NAME || list[first]->shapes[0])
            pair_group(list + first, end - first);
    }
}

bool pyro_pair_renamed_kernels(pyro_kernel_change *changes, size_t count)
{
    pyro_kernel_change **list = malloc((count + 1) * sizeof *list);
    size_t unmatched = 0;
    if (!list)
        return false;
    for (size_t i = 0; i < count; i++)
        if (changes[i].op[0] && is_gone(&changes[i]) != is_new(&changes[i]))
            list[unmatched++] = &changes[i];
    pair_groups(list, unmatched, SHORT_NAME);
    pair_groups(list, unmatched, SHAPES);
    pair_groups(list, unmatched, NOTHING);
    free(list);
    return true;
}
