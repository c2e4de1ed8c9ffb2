/* pyrometer cost: predicts the cost of models without running them. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/options/model.h"
#include "cli/options/train.h"

#include "base/containers/buf.h"
#include "report/text.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_MODEL "resnet18"

typedef struct cost_values {
    pyro_words models;
    int64_t top; /* -1: not given */
    int sort;    /* a pyro_sort, or -1: not given */
    bool strict;
    pyro_pricing pricing;
    pyro_training training;
    pyro_common common;
} cost_values;

/* In the order of pyro_sort. */
static const char *const sort_names[] = {"flops", "macs", "bytes", "params", "ai", NULL};

static const pyro_option cost_options[] = {
    {.long_name = "model",
     .kind = PYRO_OPTION_LIST,
     .offset = offsetof(cost_values, models),
     .metavar = "MODEL",
     .help = "Model, or a comma-separated list; the same as operands.",
     .default_text = DEFAULT_MODEL,
     .completion = PYRO_COMPLETE_MODEL},
    {.long_name = "top",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(cost_values, top),
     .metavar = "N",
     .help = "Number of rows in the layer table; 0 shows all layers.",
     .default_text = "10",
     .minimum = 0,
     .maximum = 1000000000},
    {.long_name = "sort",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(cost_values, sort),
     .metavar = "KEY",
     .help = "Sort key of the layer table, largest first. JSON and CSV keep the order of the "
             "graph.",
     .default_text = "flops",
     .choices = sort_names},
    {.long_name = "on",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(cost_values, pricing.on),
     .metavar = "CHIP",
     .help = "Use the ridge of this chip for the model's type: h100, mi300x. --ridge wins. "
             "'pyrometer hardware' lists the chips."},
    {.long_name = "strict",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(cost_values, strict),
     .help = "Exit with 1 when an operator has no price. The result is still written."},
    {.long_name = NULL},
};

static const pyro_option_group cost_groups[] = {
    {"Models and tables:", cost_options, 0},
    {"Sizes:", pyro_size_options, offsetof(cost_values, pricing)},
    {"One token of a language model:", pyro_decode_options, offsetof(cost_values, pricing)},
    {"Pricing:", pyro_pricing_options, offsetof(cost_values, pricing)},
    {"Training:", pyro_train_option_table, offsetof(cost_values, training)},
    {"Python:", pyro_python_options, offsetof(cost_values, pricing)},
    {"Output:", pyro_common_options, offsetof(cost_values, common)},
    {NULL, NULL, 0},
};

typedef struct model_list {
    pyro_model_words words;
    pyro_priced *priced;
    const pyro_cost **costs;
} model_list;

static void model_list_free(model_list *list)
{
    for (size_t i = 0; list->priced && i < list->words.specs.count; i++)
        pyro_priced_free(&list->priced[i]);
    free(list->priced);
    free(list->costs);
    pyro_model_words_free(&list->words);
}

static bool collect_models(model_list *list, const cost_values *values, const pyro_words *operands)
{
    if (!pyro_model_words_collect(&list->words, &values->models, operands, DEFAULT_MODEL))
        return false;
    list->priced = calloc(list->words.specs.count, sizeof *list->priced);
    list->costs = calloc(list->words.specs.count, sizeof *list->costs);
    return list->priced && list->costs;
}

/* Lists operators without a price on standard error; true when all have one. */
static bool check_coverage(const pyro_cost *cost)
{
    size_t count;
    const pyro_uncounted *uncounted = pyro_cost_uncounted(cost, &count);
    int64_t operators = 0;
    pyro_buf names = PYRO_BUF_INIT;

    if (count == 0)
        return true;
    for (size_t i = 0; i < count; i++) {
        operators += uncounted[i].count;
        pyro_buf_addf(&names, "%s %s x%lld (%s)", i == 0 ? "" : ",", uncounted[i].op,
                      (long long)uncounted[i].count, uncounted[i].reason);
    }
    pyro_common_complain("%s: %lld of %lld operators not counted:%s",
                         pyro_model_name(pyro_cost_model(cost)), (long long)operators,
                         (long long)pyro_cost_total(cost)->operators,
                         names.failed ? "" : names.data);
    pyro_buf_free(&names);
    return false;
}

