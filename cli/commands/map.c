/* pyrometer map: how long models and recorded runs take on chips. */
#include "cli/command.h"
#include "cli/common.h"
#include "cli/options/model.h"
#include "cli/options/train.h"
#include "cli/progress.h"

#include "base/error.h"

#include <pyrometer/catalog.h>
#include <pyrometer/map.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CHIPS = 64, MOST_DEVICES = 100000 };

typedef struct map_values {
    pyro_words on, prices;
    const char *against, *table, *peaks, *chips;
    const char *parallel;
    bool fused, tf32, graphs, without_learnt, without_calibration;
    int64_t gpus, top; /* gpus: 0 if not given */
    double clock, power_cap, host_us;
    pyro_pricing pricing;
    pyro_training training;
    pyro_common common;
} map_values;

/* How --parallel names what devices share: a word, or as fit has it with a number of devices. */
static const struct {
    const char *word, *letters;
    pyro_parallel parallel;
} parallels[] = {{"data", "dp", PYRO_PARALLEL_DATA},
                 {"sharded", "fsdp", PYRO_PARALLEL_SHARDED},
                 {"tensor", "tp", PYRO_PARALLEL_TENSOR},
                 {"pipeline", "pp", PYRO_PARALLEL_PIPELINE}};

static const pyro_option map_options[] = {
    {.long_name = "on",
     .kind = PYRO_OPTION_LIST,
     .offset = offsetof(map_values, on),
     .metavar = "CHIP,...",
     .help = "Chips: h100,a100-80gb,host. 'pyrometer hardware' lists them; host is this machine "
             "as 'pyrometer doctor --calibrate' measured it.",
     .default_text = "h100"},
    {.long_name = "against",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(map_values, against),
     .metavar = "TRACE",
     .help = "Show the measured times of a recorded run of the model beside the predictions.",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = "fused",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(map_values, fused),
     .help = "Predict kernels as 'pyrometer fuse' groups them."},
    {.long_name = "tf32",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(map_values, tf32),
     .help = "Products of float32 tensors use tensor cores (TF32)."},
    {.long_name = "gpus",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(map_values, gpus),
     .metavar = "N",
     .help = "Number of devices.",
     .default_text = "that of --parallel, else 1",
     .minimum = 1,
     .maximum = MOST_DEVICES},
    {.long_name = "parallel",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(map_values, parallel),
     .metavar = "HOW",
     .help = "How devices share the work. data: each has the model and a batch; sharded: the same "
             "with weights and states spread; tensor: products are split; pipeline: layers are. "
             "dp=N, fsdp=N, tp=N and pp=N give the number of devices, too.",
     .default_text = "data"},
    {.long_name = "graphs",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(map_values, graphs),
     .help = "CUDA graphs start the ops: the host's time per op does not count."},
    {.long_name = "host-us",
     .kind = PYRO_OPTION_NUMBER,
     .offset = offsetof(map_values, host_us),
     .metavar = "US",
     .help = "Time of the host per op, in microseconds.",
     .default_text = "10, a fast host with eager PyTorch",
     .minimum = 0.001,
     .maximum = 1e6},
    {.long_name = "price",
     .kind = PYRO_OPTION_LIST,
     .offset = offsetof(map_values, prices),
     .metavar = "CHIP=N",
     .help = "Price of an hour of a chip, to find the cheapest one."},
    {.long_name = "clock",
     .kind = PYRO_OPTION_NUMBER,
     .offset = offsetof(map_values, clock),
     .metavar = "PERCENT",
     .help = "Clock of the chips, in percent of their boost clock. Changes data sheet figures.",
     .default_text = "100",
     .minimum = 1,
     .maximum = 200},
    {.long_name = "power-cap",
     .kind = PYRO_OPTION_NUMBER,
     .offset = offsetof(map_values, power_cap),
     .metavar = "WATTS",
     .help = "Power limit of the chips. Changes data sheet figures and energy.",
     .default_text = "the chip's own",
     .minimum = 1,
     .maximum = 1e6},
    {.long_name = "top",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(map_values, top),
     .metavar = "N",
     .help = "Number of layers in the table; 0 shows all layers.",
     .default_text = "10",
     .minimum = 0,
     .maximum = 1000000000},
    {.long_name = NULL},
};

