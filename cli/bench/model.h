/* Measures a model in the user's Python and reads the results. */
#ifndef PYRO_CLI_BENCH_MODEL_H
#define PYRO_CLI_BENCH_MODEL_H

#include "cli/options/options.h"

#include <pyrometer/bench.h>

/* Values of pyro_bench_model_options. */
typedef struct pyro_bench_model_values {
    const char *path, *device, *precision, *batch_size, *input_shape, *python;
    int64_t processes;
    bool autocast, detailed, try_variants, cold_cache;
} pyro_bench_model_values;

#define PYRO_BENCH_MODEL_INIT {.processes = 0}

extern const pyro_option pyro_bench_model_options[];

/* How often to run, from the command's options; negative or 0: not given. */
typedef struct pyro_bench_model_runs {
    int64_t warmup, runs, min_runs, max_runs;
    double max_time_s; /* 0: not given */
    const pyro_words *thresholds;
} pyro_bench_model_runs;

/* A model to measure, and the results of its processes. */
typedef struct pyro_model_side {
    const char *path;
    const char *folder;                      /* where its code runs; NULL: the current folder */
    const char *checkout_from, *checkout_to; /* maps sys.path from the first to the second */
    bool only_times;                         /* no FLOPs and no recording */
    pyro_bench *bench;                       /* NULL: not measured */
} pyro_model_side;

/* The number of processes per side. */
typedef struct pyro_model_rounds {
    int64_t count; /* at most */
    uint64_t seed; /* for the order in each round */
    bool quiet;
    /* Called after each round with the number of rounds: sets *enough to stop. May be NULL. */
    int (*is_enough)(void *user, int64_t done, bool *enough, pyro_error *error);
    void *user;
} pyro_model_rounds;

/*
 * Measures all sides in turn, each in a new process, until there are enough or Ctrl-C. Returns an
 * exit code; the error is already reported when it is not 0.
 */
int pyro_bench_model_measure(pyro_model_side *sides, size_t side_count,
                             const pyro_bench_model_values *values,
                             const pyro_bench_model_runs *runs, const pyro_model_rounds *rounds);

#endif