/* True when dimension 0 of the first input is dynamic. */
static bool has_open_batch(pyro_model *model)
{
    pyro_input input;

    return pyro_model_input_count(model) > 0 && pyro_model_input(model, 0, &input, NULL) == 0 &&
           input.rank > 0 && input.symbols && input.symbols[0];
}

/* Appends the model and its sizes: "llama3_8b --decode --past 4096". */
static void add_subject(pyro_buf *buf, const char *spec, const pyro_pricing *pricing,
                        const char *replaced)
{
    static const pyro_pricing defaults = PYRO_PRICING_INIT;

    pyro_shell_word(buf, spec);
    pyro_options_given(buf, pyro_size_options, pricing, &defaults, replaced);
    pyro_options_given(buf, pyro_decode_options, pricing, &defaults, replaced);
    pyro_options_given(buf, pyro_pricing_options, pricing, &defaults, replaced);
    pyro_options_given(buf, pyro_python_options, pricing, &defaults, replaced);
}

typedef struct hint {
    const char *option, *purpose;
    const char *replaces; /* the name of the option that this one replaces */
} hint;

static void add_hint_lines(pyro_buf *buf, const char *spec, const pyro_pricing *pricing,
                           const hint *hints, size_t count)
{
    enum { PURPOSE_WIDTH = 30 };
    pyro_buf lines[4] = {PYRO_BUF_INIT, PYRO_BUF_INIT, PYRO_BUF_INIT, PYRO_BUF_INIT};
    size_t widest = 0;

    for (size_t i = 0; i < count; i++) {
        pyro_buf_adds(&lines[i], "  pyrometer cost ");
        add_subject(&lines[i], spec, pricing, hints[i].replaces);
        pyro_buf_addf(&lines[i], " %s", hints[i].option);
        widest = lines[i].length > widest ? lines[i].length : widest;
    }
    for (size_t i = 0; i < count; i++) {
        pyro_buf_adds(buf, pyro_text_part(buf, &lines[i]));
        /* Either all hints show their purpose or none does, so that the lines look alike. */
        if (widest + 4 + PURPOSE_WIDTH <= PYRO_TEXT_WIDTH)
            pyro_buf_addf(buf, "%*s  # %s", (int)(widest - lines[i].length), "", hints[i].purpose);
        pyro_buf_addc(buf, '\n');
        pyro_buf_free(&lines[i]);
    }
}

/* Appends commands to try next. */
static void add_hints(pyro_buf *buf, const char *spec, const pyro_pricing *pricing,
                      pyro_model *model, bool verbose)
{
    char name[PYRO_FREE_NAME], output[PYRO_FREE_NAME + 3];
    hint hints[4];
    size_t count = 0;

    if (!verbose)
        hints[count++] = (hint){"--verbose", "every module and layer", NULL};
    if (has_open_batch(model) && !pricing->input_shape && pricing->inputs.count == 0)
        hints[count++] = (hint){pricing->batch == 32 ? "--batch 64" : "--batch 32",
                                "another batch size", "batch"};
    if (!pricing->dtype)
        hints[count++] = (hint){"--dtype float16", "the same in half precision", NULL};
    if (pyro_common_free_name(name, "cost")) {
        snprintf(output, sizeof output, "-o %s", name);
        hints[count++] = (hint){output, "all numbers, for programs", NULL};
    }
    pyro_buf_adds(buf, "\nNext:\n");
    add_hint_lines(buf, spec, pricing, hints, count);
}

/* One model with its graph. */
static int write_page(const model_list *list, const cost_values *values)
{
    pyro_page *page = NULL;
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    if (pyro_page_new(&page, NULL, &error) == PYRO_OK &&
        pyro_page_add_model(page, list->words.specs.items[0], list->costs[0], &error) == PYRO_OK)
        exit_code = pyro_common_write_page(&values->common, page);
    else
        exit_code = pyro_common_fail(NULL, &error);
    pyro_page_free(page);
    return exit_code;
}

