/* pyrometer bench: measures commands and models, and compares them with a baseline. */
#include "cli/bench/session.h"
#include "cli/command.h"
#include "cli/process.h"

#include "base/error.h"
#include "bench/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void settle_runs(pyro_bench_job *s)
{
    const pyro_bench_values *values = s->values;
    pyro_loop_options *loop = &s->runner.loop;

    *loop = (pyro_loop_options){
        .warmup_runs = values->warmup >= 0 ? values->warmup : 1,
        .min_runs = values->min_runs > 0 ? values->min_runs : 10,
        .max_runs = values->max_runs > 0 ? values->max_runs : 0,
        .min_time_ns = (int64_t)(values->min_time_s * 1e9),
        .max_time_ns = (int64_t)(values->max_time_s * 1e9), /* 0: the loop's default */
        .seed = (uint64_t)values->seed,
    };
    if (loop->max_runs > 0 && loop->min_runs > loop->max_runs)
        loop->min_runs = loop->max_runs;
    if (values->runs > 0) {
        loop->min_runs = loop->max_runs = values->runs;
        loop->max_time_wins = values->max_time_s > 0;
    }
    if (!values->against)
        return;
    s->rounds = pyro_rounds_plan(&(pyro_rounds_request){.exact = values->runs,
                                                        .least = values->min_runs,
                                                        .most = values->max_runs,
                                                        .side_s = values->max_time_s,
                                                        .total_s = values->total_time_s});
    /* An upper bound: the stopping rule of the comparison ends the loops earlier. */
    loop->min_runs = loop->max_runs = s->rounds.most;
}

static int settle(pyro_bench_job *s, const pyro_words *commands, pyro_error *error)
{
    const pyro_bench_values *values = s->values;
    pyro_plan_request request = {
        .commands = commands,
        .names = &values->names,
        .prepare = &values->prepare,
        .setup = values->setup,
        .cleanup = values->cleanup,
        .parameter_lists = &values->parameter_lists,
        .parameter_scans = &values->parameter_scans,
        .step_text = values->step,
    };
    bool none = values->no_shell || (values->shell && strcmp(values->shell, "none") == 0);

    if (values->min_runs > 0 && values->max_runs > 0 && values->min_runs > values->max_runs)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--min-runs is greater than --max-runs");
    if (values->step && !pyro_parse_number(values->step, &request.step))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--parameter-step-size %.40s: not a number",
                         values->step);
    int status = pyro_bench_job_parse_thresholds(s, error);
    if (status == PYRO_OK)
        status = pyro_bench_job_verify_thresholds(
            s, &(pyro_bench_result){.name = "a command", .engine = "command", .items = 1}, error);
    if (status != PYRO_OK)
        return status;
    s->runner = (pyro_runner){
        .shell = none ? NULL : (values->shell ? values->shell : "sh"),
        .show_output = values->show_output,
        .ignore_failure = values->ignore_failure,
        .sequential = values->sequential && !values->against,
        .quiet = values->common.quiet,
        .seed = (uint64_t)values->seed,
    };
    settle_runs(s);
    status = pyro_verdict_settle(&s->verdict, &values->verdict, error);
    s->verdict.seed = (uint64_t)values->seed;
    return status == PYRO_OK ? pyro_plan_make(&s->plan, &request, error) : status;
}

/* Prints the plan of a comparison; `what` is "runs" or "processes". */
static void start_rounds(pyro_bench_job *s, const char *what)
{
    pyro_rounds_start(&s->rounds, pyro_now_ns());
    if (!s->values->common.quiet)
        pyro_rounds_print_plan(&s->rounds, what);
}

/* Prints the estimated duration once, after the first round with a measurement. */
static void announce(pyro_bench_job *s, double side_s)
{
    if (!s->values->common.quiet && !s->is_announced)
        pyro_rounds_print_estimate(&s->rounds, side_s);
    s->is_announced = true;
}

/* Baseline samples of a subject's command: from the other subject, or from the earlier file. */
static const double *find_base(const pyro_bench_job *s, size_t subject, size_t *count)
{
    if (!s->base.bench) {
        pyro_loop_samples samples = pyro_loop_read(s->subjects[subject - 1].loop);

        *count = samples.count;
        return samples.latency_ns;
    }
    for (size_t i = 0; i < s->base.bench->result_count; i++) {
        const pyro_bench_result *result = &s->base.bench->results[i];
        const pyro_metric *latency = pyro_bench_metric(result, "latency");

        if (strcmp(result->name, s->subjects[subject].planned->name) == 0 && latency) {
            *count = latency->count;
            return latency->samples;
        }
    }
    *count = 0;
    return NULL;
}

