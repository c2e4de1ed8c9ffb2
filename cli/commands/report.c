/* pyrometer report: shows models, traces, recordings and results as one HTML page. */
#include "cli/command.h"
#include "cli/commands/diff_traces.h"
#include "cli/common.h"
#include "cli/options/model.h"
#include "cli/progress.h"
#include "cli/recording_state.h"

#include "base/error.h"

#include <errno.h>
#include <pyrometer/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Results are small; a larger file is something else. */
#define MAX_RESULT_BYTES (256 << 20)
#define HEAD_BYTES 400
#define DEFAULT_OUTPUT "report.html"

typedef struct report_values {
    const char *title;
    double from_s, to_s;
    const char *steps; /* "3" or "3-5" */
    int64_t events;
    bool strip_paths;
    pyro_pricing pricing;
    pyro_common common;
} report_values;

static const pyro_option page_options[] = {
    {.long_name = "title",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(report_values, title),
     .metavar = "TEXT",
     .help = "Title of the page.",
     .default_text = "the name of the first input"},
    {.long_name = "strip-paths",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(report_values, strip_paths),
     .help = "Leave out the folders of all files, before the page is shared."},
    {.long_name = NULL},
};

static const pyro_option timeline_options[] = {
    {.long_name = "from",
     .kind = PYRO_OPTION_NUMBER,
     .offset = offsetof(report_values, from_s),
     .metavar = "SECONDS",
     .help = "Show the timeline from this time after its start.",
     .default_text = "0",
     .minimum = 0,
     .maximum = 1e9},
    {.long_name = "to",
     .kind = PYRO_OPTION_NUMBER,
     .offset = offsetof(report_values, to_s),
     .metavar = "SECONDS",
     .help = "Show the timeline up to this time.",
     .default_text = "its end",
     .minimum = 0,
     .maximum = 1e9},
    {.long_name = "steps",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(report_values, steps),
     .metavar = "N[-M]",
     .help = "Show the timeline of one step, or from one step to another, by their numbers.",
     .default_text = "all"},
    {.long_name = "events",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(report_values, events),
     .metavar = "N",
     .help = "Keep about this many events in a timeline. The shortest ones are merged, and the "
             "page says how many.",
     .default_text = "1000000",
     .minimum = 1000,
     .maximum = 100000000},
    {.long_name = NULL},
};

static const pyro_option output_options[] = {
    {.long_name = "output",
     .short_name = 'o',
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(report_values, common.output),
     .metavar = "FILE",
     .help = "Write the page to FILE.",
     .default_text = DEFAULT_OUTPUT,
     .completion = PYRO_COMPLETE_FILE,
     .writes = PYRO_WRITES_FILE},
    {.long_name = "quiet",
     .short_name = 'q',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(report_values, common.quiet),
     .help = "Print nothing but errors."},
    {.long_name = "help",
     .short_name = 'h',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(report_values, common.help),
     .help = "Show this help."},
    {.long_name = NULL},
};

static const pyro_option_group report_groups[] = {
    {"Page:", page_options, 0},
    {"Timeline:", timeline_options, 0},
    {"Sizes of models:", pyro_size_options, offsetof(report_values, pricing)},
    {"Python:", pyro_python_options, offsetof(report_values, pricing)},
    {"Output:", output_options, 0},
    {NULL, NULL, 0},
};

/* Whether a regular file begins like a result that a command wrote as JSON. */
static bool is_result(const char *path)
{
    char head[HEAD_BYTES + 1];
    struct stat file;
    size_t length;

    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode))
        return false;
    FILE *stream = fopen(path, "re");
    if (!stream)
        return false;
    length = fread(head, 1, HEAD_BYTES, stream);
    fclose(stream);
    head[length] = '\0';
    return strstr(head, "\"schema\"") && strstr(head, "\"pyrometer.");
}

static int read_whole(char **out, size_t *size, const char *path, pyro_error *error)
{
    FILE *stream = fopen(path, "re");
    pyro_buf buf = PYRO_BUF_INIT;
    char piece[1 << 16];
    size_t length;

    if (!stream)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot open it: %s", strerror(errno));
    while (buf.length <= MAX_RESULT_BYTES && (length = fread(piece, 1, sizeof piece, stream)) > 0)
        pyro_buf_add(&buf, piece, length);
    fclose(stream);
    if (buf.length > MAX_RESULT_BYTES) {
        pyro_buf_free(&buf);
        return pyro_fail(error, PYRO_ERROR_LIMIT, "a result of more than 256 MB");
    }
    *out = pyro_buf_detach(&buf, size);
    return *out ? PYRO_OK : pyro_fail_memory(error);
}

static int add_result(pyro_page *page, const char *path, pyro_error *error)
{
    char *text = NULL;
    size_t size = 0;
    int status = read_whole(&text, &size, path, error);

    if (status == PYRO_OK)
        status = pyro_page_add_json(page, path, text, size, error);
    pyro_free(text);
    return status;
}

/* *is_shown: the page has the trace, or says why it cannot be read. */
static int add_trace(pyro_page *page, const char *path, bool quiet, bool *is_shown)
{
    pyro_progress progress;
    pyro_trace_options reading = {.progress = pyro_progress_update, .progress_user = &progress};
    pyro_analysis_options options = {.step = -1};
    pyro_trace *trace = NULL;
    pyro_analysis *analysis = NULL;
    pyro_peaks peaks;
    pyro_error error;
    int status, exit_code = PYRO_EXIT_FINE;

    pyro_error_clear(&error);
    if (pyro_peaks_load(&peaks))
        options.peaks = &peaks;
    pyro_progress_begin(&progress, path, quiet);
    status = pyro_trace_open(&trace, path, &reading, &error);
    if (status == PYRO_OK)
        status = pyro_trace_analyze(&analysis, trace, &options, &error);
    pyro_progress_end(&progress);
    if (status != PYRO_OK) {
        *is_shown = pyro_common_fail_on_page(page, path, &error);
        exit_code = PYRO_EXIT_ERROR;
    } else if (pyro_page_add_trace(page, trace, analysis, &options, &error) != PYRO_OK) {
        *is_shown = false;
        exit_code = pyro_common_fail(path, &error);
    }
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    return exit_code;
}