static int write_report(const model_list *list, const cost_values *values)
{
    pyro_report_options options = pyro_common_report(&values->common);
    size_t count = list->words.specs.count, size = 0;
    char *text = NULL;
    pyro_error error;
    int status, exit_code;

    if (values->common.page && count == 1)
        return write_page(list, values);
    options.top = values->top == 0 || (values->top < 0 && values->sort >= 0 && options.verbose)
                      ? -1
                      : (values->top > 0 ? (int)values->top : 0);
    options.sort = values->sort >= 0 ? (pyro_sort)values->sort : PYRO_SORT_FLOPS;
    pyro_error_clear(&error);
    if (count == 1)
        status = pyro_report_cost(&text, &size, list->costs[0], &options, &error);
    else
        status = pyro_report_compare(&text, &size, list->costs, count, &options, &error);
    if (status != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    exit_code = pyro_common_write(&values->common, text, size);
    pyro_free(text);
    if (exit_code == PYRO_EXIT_FINE && count == 1 && options.format == PYRO_FORMAT_TEXT &&
        !options.quiet && pyro_common_to_stdout(&values->common)) {
        pyro_buf hints = PYRO_BUF_INIT;
        add_hints(&hints, list->words.specs.items[0], &values->pricing, list->priced[0].model,
                  options.verbose);
        exit_code = pyro_common_write(&values->common, hints.data, hints.length);
        pyro_buf_free(&hints);
    }
    return exit_code;
}

static int price_and_write(model_list *list, const cost_values *values)
{
    bool whole = true;
    int exit_code;

    for (size_t i = 0; i < list->words.specs.count; i++) {
        pyro_error error;

        pyro_error_clear(&error);
        if (pyro_price_model(&list->priced[i], list->words.specs.items[i], &values->pricing,
                             &error) != PYRO_OK)
            return pyro_common_fail(list->words.specs.items[i], &error);
        list->costs[i] = list->priced[i].cost;
    }
    exit_code = write_report(list, values);
    if (exit_code != PYRO_EXIT_FINE || !values->strict)
        return exit_code;
    for (size_t i = 0; i < list->words.specs.count; i++)
        whole = check_coverage(list->costs[i]) && whole;
    return whole ? PYRO_EXIT_FINE : PYRO_EXIT_POLICY;
}

/* The report of a training step of one model. */
static int write_training(const char *spec, const cost_values *values,
                          const pyro_train_options *training, pyro_error *error, int *exit_code)
{
    pyro_report_options options = pyro_common_report(&values->common);
    pyro_cost_options cost_options;
    pyro_model *model;
    pyro_train *train = NULL;
    char *text = NULL;
    size_t size = 0;
    int status = pyro_open_sized(&model, spec, &values->pricing, &cost_options, error);

    options.top = values->top == 0 ? -1 : values->top > 0 ? (int)values->top : 0;
    if (status == PYRO_OK)
        status = pyro_train_compute(&train, model, &cost_options, training, error);
    if (status == PYRO_OK)
        status = pyro_report_train(&text, &size, train, &options, error);
    if (status == PYRO_OK)
        *exit_code = pyro_common_write(&values->common, text, size);
    if (status == PYRO_OK && *exit_code == PYRO_EXIT_FINE && values->strict &&
        !check_coverage(pyro_train_cost(train)))
        *exit_code = PYRO_EXIT_POLICY;
    pyro_free(text);
    pyro_train_free(train);
    if (model)
        pyro_model_close(model);
    return status;
}

static int train_and_write(const model_list *list, const cost_values *values,
                           const pyro_train_options *training)
{
    int exit_code = PYRO_EXIT_FINE;
    pyro_error error;

    if (list->words.specs.count != 1)
        return pyro_common_complain("--train prices one model at a time");
    if (values->pricing.decode)
        return pyro_common_complain("--train prices a step over whole sequences: not --decode");
    pyro_error_clear(&error);
    if (write_training(list->words.specs.items[0], values, training, &error, &exit_code) < 0)
        return pyro_common_fail(list->words.specs.items[0], &error);
    return exit_code;
}

static int price_or_train(model_list *list, const cost_values *values)
{
    pyro_train_options training;
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_training_read(&training, &values->training, &error) < 0)
        return pyro_common_fail(NULL, &error);
    return values->training.train ? train_and_write(list, values, &training)
                                  : price_and_write(list, values);
}

