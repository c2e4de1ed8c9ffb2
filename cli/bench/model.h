/* Measuring a model: the user's Python runs it, and its results come back to be judged here. */
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

/* How often, of the command's own options; negative or 0: not given. */
typedef struct pyro_bench_model_runs {
    int64_t warmup, runs, min_runs, max_runs;
    double max_time_s; /* 0: not given */
    const pyro_words *thresholds;
} pyro_bench_model_runs;

/* A model that is measured, and what came of its processes. */
typedef struct pyro_model_side {
    const char *path;
    const char *folder;                      /* that its code runs in; NULL: the current one */
    const char *checkout_from, *checkout_to; /* where code of the first lies now; NULL: there */
    bool only_times;                         /* neither FLOPs nor a recording */
    pyro_bench *bench;                       /* NULL: nothing was measured */
} pyro_model_side;

/* How many processes of each side there are. */
typedef struct pyro_model_rounds {
    int64_t count; /* at most */
    uint64_t seed; /* of the order in each round */
    bool quiet;
    /* After each round, with how many there were: whether that is enough; NULL: nobody asks. */
    int (*is_enough)(void *user, int64_t done, bool *enough, pyro_error *error);
    void *user;
} pyro_model_rounds;

/*
 * Measures all sides in turn, each time in a process of its own, until there are enough or Ctrl-C;
 * returns an exit code. Other codes than 0: what is wrong was said.
 */
int pyro_bench_model_measure(pyro_model_side *sides, size_t side_count,
                             const pyro_bench_model_values *values,
                             const pyro_bench_model_runs *runs, const pyro_model_rounds *rounds);

#endif
