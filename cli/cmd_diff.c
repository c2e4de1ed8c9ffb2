/* pyrometer diff: what changed between two models, layer by layer. */
#include "command.h"
#include "common.h"
#include "pricing.h"

typedef struct diff_values {
    int64_t top; /* -1: not given */
    pyro_pricing pricing;
    pyro_common common;
} diff_values;

static const pyro_option diff_options[] = {
    {.long_name = "top",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(diff_values, top),
     .metavar = "N",
     .help = "Rows of the table of changed layers; 0 shows them all.",
     .default_text = "10",
     .minimum = 0,
     .maximum = 1000000000},
    {.long_name = NULL},
};

static const pyro_option_group diff_groups[] = {
    {"Tables:", diff_options, 0},
    {"Sizes, of both models:", pyro_size_options, offsetof(diff_values, pricing)},
    {"Pricing:", pyro_pricing_options, offsetof(diff_values, pricing)},
    {"Output:", pyro_common_options, offsetof(diff_values, common)},
    {NULL, NULL, 0},
};

static int write_diff(const pyro_priced *before, const pyro_priced *after,
                      const diff_values *values)
{
    pyro_report_options options = pyro_common_report(&values->common);
    char *text = NULL;
    size_t size = 0;
    pyro_error error;
    int exit_code;

    options.top = values->top == 0 ? -1 : (values->top > 0 ? (int)values->top : 0);
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
        if (pyro_price(&priced[i], operands->items[i], &values->pricing, &error) != PYRO_OK)
            exit_code = pyro_common_fail(operands->items[i], &error);
    }
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = write_diff(&priced[0], &priced[1], values);
    pyro_priced_free(&priced[0]);
    pyro_priced_free(&priced[1]);
    return exit_code;
}

static int run_diff(const pyro_command *command, int argc, char **argv)
{
    diff_values values = {.top = -1, .pricing = PYRO_PRICING_INIT, .common = PYRO_COMMON_INIT};
    pyro_words operands = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code)) {
        if (operands.count == 2) {
            exit_code = price_both(&operands, &values);
        } else {
            exit_code = pyro_common_complain(
                "diff compares two models, %zu given: pyrometer diff BEFORE AFTER", operands.count);
        }
    }
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example diff_examples[] = {
    {"pyrometer diff before.pt2 after.pt2", "What a change of the model did to its cost."},
    {"pyrometer diff before.pt2 after.pt2 --depth 1", "The same by top-level module."},
    {"pyrometer diff before.pt2 after.pt2 -o diff.csv", "Every changed layer, for a spreadsheet."},
    {NULL, NULL},
};

const pyro_command cmd_diff = {
    .name = "diff",
    .summary = "what changed between two models, layer by layer",
    .usage = "BEFORE AFTER [OPTION...]",
    .description =
        "Prices two models as pyrometer cost does and shows what changed: the totals, then the "
        "layers that were added, removed or changed, those whose FLOPs changed most first. Layers "
        "are matched by their dotted path (layer1.0.conv1); those that cost the same in both are "
        "only counted.\n\n"
        "BEFORE and AFTER are models as for pyrometer cost. Sizes and pricing options apply to "
        "both.",
    .examples = diff_examples,
    .groups = diff_groups,
    .operands = PYRO_COMPLETE_MODEL,
    .run = run_diff,
};
