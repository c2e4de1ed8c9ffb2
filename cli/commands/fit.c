/* pyrometer fit: does a model fit into the memory of one or several GPUs. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/options/model.h"
#include "cli/options/train.h"

#include "base/error.h"
#include "base/text/units.h"

#include <pyrometer/fit.h>

typedef struct fit_values {
    pyro_words chips;
    int64_t gpus, concurrent, micro_batches; /* 0: not given */
    const char *parallel, *cache_dtype, *reserve;
    bool strict;
    pyro_pricing pricing;
    pyro_training training;
    pyro_common common;
} fit_values;

static const pyro_option fit_options[] = {
    {.long_name = "on",
     .kind = PYRO_OPTION_LIST,
     .offset = offsetof(fit_values, chips),
     .metavar = "CHIP",
     .help = "Chip, or a comma-separated list: h100, a100-80gb, l40s, mi300x; or a size of memory: "
             "24GB."},
    {.long_name = "gpus",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(fit_values, gpus),
     .metavar = "N",
     .help = "Number of GPUs.",
     .default_text = "as many as the layout has, else 1",
     .minimum = 1,
     .maximum = 1000000},
    {.long_name = "parallel",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(fit_values, parallel),
     .metavar = "LAYOUT",
     .help = "How GPUs divide the model: tp=8,pp=2,dp=4,ep=8 (tensor, pipeline, data, expert) with "
             "zero1, zero2, zero3 or fsdp for data parallelism and sp for sequence parallelism; or "
             "auto, the cheapest layout that fits, on the fewest GPUs unless --gpus is given.",
     .default_text = "auto with several GPUs"},
    {.long_name = "concurrent",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(fit_values, concurrent),
     .metavar = "N",
     .help = "Number of sequences with keys and values in the cache, per replica.",
     .default_text = "the batch",
     .minimum = 1,
     .maximum = 1e9},
    {.long_name = "kv-cache",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(fit_values, cache_dtype),
     .metavar = "DTYPE",
     .help = "Element type of the key-value cache: bfloat16, fp8, int8, fp4.",
     .default_text = "that of the activations"},
    {.long_name = "micro-batches",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(fit_values, micro_batches),
     .metavar = "N",
     .help = "With --train: micro-batches of --batch sequences per step.",
     .default_text = "one per stage of the pipeline",
     .minimum = 1,
     .maximum = 1000000},
    {.long_name = "reserve",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(fit_values, reserve),
     .metavar = "SIZE",
     .help = "Memory kept for driver, CUDA context and NCCL: 2GB.",
     .default_text = "assumed, and printed"},
    {.long_name = "dtype",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(fit_values, pricing) + offsetof(pyro_pricing, dtype),
     .metavar = "DTYPE",
     .help = "Type of floating-point tensors, such as bfloat16.",
     .default_text = "as in the file"},
    {.long_name = "strict",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(fit_values, strict),
     .help = "Exit with 1 if the model does not fit on some chip."},
    {.long_name = NULL},
};

static const pyro_option_group fit_groups[] = {
    {"Memory:", fit_options, 0},
    {"Sizes:", pyro_size_options, offsetof(fit_values, pricing)},
    {"Training:", pyro_train_option_table, offsetof(fit_values, training)},
    {"Python:", pyro_python_options, offsetof(fit_values, pricing)},
    {"Output:", pyro_common_options, offsetof(fit_values, common)},
    {NULL, NULL, 0},
};

static int write_fit(const fit_values *values, const pyro_fit *fit)
{
    pyro_report_options options = pyro_common_report(&values->common);
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_report_fit(&text, &size, fit, &options, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    int exit_code = pyro_common_write(&values->common, text, size);
    pyro_free(text);
    for (size_t i = 0; values->strict && exit_code == PYRO_EXIT_FINE && i < fit->answer_count; i++)
        if (!fit->answers[i].fits)
            exit_code = PYRO_EXIT_POLICY;
    return exit_code;
}

static int read_options(pyro_fit_options *out, pyro_train_options *training,
                        const fit_values *values, pyro_error *error)
{
    uint64_t reserve = 0;
    int status = pyro_training_read(training, &values->training, error);

    if (status < 0)
        return status;
    if (values->reserve && (!pyro_parse_size(values->reserve, &reserve) || reserve > INT64_MAX))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "--reserve: \"%.60s\" is not a size such as 2GB", values->reserve);
    *out = (pyro_fit_options){
        .gpus = values->gpus,
        .parallel = values->parallel,
        .train = values->training.train ? training : NULL,
        .concurrent = values->concurrent,
        .micro_batches = values->micro_batches,
        .cache_dtype = values->cache_dtype,
        .reserve_bytes = values->reserve ? (int64_t)reserve : -1,
    };
    return PYRO_OK;
}

