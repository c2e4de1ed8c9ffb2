/* The options of pyrometer bench and the values they fill. */
#ifndef PYRO_CLI_BENCH_OPTIONS_H
#define PYRO_CLI_BENCH_OPTIONS_H

#include "cli/bench/model.h"
#include "cli/bench/write.h"
#include "cli/common.h"
#include "cli/history/store.h"
#include "cli/options/verdict.h"

typedef struct pyro_bench_values {
    int64_t warmup, runs, min_runs, max_runs, seed;
    double min_time_s, max_time_s, total_time_s, items;
    pyro_words prepare, names, parameter_lists, parameter_scans, thresholds;
    const char *setup, *cleanup, *step, *shell, *against;
    bool no_shell, ignore_failure, show_output, sequential;
    pyro_bench_model_values model;
    pyro_bench_exports exports;
    pyro_history_store_values history;
    pyro_verdict_values verdict;
    pyro_common common;
} pyro_bench_values;

/* The last entry has no title. */
extern const pyro_option_group pyro_bench_groups[];

#endif
