/* Measuring commands: in which order they run, what is taken down of each, when it is enough. */
#ifndef PYRO_CLI_BENCH_RUN_H
#define PYRO_CLI_BENCH_RUN_H

#include "cli/bench/plan.h"

#include <pyrometer/bench.h>

typedef struct pyro_amounts {
    double *values;
    size_t count, capacity;
} pyro_amounts;

/* A command in a folder, and what was measured of it. */
typedef struct pyro_subject {
    const pyro_planned *planned;
    const char *folder; /* NULL: the current one */
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
    double shell_wall_ns, shell_user_ns, shell_system_ns; /* taken off; see calibrate */
    /* After each round: may stop loops (pyro_loop_stop) that need no more; NULL: nobody asks. */
    int (*after_round)(void *user, pyro_subject *subjects, size_t count, pyro_error *error);
    void *user;
} pyro_runner;

/* Runs the shell with nothing to do, to know what it costs. */
int pyro_runner_calibrate(pyro_runner *runner, pyro_error *error);

/*
 * Runs all until each has enough: round by round in random order, or one after the other. A command
 * that fails ends its own measuring, not the others'. Stops early when interrupted.
 */
int pyro_runner_run(pyro_runner *runner, pyro_subject *subjects, size_t count, pyro_error *error);
void pyro_subjects_free(pyro_subject *subjects, size_t count);

/* Adds a subject's measurements to a set of results. */
int pyro_runner_store(const pyro_runner *runner, pyro_bench *bench, const pyro_subject *subject,
                      pyro_error *error);

#endif
