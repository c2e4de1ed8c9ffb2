/* pyrometer ranks: analyzes the traces of all ranks of a distributed run together. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/model_open.h"
#include "cli/progress.h"
#include "cli/options/regex.h"
#include "cli/options/share.h"

#include <pyrometer/ranks.h>
#include <string.h>

#define LATE_MIN 0.0001

typedef struct ranks_values {
    int view;     /* index of a view, or -1: the overview */
    int64_t top;  /* -1: not given */
    int64_t step; /* -1: not given */
    const char *late;
    double late_share;
    const char *model, *layers_from, *steps_from;
    int64_t threads;
    bool strict;
    pyro_common common;
} ranks_values;

/* In the order of pyro_ranks_view, which begins with the overview. */
static const char *const view_names[] = {"rank", "step", "group", "straggler", NULL};

static const pyro_option table_options[] = {
    {.long_name = "by",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(ranks_values, view),
     .metavar = "WHAT",
     .help = "Show one table instead of the overview. For CSV: the table to write.",
     .default_text = "the overview; rank for CSV",
     .choices = view_names},
    {.long_name = "top",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(ranks_values, top),
     .metavar = "N",
     .help = "Number of rows in text tables; 0 shows all. JSON and CSV always have all rows.",
     .default_text = "16",
     .minimum = 0,
     .maximum = 1000000000},
    {.long_name = "step",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(ranks_values, step),
     .metavar = "N",
     .help = "Analyze only the profiler step with this number.",
     .default_text = "all",
     .minimum = 0,
     .maximum = 2147483647},
    {.long_name = "late",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(ranks_values, late),
     .metavar = "SHARE",
     .help = "Report ranks that are late by at least this share of a step: 2%, or 0.02.",
     .default_text = "5%"},
    {.long_name = NULL},
};

static const pyro_option name_options[] = {
    {.long_name = "model",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(ranks_values, model),
     .metavar = "MODEL",
     .help = "Model that ran, as for pyrometer cost. Gives layers their dotted names if the traces "
             "have only class names.",
     .completion = PYRO_COMPLETE_MODEL},
    {.long_name = "layers-from",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(ranks_values, layers_from),
     .metavar = "REGEX",
     .help = "Take layers from user annotations (record_function). The first group of the regular "
             "expression is the dotted path, as in 'fwd\\|(.*)'."},
    {.long_name = "steps-from",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(ranks_values, steps_from),
     .metavar = "REGEX",
     .help = "Take steps from annotations whose name matches, else from ops, else from Python "
             "frames. Digits in the first group are the step's number, as in 'iteration ([0-9]+)'.",
     .default_text = "ProfilerStep#N, else inferred"},
    {.long_name = NULL},
};

static const pyro_option reading_options[] = {
    {.long_name = "threads",
     .short_name = 'j',
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(ranks_values, threads),
     .metavar = "N",
     .help = "Number of threads; each holds one trace in memory at a time. 0 means one per core.",
     .default_text = "0",
     .minimum = 0,
     .maximum = 1024},
    {.long_name = "strict",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(ranks_values, strict),
     .help = "Exit with 1 when there is a straggler or a damaged file. The result is still "
             "written."},
    {.long_name = NULL},
};

static const pyro_option_group ranks_groups[] = {
    {"Tables:", table_options, 0},
    {"Layers and steps:", name_options, 0},
    {"Reading:", reading_options, 0},
    {"Output:", pyro_common_options, offsetof(ranks_values, common)},
    {NULL, NULL, 0},
};

static int find_files(pyro_rank_files *files, const pyro_words *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        size_t before = files->count;
        pyro_error error;
        pyro_error_clear(&error);
        if (pyro_rank_files_add(files, paths->items[i], &error) != PYRO_OK)
            return pyro_common_fail(paths->items[i], &error);
        if (files->count == before)
            return pyro_common_complain("%s: no traces in this folder (.json, .json.gz, .json.zst, "
                                        ".pyro)",
                                        paths->items[i]);
    }
    return PYRO_EXIT_FINE;
}