static int add_model(pyro_page *page, const char *spec, const pyro_pricing *pricing,
                     pyro_error *error)
{
    pyro_priced priced = {0};
    int status = pyro_price_model(&priced, spec, pricing, error);

    if (status == PYRO_OK)
        status = pyro_page_add_model(page, spec, priced.cost, error);
    pyro_priced_free(&priced);
    return status;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);

    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

/* A damaged trace or recording may have nothing but its name. */
static bool is_trace_by_name(const char *path)
{
    struct stat file;

    return stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
           (ends_with(path, ".pyro") || ends_with(path, ".json") || ends_with(path, ".json.gz"));
}

static int add_input(pyro_page *page, const char *input, const report_values *values,
                     bool *is_shown)
{
    pyro_error error;
    bool is_json = is_result(input);
    int status;

    if (!is_json && (pyro_is_trace(input) || is_trace_by_name(input)))
        return add_trace(page, input, values->common.quiet, is_shown);
    pyro_error_clear(&error);
    status = is_json ? add_result(page, input, &error)
                     : add_model(page, input, &values->pricing, &error);
    *is_shown = status == PYRO_OK;
    return *is_shown ? PYRO_EXIT_FINE : pyro_common_fail(input, &error);
}

/* "3" or "3-5" */
static bool parse_steps(pyro_page_options *options, const char *text)
{
    char *end;

    options->only_steps = text != NULL;
    if (!text)
        return true;
    errno = 0;
    options->first_step = options->last_step = strtoll(text, &end, 10);
    if (end == text || options->first_step < 0)
        return false;
    if (*end == '-') {
        text = end + 1;
        options->last_step = strtoll(text, &end, 10);
    }
    return end != text && *end == '\0' && errno == 0 && options->last_step >= options->first_step;
}

static int write_page(const report_values *values, const pyro_words *inputs)
{
    pyro_page_options options = {
        .title = values->title,
        .from_ns = (int64_t)(values->from_s * 1e9),
        .to_ns = (int64_t)(values->to_s * 1e9),
        .max_events = values->events,
        .strip_paths = values->strip_paths,
    };
    pyro_page *page = NULL;
    pyro_error error;
    bool is_whole = true;
    int exit_code, worst = PYRO_EXIT_FINE;

    pyro_error_clear(&error);
    if (inputs->count == 0)
        return pyro_common_complain("report needs a model, trace, recording or result: pyrometer "
                                    "report INPUT... (see pyrometer report --help)");
    if (!parse_steps(&options, values->steps))
        return pyro_common_complain("--steps: \"%.60s\" is not a number of a step or a range; "
                                    "write 3 or 3-5 (see pyrometer report --help)",
                                    values->steps);
    if (pyro_page_new(&page, &options, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    for (size_t i = 0; i < inputs->count && is_whole; i++) {
        exit_code = add_input(page, inputs->items[i], values, &is_whole);
        worst = exit_code > worst ? exit_code : worst;
    }
    if (is_whole) {
        exit_code = pyro_common_write_page(&values->common, page);
        worst = exit_code > worst ? exit_code : worst;
    }
    for (size_t i = 0; i < inputs->count && worst == PYRO_EXIT_FINE; i++)
        if (!values->common.quiet && pyro_recording_is_growing(inputs->items[i]))
            fprintf(stderr, "%s is still being recorded: pyrometer serve follows it\n",
                    inputs->items[i]);
    pyro_page_free(page);
    return worst;
}

static int run_report(const pyro_command *command, int argc, char **argv)
{
    report_values values = {.pricing = PYRO_PRICING_INIT,
                            .common = {.output = DEFAULT_OUTPUT, .page = true}};
    pyro_words inputs = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &inputs, &exit_code))
        exit_code = write_page(&values, &inputs);
    pyro_words_free(&inputs);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example report_examples[] = {
    {"pyrometer report trace.json.gz -o report.html",
     "Where the time of a run went: findings, layers, timeline, memory."},
    {"pyrometer report resnet50", "Cost of a model, layer by layer."},
    {"pyrometer report before.json after.json results.json",
     "Several results in one file; a menu switches between them."},
    {"pyrometer serve", "A whole folder of them in a browser, following recordings that grow."},
    {"pyrometer report run.pyro --strip-paths -o share.html",
     "Without the folders of this machine."},
    {NULL, NULL},
};

const pyro_command cmd_report = {
    .name = "report",
    .summary = "show any input or result as one HTML page",
    .usage = "INPUT... [-o FILE] [OPTION...]",
    .description =
        "Writes one self-contained HTML file that opens offline in any browser. Inputs are models "
        "(as for pyrometer cost), traces and recordings (as for pyrometer trace), and results that "
        "other commands wrote with --format json.\n\n"
        "The file contains its data and needs no network. Every command that has --output writes "
        "the same page for a name that ends in .html.",
    .examples = report_examples,
    .groups = report_groups,
    .operands = PYRO_COMPLETE_FILE,
    .report = PYRO_REPORT_NONE,
    .run = run_report,
};