static bool has_failed(const pyro_subject *subjects, size_t subject, size_t sides)
{
    return subjects[subject].failed || (sides == 2 && subjects[subject - 1].failed);
}

/* Decides after a round with a measurement whether a command's comparison is done. */
static int is_pair_done(pyro_bench_job *s, size_t subject, bool *done, pyro_error *error)
{
    pyro_loop_samples loop = pyro_loop_read(s->subjects[subject].loop);
    pyro_round_samples samples = {.current_ns = loop.latency_ns,
                                  .current_count = loop.count,
                                  .is_interleaved = !s->base.bench};

    samples.base = find_base(s, subject, &samples.base_count);
    int status = pyro_rounds_is_enough(&s->rounds, &samples, &s->verdict, pyro_now_ns(), done,
                                       error);
    announce(s, pyro_round_samples_side_s(&samples));
    return status;
}

/* Ends the comparison of every command that needs no further round, or failed on one side. */
static int stop_finished_pairs(void *user, pyro_subject *subjects, size_t count, pyro_error *error)
{
    pyro_bench_job *s = user;
    size_t sides = !s->base.bench ? 2 : 1;
    int status = PYRO_OK;

    pyro_rounds_end_round(&s->rounds, pyro_now_ns());
    for (size_t i = sides - 1; i < count && status == PYRO_OK; i += sides) {
        pyro_loop_samples samples = pyro_loop_read(subjects[i].loop);
        bool done = has_failed(subjects, i, sides);

        if (!done && (samples.end != PYRO_LOOP_RUNNING || samples.count == 0))
            continue;
        if (!done)
            status = is_pair_done(s, i, &done, error);
        if (done) {
            pyro_loop_stop(subjects[i].loop);
            if (sides == 2)
                pyro_loop_stop(subjects[i - 1].loop);
        }
    }
    return status;
}

static int make_subjects(pyro_bench_job *s, pyro_error *error)
{
    size_t sides = s->values->against && !s->base.bench ? 2 : 1;

    s->subjects = calloc(s->plan.count * sides + 1, sizeof *s->subjects);
    if (!s->subjects)
        return pyro_fail_memory(error);
    s->subject_count = s->plan.count * sides;
    for (size_t i = 0; i < s->subject_count; i++) {
        s->subjects[i].planned = &s->plan.items[i / sides];
        if (sides == 2 && i % 2 == 0)
            s->subjects[i].folder = s->base.folder;
    }
    if (s->values->against) {
        s->runner.after_round = stop_finished_pairs;
        s->runner.user = s;
    }
    if (s->base.bench)
        pyro_rounds_limit_by_earlier_base(&s->rounds);
    return PYRO_OK;
}

static int store(pyro_bench_job *s, pyro_bench *bench, size_t first, size_t step, pyro_error *error)
{
    int status = PYRO_OK;

    bench->seed = (uint64_t)s->values->seed;
    bench->order = s->runner.sequential ? "sequential" : "interleaved";
    if (s->rounds.out_of_time)
        status = pyro_bench_warn(bench, error, "the comparison ended after %.0f s (--total-time)",
                                 s->rounds.total_s);
    bench->interrupted = pyro_process_interrupted();
    for (size_t i = first; i < s->subject_count && status == PYRO_OK; i += step) {
        status = pyro_runner_store(&s->runner, bench, &s->subjects[i], error);
        if (status == PYRO_OK)
            bench->results[bench->result_count - 1].items = s->values->items;
    }
    return status == PYRO_OK ? pyro_bench_finish(bench, error) : status;
}

/* Stores the results of the base. It ran in turn with the new side, on the same machine state. */
static int store_base(pyro_bench_job *s, pyro_error *error)
{
    int status = pyro_bench_new(&s->base_bench, error);

    if (status == PYRO_OK)
        status = pyro_environment_before(s->base_bench, error);
    if (status == PYRO_OK) {
        s->base_bench->environment.load_1m_before = s->bench->environment.load_1m_before;
        s->base_bench->environment.load_1m_after = s->bench->environment.load_1m_after;
        s->base_bench->environment.other_cpus = s->bench->environment.other_cpus;
        status = pyro_bench_job_mark_rounds(s->base_bench, s->bench, error);
    }
    if (status == PYRO_OK)
        status = store(s, s->base_bench, 0, 2, error);
    return status;
}

