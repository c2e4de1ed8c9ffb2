/* Applies thresholds and verdicts to the results of pyrometer bench, and writes them. */
#include "cli/bench/session.h"

#include "cli/command.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int pyro_bench_job_parse_thresholds(pyro_bench_job *s, pyro_error *error)
{
    const pyro_bench_values *values = s->values;

    s->thresholds = calloc(values->thresholds.count + 1, sizeof *s->thresholds);
    if (!s->thresholds)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < values->thresholds.count; i++) {
        int status = pyro_threshold_parse(&s->thresholds[i], values->thresholds.items[i], error);

        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

int pyro_bench_job_verify_thresholds(const pyro_bench_job *s, const pyro_bench_result *result,
                                     pyro_error *error)
{
    int status = PYRO_OK;

    for (size_t i = 0; i < s->values->thresholds.count && status == PYRO_OK; i++)
        status = pyro_threshold_verify(&s->thresholds[i], result, error);
    return status;
}

int pyro_bench_job_mark_rounds(pyro_bench *base, pyro_bench *current, pyro_error *error)
{
    char text[96];

    snprintf(text, sizeof text, "%.40s %lld", current->created, (long long)getpid());
    int status = pyro_bench_set_text(base, &base->rounds, text, error);
    return status == PYRO_OK ? pyro_bench_set_text(current, &current->rounds, text, error) : status;
}

int pyro_bench_job_judge(pyro_bench_job *s, pyro_error *error)
{
    const pyro_bench *base = s->base_bench ? s->base_bench : s->base.bench;
    size_t count = s->values->thresholds.count;

    s->gates = calloc(count * s->bench->result_count + 1, sizeof *s->gates);
    if (!s->gates)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < s->bench->result_count; i++)
        for (size_t j = 0; j < count; j++)
            s->gates[s->gate_count++] = pyro_threshold_check(&s->thresholds[j],
                                                             &s->bench->results[i]);
    return base ? pyro_bench_compare(&s->comparison, base, s->bench, &s->verdict, error) : PYRO_OK;
}

/* Reports failures and thresholds with units that the model does not have; the exit code. */
static int find_failures(const pyro_bench_job *s)
{
    int exit_code = PYRO_EXIT_FINE;
    bool all_failed = s->bench->result_count > 0;

    for (size_t i = 0; i < s->subject_count; i++)
        if (s->subjects[i].failed)
            exit_code = pyro_common_complain("%s: %s", s->subjects[i].planned->name,
                                             s->subjects[i].message);
    for (size_t i = 0; i < s->bench->result_count; i++)
        all_failed = all_failed && strcmp(s->bench->results[i].status, "failed") == 0;
    if (all_failed && exit_code == PYRO_EXIT_FINE)
        exit_code = pyro_common_complain("%s: %s", s->bench->results[0].name,
                                         s->bench->results[0].message ? s->bench->results[0].message
                                                                      : "failed");
    for (size_t i = 0; i < s->bench->result_count && exit_code == PYRO_EXIT_FINE; i++) {
        const pyro_bench_result *result = &s->bench->results[i];
        pyro_error error;

        pyro_error_clear(&error);
        if (result->metric_count > 0 &&
            pyro_bench_job_verify_thresholds(s, result, &error) != PYRO_OK)
            exit_code = pyro_common_complain("%s", error.message);
    }
    return exit_code;
}

/* The worst exit code of thresholds, verdict and failures. */
int pyro_bench_job_conclude(const pyro_bench_job *s)
{
    int exit_code = find_failures(s);
    bool failed = false, cannot_tell = false;

    for (size_t i = 0; i < s->gate_count; i++) {
        failed |= s->gates[i].gate == PYRO_GATE_FAILED;
        cannot_tell |= s->gates[i].gate == PYRO_GATE_CANNOT_TELL;
    }
    if (s->bench->interrupted)
        return PYRO_EXIT_INTERRUPTED;
    if (exit_code != PYRO_EXIT_FINE)
        return exit_code;
    int verdict = s->comparison ? pyro_verdict_exit_code(s->comparison, &s->values->verdict)
                                : PYRO_EXIT_FINE;
    if (failed || verdict == PYRO_EXIT_POLICY)
        return PYRO_EXIT_POLICY;
    return cannot_tell ? PYRO_EXIT_CANNOT_TELL : verdict;
}

/* Never changes the exit code: the measurement stands, whatever happens to the history. */
static void remember(const pyro_bench_job *s)
{
    pyro_bench_report report = {.bench = s->bench};
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    if (!s->values->history.wanted || s->bench->interrupted)
        return;
    pyro_error_clear(&error);
    if (pyro_report_bench(&text, &size, &report, PYRO_BENCH_JSON, NULL, &error) == PYRO_OK)
        pyro_history_store(&s->values->history, text, size);
    else
        pyro_common_fail("history", &error);
    pyro_free(text);
}

int pyro_bench_job_write(const pyro_bench_job *s)
{
    pyro_bench_report report = {
        .bench = s->bench,
        .gates = s->gates,
        .gate_count = s->gate_count,
        .comparison = s->comparison,
        .cannot_tell_passes = pyro_verdict_unknown_code(&s->values->verdict) == PYRO_EXIT_FINE};
    int exit_code = pyro_bench_write_result(&s->values->common, &report);

    if (exit_code == PYRO_EXIT_FINE)
        exit_code = pyro_bench_write_exports(&s->values->exports, &report, s->base_bench);
    pyro_bench_write_annotations(&report);
    if (s->comparison)
        pyro_verdict_annotate(s->comparison, &s->values->verdict);
    pyro_bench_write_summary(&report);
    remember(s);
    return exit_code;
}

void pyro_bench_job_free(pyro_bench_job *s)
{
    pyro_comparison_free(s->comparison);
    pyro_subjects_free(s->subjects, s->subject_count);
    free(s->subjects);
    free(s->gates);
    free(s->thresholds);
    pyro_bench_free(s->bench);
    pyro_bench_free(s->base_bench);
    pyro_base_close(&s->base);
    pyro_plan_free(&s->plan);
}

/* A base of another schema is not an error: there is just no verdict. */
int pyro_bench_job_fail(const pyro_bench_job *s, const pyro_error *error)
{
    int exit_code = pyro_common_fail(NULL, error);

    return error->code == PYRO_ERROR_UNSUPPORTED && s->values->against
               ? pyro_verdict_unknown_code(&s->values->verdict)
               : exit_code;
}
