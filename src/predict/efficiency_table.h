/* The inside of a table of efficiencies. */
#ifndef PYRO_PREDICT_EFFICIENCY_TABLE_H
#define PYRO_PREDICT_EFFICIENCY_TABLE_H

#include "base/containers/arena.h"
#include "base/containers/intern.h"
#include "base/containers/map.h"
#include "predict/efficiency.h"

typedef struct pyro_chip pyro_chip; /* hardware/hardware.h */

/* Sums over samples of logarithms of 2: their number, times, sizes, squares of time by size. */
typedef struct pyro_efficiency_cell {
    double samples, time, size, ratio_squares;
} pyro_efficiency_cell;

/* What lookups need of a chip. */
typedef struct pyro_efficiency_chip_facts {
    const pyro_chip *chip; /* NULL: not in hardware.def */
    double least_log[16];  /* by kind: log2 ns of its fastest row, or of the most overhead */
    double balance_log[PYRO_EFFICIENCY_DTYPES];
} pyro_efficiency_chip_facts;

struct pyro_efficiency_table {
    pyro_arena arena;
    pyro_intern chips, libraries;
    pyro_efficiency_row *rows;
    size_t count, capacity;
    pyro_map by_key; /* of rows: a hash, and the numbers after it */
    /* Made by pyro_efficiency_prepare. */
    pyro_efficiency_cell *cells;
    size_t cell_count, cell_capacity;
    pyro_map cell_of_key;
    uint64_t *octaves; /* of each curve: a bit per octave of size that has a cell */
    size_t curve_count, curve_capacity;
    pyro_map curve_of_key;
    pyro_efficiency_chip_facts *facts; /* by chip */
    struct pyro_near_row *near_rows;   /* of efficiency_near.c, by chip and kind */
    size_t *near_first;                /* by 16 * chip + kind: the first of them */
};

/* Adds a row whose texts are this table's. */
int pyro_efficiency_add_row(pyro_efficiency_table *table, const pyro_efficiency_row *row,
                            pyro_error *error);
/* The buckets of work; and those of a row with one sample, with their logarithms. */
void pyro_efficiency_sizes(uint8_t sizes[PYRO_SIZE_COUNT], const struct pyro_op_work *work);
void pyro_efficiency_set_sizes(pyro_efficiency_row *row, const struct pyro_op_work *work);
/* Id of a text; PYRO_INTERN_NONE after an error: it is too long, or not plain text. */
uint32_t pyro_efficiency_chip_id(pyro_efficiency_table *table, const char *name, pyro_error *error);
uint32_t pyro_efficiency_library_id(pyro_efficiency_table *table, const char *name,
                                    pyro_error *error);

/* An estimate from the most similar rows, in logarithms of 2. */
struct pyro_near_estimate {
    double time_log, spread, distance; /* distance: squared, to the nearest row */
    int samples;
    bool is_other_type; /* the nearest row has another type */
};

/* Prepares the rows, after the facts; finds the time of work (efficiency_near.c). False: the table
 * has none of the kind, or too many. */
int pyro_efficiency_prepare_near(pyro_efficiency_table *table, pyro_error *error);
bool pyro_efficiency_find_near(const pyro_efficiency_table *table, uint32_t chip, int kind,
                               int dtype, const struct pyro_op_work *work,
                               struct pyro_near_estimate *out);

/* Which rows of a prepared table the others predict within a share of their time (thinning). */
void pyro_efficiency_find_predicted(pyro_efficiency_table *table, double tolerance,
                                    bool *predicted);

/* The table that the build embeds. */
extern const unsigned char pyro_shipped_efficiency[];
extern const size_t pyro_shipped_efficiency_size;

#endif
