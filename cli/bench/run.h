/* Measures commands: decides their order, records each run, and stops when there are enough. */
#ifndef PYRO_CLI_BENCH_RUN_H
#define PYRO_CLI_BENCH_RUN_H

#include "cli/bench/plan.h"

#include <pyrometer/bench.h>

typedef struct pyro_amounts {
    double *values;
    size_t count, capacity;
} pyro_amounts;

/* A command in a folder, and its measurements. */
typedef struct pyro_subject {
    const pyro_planned *planned;
    const char *folder; /* NULL: the current folder */
    pyro_loop *loop;
    pyro_amounts user_ms, system_ms, memory_bytes;
    size_t failures;    /* runs that failed and were ignored */
    bool failed;
    char message[300];
} pyro_subject;

typedef struct pyro_runner {
    const char *shell; /* NULL: none */
    bool show_output, ignore_failure, sequential, quiet;
    uint64_t seed;
    pyro_loop_options loop;
    double shell_wall_ns, shell_user_ns, shell_system_ns; /* subtracted; see calibrate */
    /* Called after each round; may end loops with pyro_loop_stop. May be NULL. */
    int (*after_round)(void *user, pyro_subject *subjects, size_t count, pyro_error *error);
    void *user;
} pyro_runner;

/* Runs the shell with an empty command, to measure its overhead. */
int pyro_runner_calibrate(pyro_runner *runner, pyro_error *error);

/*
 * Runs all commands until each has enough samples: in rounds with random order, or one after the
 * other. A command that fails is not run again; the others continue. Stops early on Ctrl-C.
 */
int pyro_runner_run(pyro_runner *runner, pyro_subject *subjects, size_t count, pyro_error *error);
void pyro_subjects_free(pyro_subject *subjects, size_t count);

/* Adds a subject's measurements to a set of results. */
int pyro_runner_store(const pyro_runner *runner, pyro_bench *bench, const pyro_subject *subject,
                      pyro_error *error);

#endif
