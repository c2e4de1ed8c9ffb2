/* pyrometer check: compares our FLOP count of models with other counters. */
#include "cli/check/counters.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/options/share.h"

#include "base/error.h"
#include "report/writers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_MODEL "resnet18"

typedef struct check_values {
    pyro_words models;
    int against;
    const char *tolerance;
    pyro_pricing pricing;
    pyro_common common;
} check_values;

enum { AGAINST_FVCORE, AGAINST_TORCH, AGAINST_TORCHVISION, AGAINST_ALL };

static const char *const against_names[] = {"fvcore", "torch", "torchvision", "all", NULL};

static const pyro_option check_options[] = {
    {.long_name = "model",
     .kind = PYRO_OPTION_LIST,
     .offset = offsetof(check_values, models),
     .metavar = "MODEL",
     .help = "Model to check; the same as an operand.",
     .default_text = DEFAULT_MODEL,
     .completion = PYRO_COMPLETE_MODEL},
    {.long_name = "models",
     .kind = PYRO_OPTION_LIST,
     .offset = offsetof(check_values, models),
     .metavar = "MODEL,...",
     .help = "Comma-separated list of models.",
     .completion = PYRO_COMPLETE_MODEL},
    {.long_name = "against",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(check_values, against),
     .metavar = "COUNTER",
     .help = "Counter to compare with. fvcore and torch (FlopCounterMode) run the model in Python. "
             "torchvision is the table published with its weights and needs no Python.",
     .default_text = "fvcore",
     .choices = against_names},
    {.long_name = "tolerance",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(check_values, tolerance),
     .metavar = "SHARE",
     .help = "Exit with 1 when a difference is larger than this: 10%, or 0.1.",
     .default_text = "10%"},
    {.long_name = NULL},
};

static const pyro_option_group check_groups[] = {
    {"Models and counters:", check_options, 0},
    {"Sizes:", pyro_size_options, offsetof(check_values, pricing)},
    {"Python:", pyro_python_options, offsetof(check_values, pricing)},
    {"Output:", pyro_common_options, offsetof(check_values, common)},
    {NULL, NULL, 0},
};

static int price_models(pyro_priced *priced, const pyro_words *specs, const pyro_pricing *pricing)
{
    for (size_t i = 0; i < specs->count; i++) {
        pyro_error error;

        pyro_error_clear(&error);
        if (pyro_price_model(&priced[i], specs->items[i], pricing, &error) != PYRO_OK)
            return pyro_common_fail(specs->items[i], &error);
    }
    return PYRO_EXIT_FINE;
}

/* 1 when a difference is too large, 2 when a comparison failed, else 0. */
static int verdict(const pyro_check *check)
{
    int exit_code = PYRO_EXIT_FINE;

    for (size_t i = 0; i < check->count; i++) {
        const pyro_check_row *row = &check->rows[i];

        if (row->error || row->unpriced > 0)
            exit_code = PYRO_EXIT_ERROR;
        else if (!pyro_check_within(check, row))
            return PYRO_EXIT_POLICY;
    }
    return exit_code;
}

