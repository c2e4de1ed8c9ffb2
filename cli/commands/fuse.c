/* pyrometer fuse: which operators of a model can run as one kernel, and what that saves. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/options/model.h"

#include <pyrometer/fuse.h>

typedef struct fuse_values {
    int strategy; /* a pyro_fuse_strategy */
    int64_t top;  /* -1: not given */
    pyro_pricing pricing;
    pyro_common common;
} fuse_values;

/* In the order of pyro_fuse_strategy. */
static const char *const strategies[] = {"none", "vertical", "horizontal", "max", NULL};

static const pyro_option fuse_options[] = {
    {.long_name = "strategy",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(fuse_values, strategy),
     .metavar = "NAME",
     .help = "What to fuse. vertical: operators with those that read their results; horizontal: "
             "operators beside each other, such as query, key and value; max: both, and results "
             "that other operators read too.",
     .default_text = "max",
     .choices = strategies},
    {.long_name = "top",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(fuse_values, top),
     .metavar = "N",
     .help = "Number of groups in the table; 0 shows all groups.",
     .default_text = "10",
     .minimum = 0,
     .maximum = 1000000000},
    {.long_name = NULL},
};

static const pyro_option_group fuse_groups[] = {
    {"Fusion:", fuse_options, 0},
    {"Sizes:", pyro_size_options, offsetof(fuse_values, pricing)},
    {"One token of a language model:", pyro_decode_options, offsetof(fuse_values, pricing)},
    {"Pricing:", pyro_pricing_options, offsetof(fuse_values, pricing)},
    {"Python:", pyro_python_options, offsetof(fuse_values, pricing)},
    {"Output:", pyro_common_options, offsetof(fuse_values, common)},
    {NULL, NULL, 0},
};

static int write_fusion(const fuse_values *values, const pyro_fusion *fusion)
{
    pyro_report_options options = pyro_common_report(&values->common);
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    options.top = values->top == 0 ? -1 : values->top > 0 ? (int)values->top : 0;
    pyro_error_clear(&error);
    if (pyro_report_fusion(&text, &size, fusion, &options, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    int exit_code = pyro_common_write(&values->common, text, size);
    pyro_free(text);
    return exit_code;
}

static int fuse_model(const fuse_values *values, const char *spec)
{
    pyro_priced priced = {0};
    pyro_fusion *fusion = NULL;
    pyro_error error;

    pyro_error_clear(&error);
    int status = pyro_price_model(&priced, spec, &values->pricing, &error);
    if (status == PYRO_OK)
        status = pyro_fuse(&fusion, priced.cost, (pyro_fuse_strategy)values->strategy, &error);
    int exit_code = status == PYRO_OK ? write_fusion(values, fusion)
                                      : pyro_common_fail(spec, &error);
    pyro_fusion_free(fusion);
    pyro_priced_free(&priced);
    return exit_code;
}

static int run_fuse(const pyro_command *command, int argc, char **argv)
{
    fuse_values values = {.strategy = PYRO_FUSE_MAX,
                          .top = -1,
                          .pricing = PYRO_PRICING_INIT,
                          .common = PYRO_COMMON_INIT};
    pyro_words operands = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code)) {
        if (operands.count == 1)
            exit_code = fuse_model(&values, operands.items[0]);
        else
            exit_code = pyro_common_complain(
                "fuse needs one model, such as pyrometer fuse resnet50 "
                "(see pyrometer fuse --help)");
    }
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example fuse_examples[] = {
    {"pyrometer fuse resnet50", "Kernels and bytes before and after, and what was fused."},
    {"pyrometer fuse model.pt2 --strategy vertical --verbose", "Every group, in order."},
    {"pyrometer fuse bert_base --batch 8 -o groups.json", "Members of every group, for programs."},
    {NULL, NULL},
};

const pyro_command cmd_fuse = {
    .name = "fuse",
    .summary = "find operators that can run as one kernel, and what that saves",
    .usage = "MODEL [OPTION...]",
    .description =
        "Groups the operators of a model that may legally run as one kernel: convolutions with the "
        "batch norm and activation behind them, matrix products with elementwise work behind them, "
        "chains of norms and elementwise operators, attention, projections of one input, and "
        "products of one size beside each other, such as those of experts. Shows kernels, bytes "
        "and arithmetic intensity before and after. The result depends on the graph, not on a "
        "compiler: it is what a compiler could do.\n\n"
        "A group has one shape to walk, at most one set of rows that it reduces, and no path "
        "that leaves it and comes back. A value that only members read is never written.",
    .examples = fuse_examples,
    .groups = fuse_groups,
    .operands = PYRO_COMPLETE_MODEL,
    .report = PYRO_REPORT_FUSION,
    .run = run_fuse,
};
