/* Measures commands: runs them in rounds and stores the samples. */
#include "cli/bench/run.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/text/units.h"
#include "bench/statistics/random.h"
#include "bench/statistics/statistics.h"
#include "cli/process.h"
#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALIBRATION_RUNS = 20, PROGRESS_NAME = 40 };

static pyro_process_spec make_spec(const pyro_runner *runner, const char *command,
                                   const char *folder)
{
    return (pyro_process_spec){command, runner->shell, folder, runner->show_output};
}

int pyro_runner_calibrate(pyro_runner *runner, pyro_error *error)
{
    double wall[CALIBRATION_RUNS], user[CALIBRATION_RUNS], system[CALIBRATION_RUNS];
    pyro_process_spec spec = make_spec(runner, "", NULL);
    pyro_process_result result;

    runner->shell_wall_ns = runner->shell_user_ns = runner->shell_system_ns = 0;
    if (!runner->shell)
        return PYRO_OK;
    for (int i = 0; i < CALIBRATION_RUNS; i++) {
        int status = pyro_process_run(&result, &spec, error);

        if (status != PYRO_OK)
            return status;
        if (pyro_process_interrupted())
            return PYRO_OK;
        if (result.exit_code != 0)
            return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                             "--shell %.60s: cannot run an empty command with -c", runner->shell);
        wall[i] = (double)result.wall_ns;
        user[i] = (double)result.user_ns;
        system[i] = (double)result.system_ns;
    }
    runner->shell_wall_ns = pyro_select(wall, CALIBRATION_RUNS, CALIBRATION_RUNS / 2);
    runner->shell_user_ns = pyro_select(user, CALIBRATION_RUNS, CALIBRATION_RUNS / 2);
    runner->shell_system_ns = pyro_select(system, CALIBRATION_RUNS, CALIBRATION_RUNS / 2);
    return PYRO_OK;
}

static void fail_subject(pyro_subject *subject, const char *what, const char *why)
{
    subject->failed = true;
    snprintf(subject->message, sizeof subject->message, "%s%.200s", what, why);
    pyro_loop_stop(subject->loop);
}

/* Runs a prepare, setup or cleanup command; false when that makes the subject fail. */
static bool run_beside(const pyro_runner *runner, pyro_subject *subject, const char *command,
                       const char *what)
{
    pyro_process_spec spec = make_spec(runner, command, subject->folder);
    pyro_process_result result;
    pyro_error error;
    char text[64];

    if (!command)
        return true;
    pyro_error_clear(&error);
    if (pyro_process_run(&result, &spec, &error) != PYRO_OK) {
        fail_subject(subject, what, error.message);
        return false;
    }
    if (result.exit_code == 0)
        return true;
    snprintf(text, sizeof text, "exit code %d", result.exit_code);
    if (!pyro_process_interrupted())
        fail_subject(subject, what, text);
    return false;
}

static bool add_amount(pyro_amounts *to, double value)
{
    if (!pyro_grow(&to->values, &to->capacity, to->count + 1, sizeof *to->values))
        return false;
    to->values[to->count++] = value;
    return true;
}

static double take_off(int64_t measured_ns, double shell_ns)
{
    double rest = (double)measured_ns - shell_ns;

    return rest > 0 ? rest : 0;
}

static int keep(const pyro_runner *runner, pyro_subject *subject, pyro_loop_phase phase,
                const pyro_process_result *result, pyro_error *error)
{
    double wall_ns = take_off(result->wall_ns, runner->shell_wall_ns);
    double user_ns = take_off(result->user_ns, runner->shell_user_ns);
    double system_ns = take_off(result->system_ns, runner->shell_system_ns);

    if (phase == PYRO_LOOP_MEASURE &&
        (!add_amount(&subject->user_ms, user_ns / 1e6) ||
         !add_amount(&subject->system_ms, system_ns / 1e6) ||
         !add_amount(&subject->memory_bytes, (double)result->peak_bytes)))
        return pyro_fail_memory(error);
    return pyro_loop_record(subject->loop, (int64_t)wall_ns, error);
}

