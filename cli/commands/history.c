/* pyrometer history: keeps results over commits, finds where they changed, and alerts. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/history/history.h"
#include "cli/history/store.h"

#include "base/text/suggest.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    pyro_history_verb *run;
} verbs[] = {
    {"add", pyro_history_verb_add},       {"import", pyro_history_verb_add},
    {"list", pyro_history_verb_list},     {"show", pyro_history_verb_show},
    {"trend", pyro_history_verb_trend},   {"changes", pyro_history_verb_changes},
    {"alert", pyro_history_verb_alert},   {"export", pyro_history_verb_export},
    {"bisect", pyro_history_verb_bisect}, {"plan", pyro_history_verb_plan},
    {"gc", pyro_history_verb_collect},
};

static int run_verb(const pyro_history_values *values, const pyro_words *operands)
{
    pyro_suggestion suggestion = PYRO_SUGGESTION(operands->items[0]);

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(operands->items[0], verbs[i].name) == 0)
            return verbs[i].run(values, operands->items + 1, operands->count - 1);
        pyro_suggestion_offer(&suggestion, verbs[i].name);
    }
    return pyro_common_complain("unknown verb %s%s%s (see pyrometer history --help)",
                                operands->items[0],
                                suggestion.nearest ? "; did you mean history " : "",
                                suggestion.nearest ? suggestion.nearest : "");
}

static int run_history(const pyro_command *command, int argc, char **argv)
{
    pyro_history_values values = {.top = -1, .common = PYRO_COMMON_INIT};
    pyro_words operands = {0};
    char *database = NULL;
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code)) {
        database = pyro_history_hide_password(values.database);
        values.database = database;
        exit_code = operands.count > 0
                        ? run_verb(&values, &operands)
                        : pyro_common_complain("history needs a verb, such as add or list (see "
                                               "pyrometer history --help)");
    }
    free(database);
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example history_examples[] = {
    {"pyrometer history add results.json", "Store a result of pyrometer bench."},
    {"pyrometer history import hyperfine.json --machine ci", "Store a result of another tool."},
    {"pyrometer history list --since 30d", "The results of the last month."},
    {"pyrometer history show 12", "All metrics of one result."},
    {"pyrometer history trend 'resnet*' --metric latency", "Draw results over commits."},
    {"pyrometer history changes --since 90d", "Where results changed, as ranges of commits."},
    {"pyrometer history alert --rule 'regression > 3%' --rule 'no data for 7d'",
     "For cron or CI: exit with 1 if a rule fires."},
    {"pyrometer history bisect --good v1.2 --setup make './infer'",
     "Find the commit after v1.2 that made it slower."},
    {"pyrometer history plan --model resnet50 --rate 500/s --p99 120ms",
     "Replicas needed for 500 requests per second."},
    {"pyrometer history export -o history.json",
     "All results with their samples, for a backup or another history."},
    {"pyrometer history gc --dry-run", "What the retention rules would remove."},
    {NULL, NULL},
};

const pyro_command cmd_history = {
    .name = "history",
    .summary = "keep results over commits, find where they changed, alert",
    .usage =
        "add FILE... | list | show RESULT | trend [BENCHMARK] | changes | alert --rule RULE | "
        "bisect --good COMMIT COMMAND... | plan --rate N/s --p99 TIME | export | import FILE... | gc [OPTION...]",
    .description =
        "Keeps results over months. add and import store the JSON of pyrometer bench, trace and "
        "cost, of an exported history, and of hyperfine, pytest-benchmark, Google Benchmark, asv "
        "and github-action-benchmark, with every sample. The same result is stored once, however "
        "often it is added. Project, commit and branch come from the file, from options, from the "
        "variables of GitHub, GitLab and Buildkite, or from git.\n\n"
        "A line is one metric of one benchmark on one class of machine, over time. Every result "
        "also has a fingerprint of its machine: drivers, library versions and settings.\n\n"
        "trend draws a line and marks its change points. changes lists them: the range of commits, "
        "the size, and whether the code, the machine or the method of measurement changed. A "
        "change counts if two of three detectors find it. In a git repository, results are "
        "ordered by commit. alert applies rules: it prints nothing and exits with 0 if no rule "
        "fires, with 1 if one fires, and with 3 if one cannot be judged.\n\n"
        "bisect finds the commit that made a command slower: it checks out each commit into a "
        "temporary folder and compares it with the good commit by pyrometer bench --against.\n\n"
        "plan computes how many replicas serve a rate of requests with p99 within a limit. It "
        "simulates a queue with the recorded samples and prints its assumptions.\n\n"
        "By default the history is an SQLite file; with --db postgresql://... it is in a "
        "PostgreSQL database. Any number of programs may write at the same time, and a killed "
        "one leaves no partial result. The system's SQLite or libpq is loaded when it is needed.\n\n"
        "gc applies the retention rules: by default samples are kept for 90 days, all results for "
        "a year, and then one per line and week.",
    .examples = history_examples,
    .groups = pyro_history_groups,
    .operands = PYRO_COMPLETE_FILE,
    .report = PYRO_REPORT_HISTORY,
    .run = run_history,
};
