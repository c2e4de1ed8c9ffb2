/* Shared by the builder, the reader and the environment of a set of results. */
#ifndef PYRO_BENCH_RESULTS_RESULTS_H
#define PYRO_BENCH_RESULTS_RESULTS_H

#include "base/containers/arena.h"

#include <pyrometer/bench.h>

/* Limits: a file with more is damaged or hostile. */
enum {
    PYRO_BENCH_RESULTS_MAX = 100000,
    PYRO_BENCH_METRICS_MAX = 1000,
    PYRO_BENCH_PAIRS_MAX = 1000,
    PYRO_BENCH_TABLES_MAX = 100,
    PYRO_BENCH_COLUMNS_MAX = 64,
    PYRO_BENCH_ROWS_MAX = 1000000,
    PYRO_BENCH_SAMPLES_MAX = 100000000
};

/* Processor time that programs have used up to some moment. */
typedef struct pyro_processor_use {
    double all_s, own_s;
    int64_t time_ns;
} pyro_processor_use;

struct pyro_bench_store {
    pyro_bench bench;
    pyro_arena arena;
    /* Counters of the machine at the first look. */
    int64_t swapped_pages_before, throttled_before;
    pyro_processor_use use_before;
};

/*
 * Makes room for one more item in an array in the arena, which is copied whenever its count is a
 * power of two. Returns false when memory is out.
 */
bool pyro_arena_append(pyro_arena *arena, void *items_pointer, size_t count, size_t item_size);

/* Copies a text; NULL stays NULL. */
int pyro_bench_copy(pyro_bench *bench, const char **member, const char *text, size_t length,
                    pyro_error *error);
int pyro_bench_add_pair(pyro_bench *bench, pyro_pair **pairs, size_t *count, const char *name,
                        const char *value, pyro_error *error);

/* Adds a process to a result, with its number of iterations. */
int pyro_bench_add_process(pyro_bench *bench, pyro_bench_result *result, size_t iterations,
                           pyro_error *error);

/* Whether a parameter is the same in two results; inputs are compared by type and shape. */
bool pyro_same_setting(const char *name, const char *base, const char *current);

int pyro_summarize(pyro_summary *out, const double *samples, size_t count, uint64_t seed,
                   pyro_error *error);

#endif