static const pyro_option source_options[] = {
    {.long_name = "learnt",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(map_values, table),
     .metavar = "FILE",
     .help = "Learnt efficiencies ('pyrometer learn'), instead of the shipped and your own table.",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = "peaks",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(map_values, peaks),
     .metavar = "FILE",
     .help = "Measured rates ('pyrometer doctor --calibrate').",
     .default_text = "those of this machine, if it was measured",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = "chips",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(map_values, chips),
     .metavar = "FILE",
     .help = "Your own chips.",
     .default_text = "pyrometer/hardware.json in the user's configuration folder",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = "no-learnt",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(map_values, without_learnt),
     .help = "Ignore learnt efficiencies."},
    {.long_name = "no-calibration",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(map_values, without_calibration),
     .help = "Ignore kernels that calibration measured."},
    {.long_name = NULL},
};

static const pyro_option_group map_groups[] = {
    {"Chips:", map_options, 0},
    {"What is known about chips:", source_options, 0},
    {"Sizes:", pyro_size_options, offsetof(map_values, pricing)},
    {"One token of a language model:", pyro_decode_options, offsetof(map_values, pricing)},
    {"Pricing:", pyro_pricing_options, offsetof(map_values, pricing)},
    {"Training:", pyro_train_option_table, offsetof(map_values, training)},
    {"Python:", pyro_python_options, offsetof(map_values, pricing)},
    {"Output:", pyro_common_options, offsetof(map_values, common)},
    {NULL, NULL, 0},
};

typedef struct map_run {
    const map_values *values;
    pyro_model_words chips, models;
    double prices[MOST_CHIPS];
    pyro_mapper *mapper;
    pyro_map_options options;
    pyro_mapping **maps;
    size_t count;
} map_run;

/* "h100=2.5": the price of the chip of that name in --on. */
static int read_prices(map_run *run)
{
    for (size_t i = 0; i < run->values->prices.count; i++) {
        const char *text = run->values->prices.items[i], *equals = strchr(text, '=');
        char *end = NULL;
        double price = equals ? strtod(equals + 1, &end) : 0;
        bool is_found = false;
        if (!equals || end == equals + 1 || *end || !(price > 0) || price > 1e9)
            return pyro_common_complain("--price: \"%.60s\" is not CHIP=N such as h100=2.5", text);
        for (size_t c = 0; c < run->chips.specs.count; c++)
            if (strlen(run->chips.specs.items[c]) == (size_t)(equals - text) &&
                strncmp(run->chips.specs.items[c], text, (size_t)(equals - text)) == 0) {
                run->prices[c] = price;
                is_found = true;
            }
        if (!is_found)
            return pyro_common_complain("--price: %.60s is not in --on", text);
    }
    return PYRO_EXIT_FINE;
}

/* "tensor" or "tp=4"; the number is that of --gpus. */
static int read_parallel(map_run *run)
{
    const char *text = run->values->parallel ? run->values->parallel : "data";
    size_t length = strcspn(text, "=");
    char *end = NULL;
    long long devices = text[length] ? strtoll(text + length + 1, &end, 10) : 0;
    int64_t gpus = run->values->gpus;

    bool is_number = !text[length] ||
                     (end != text + length + 1 && !*end && devices >= 1 && devices <= MOST_DEVICES);
    for (size_t i = 0; is_number && i < sizeof parallels / sizeof *parallels; i++) {
        const char *names[] = {parallels[i].word, parallels[i].letters};
        for (size_t n = 0; n < 2; n++)
            if (strlen(names[n]) == length && strncmp(names[n], text, length) == 0)
                run->options.parallel = parallels[i].parallel;
    }
    if (run->options.parallel == PYRO_PARALLEL_NONE)
        return pyro_common_complain("--parallel: \"%.60s\" is not one of data, sharded, tensor, "
                                    "pipeline, dp=N, fsdp=N, tp=N and pp=N",
                                    text);
    if (gpus && devices && gpus != devices)
        return pyro_common_complain(
            "--parallel %s and --gpus %lld name different numbers of devices", text,
            (long long)gpus);
    run->options.gpus = (int)(devices ? devices : gpus ? gpus : 1);
    if (run->options.gpus == 1)
        run->options.parallel = PYRO_PARALLEL_NONE;
    return PYRO_EXIT_FINE;
}