/* A file found in a folder may be no trace: that is an error only if its name contains a rank. */
static int report_failures(const pyro_rank_failure *failures, size_t count, bool quiet)
{
    int exit_code = PYRO_EXIT_FINE;
    for (size_t i = 0; i < count; i++) {
        int64_t rank, cycle;
        pyro_rank_of_name(failures[i].file, &rank, &cycle);
        if (!failures[i].from_folder || rank >= 0)
            exit_code = pyro_common_complain("%s: %s", failures[i].file, failures[i].message);
        else if (!quiet)
            pyro_common_complain("%s: skipped: %s", failures[i].file, failures[i].message);
    }
    return exit_code;
}

static int write_answer(const ranks_values *values, const pyro_rank_summary *summary)
{
    pyro_report_options report = pyro_common_report(&values->common);
    pyro_ranks *ranks = NULL;
    char *text = NULL;
    size_t size = 0, damaged = 0;
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    if (values->top >= 0)
        report.top = values->top == 0 ? -1 : (int)values->top;
    if (pyro_ranks_analyze(&ranks, summary, values->late_share, &error) != PYRO_OK ||
        pyro_report_ranks(&text, &size, ranks, (pyro_ranks_view)(values->view + 1), &report,
                          &error) != PYRO_OK) {
        pyro_ranks_free(ranks);
        return pyro_common_fail("ranks", &error);
    }
    exit_code = pyro_common_write(&values->common, text, size);
    for (size_t i = 0; i < ranks->rank_count; i++)
        damaged += ranks->ranks[i].warnings > 0;
    if (damaged > 0 && !values->common.quiet)
        pyro_common_complain("%zu of %zu files are damaged; pyrometer trace FILE shows how",
                             damaged, ranks->rank_count);
    if (exit_code == PYRO_EXIT_FINE && values->strict &&
        (damaged > 0 || ranks->straggler_count > 0))
        exit_code = PYRO_EXIT_POLICY;
    pyro_free(text);
    pyro_ranks_free(ranks);
    return exit_code;
}

static int read_and_answer(const ranks_values *values, const pyro_rank_files *files,
                           pyro_analysis_options *analysis)
{
    pyro_progress progress;
    pyro_rank_reading reading = {.analysis = analysis,
                                 .threads = (int)values->threads,
                                 .progress = pyro_progress_update,
                                 .progress_user = &progress};
    pyro_rank_failure *failures = NULL;
    pyro_rank_summary *summary = NULL;
    size_t failure_count = 0;
    pyro_error error;

    pyro_error_clear(&error);
    pyro_progress_begin(&progress, "ranks", values->common.quiet);
    int status = pyro_rank_files_read(&summary, files, &reading, &failures, &failure_count, &error);
    pyro_progress_end(&progress);
    if (status != PYRO_OK)
        return pyro_common_fail("ranks", &error);
    int exit_code = report_failures(failures, failure_count, values->common.quiet);
    if (pyro_rank_summary_count(summary) > 0) {
        int written = write_answer(values, summary);
        exit_code = written > exit_code ? written : exit_code;
    } else {
        exit_code = pyro_common_complain("no trace of any rank could be read");
    }
    pyro_rank_failures_free(failures, failure_count);
    pyro_rank_summary_free(summary);
    return exit_code;
}