/* One run of one command. */
static int run_once(const pyro_runner *runner, pyro_subject *subject, pyro_error *error)
{
    pyro_process_spec spec = make_spec(runner, subject->planned->command, subject->folder);
    pyro_process_result result;
    pyro_error own;
    char text[96];

    pyro_error_clear(&own);
    if (!run_beside(runner, subject, subject->planned->prepare, "--prepare: "))
        return PYRO_OK;
    pyro_loop_phase phase = pyro_loop_next(subject->loop);
    int status = pyro_process_run(&result, &spec, &own);
    if (status != PYRO_OK) {
        fail_subject(subject, "", own.message);
        return PYRO_OK;
    }
    if (pyro_process_interrupted())
        return PYRO_OK;
    if (result.exit_code != 0 && !runner->ignore_failure) {
        snprintf(text, sizeof text, "exit code %d; --ignore-failure measures it anyway",
                 result.exit_code);
        fail_subject(subject, "", text);
        return PYRO_OK;
    }
    subject->failures += result.exit_code != 0;
    return keep(runner, subject, phase, &result, error);
}

static bool is_done(const pyro_subject *subject)
{
    return subject->failed || pyro_loop_read(subject->loop).end != PYRO_LOOP_RUNNING;
}

static void show_progress(const pyro_runner *runner, const pyro_subject *subject)
{
    pyro_loop_samples samples = pyro_loop_read(subject->loop);
    char mean[PYRO_UNIT_TEXT] = "...";
    pyro_buf name = PYRO_BUF_INIT;

    if (runner->quiet || !isatty(STDERR_FILENO))
        return;
    if (samples.count > 0)
        pyro_format_duration(mean, (int64_t)pyro_mean(samples.latency_ns, samples.count));
    pyro_text_clean(&name, subject->planned->name);
    fprintf(stderr, "\r%.*s: run %zu%s, mean %s\033[K", PROGRESS_NAME, name.failed ? "" : name.data,
            samples.count + 1, samples.count == 0 ? " (warm-up)" : "", mean);
    pyro_buf_free(&name);
}

