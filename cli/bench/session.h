/* The state of one call of pyrometer bench, and how its results are judged and written. */
#ifndef PYRO_CLI_BENCH_SESSION_H
#define PYRO_CLI_BENCH_SESSION_H

#include "cli/bench/against.h"
#include "cli/bench/options.h"
#include "cli/bench/rounds.h"
#include "cli/bench/run.h"

/* The state of one call of the command. */
typedef struct pyro_bench_job {
    const pyro_bench_values *values;
    pyro_plan plan;
    pyro_runner runner;
    pyro_rounds rounds; /* of a comparison */
    bool is_announced;  /* the estimated duration was printed */
    pyro_subject *subjects; /* if the base is run: base and new side of each command */
    size_t subject_count;
    pyro_base base;
    pyro_model_side sides[2];       /* for models; if the base is run: base and new side */
    pyro_bench *bench, *base_bench; /* base_bench: measured now, not read from a file */
    pyro_verdict_options verdict;
    pyro_threshold *thresholds;
    pyro_gate_row *gates;
    size_t gate_count;
    pyro_comparison *comparison;
} pyro_bench_job;

int pyro_bench_job_parse_thresholds(pyro_bench_job *s, pyro_error *error);
/* PYRO_ERROR_ARGUMENT when the result has no value in the unit of a threshold. */
int pyro_bench_job_verify_thresholds(const pyro_bench_job *s, const pyro_bench_result *result,
                                     pyro_error *error);
/* Marks both results as interleaved, so that they are compared round by round. */
int pyro_bench_job_mark_rounds(pyro_bench *base, pyro_bench *current, pyro_error *error);
/* Computes thresholds and verdict of the results. */
int pyro_bench_job_judge(pyro_bench_job *s, pyro_error *error);
/* Writes all files and prints the report; returns the exit code. */
int pyro_bench_job_write(const pyro_bench_job *s);
/* The worst exit code of thresholds, verdict and failures. */
int pyro_bench_job_conclude(const pyro_bench_job *s);
/* Reports the error that ended the session; returns the exit code. */
int pyro_bench_job_fail(const pyro_bench_job *s, const pyro_error *error);
void pyro_bench_job_free(pyro_bench_job *s);

#endif
