/* Sorts, names and sums the rows of a cost. */
#include "report/cost/rows.h"

#include <stdlib.h>
#include <string.h>

const pyro_band pyro_bands[PYRO_BAND_COUNT] = {
    {"< 10", 5}, {"10-50", 30}, {"50-100", 75}, {"> 100", 1000}};

/* Order for qsort: largest first, equal rows in their original order. */
static int order(bool less, bool greater, const pyro_cost_row *a, const pyro_cost_row *b)
{
    if (less || greater)
        return less ? 1 : -1;
    return a < b ? -1 : (a > b ? 1 : 0);
}

static int order_i64(int64_t x, int64_t y, const pyro_cost_row *a, const pyro_cost_row *b)
{
    return order(x<y, x> y, a, b);
}

#define COMPARE(name, member) \
    static int name(const void *left, const void *right) \
    { \
        const pyro_cost_row *a = *(const pyro_cost_row *const *)left; \
        const pyro_cost_row *b = *(const pyro_cost_row *const *)right; \
        return order_i64(a->member, b->member, a, b); \
    }

COMPARE(by_flops, work.flops)
COMPARE(by_macs, work.macs)
COMPARE(by_bytes, memory_bytes)
COMPARE(by_params, work.params)

static int by_intensity(const void *left, const void *right)
{
    const pyro_cost_row *a = *(const pyro_cost_row *const *)left;
    const pyro_cost_row *b = *(const pyro_cost_row *const *)right;

    return order(a->arithmetic_intensity<b->arithmetic_intensity, a->arithmetic_intensity> b
                     ->arithmetic_intensity,
                 a, b);
}

typedef struct sort_kind {
    const char *title;
    int (*compare)(const void *, const void *);
} sort_kind;

static const sort_kind sort_kinds[] = {
    [PYRO_SORT_FLOPS] = {"FLOPs", by_flops},
    [PYRO_SORT_MACS] = {"MACs", by_macs},
    [PYRO_SORT_BYTES] = {"memory", by_bytes},
    [PYRO_SORT_PARAMS] = {"parameters", by_params},
    [PYRO_SORT_AI] = {"arithmetic intensity", by_intensity},
};

const char *pyro_sort_title(pyro_sort key)
{
    return sort_kinds[key].title;
}

const pyro_cost_row **pyro_rows_in_order(const pyro_cost_row *rows, size_t count)
{
    const pyro_cost_row **pointers = count > 0 ? calloc(count, sizeof *pointers) : NULL;

    for (size_t i = 0; pointers && i < count; i++)
        pointers[i] = &rows[i];
    return pointers;
}

/* The first `shown` rows by a comparison, found in one pass: sorting a million rows for ten lines
 * would take longer than pricing them. */
static const pyro_cost_row **first_rows(const pyro_cost_row *rows, size_t count, size_t shown,
                                        int (*compare)(const void *, const void *))
{
    const pyro_cost_row **found = calloc(shown + 1, sizeof *found);
    size_t found_count = 0;

    for (size_t i = 0; found && i < count; i++) {
        const pyro_cost_row *row = &rows[i];
        size_t at = found_count;
        if (at == shown && compare(&row, &found[at - 1]) > 0)
            continue;
        for (; at > 0 && compare(&row, &found[at - 1]) < 0; at--)
            found[at] = found[at - 1];
        found[at] = row;
        found_count += found_count < shown;
    }
    return found;
}

const pyro_cost_row **pyro_rows_sorted(const pyro_cost_row *rows, size_t count, size_t shown,
                                       pyro_sort key)
{
    enum { FEW = 64 };

    if (shown > 0 && shown <= FEW && shown < count)
        return first_rows(rows, count, shown, sort_kinds[key].compare);
    const pyro_cost_row **sorted = pyro_rows_in_order(rows, count);

    if (sorted)
        qsort(sorted, count, sizeof *sorted, sort_kinds[key].compare);
    return sorted;
}

size_t pyro_rows_shown(const pyro_report_options *options, size_t count)
{
    size_t top = options->top > 0 ? (size_t)options->top : PYRO_DEFAULT_TOP;

    return options->top < 0 || top > count ? count : top;
}

static void add_to_sum(pyro_row_sum *sum, const pyro_cost_row *row)
{
    sum->rows++;
    sum->flops += (double)row->work.flops;
    sum->memory_bytes += (double)row->memory_bytes;
}

static size_t band_of(const pyro_cost_row *row, const char *const *names)
{
    const char *name = pyro_band_name(row->arithmetic_intensity);
    size_t band = 0;

    while (band + 1 < PYRO_BAND_COUNT && strcmp(name, names[band]) != 0)
        band++;
    return band;
}

pyro_row_sums pyro_sum_rows(const pyro_cost_row *rows, size_t count)
{
    pyro_row_sums sums = {0};
    const char *names[PYRO_BAND_COUNT];

    for (size_t i = 0; i < PYRO_BAND_COUNT; i++)
        names[i] = pyro_band_name(pyro_bands[i].inside);
    for (size_t i = 0; i < count; i++) {
        add_to_sum(&sums.of_bound[rows[i].bound], &rows[i]);
        if (rows[i].bound != PYRO_BOUND_NONE)
            add_to_sum(&sums.of_band[band_of(&rows[i], names)], &rows[i]);
    }
    return sums;
}

const char *pyro_bound_short(pyro_bound bound)
{
    return bound == PYRO_BOUND_COMPUTE ? "compute" : bound == PYRO_BOUND_MEMORY ? "memory" : "-";
}

const char *pyro_row_band(const pyro_cost_row *row)
{
    return row->bound == PYRO_BOUND_NONE ? "none" : pyro_band_name(row->arithmetic_intensity);
}

const char *pyro_node_layer(const pyro_cost_node *node)
{
    return node->layer[0] != '\0' ? node->layer : "(model)";
}

int64_t pyro_work_bytes(const pyro_work *work)
{
    return work->activation_read_bytes + work->weight_read_bytes + work->written_bytes;
}