static void end_progress(const pyro_runner *runner)
{
    if (!runner->quiet && isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static int run_rounds(pyro_runner *runner, pyro_subject *subjects, size_t count, size_t *order,
                      pyro_error *error)
{
    int status = PYRO_OK;
    bool running = true;
    pyro_random random;

    pyro_random_seed(&random, runner->seed);
    while (running && status == PYRO_OK && !pyro_process_interrupted()) {
        running = false;
        pyro_random_order(&random, order, count);
        for (size_t i = 0; i < count && status == PYRO_OK && !pyro_process_interrupted(); i++) {
            pyro_subject *subject = &subjects[order[i]];

            if (is_done(subject))
                continue;
            show_progress(runner, subject);
            status = run_once(runner, subject, error);
            running = true;
        }
        if (status == PYRO_OK && runner->after_round && !pyro_process_interrupted())
            status = runner->after_round(runner->user, subjects, count, error);
    }
    return status;
}

static int run_in_turn(pyro_runner *runner, pyro_subject *subjects, size_t count, pyro_error *error)
{
    int status = PYRO_OK;

    for (size_t i = 0; i < count; i++) {
        while (status == PYRO_OK && !is_done(&subjects[i]) && !pyro_process_interrupted()) {
            show_progress(runner, &subjects[i]);
            status = run_once(runner, &subjects[i], error);
        }
    }
    return status;
}

int pyro_runner_run(pyro_runner *runner, pyro_subject *subjects, size_t count, pyro_error *error)
{
    size_t *order = malloc((count + 1) * sizeof *order);
    int status = order ? PYRO_OK : pyro_fail_memory(error);

    for (size_t i = 0; i < count && status == PYRO_OK; i++)
        status = pyro_loop_new(&subjects[i].loop, &runner->loop, error);
    for (size_t i = 0; i < count && status == PYRO_OK && !pyro_process_interrupted(); i++)
        run_beside(runner, &subjects[i], subjects[i].planned->setup, "--setup: ");
    if (status == PYRO_OK)
        status = runner->sequential ? run_in_turn(runner, subjects, count, error)
                                    : run_rounds(runner, subjects, count, order, error);
    end_progress(runner);
    for (size_t i = 0; i < count; i++) {
        if (!subjects[i].loop)
            continue;
        pyro_loop_stop(subjects[i].loop);
        run_beside(runner, &subjects[i], subjects[i].planned->cleanup, "--cleanup: ");
    }
    free(order);
    return status;
}

void pyro_subjects_free(pyro_subject *subjects, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pyro_loop_free(subjects[i].loop);
        free(subjects[i].user_ms.values);
        free(subjects[i].system_ms.values);
        free(subjects[i].memory_bytes.values);
    }
}

static int store_amounts(pyro_bench *bench, size_t index, const pyro_subject *subject,
                         pyro_error *error)
{
    const struct {
        const char *name, *unit;
        const pyro_amounts *amounts;
    } metrics[] = {
        {"user", "ms", &subject->user_ms},
        {"system", "ms", &subject->system_ms},
        {"memory", "bytes", &subject->memory_bytes},
    };
    int status = PYRO_OK;

    for (size_t i = 0; i < sizeof metrics / sizeof *metrics && status == PYRO_OK; i++)
        if (metrics[i].amounts->count > 0)
            status = pyro_bench_add_metric(bench, index, metrics[i].name, metrics[i].unit, false,
                                           metrics[i].amounts->values, metrics[i].amounts->count,
                                           error);
    return status;
}

static int store_status(const pyro_runner *runner, pyro_bench *bench, size_t index,
                        const pyro_subject *subject, pyro_error *error)
{
    pyro_bench_result *result = &bench->results[index];
    pyro_loop_samples samples = pyro_loop_read(subject->loop);
    double shortest_ns = samples.count > 0 ? samples.latency_ns[0] : 0;

    if (subject->failed)
        result->status = "failed";
    else if (samples.end == PYRO_LOOP_STOPPED && pyro_process_interrupted())
        result->status = "interrupted";
    result->failures = subject->failures;
    result->shell_ms = runner->shell_wall_ns / 1e6;
    for (size_t i = 1; i < samples.count; i++)
        shortest_ns = samples.latency_ns[i] < shortest_ns ? samples.latency_ns[i] : shortest_ns;
    if (runner->shell && samples.count > 0 && shortest_ns < 5e6)
        return pyro_bench_warn(bench, error,
                               "%s: takes less than 5 ms, which is hard to tell from the shell's "
                               "own time; --shell none runs it without one",
                               result->name);
    return PYRO_OK;
}

int pyro_runner_store(const pyro_runner *runner, pyro_bench *bench, const pyro_subject *subject,
                      pyro_error *error)
{
    const pyro_planned *planned = subject->planned;
    size_t index;
    int status = pyro_bench_add(bench, planned->name, "command", &index, error);

    if (status == PYRO_OK)
        status = pyro_bench_set_text(bench, &bench->results[index].command, planned->command,
                                     error);
    if (status == PYRO_OK && subject->message[0] != '\0')
        status = pyro_bench_set_text(bench, &bench->results[index].message, subject->message,
                                     error);
    for (size_t i = 0; i < planned->parameter_count && status == PYRO_OK; i++)
        status = pyro_bench_add_parameter(bench, index, planned->parameters[i].name,
                                          planned->parameters[i].value, error);
    if (status == PYRO_OK)
        status = pyro_bench_add_loop(bench, index, subject->loop, error);
    if (status != PYRO_OK)
        return status;
    /* Every run was a new process. */
    bench->results[index].replicate = PYRO_REPLICATE_PROCESS;
    bench->results[index].process_count = 0;
    if (pyro_loop_read(subject->loop).end == PYRO_LOOP_NOISY)
        status = pyro_bench_set_text(
            bench, &bench->results[index].message,
            "the interval of the median is wider than requested; more --max-runs "
            "or --max-time may help",
            error);
    if (status == PYRO_OK)
        status = store_amounts(bench, index, subject, error);
    return status == PYRO_OK ? store_status(runner, bench, index, subject, error) : status;
}