static bool is_trace(const char *spec)
{
    const char *const endings[] = {".pyro", ".json", ".json.gz", ".json.zst", ".pt.trace.json"};
    size_t length = strlen(spec);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (length > strlen(endings[i]) &&
            strcmp(spec + length - strlen(endings[i]), endings[i]) == 0)
            return access(spec, F_OK) == 0;
    return false;
}

static int open_trace(pyro_trace **out, const map_run *run, const char *path, pyro_error *error)
{
    pyro_progress progress;
    pyro_trace_options options = {.progress = pyro_progress_update, .progress_user = &progress};
    pyro_progress_begin(&progress, path, run->values->common.quiet);
    int status = pyro_trace_open(out, path, &options, error);
    pyro_progress_end(&progress);
    return status;
}

static int map_trace(map_run *run, pyro_mapping **out, const char *path, pyro_error *error)
{
    pyro_trace *trace = NULL;
    int status = open_trace(&trace, run, path, error);
    if (status == PYRO_OK)
        status = pyro_map_trace(out, run->mapper, trace, &run->options, error);
    pyro_trace_close(trace);
    return status;
}

static bool has_tokens(const pyro_model *model)
{
    const pyro_facts *facts = pyro_model_facts(model);
    for (size_t i = 0; facts->dims && i < facts->dim_count; i++)
        if (strcmp(facts->dims[i].what, "sequence") == 0)
            return true;
    return false;
}

/* Tokens per second of a language model with a graph of one token. */
static int add_language(map_run *run, pyro_mapping *map, const char *spec, pyro_model *model,
                        const pyro_cost_options *options, pyro_error *error)
{
    pyro_model *decode = NULL;
    pyro_error missing;

    pyro_error_clear(&missing);
    if (run->options.train || run->values->pricing.decode || !has_tokens(model) ||
        pyro_model_open_decode(&decode, spec, &missing) != PYRO_OK)
        return PYRO_OK;
    int status = pyro_map_language(map, run->mapper, model, decode, options, &run->options, error);
    pyro_model_close(decode);
    return status;
}

static int map_model(map_run *run, pyro_mapping **out, const char *spec, pyro_error *error)
{
    pyro_cost_options options;
    pyro_model *model = NULL;
    pyro_trace *trace = NULL;
    int status = pyro_open_sized(&model, spec, &run->values->pricing, &options, error);

    if (status == PYRO_OK)
        status = pyro_map_model(out, run->mapper, model, &options, &run->options, error);
    if (status == PYRO_OK && run->values->against) {
        status = open_trace(&trace, run, run->values->against, error);
        if (status == PYRO_OK)
            status = pyro_map_against(*out, model, trace, error);
        if (status != PYRO_OK)
            pyro_error_where(error, run->values->against, NULL);
    } else if (status == PYRO_OK) {
        status = add_language(run, *out, spec, model, &options, error);
    }
    pyro_trace_close(trace);
    if (model)
        pyro_model_close(model);
    return status;
}

static int write_maps(const map_run *run)
{
    pyro_report_options options = pyro_common_report(&run->values->common);
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    options.top = run->values->top == 0 ? -1 : run->values->top > 0 ? (int)run->values->top : 0;
    pyro_error_clear(&error);
    int exit_code = pyro_report_map(&text, &size, (const pyro_mapping *const *)run->maps,
                                    run->count, &options, &error) == PYRO_OK
                        ? pyro_common_write(&run->values->common, text, size)
                        : pyro_common_fail(NULL, &error);
    pyro_free(text);
    return exit_code;
}