static int run_cost(const pyro_command *command, int argc, char **argv)
{
    cost_values values = {
        .top = -1,
        .sort = -1,
        .pricing = PYRO_PRICING_INIT,
        .training = PYRO_TRAINING_INIT,
        .common = PYRO_COMMON_INIT,
    };
    pyro_words operands = {0};
    model_list list = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code)) {
        if (collect_models(&list, &values, &operands))
            exit_code = price_or_train(&list, &values);
        else
            exit_code = pyro_common_complain("out of memory");
    }
    model_list_free(&list);
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example cost_examples[] = {
    {"pyrometer cost resnet18", "Cost of a built-in model by layer, and what bounds it."},
    {"pyrometer cost model.pt2 --verbose", "Every module and layer of your model."},
    {"pyrometer cost model.pt2 --batch 32 --dtype bfloat16",
     "Another batch size (if it is dynamic) and precision."},
    {"pyrometer cost net.py:build --input-shape 1,3,64,64",
     "A function that returns an nn.Module, or the module and its inputs."},
    {"pyrometer cost meta-llama/Llama-3.1-8B --decode --past 8192",
     "One new token of the built-in model for a Hugging Face id."},
    {"pyrometer cost model.pt2 -o cost.csv", "Every layer, for a spreadsheet."},
    {"pyrometer cost resnet50 --batch 32 --train --checkpoint blocks",
     "A training step: FLOPs, gradients, optimizer states, the peak of memory."},
    {"pyrometer cost small.pt2 large.pt2", "Two models side by side."},
    {"pyrometer cost model.pt2 --strict -q -o cost.json",
     "In a script: exit code 1 if an operator has no price."},
    {NULL, NULL},
};

const pyro_command cmd_cost = {
    .name = "cost",
    .summary = "predict what a model costs: parameters, MACs, FLOPs, bytes per layer",
    .usage = "[MODEL...] [OPTION...]",
    .description =
        "Reads a model's graph, not its weights, and computes what one forward pass costs on any "
        "hardware: parameters, multiply-accumulates (MACs), FLOPs, bytes read and written, and "
        "arithmetic intensity, for the model and for each layer. Files and built-in models are not "
        "run and need no PyTorch.\n\n"
        "MODEL is a .pt2 file (torch.export.save(torch.export.export(model, args), "
        "\"model.pt2\")), FILE.pt2:NAME for one of several models in a file, an ONNX file, a "
        "folder with the config.json of a known family, a safetensors or GGUF file (weights only), "
        "or the name of a built-in model or of one that you added (see pyrometer models). Hugging "
        "Face and timm ids (meta-llama/Llama-3.1-8B, timm/resnet50.a1_in1k) select the built-in "
        "model; nothing is downloaded. FILE.py:FUNCTION, package.module:FUNCTION and folders of "
        "other families are first built and exported by the interpreter of --python. All commands "
        "accept these kinds of MODEL. Several models are shown side by side.\n\n"
        "Arithmetic intensity is FLOPs divided by bytes moved. A layer below the ridge is "
        "memory-bound, one above it is compute-bound. Operators without a price are always listed; "
        "--strict makes them an error.",
    .examples = cost_examples,
    .groups = cost_groups,
    .operands = PYRO_COMPLETE_MODEL,
    .report = PYRO_REPORT_COST,
    .run = run_cost,
};
