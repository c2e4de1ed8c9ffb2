/* pyrometer diff: compares two models, two runs, or two results of pyrometer bench. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/commands/diff_traces.h"
#include "cli/github.h"
#include "cli/options/model.h"
#include "report/bench/bench.h"
#include "cli/options/verdict.h"

typedef struct diff_values {
    int64_t top; /* -1: not given */
    pyro_pricing pricing;
    pyro_verdict_values verdict;
    pyro_common common;
} diff_values;

static const pyro_option diff_options[] = {
    {.long_name = "top",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(diff_values, top),
     .metavar = "N",
     .help = "Number of rows in the table of changed layers; 0 shows all.",
     .default_text = "10",
     .minimum = 0,
     .maximum = 1000000000},
    {.long_name = NULL},
};

static const pyro_option_group diff_groups[] = {
    {"Tables:", diff_options, 0},
    {"Sizes of both models:", pyro_size_options, offsetof(diff_values, pricing)},
    {"One token of a language model:", pyro_decode_options, offsetof(diff_values, pricing)},
    {"Pricing:", pyro_pricing_options, offsetof(diff_values, pricing)},
    {"Python:", pyro_python_options, offsetof(diff_values, pricing)},
    {"Verdict on two results:", pyro_verdict_option_table, offsetof(diff_values, verdict)},
    {"Output:", pyro_common_options, offsetof(diff_values, common)},
    {NULL, NULL, 0},
};

/* Two results of pyrometer bench, and what changed between them. */
typedef struct judged {
    pyro_bench *results[2];
    pyro_comparison *comparison;
} judged;

static int table_rows(const diff_values *values)
{
    return values->top == 0 ? -1 : (values->top > 0 ? (int)values->top : 0);
}

/* The comparison, then both models. */
static int write_model_page(const pyro_words *operands, const pyro_priced *priced,
                            const pyro_common *common)
{
    pyro_report_options options = {.format = PYRO_FORMAT_JSON, .top = -1};
    pyro_page *page = NULL;
    pyro_error error;
    char *text = NULL;
    size_t size = 0;

    pyro_error_clear(&error);
    int status = pyro_page_new(&page, NULL, &error);
    if (status == PYRO_OK)
        status = pyro_report_diff(&text, &size, priced[0].cost, priced[1].cost, &options, &error);
    if (status == PYRO_OK)
        status = pyro_page_add_diff(page, "comparison", text, size, &error);
    for (size_t i = 0; i < 2 && status == PYRO_OK; i++)
        status = pyro_page_add_model(page, operands->items[i], priced[i].cost, &error);
    int exit_code = status == PYRO_OK ? pyro_common_write_page(common, page)
                                      : pyro_common_fail(NULL, &error);
    pyro_free(text);
    pyro_page_free(page);
    return exit_code;
}

