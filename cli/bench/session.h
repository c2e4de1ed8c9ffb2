/* One call of pyrometer bench: what it holds, and what becomes of its results. */
#ifndef PYRO_CLI_BENCH_SESSION_H
#define PYRO_CLI_BENCH_SESSION_H

#include "cli/bench/against.h"
#include "cli/bench/options.h"
#include "cli/bench/rounds.h"
#include "cli/bench/run.h"

/* Everything that one call of the command holds. */
typedef struct pyro_bench_job {
    const pyro_bench_values *values;
    pyro_plan plan;
    pyro_runner runner;
    pyro_rounds rounds; /* of a comparison */
    bool is_announced;  /* how long it will take */
    pyro_subject *subjects; /* with a base to run: base and new of each command in turn */
    size_t subject_count;
    pyro_base base;
    pyro_model_side sides[2];       /* of models; with a base to run: base and new */
    pyro_bench *bench, *base_bench; /* base_bench: what was run here, not the file's */
    pyro_verdict_options verdict;
    pyro_threshold *thresholds;
    pyro_gate_row *gates;
    size_t gate_count;
    pyro_comparison *comparison;
} pyro_bench_job;

int pyro_bench_job_parse_thresholds(pyro_bench_job *s, pyro_error *error);
/* PYRO_ERROR_ARGUMENT where a threshold has a unit that the result has no number in. */
int pyro_bench_job_verify_thresholds(const pyro_bench_job *s, const pyro_bench_result *result,
                                     pyro_error *error);
/* Says in both results that they ran in turn, so that they are compared round by round. */
int pyro_bench_job_mark_rounds(pyro_bench *base, pyro_bench *current, pyro_error *error);
/* Thresholds and verdict of what was measured. */
int pyro_bench_job_judge(pyro_bench_job *s, pyro_error *error);
/* All files and lines; an exit code. */
int pyro_bench_job_write(const pyro_bench_job *s);
/* The exit code: the worst of what thresholds, verdict and failures say. */
int pyro_bench_job_conclude(const pyro_bench_job *s);
/* The exit code of a session that ended in an error, which is printed. */
int pyro_bench_job_fail(const pyro_bench_job *s, const pyro_error *error);
void pyro_bench_job_free(pyro_bench_job *s);

#endif