static int measure(pyro_bench_job *s, pyro_error *error)
{
    int status = pyro_bench_new(&s->bench, error);

    if (status == PYRO_OK)
        status = pyro_environment_before(s->bench, error);
    if (status == PYRO_OK && s->values->against)
        status = pyro_base_open(&s->base, s->values->against, error);
    if (status == PYRO_OK)
        status = make_subjects(s, error);
    if (status == PYRO_OK)
        status = pyro_runner_calibrate(&s->runner, error);
    if (status == PYRO_OK && s->values->against)
        start_rounds(s, "runs");
    if (status == PYRO_OK)
        status = pyro_runner_run(&s->runner, s->subjects, s->subject_count, error);
    if (status == PYRO_OK)
        status = pyro_environment_after(s->bench, error);
    bool two_sides = s->values->against && !s->base.bench;
    if (status == PYRO_OK && two_sides)
        status = store_base(s, error);
    if (status == PYRO_OK)
        status = store(s, s->bench, two_sides ? 1 : 0, two_sides ? 2 : 1, error);
    return status;
}

static int bench_commands(const pyro_words *commands, const pyro_bench_values *values)
{
    pyro_bench_job s = {.values = values};
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    int status = settle(&s, commands, &error);
    if (status != PYRO_OK) {
        exit_code = pyro_common_complain("%s (see pyrometer bench --help)", error.message);
        pyro_bench_job_free(&s);
        return exit_code;
    }
    pyro_process_begin();
    status = measure(&s, &error);
    pyro_base_leave(&s.base);
    if (status == PYRO_OK)
        status = pyro_bench_job_judge(&s, &error);
    if (status != PYRO_OK) {
        exit_code = pyro_bench_job_fail(&s, &error);
    } else {
        exit_code = pyro_bench_job_write(&s);
        if (exit_code == PYRO_EXIT_FINE)
            exit_code = pyro_bench_job_conclude(&s);
    }
    pyro_bench_job_free(&s);
    pyro_process_end();
    return exit_code;
}

/* Decides after each round of processes whether more are needed; --processes fixes the number. */
static int is_model_done(void *user, int64_t done, bool *enough, pyro_error *error)
{
    pyro_bench_job *s = user;
    const pyro_bench *base = s->base.bench ? s->base.bench : s->sides[0].bench;
    const pyro_bench *current = s->sides[s->base.bench ? 0 : 1].bench;
    int status = PYRO_OK;

    *enough = false;
    pyro_rounds_end_round(&s->rounds, pyro_now_ns());
    if (done == 1 && !s->base.bench)
        status = pyro_bench_job_mark_rounds(s->sides[0].bench, s->sides[1].bench, error);
    if (status == PYRO_OK)
        status = pyro_rounds_are_results_enough(&s->rounds, done, base, current, &s->verdict,
                                                pyro_now_ns(), enough, error);
    announce(s, 0);
    return status;
}

/* Sets the sides (the base first, if it is a model), the process count and the stopping rule. */
static size_t settle_sides(pyro_bench_job *s, pyro_model_rounds *rounds)
{
    const pyro_bench_values *values = s->values;
    size_t count = 0;

    if (s->base.model)
        s->sides[count++] = (pyro_model_side){.path = s->base.model,
                                              .folder = s->base.folder,
                                              .checkout_from = s->base.toplevel,
                                              .checkout_to = s->base.worktree,
                                              .only_times = true};
    s->sides[count++] = (pyro_model_side){.path = values->model.path};
    *rounds = (pyro_model_rounds){.count = values->model.processes > 0 ? values->model.processes
                                                                       : 1,
                                  .seed = (uint64_t)values->seed,
                                  .quiet = values->common.quiet,
                                  .user = s};
    /* Earlier results from one process do not show the variation between processes. */
    if (s->base.model || (s->base.bench && pyro_rounds_base_has_replicates(s->base.bench))) {
        s->rounds = pyro_rounds_plan(&(pyro_rounds_request){.exact = values->model.processes,
                                                            .most = PYRO_ROUNDS_USUAL,
                                                            .total_s = values->total_time_s});
        rounds->count = s->rounds.most;
        rounds->is_enough = is_model_done;
        start_rounds(s, "processes");
    }
    return count;
}

static int measure_model(pyro_bench_job *s)
{
    const pyro_bench_values *values = s->values;
    pyro_bench_model_runs runs = {values->warmup,     values->runs,       values->min_runs,
                                  values->max_runs,   values->max_time_s, /* 0: not given */
                                  &values->thresholds};
    pyro_model_rounds rounds;
    size_t count = settle_sides(s, &rounds);
    int exit_code = pyro_bench_model_measure(s->sides, count, &values->model, &runs, &rounds);
    pyro_error error;

    pyro_base_leave(&s->base);
    s->bench = s->sides[count - 1].bench;
    s->base_bench = count == 2 ? s->sides[0].bench : NULL;
    if (exit_code != PYRO_EXIT_FINE)
        return exit_code;
    pyro_error_clear(&error);
    return pyro_bench_job_judge(s, &error) == PYRO_OK ? pyro_bench_job_write(s)
                                                      : pyro_common_fail(NULL, &error);
}

