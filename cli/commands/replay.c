/* pyrometer replay: writes a script that runs ops of a trace again. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/progress.h"

#include "report/predict/replay.h"
#include "report/writers.h"

#include <stdlib.h>

typedef struct replay_values {
    int64_t op, top; /* -1: not given */
    pyro_common common;
} replay_values;

enum { DEFAULT_TOP = 20 };

static const pyro_option replay_options[] = {
    {.long_name = "op",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(replay_values, op),
     .metavar = "N",
     .help = "Take the op with this number in the list.",
     .minimum = 1,
     .maximum = 1000000000},
    {.long_name = "top",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(replay_values, top),
     .metavar = "N",
     .help = "Take the N ops with the most time; 0 takes all.",
     .default_text = "20",
     .minimum = 0,
     .maximum = 1000000000},
    {.long_name = NULL},
};

static const pyro_option_group replay_groups[] = {
    {"Ops:", replay_options, 0},
    {"Output:", pyro_common_options, offsetof(replay_values, common)},
    {NULL, NULL, 0},
};

static int write_report(const replay_values *values, const char *path, const pyro_replay *replay)
{
    pyro_report_options options = pyro_common_report(&values->common);
    int64_t top = values->top < 0 ? DEFAULT_TOP : values->top;
    pyro_replay_report report = {.file = path, .replay = replay, .last = SIZE_MAX - 1};
    pyro_error error;
    pyro_report_request request = {.kind = PYRO_REPORT_REPLAY,
                                   .format = values->common.format,
                                   .options = &options,
                                   .error = &error,
                                   .replay = &report};
    char *text = NULL;
    size_t size = 0;

    if (values->op > 0)
        report.first = report.last = (size_t)values->op - 1;
    else if (top > 0)
        report.last = (size_t)top - 1;
    if (report.first >= replay->count)
        return pyro_common_complain("--op: %lld: the trace has %zu ops with shapes and time",
                                    (long long)values->op, replay->count);
    pyro_error_clear(&error);
    int exit_code = pyro_report_write(&text, &size, &request) == PYRO_OK
                        ? pyro_common_write(&values->common, text, size)
                        : pyro_common_fail(path, &error);
    pyro_free(text);
    return exit_code;
}

static int replay_file(const replay_values *values, const char *path)
{
    pyro_progress progress;
    pyro_trace_options options = {.progress = pyro_progress_update, .progress_user = &progress};
    pyro_replay *replay = NULL;
    pyro_trace *trace = NULL;
    pyro_error error;

    pyro_error_clear(&error);
    pyro_progress_begin(&progress, path, values->common.quiet);
    int status = pyro_trace_open(&trace, path, &options, &error);
    if (status == PYRO_OK)
        status = pyro_replay_gather(&replay, trace, &error);
    pyro_progress_end(&progress);
    int exit_code = status == PYRO_OK ? write_report(values, path, replay)
                                      : pyro_common_fail(path, &error);
    pyro_replay_free(replay);
    pyro_trace_close(trace);
    return exit_code;
}

static int run_replay(const pyro_command *command, int argc, char **argv)
{
    replay_values values = {.op = -1, .top = -1, .common = PYRO_COMMON_INIT};
    pyro_words files = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &files, &exit_code)) {
        if (files.count != 1)
            exit_code = pyro_common_complain("replay needs one trace: pyrometer replay FILE "
                                             "(see pyrometer replay --help)");
        else if (values.op > 0 && values.top >= 0)
            exit_code = pyro_common_complain("--op and --top exclude each other");
        else
            exit_code = replay_file(&values, files.items[0]);
    }
    pyro_words_free(&files);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example replay_examples[] = {
    {"pyrometer replay run.json.gz", "List the ops with the most time, and whether they can run."},
    {"pyrometer replay run.json.gz --top 10 -o replay.py",
     "Write a script for the ten ops with the most time."},
    {"pyrometer replay run.json.gz --op 3 -o replay.py", "Write a script for one op."},
    {NULL, NULL},
};

const pyro_command cmd_replay = {
    .name = "replay",
    .summary = "write a script that runs ops of a trace again",
    .usage = "FILE [--op N | --top N] [-o replay.py]",
    .description =
        "Lists the ops of a trace or recording with shapes, most time first. With -o FILE.py (or "
        "--format python) it writes a Python script instead, which rebuilds the inputs of the ops "
        "from their recorded shapes, strides, types and scalars, runs and times them, and prints "
        "recorded against replayed time. The script needs torch only: it contains no weights and no "
        "code of the program. Tensors are filled with random numbers; indices of embedding, gather "
        "and scatter are valid.\n\n"
        "What cannot be rebuilt is listed with the reason: ops of other libraries, element types "
        "that torch cannot fill, scalars that the profiler did not record.\n\n"
        "`python replay.py --trace replayed.json` also writes a trace, which pyrometer learn reads.",
    .examples = replay_examples,
    .groups = replay_groups,
    .operands = PYRO_COMPLETE_FILE,
    .report = PYRO_REPORT_REPLAY,
    .run = run_replay,
};