static int write_check(const pyro_check_session *session, const pyro_common *common)
{
    pyro_report_options options = pyro_common_report(common);
    pyro_error error;
    pyro_report_request request = {.kind = PYRO_REPORT_CHECK,
                                   .format = common->format,
                                   .options = &options,
                                   .error = &error,
                                   .check = &session->check};
    char *text = NULL;
    size_t size = 0;

    pyro_error_clear(&error);
    if (pyro_report_write(&text, &size, &request) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    int exit_code = pyro_common_write(common, text, size);
    pyro_free(text);
    return exit_code != PYRO_EXIT_FINE ? exit_code : verdict(&session->check);
}

static int compare(pyro_check_session *session, const check_values *values)
{
    const char *counters[2];
    size_t count = 0;
    int exit_code;

    if (values->against == AGAINST_FVCORE || values->against == AGAINST_ALL)
        counters[count++] = "fvcore";
    if (values->against == AGAINST_TORCH || values->against == AGAINST_ALL)
        counters[count++] = "torch";
    if (count > 0 &&
        !pyro_check_run_counters(session, counters, count, values->pricing.python, &exit_code))
        return exit_code;
    if ((values->against == AGAINST_TORCHVISION || values->against == AGAINST_ALL) &&
        !pyro_check_add_published(session, values->against == AGAINST_TORCHVISION))
        return pyro_common_complain("out of memory");
    return write_check(session, &values->common);
}

static int check_models(const pyro_words *specs, const check_values *values)
{
    pyro_priced *priced = calloc(specs->count, sizeof *priced);
    pyro_check_session session = {.check = {.tolerance = 0.1},
                                  .pricing = &values->pricing,
                                  .priced = priced,
                                  .specs = specs->items,
                                  .model_count = specs->count};
    pyro_error error;
    int exit_code;

    if (!priced)
        return pyro_common_complain("out of memory");
    pyro_arena_init(&session.arena);
    pyro_error_clear(&error);
    if (pyro_share_option(&session.check.tolerance, "tolerance", values->tolerance, false,
                          &error) != PYRO_OK)
        exit_code = pyro_common_complain("%s (see pyrometer check --help)", error.message);
    else
        exit_code = price_models(priced, specs, &values->pricing);
    if (exit_code == PYRO_EXIT_FINE)
        exit_code = compare(&session, values);
    for (size_t i = 0; i < specs->count; i++)
        pyro_priced_free(&priced[i]);
    for (size_t i = 0; i < session.check.count; i++)
        free(session.check.rows[i].reasons);
    free(session.check.rows);
    free(priced);
    pyro_arena_free(&session.arena);
    return exit_code;
}

static int run_check(const pyro_command *command, int argc, char **argv)
{
    check_values values = {.pricing = PYRO_PRICING_INIT, .common = PYRO_COMMON_INIT};
    pyro_words operands = {0};
    pyro_model_words models = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code)) {
        if (pyro_model_words_collect(&models, &values.models, &operands, DEFAULT_MODEL))
            exit_code = check_models(&models.specs, &values);
        else
            exit_code = pyro_common_complain("out of memory");
    }
    pyro_model_words_free(&models);
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example check_examples[] = {
    {"pyrometer check --model resnet50", "Compare with fvcore, which python3 must have."},
    {"pyrometer check --models resnet18,vit_b_16 --against all",
     "Compare with fvcore, torch's own counter and torchvision's table."},
    {"pyrometer check --model vit_b_16 --against torchvision", "Compare without Python."},
    {"pyrometer check --model resnet50 --tolerance 1% -q",
     "In a script: exit code 1 if they differ by more than 1%."},
    {NULL, NULL},
};

const pyro_command cmd_check = {
    .name = "check",
    .summary = "compare our FLOP count with fvcore, torch and torchvision",
    .usage = "[MODEL...] [OPTION...]",
    .description =
        "Compares our FLOP count of a model with the numbers of fvcore, torch's FlopCounterMode or "
        "torchvision's published table, and lists the operators that explain the difference. FLOPs "
        "are 2 x MACs on both sides; the numbers that fvcore and torchvision call FLOPs are MACs, "
        "so they are doubled.\n\n"
        "fvcore and torch run in your Python, on the real model: built by the package that the "
        "catalog names (no weights are downloaded), by FILE.py:FUNCTION, from a folder with a "
        "config.json, or loaded from the .pt2 file. A model that cannot be compared, or that has "
        "operators without a price here, is listed with the reason, and the exit code is 2. A "
        "difference beyond --tolerance exits with 1.",
    .examples = check_examples,
    .groups = check_groups,
    .operands = PYRO_COMPLETE_MODEL,
    .report = PYRO_REPORT_CHECK,
    .run = run_check,
};