static int answer_paths(const ranks_values *values, const pyro_words *paths)
{
    pyro_analysis_options analysis = {.step = (int)values->step,
                                      .layers_from = values->layers_from,
                                      .steps_from = values->steps_from};
    pyro_rank_files files = {0};
    pyro_error error;
    int exit_code;

    if (paths->count == 0)
        return pyro_common_complain("ranks needs a folder or files: pyrometer ranks DIR "
                                    "(see pyrometer ranks --help)");
    if (!pyro_regex_option("ranks", "--layers-from", values->layers_from, 1) ||
        !pyro_regex_option("ranks", "--steps-from", values->steps_from, 0))
        return PYRO_EXIT_ERROR;
    pyro_error_clear(&error);
    if (values->model && pyro_open_model(&analysis.model, values->model, NULL, &error) != PYRO_OK)
        return pyro_common_fail(values->model, &error);
    exit_code = find_files(&files, paths);
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = read_and_answer(values, &files, &analysis);
    pyro_rank_files_free(&files);
    if (analysis.model)
        pyro_model_close(analysis.model);
    return exit_code;
}

/* False, with an error message, when --late is not a share of a step. */
static bool settle_late(ranks_values *values)
{
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_share_option(&values->late_share, "late", values->late, true, &error) != PYRO_OK)
        pyro_common_complain("%s (see pyrometer ranks --help)", error.message);
    else if (values->late_share < LATE_MIN || values->late_share > 1)
        pyro_common_complain(
            "--late: %s is not from 0.01%% to 100%% of a step (see pyrometer ranks "
            "--help)",
            values->late);
    else
        return true;
    return false;
}

static int run_ranks(const pyro_command *command, int argc, char **argv)
{
    ranks_values values = {
        .view = -1, .top = -1, .step = -1, .late_share = 0.05, .common = PYRO_COMMON_INIT};
    pyro_words paths = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &paths, &exit_code))
        exit_code = settle_late(&values) ? answer_paths(&values, &paths) : PYRO_EXIT_ERROR;
    pyro_words_free(&paths);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example ranks_examples[] = {
    {"pyrometer ranks profiler_logs/", "Which rank is the straggler, and all ranks side by side."},
    {"pyrometer ranks trace_rank_*.json --by rank --top 0", "One row per rank."},
    {"pyrometer ranks profiler_logs/ --by group", "Communication by process group and kind."},
    {"pyrometer ranks profiler_logs/ --step 5", "Only step 5."},
    {"pyrometer ranks profiler_logs/ -j 4 -o ranks.json",
     "Keep at most four traces in memory; write all tables as JSON."},
    {"pyrometer ranks profiler_logs/ --strict -q -o ranks.json",
     "In a script: exit code 1 if there is a straggler."},
    {NULL, NULL},
};

const pyro_command cmd_ranks = {
    .name = "ranks",
    .summary = "find the straggler among the ranks of a distributed run",
    .usage = "DIR|FILE... [OPTION...]",
    .description =
        "Reads the traces of all ranks of a distributed run (from torch.profiler, plain, .gz or "
        ".zst, or recordings of pyrometer) and analyzes them together: how step times differ, "
        "which rank is the straggler and in which layer and op it loses time, how much "
        "communication of each process group is not overlapped with compute, and one row per "
        "rank.\n\n"
        "In synchronous training all ranks wait for the slowest, so their step times are equal. "
        "The straggler shows as the rank that arrives last at collectives. Collectives are matched "
        "across ranks by their numbers in the traces, else by process group, kind, step and order; the clocks are aligned by the ends "
        "of collectives; and the own times of the straggler's layers are compared with those of "
        "the other ranks. Layers need nn.Module frames (torch.profiler.profile(with_stack=True)), "
        "a recording of pyrometer, or --layers-from.\n\n"
        "A folder stands for the traces in it. The rank is read from the file's content, else from "
        "its name (rank_3, trace_rank_3.json). Several files of a rank that follow each other in "
        "time (cycles of the profiler) are taken together; missing ranks are reported. The exit code is 2 when a file that you named cannot be "
        "read.",
    .examples = ranks_examples,
    .groups = ranks_groups,
    .operands = PYRO_COMPLETE_FILE,
    .report = PYRO_REPORT_RANKS,
    .run = run_ranks,
};