static int write_diff(const pyro_priced *before, const pyro_priced *after,
                      const diff_values *values)
{
    pyro_report_options options = pyro_common_report(&values->common);
    char *text = NULL;
    size_t size = 0;
    pyro_error error;
    int exit_code;

    options.top = table_rows(values);
    pyro_error_clear(&error);
    if (pyro_report_diff(&text, &size, before->cost, after->cost, &options, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    exit_code = pyro_common_write(&values->common, text, size);
    pyro_free(text);
    return exit_code;
}

static int price_both(const pyro_words *operands, const diff_values *values)
{
    pyro_priced priced[2] = {{NULL, NULL}, {NULL, NULL}};
    int exit_code = PYRO_EXIT_FINE;

    for (size_t i = 0; i < 2 && exit_code == PYRO_EXIT_FINE; i++) {
        pyro_error error;

        pyro_error_clear(&error);
        if (pyro_price_model(&priced[i], operands->items[i], &values->pricing, &error) != PYRO_OK)
            exit_code = pyro_common_fail(operands->items[i], &error);
    }
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = values->common.page ? write_model_page(operands, priced, &values->common)
                                        : write_diff(&priced[0], &priced[1], values);
    pyro_priced_free(&priced[0]);
    pyro_priced_free(&priced[1]);
    return exit_code;
}

/* The verdict, then both results with their samples. */
static int write_bench_page(const pyro_words *operands, const judged *judged,
                            const pyro_common *common)
{
    pyro_report_options options = {.format = PYRO_FORMAT_JSON};
    pyro_page *page = NULL;
    pyro_error error;
    char *text = NULL;
    size_t size = 0;

    pyro_error_clear(&error);
    int status = pyro_page_new(&page, NULL, &error);
    if (status == PYRO_OK)
        status = pyro_report_verdict(&text, &size, judged->comparison, &options, &error);
    if (status == PYRO_OK)
        status = pyro_page_add_diff(page, "comparison", text, size, &error);
    for (size_t i = 0; i < 2 && status == PYRO_OK; i++) {
        pyro_bench_report side = {.bench = judged->results[i]};
        status = pyro_page_add_bench(page, operands->items[i], &side, &error);
    }
    int exit_code = status == PYRO_OK ? pyro_common_write_page(common, page)
                                      : pyro_common_fail(NULL, &error);
    pyro_free(text);
    pyro_page_free(page);
    return exit_code;
}

static int write_verdict_text(const pyro_comparison *comparison, const diff_values *values)
{
    pyro_report_options options = pyro_common_report(&values->common);
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_report_verdict(&text, &size, comparison, &options, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    int exit_code = pyro_common_write(&values->common, text, size);
    pyro_free(text);
    return exit_code;
}

static int write_verdict(const pyro_words *operands, const judged *judged,
                         const diff_values *values)
{
    const pyro_comparison *comparison = judged->comparison;
    int exit_code = values->common.page ? write_bench_page(operands, judged, &values->common)
                                        : write_verdict_text(comparison, values);

    if (exit_code != PYRO_EXIT_FINE)
        return exit_code;
    pyro_verdict_annotate(comparison, &values->verdict);
    pyro_buf summary = PYRO_BUF_INIT;
    pyro_add_verdict_markdown(&summary, comparison);
    if (!summary.failed)
        pyro_github_summarize(summary.data, summary.length);
    pyro_buf_free(&summary);
    return pyro_verdict_exit_code(comparison, &values->verdict);
}

/* Results of another schema are not an error, but give no verdict. */
static int open_results(pyro_bench **out, const char *path)
{
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_bench_open(out, path, &error) == PYRO_OK)
        return PYRO_EXIT_FINE;
    int exit_code = pyro_common_fail(path, &error);
    return error.code == PYRO_ERROR_UNSUPPORTED ? PYRO_EXIT_CANNOT_TELL : exit_code;
}

static int judge_both(const pyro_words *operands, const diff_values *values)
{
    judged judged = {{NULL, NULL}, NULL};
    pyro_verdict_options options;
    int exit_code = PYRO_EXIT_FINE;
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_verdict_settle(&options, &values->verdict, &error) != PYRO_OK)
        return pyro_common_complain("%s (see pyrometer diff --help)", error.message);
    for (size_t i = 0; i < 2; i++) {
        int opened = open_results(&judged.results[i], operands->items[i]);

        /* An error outweighs a missing verdict. */
        if (opened == PYRO_EXIT_ERROR || exit_code == PYRO_EXIT_FINE)
            exit_code = opened;
    }
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = pyro_bench_compare(&judged.comparison, judged.results[0], judged.results[1],
                                       &options, &error) == PYRO_OK
                        ? write_verdict(operands, &judged, values)
                        : pyro_common_fail(NULL, &error);
    else if (exit_code == PYRO_EXIT_CANNOT_TELL)
        exit_code = pyro_verdict_unknown_code(&values->verdict);
    pyro_comparison_free(judged.comparison);
    pyro_bench_free(judged.results[0]);
    pyro_bench_free(judged.results[1]);
    return exit_code;
}

/* Recognizes both inputs by their content: results, traces, else models. */
static int compare_both(const pyro_words *operands, const diff_values *values)
{
    const char *before = operands->items[0], *after = operands->items[1];
    bool results = pyro_bench_recognise(before), traces = pyro_is_trace(before);

    if (results != pyro_bench_recognise(after))
        return pyro_common_complain("%s is a result of pyrometer bench, %s is not",
                                    results ? before : after, results ? after : before);
    if (results)
        return judge_both(operands, values);
    if (traces != pyro_is_trace(after))
        return pyro_common_complain("%s is a trace, %s is not", traces ? before : after,
                                    traces ? after : before);
    return traces ? pyro_diff_traces(before, after, table_rows(values), &values->common)
                  : price_both(operands, values);
}

static int run_diff(const pyro_command *command, int argc, char **argv)
{
    diff_values values = {.top = -1,
                          .pricing = PYRO_PRICING_INIT,
                          .verdict = PYRO_VERDICT_INIT,
                          .common = PYRO_COMMON_INIT};
    pyro_words operands = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code)) {
        if (operands.count == 2) {
            exit_code = compare_both(&operands, &values);
        } else {
            exit_code = pyro_common_complain(
                "diff needs two models, traces or results, got %zu: pyrometer diff BEFORE AFTER",
                operands.count);
        }
    }
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example diff_examples[] = {
    {"pyrometer diff before.pt2 after.pt2", "How a change of the model changed its cost."},
    {"pyrometer diff before.pt2 after.pt2 --depth 1", "The same by top-level module."},
    {"pyrometer diff before.pt2 after.pt2 -o diff.csv", "Every changed layer, for a spreadsheet."},
    {"pyrometer diff base.json new.json --fail-on regression",
     "Exit with 1 when a result of pyrometer bench regressed."},
    {NULL, NULL},
};

const pyro_command cmd_diff = {
    .name = "diff",
    .summary = "show what changed between two models, two runs or two results",
    .usage = "BEFORE AFTER [OPTION...]",
    .description =
        "Compares two models, two traces or two results of pyrometer bench.\n\n"
        "Models are priced as by pyrometer cost. Shown are the totals, then the layers that were "
        "added, removed or changed, largest change of FLOPs first. Layers are matched by their "
        "dotted path (layer1.0.conv1); unchanged layers are only counted. Size and pricing options "
        "apply to both models.\n\n"
        "For two traces or recordings (as for pyrometer trace), shown are the layers, ops and "
        "kernels whose own time per step or pass changed most.\n\n"
        "For two JSON results of pyrometer bench, each metric gets a verdict: regressed, improved, "
        "no change, or cannot tell (too few samples, a different or busy machine). The verdict "
        "'cannot tell' exits with 3, or with 0 and a warning under --fail-on regression. "
        "docs/reference/statistics.md explains the method. If GITHUB_STEP_SUMMARY is set, the "
        "verdict is appended to that file as Markdown.",
    .examples = diff_examples,
    .groups = diff_groups,
    .operands = PYRO_COMPLETE_MODEL,
    .report = PYRO_REPORT_DIFF,
    .run = run_diff,
};