/* Clears *spec where the options are to blame, not the model. */
static int compute(pyro_fit **out, const fit_values *values, const pyro_words *chips,
                   const char **spec, pyro_error *error)
{
    pyro_cost_options cost_options;
    pyro_train_options training;
    pyro_fit_options options;
    pyro_model *model = NULL;
    int status = read_options(&options, &training, values, error);

    options.chips = chips->items;
    options.chip_count = chips->count;
    options.cost = &cost_options;
    if (status != PYRO_OK) {
        *spec = NULL;
        return status;
    }
    status = pyro_open_sized(&model, *spec, &values->pricing, &cost_options, error);
    if (status == PYRO_OK) {
        status = pyro_fit_compute(out, model, &options, error);
        if (status == PYRO_ERROR_ARGUMENT)
            *spec = NULL;
    }
    if (model)
        pyro_model_close(model);
    return status;
}

static int fit_model(const fit_values *values, const char *spec)
{
    static const pyro_words no_operands = {0};
    pyro_model_words chips = {0};
    pyro_fit *fit = NULL;
    pyro_error error;
    int exit_code;

    if (!values->chips.count)
        return pyro_common_complain("fit needs a chip: --on h100, or a size of memory: --on 24GB");
    pyro_error_clear(&error);
    if (!pyro_model_words_collect(&chips, &values->chips, &no_operands, ""))
        exit_code = pyro_common_complain("out of memory");
    else if (compute(&fit, values, &chips.specs, &spec, &error) != PYRO_OK)
        exit_code = pyro_common_fail(spec, &error);
    else
        exit_code = write_fit(values, fit);
    pyro_fit_free(fit);
    pyro_model_words_free(&chips);
    return exit_code;
}

static int run_fit(const pyro_command *command, int argc, char **argv)
{
    fit_values values = {
        .pricing = PYRO_PRICING_INIT, .training = PYRO_TRAINING_INIT, .common = PYRO_COMMON_INIT};
    pyro_words operands = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code)) {
        if (operands.count == 1)
            exit_code = fit_model(&values, operands.items[0]);
        else
            exit_code = pyro_common_complain("fit needs one model, such as pyrometer fit llama3_8b "
                                             "--on h100 (see pyrometer fit --help)");
    }
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example fit_examples[] = {
    {"pyrometer fit llama3_8b --on l40s --seq 8192",
     "Weights, KV cache and activations on one GPU, and how many sequences fit."},
    {"pyrometer fit llama3_70b --on h100,mi300x --parallel auto --seq 4096",
     "The fewest GPUs that hold it, and how they divide it."},
    {"pyrometer fit llama3_8b --on h100 --gpus 8 --train --seq 4096 --parallel fsdp",
     "A training step, its states divided among 8 GPUs."},
    {"pyrometer fit resnet50 --on 24GB --train --batch 256", "Any size of memory."},
    {"pyrometer fit llama3_8b --on h100 --train --lora 16:q_proj --strict -q -o fit.json",
     "In a script: exit code 1 if it does not fit."},
    {NULL, NULL},
};

const pyro_command cmd_fit = {
    .name = "fit",
    .summary = "check whether a model fits into GPU memory, and find the most that does",
    .usage = "MODEL --on CHIP [OPTION...]",
    .description =
        "Computes what each GPU holds: weights, gradients, optimizer states, activations by the "
        "lives of the model's tensors, a paged key-value cache, buffers, and a reserve whose "
        "assumptions are printed. Compares it with the memory of a chip: yes or no with the "
        "margin, the largest batch, sequence and concurrency that fit, what further measures would "
        "save, and the bytes that GPUs send each other per step.\n\n"
        "With several GPUs the model is divided by tensor, pipeline, data and expert parallelism, "
        "ZeRO or FSDP; --parallel auto finds the cheapest layout that fits. Without --train it "
        "computes inference.",
    .examples = fit_examples,
    .groups = fit_groups,
    .operands = PYRO_COMPLETE_MODEL,
    .report = PYRO_REPORT_FIT,
    .run = run_fit,
};
