/* Sorts, names and sums the rows of a cost, for its writers. */
#ifndef PYRO_REPORT_COST_ROWS_H
#define PYRO_REPORT_COST_ROWS_H

#include <pyrometer/cost.h>
#include <pyrometer/report.h>

enum { PYRO_DEFAULT_TOP = 10 };

/* Pointers to the rows in their original order; the caller frees the array. NULL as below. */
const pyro_cost_row **pyro_rows_in_order(const pyro_cost_row *rows, size_t count);

/*
 * Pointers to the `shown` largest rows, largest first; rows that are equal keep their order. The
 * caller frees the array; NULL when memory is out (or there are no rows).
 */
const pyro_cost_row **pyro_rows_sorted(const pyro_cost_row *rows, size_t count, size_t shown,
                                       pyro_sort key);

/* "FLOPs", "memory", ...: the name of the key in the title of a sorted table. */
const char *pyro_sort_title(pyro_sort key);

/* How many of `count` rows a table shows: by options->top, also 0 and negative. */
size_t pyro_rows_shown(const pyro_report_options *options, size_t count);

/* Sums of selected rows. */
typedef struct pyro_row_sum {
    size_t rows;
    double flops, memory_bytes; /* used only for shares */
} pyro_row_sum;

/* The bands of arithmetic intensity, lowest first. */
enum { PYRO_BAND_COUNT = 4 };
typedef struct pyro_band {
    const char *range; /* "10-50" */
    double inside;     /* an intensity that lies in it, for pyro_band_name */
} pyro_band;
extern const pyro_band pyro_bands[PYRO_BAND_COUNT];

/* Sums by bound, and by band of the rows that move bytes. */
typedef struct pyro_row_sums {
    pyro_row_sum of_bound[PYRO_BOUND_COMPUTE + 1];
    pyro_row_sum of_band[PYRO_BAND_COUNT];
} pyro_row_sums;
pyro_row_sums pyro_sum_rows(const pyro_cost_row *rows, size_t count);

/* "compute", "memory" or "-": the bound, in short. */
const char *pyro_bound_short(pyro_bound bound);
/* The band of a row; "none" for a row that moves no bytes. */
const char *pyro_row_band(const pyro_cost_row *row);

/* A node's layer as layers are named: the model itself is "(model)". */
const char *pyro_node_layer(const pyro_cost_node *node);
int64_t pyro_work_bytes(const pyro_work *work);

#endif
