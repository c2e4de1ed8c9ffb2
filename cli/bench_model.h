/* Measuring a model: the user's Python runs it, and its results come back to be judged here. */
#ifndef PYRO_CLI_BENCH_MODEL_H
#define PYRO_CLI_BENCH_MODEL_H

#include "options.h"

#include <pyrometer/bench.h>

/* Values of pyro_bench_model_options. */
typedef struct pyro_bench_model_values {
    const char *path, *device, *precision, *batch_size, *input_shape, *python;
    int64_t processes;
    bool autocast, detailed, try_variants;
} pyro_bench_model_values;

#define PYRO_BENCH_MODEL_INIT {.processes = 1}

extern const pyro_option pyro_bench_model_options[];

/* How often, of the command's own options; negative or 0: not given. */
typedef struct pyro_bench_model_runs {
    int64_t warmup, runs, min_runs, max_runs;
    double max_time_s;
    const pyro_words *thresholds;
} pyro_bench_model_runs;

/* NULL, with what is wrong said and the exit code set. */
pyro_bench *pyro_bench_model_measure(const pyro_bench_model_values *values,
                                     const pyro_bench_model_runs *runs, int *exit_code);

#endif