static int map_all(map_run *run)
{
    const map_values *values = run->values;
    const pyro_mapper_options sources = {.table = values->table,
                                         .peaks = values->peaks,
                                         .chips = values->chips,
                                         .without_learnt = values->without_learnt,
                                         .without_calibration = values->without_calibration,
                                         .clock_share = values->clock / 100,
                                         .host_ns = 1e3 * values->host_us,
                                         .power_cap_watts = values->power_cap};
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_mapper_new(&run->mapper, run->chips.specs.items, run->chips.specs.count, &sources,
                        &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    if (pyro_mapper_has_old_table(run->mapper))
        pyro_common_complain(
            "warning: your table of learnt efficiencies is of an older version and "
            "is not used: remove it, and learn from the traces again");
    run->maps = calloc(run->models.specs.count + 1, sizeof *run->maps);
    for (size_t i = 0; run->maps && i < run->models.specs.count; i++) {
        const char *spec = run->models.specs.items[i];
        int status = is_trace(spec) ? map_trace(run, &run->maps[i], spec, &error)
                                    : map_model(run, &run->maps[i], spec, &error);
        if (status != PYRO_OK)
            return pyro_common_fail(spec, &error);
        run->count++;
    }
    return run->maps ? write_maps(run) : pyro_common_complain("out of memory");
}

/* Reads what several options decide together. */
static int settle(map_run *run)
{
    const map_values *values = run->values;
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_training_read(&run->options.training, &values->training, &error) < 0)
        return pyro_common_fail(NULL, &error);
    run->options.train = values->training.train;
    run->options.fused = values->fused;
    run->options.tf32 = values->tf32;
    run->options.graphs = values->graphs || values->against; /* the device's times are compared */
    run->options.prices_per_hour = run->prices;
    run->options.find_saturation = !values->against && !values->pricing.decode;
    if (values->against && run->models.specs.count != 1)
        return pyro_common_complain("--against compares one model with a run");
    if (values->fused && values->training.train)
        return pyro_common_complain("--fused predicts inference: not with --train");
    if (run->chips.specs.count > MOST_CHIPS)
        return pyro_common_complain("--on takes at most 64 chips");
    int exit_code = read_parallel(run);
    return exit_code == PYRO_EXIT_FINE ? read_prices(run) : exit_code;
}

static int run_map(const pyro_command *command, int argc, char **argv)
{
    map_values values = {.top = -1,
                         .pricing = PYRO_PRICING_INIT,
                         .training = PYRO_TRAINING_INIT,
                         .common = PYRO_COMMON_INIT};
    pyro_words operands = {0}, none = {0};
    int exit_code;

    if (pyro_common_parse(command, argc, argv, &values, &values.common, &operands, &exit_code)) {
        map_run run = {.values = &values};
        if (!operands.count)
            exit_code = pyro_common_complain("map needs a model or a run: pyrometer map resnet50 "
                                             "--on h100 (see pyrometer map --help)");
        else if (!pyro_model_words_collect(&run.chips, &values.on, &none, "h100") ||
                 !pyro_model_words_collect(&run.models, &none, &operands, ""))
            exit_code = pyro_common_complain("out of memory");
        else
            exit_code = settle(&run);
        if (operands.count && exit_code == PYRO_EXIT_FINE)
            exit_code = map_all(&run);
        for (size_t i = 0; i < run.count; i++)
            pyro_mapping_free(run.maps[i]);
        free(run.maps);
        pyro_mapper_free(run.mapper);
        pyro_model_words_free(&run.chips);
        pyro_model_words_free(&run.models);
    }
    pyro_words_free(&operands);
    pyro_options_free(command->groups, &values);
    return exit_code;
}

static const pyro_example map_examples[] = {
    {"pyrometer map resnet50 --on h100,a100 --batch 32", "One model on two chips."},
    {"pyrometer map llama3_8b --on h200 --dtype bfloat16", "Tokens per second, too."},
    {"pyrometer map run.pyro --on b200", "A recorded run on another chip."},
    {"pyrometer map resnet50 --against run.json.gz --on h200", "Predicted beside measured."},
    {"pyrometer map vit_b_16 --on h100 --train --gpus 8", "Training on eight devices."},
    {NULL, NULL},
};

const pyro_command cmd_map = {
    .name = "map",
    .summary = "predict how long a model or a run takes on chips",
    .usage = "MODEL|RUN... [OPTION...]",
    .description =
        "Predicts the time of models or recorded runs on chips, layer by layer and in all: a point "
        "and the range that 80% of measurements lie in, what bounds it (compute, memory, launching "
        "kernels, communication), the share of the peak, energy, memory, and the batch size from "
        "which more samples per second are not to be had. Language models also get tokens per "
        "second by context length and number of sequences.\n\n"
        "Times come from learnt efficiencies ('pyrometer learn'), else from kernels that 'pyrometer "
        "doctor --calibrate' measured, else from the data sheet and the share of it that kernels "
        "usually reach. The report says for how much of the time each was used.",
    .examples = map_examples,
    .groups = map_groups,
    .operands = PYRO_COMPLETE_MODEL,
    .report = PYRO_REPORT_MAP,
    .run = run_map,
};
