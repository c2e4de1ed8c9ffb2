/* What the writers share about rows of a cost: order, names, adding up. */
#ifndef PYRO_REPORT_COST_ROWS_H
#define PYRO_REPORT_COST_ROWS_H

#include <pyrometer/cost.h>
#include <pyrometer/report.h>

enum { PYRO_DEFAULT_TOP = 10 };

/* Pointers to the rows as they are, for the caller to free; NULL as below. */
const pyro_cost_row **pyro_rows_in_order(const pyro_cost_row *rows, size_t count);

/*
 * Pointers to the rows, largest first; rows that are equal keep their order. The caller frees the
 * array; NULL when memory is out (or there are no rows).
 */
const pyro_cost_row **pyro_rows_sorted(const pyro_cost_row *rows, size_t count, pyro_sort key);

/* "FLOPs", "memory", ...: what a table sorted by the key says in its title. */
const char *pyro_sort_title(pyro_sort key);

/* How many of `count` rows a table shows: options->top with its 0 and its negative. */
size_t pyro_rows_shown(const pyro_report_options *options, size_t count);

/* Rows that were picked out of others, added up. */
typedef struct pyro_row_sum {
    size_t rows;
    double flops, memory_bytes; /* only ever turned into shares */
} pyro_row_sum;

pyro_row_sum pyro_sum_bound(const pyro_cost_row *rows, size_t count, pyro_bound bound);

/* The bands of arithmetic intensity, lowest first. */
enum { PYRO_BAND_COUNT = 4 };
typedef struct pyro_band {
    const char *range; /* "10-50" */
    double inside;     /* an intensity that lies in it, for pyro_band_name */
} pyro_band;
extern const pyro_band pyro_bands[PYRO_BAND_COUNT];
pyro_row_sum pyro_sum_band(const pyro_cost_row *rows, size_t count, const pyro_band *band);

/* "compute", "memory" or "-": the bound where there is little room. */
const char *pyro_bound_short(pyro_bound bound);
/* The band of a row; "none" where it moves nothing and so has no intensity. */
const char *pyro_row_band(const pyro_cost_row *row);

/* A node's layer as layers are named: the model itself is "(model)". */
const char *pyro_node_layer(const pyro_cost_node *node);
int64_t pyro_work_bytes(const pyro_work *work);

#endif