static int bench_model(const pyro_bench_values *values)
{
    pyro_bench_job s = {.values = values};
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    pyro_process_begin();
    int status = pyro_bench_job_parse_thresholds(&s, &error);
    if (status == PYRO_OK)
        status = pyro_verdict_settle(&s.verdict, &values->verdict, &error);
    s.verdict.seed = (uint64_t)values->seed;
    if (status == PYRO_OK && values->against)
        status = pyro_base_open_model(&s.base, values->against, values->model.path, &error);
    exit_code = status == PYRO_OK ? measure_model(&s) : pyro_bench_job_fail(&s, &error);
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = pyro_bench_job_conclude(&s);
    pyro_bench_job_free(&s);
    pyro_process_end();
    return exit_code;
}

static int bench_operands(const pyro_words *operands, const pyro_bench_values *values)
{
    if (!values->model.path && values->model.cold_cache)
        return pyro_common_complain("--cold-cache requires --model-path");
    if (values->model.path && operands->count > 0)
        return pyro_common_complain("give commands or --model-path, not both");
    if (values->model.path)
        return bench_model(values);
    return operands->count > 0
               ? bench_commands(operands, values)
               : pyro_common_complain("no command given: pyrometer bench 'sleep 0.1' "
                                      "(see pyrometer bench --help)");
}

static int run_bench(const pyro_command *command, int argc, char **argv)
{
    pyro_bench_values values = {.warmup = -1,
                                .seed = 1,
                                .min_time_s = 1,
                                .total_time_s = 600,
                                .items = 1,
                                .model = PYRO_BENCH_MODEL_INIT,
                                .verdict = PYRO_VERDICT_INIT,
                                .common = PYRO_COMMON_INIT};
    pyro_words operands = {0};
    char *database = NULL;
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code)) {
        database = pyro_history_hide_password(values.history.database);
        values.history.database = database;
        exit_code = pyro_bench_check_folder(values.exports.folder);
        if (exit_code == PYRO_EXIT_FINE)
            exit_code = bench_operands(&operands, &values);
    }
    free(database);
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example bench_examples[] = {
    {"pyrometer bench 'grep -r main src' 'rg main src'", "Compare two commands."},
    {"pyrometer bench --prepare 'make clean' -P threads 1 4 'make -j{threads}'",
     "Time a clean build with 1 to 4 threads."},
    {"pyrometer bench './infer' --threshold latency:100ms memory:2GiB --output-dir results",
     "Check limits in continuous integration, and write all reports."},
    {"pyrometer bench --model-path models/latest --threshold latency:100ms "
     "throughput:1000samples/s --output-dir results",
     "Check limits of a model."},
    {"pyrometer bench --against main --setup make './infer' --fail-on regression",
     "Compare the working tree with the branch main."},
    {"pyrometer bench --model-path model.py:build --against main --fail-on regression",
     "Compare a model; each side uses its own code and files."},
    {NULL, NULL},
};

const pyro_command cmd_bench = {
    .name = "bench",
    .alias = "profile",
    .summary = "measure commands and models, and detect regressions",
    .usage = "COMMAND...|--model-path PATH [OPTION...]",
    .description =
        "Runs commands repeatedly, in turn and in random order, until the confidence interval of "
        "the median is narrower than 2% of it. After --max-time it stops and marks the result as "
        "noisy. Reports mean and median with 95% intervals, percentiles (uncertain ones are "
        "marked), user and system time, and the peak memory of the largest process.\n\n"
        "A shell runs each command. Its start-up time is measured first and subtracted; --shell "
        "none runs commands without a shell. Every run is a new process, so the intervals include "
        "the differences between processes.\n\n"
        "--model-path measures a model instead, in the interpreter of --python: latency per call, "
        "throughput, memory, FLOPs and utilization of the machine. Inputs are generated to fit "
        "the model.\n\n"
        "--against compares with a baseline. The verdict is regressed, improved, no change or "
        "cannot tell. Both sides run in turn until the interval of the change is narrow enough: at "
        "least 10 times each, at most 30 times or as often as fits in --max-time, and no longer "
        "than --total-time. The expected duration is printed first. The verdict is computed once, "
        "at the end. docs/reference/statistics.md explains the method.\n\n"
        "pyrometer profile is the same command.",
    .examples = bench_examples,
    .groups = pyro_bench_groups,
    .operands = PYRO_COMPLETE_FILE,
    .report = PYRO_REPORT_BENCH,
    .run = run_bench,
};
