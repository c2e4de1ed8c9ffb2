/* Opens a model, sets its sizes from the options, and prices it. */
#include "cli/options/model.h"

#include "cli/model_open.h"

#include "base/error.h"

#include <pyrometer/catalog.h>
#include <pyrometer/hardware.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 256 };

/* In the order of pyro_convention. */
static const char *const convention_names[] = {"full", "torch", "fvcore", "torchvision", NULL};
static const char *const dtype_names[] = {"float64", "float32",       "float16",     "bfloat16",
                                          "int8",    "float8_e4m3fn", "float8_e5m2", NULL};

const pyro_option pyro_size_options[] = {
    {.long_name = "input-shape",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_pricing, input_shape),
     .metavar = "N,N,...",
     .help = "Shape of the first input: 1,3,384,384. Sizes that depend on it follow. Changing a "
             "size that the file fixes is an error.",
     .default_text = "as in the file"},
    {.long_name = "input",
     .kind = PYRO_OPTION_LIST,
     .offset = offsetof(pyro_pricing, inputs),
     .metavar = "NAME=N,N,...",
     .help = "Shape of the input called NAME: input_ids=2,128."},
    {.long_name = "batch",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(pyro_pricing, batch),
     .metavar = "N",
     .help = "Batch size, if it is dynamic in the model.",
     .minimum = 1,
     .maximum = 1e15},
    {.long_name = "seq",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(pyro_pricing, sequence),
     .metavar = "N",
     .help = "Sequence length in tokens or frames, if it is dynamic in the model.",
     .minimum = 1,
     .maximum = 1e15},
    {.long_name = "prefill",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(pyro_pricing, prefill),
     .metavar = "N",
     .help = "Price reading a prompt of N tokens, for language models.",
     .minimum = 1,
     .maximum = 1e15},
    {.long_name = "size",
     .kind = PYRO_OPTION_LIST,
     .offset = offsetof(pyro_pricing, sizes),
     .metavar = "SYMBOL=N",
     .help = "Value of a symbolic size in the file: s0=4. JSON output lists the symbols."},
    {.long_name = NULL},
};

const pyro_option pyro_decode_options[] = {
    {.long_name = "decode",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_pricing, decode),
     .help = "Price one new token of a language model with a key-value cache; the bytes read from "
             "the cache are reported. Needs a built-in model with a decode graph."},
    {.long_name = "past",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(pyro_pricing, past),
     .metavar = "N",
     .help = "With --decode: number of tokens in the cache.",
     .default_text = "as stored",
     .minimum = 1,
     .maximum = 1e15},
    {.long_name = NULL},
};

const pyro_option pyro_pricing_options[] = {
    {.long_name = "convention",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(pyro_pricing, convention),
     .metavar = "NAME",
     .help = "What counts as a FLOP. full: 2 x MACs plus elementwise, norm, pooling and activation "
             "work; torch, fvcore, torchvision: as these tools count. MACs do not change.",
     .default_text = "full",
     .choices = convention_names},
    {.long_name = "dtype",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_pricing, dtype),
     .metavar = "DTYPE",
     .help = "Price floating-point tensors as this type, such as float16 or bfloat16.",
     .default_text = "as in the file",
     .choices = dtype_names},
    {.long_name = "depth",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(pyro_pricing, depth),
     .metavar = "N",
     .help = "Sum layers nested deeper than N into their ancestor; layer1.0.conv1 has depth 3.",
     .default_text = "every layer separately",
     .minimum = 0,
     .maximum = 1000000},
    {.long_name = "ridge",
     .kind = PYRO_OPTION_NUMBER,
     .offset = offsetof(pyro_pricing, ridge),
     .metavar = "N",
     .help = "Arithmetic intensity, in FLOPs per byte, above which a layer counts as "
             "compute-bound. For your hardware: peak FLOP/s divided by bytes/s.",
     .default_text = "50",
     .minimum = 0.001,
     .maximum = 1e9},
    {.long_name = NULL},
};

const pyro_option pyro_python_options[] = {
    {.long_name = "python",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_pricing, python),
     .metavar = "PROGRAM",
     .help = "Python interpreter with torch, the models' packages and, for check, the counters.",
     .default_text = "python3 of the environment that holds pyrometer, or on PATH",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = NULL},
};

/* Names the option in the error: it is wrong, not the model. */
static int fail_option(pyro_error *error, const char *option, const char *text, const char *wanted)
{
    int status = pyro_fail(error, PYRO_ERROR_ARGUMENT, "\"%.100s\" is not %s", text, wanted);

    pyro_error_where(error, option, NULL);
    return status;
}

/* Strips spaces and the brackets of shapes as Python prints them: "(1, 3, 224, 224)", "[8,]". */
static void strip_brackets(const char **start, const char **end)
{
    while (*start < *end && **start == ' ')
        (*start)++;
    while (*end > *start && (*end)[-1] == ' ')
        (*end)--;
    if (*end - *start < 2 ||
        !((**start == '(' && (*end)[-1] == ')') || (**start == '[' && (*end)[-1] == ']')))
        return;
    (*start)++;
    (*end)--;
    while (*end > *start && (*end)[-1] == ' ')
        (*end)--;
    if (*end - *start > 1 && (*end)[-1] == ',')
        (*end)--;
}

int pyro_parse_dims(const char *text, const char *option, int64_t dims[PYRO_DIMS_MAX], size_t *rank,
                    pyro_error *error)
{
    const char *at = text, *end = text + strlen(text);

    strip_brackets(&at, &end);
    for (*rank = 0; *rank < PYRO_DIMS_MAX; (*rank)++) {
        char *behind;

        at += strspn(at, " ");
        errno = 0;
        dims[*rank] = strtoll(at, &behind, 10);
        if (at >= end || *at < '0' || *at > '9' || errno != 0)
            break;
        at = behind + strspn(behind, " ");
        if (at >= end) {
            (*rank)++;
            return PYRO_OK;
        }
        if (*at == ',' || *at == 'x')
            at++;
        else if (at == behind)
            break;
    }
    if (*rank == PYRO_DIMS_MAX)
        return fail_option(error, option, text, "a list of at most 64 sizes");
    return fail_option(error, option, text, "a list of sizes such as 1,3,224,224");
}

/* Adds the models of "a,b"; a file whose name has a comma is one model. */
static bool add_comma_list(pyro_model_words *models, const char *value)
{
    char *copy, *rest, *word;

    if (!strchr(value, ',') || access(value, F_OK) == 0)
        return pyro_words_add(&models->specs, value);
    copy = strdup(value);
    if (!copy || !pyro_words_add(&models->text, copy)) {
        free(copy);
        return false;
    }
    rest = copy;
    while ((word = strsep(&rest, ","))) {
        word += strspn(word, " ");
        word[strcspn(word, " ")] = '\0';
        if (word[0] != '\0' && !pyro_words_add(&models->specs, word))
            return false;
    }
    return true;
}

bool pyro_model_words_collect(pyro_model_words *models, const pyro_words *values,
                              const pyro_words *operands, const char *default_model)
{
    for (size_t i = 0; i < values->count; i++)
        if (!add_comma_list(models, values->items[i]))
            return false;
    for (size_t i = 0; i < operands->count; i++)
        if (!pyro_words_add(&models->specs, operands->items[i]))
            return false;
    return models->specs.count > 0 || pyro_words_add(&models->specs, default_model);
}

void pyro_model_words_free(pyro_model_words *models)
{
    for (size_t i = 0; i < models->text.count; i++)
        free((char *)models->text.items[i]);
    pyro_words_free(&models->specs);
    pyro_words_free(&models->text);
}

/* Splits "NAME=VALUE"; false when there is no name or no value. */
static bool split_assignment(const char *text, char name[NAME_MAX_BYTES], const char **value)
{
    const char *equals = strchr(text, '=');

    if (!equals || equals == text || equals[1] == '\0' || equals - text >= NAME_MAX_BYTES)
        return false;
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    *value = equals + 1;
    return true;
}

static int set_input(pyro_model *model, const char *assignment, pyro_error *error)
{
    char name[NAME_MAX_BYTES];
    const char *value;
    int64_t dims[PYRO_DIMS_MAX];
    size_t rank;

    if (!split_assignment(assignment, name, &value))
        return fail_option(error, "--input", assignment, "NAME=N,N,... such as input_ids=2,128");
    int status = pyro_parse_dims(value, "--input", dims, &rank, error);
    return status != PYRO_OK ? status : pyro_model_set_shape(model, name, dims, rank, error);
}

static int set_symbol(pyro_model *model, const char *assignment, pyro_error *error)
{
    char name[NAME_MAX_BYTES];
    const char *value;
    int64_t size;

    if (!split_assignment(assignment, name, &value) || !pyro_parse_integer(value, &size))
        return fail_option(error, "--size", assignment, "SYMBOL=N such as s0=4");
    return pyro_model_set_size(model, name, size, error);
}

static int set_sizes(pyro_model *model, const pyro_pricing *pricing, pyro_error *error)
{
    int64_t dims[PYRO_DIMS_MAX];
    size_t rank;
    int status = PYRO_OK;

    if (pricing->input_shape) {
        status = pyro_parse_dims(pricing->input_shape, "--input-shape", dims, &rank, error);
        status = status != PYRO_OK ? status : pyro_model_set_shape(model, NULL, dims, rank, error);
    }
    for (size_t i = 0; status == PYRO_OK && i < pricing->inputs.count; i++)
        status = set_input(model, pricing->inputs.items[i], error);
    for (size_t i = 0; status == PYRO_OK && i < pricing->sizes.count; i++)
        status = set_symbol(model, pricing->sizes.items[i], error);
    if (status == PYRO_OK && pricing->batch > 0)
        status = pyro_model_set_batch(model, pricing->batch, error);
    if (status == PYRO_OK && (pricing->sequence > 0 || pricing->prefill > 0))
        status = pyro_model_set_kind(
            model, "sequence", pricing->sequence > 0 ? pricing->sequence : pricing->prefill, error);
    if (status == PYRO_OK && pricing->past >= 0)
        status = pyro_model_set_kind(model, "past", pricing->past, error);
    return status;
}

/* Rejects options that contradict each other or need another one. */
static int check_phase(const pyro_pricing *pricing, pyro_error *error)
{
    if (pricing->past >= 0 && !pricing->decode)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--past requires --decode");
    if (pricing->decode && (pricing->prefill > 0 || pricing->sequence > 0))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "--decode prices one token: use --past with it, not --prefill or --seq");
    if (pricing->prefill > 0 && pricing->sequence > 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "--prefill and --seq set the same size: give one of them");
    return PYRO_OK;
}

/* Rejects --prefill for models that do not decode: it would only be a synonym of --seq. */
static int check_prefill(const pyro_model *model, const pyro_pricing *pricing, pyro_error *error)
{
    const pyro_facts *facts = pyro_model_facts(model);

    if (pricing->prefill <= 0 || !facts->dims)
        return PYRO_OK;
    for (size_t i = 0; i < facts->dim_count; i++)
        if (strcmp(facts->dims[i].what, "sequence") == 0)
            return PYRO_OK;
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "--prefill is for language models; this one has no variable sequence length");
}

int pyro_open_sized(pyro_model **out, const char *spec, const pyro_pricing *pricing,
                    pyro_cost_options *cost_options, pyro_error *error)
{
    pyro_open_options opening = {pricing->python, pricing->input_shape};
    int status = check_phase(pricing, error);

    *out = NULL;
    *cost_options = (pyro_cost_options){
        .convention = (pyro_convention)pricing->convention,
        .dtype = pricing->dtype,
        .ridge = pricing->ridge,
        .depth = (int)pricing->depth,
    };
    if (status == PYRO_OK)
        status = pricing->decode ? pyro_model_open_decode(out, spec, error)
                                 : pyro_open_model(out, spec, &opening, error);
    if (status == PYRO_OK)
        status = check_prefill(*out, pricing, error);
    if (status == PYRO_OK)
        status = set_sizes(*out, pricing, error);
    if (status != PYRO_OK && *out) {
        pyro_model_close(*out);
        *out = NULL;
    }
    return status;
}

/* FLOPs per byte from which the chip is bound by its compute units, for the cost's type. */
static int find_ridge(double *out, const char *name, const pyro_cost *cost, pyro_error *error)
{
    pyro_chip_list *list = NULL;
    int status = pyro_chip_list_load(&list, NULL, error);
    const pyro_chip *chip = status == PYRO_OK ? pyro_chip_list_find(list, name) : NULL;

    *out = chip ? pyro_chip_ridge(chip, pyro_cost_dtype(cost)) : 0;
    if (status == PYRO_OK && !chip)
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT,
                           "unknown chip \"%.60s\" ('pyrometer hardware' lists them)", name);
    else if (status == PYRO_OK && *out <= 0)
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT, "no peak of %s is known for %s",
                           pyro_cost_dtype(cost), chip->name);
    if (status != PYRO_OK)
        pyro_error_where(error, "--on", NULL);
    pyro_chip_list_free(list);
    return status;
}

/* The type decides the ridge and the cost decides the type, so the model is priced twice. */
static int price_on_chip(pyro_priced *out, pyro_cost_options *options, const pyro_pricing *pricing,
                         pyro_error *error)
{
    int status = find_ridge(&options->ridge, pricing->on, out->cost, error);
    if (status != PYRO_OK)
        return status;
    pyro_cost_free(out->cost);
    out->cost = NULL;
    return pyro_cost_compute(&out->cost, out->model, options, error);
}

int pyro_price_model(pyro_priced *out, const char *spec, const pyro_pricing *pricing,
                     pyro_error *error)
{
    pyro_cost_options options;
    int status;

    memset(out, 0, sizeof *out);
    status = pyro_open_sized(&out->model, spec, pricing, &options, error);
    if (status == PYRO_OK)
        status = pyro_cost_compute(&out->cost, out->model, &options, error);
    if (status == PYRO_OK && pricing->on && pricing->ridge <= 0)
        status = price_on_chip(out, &options, pricing, error);
    if (status != PYRO_OK)
        pyro_priced_free(out);
    return status;
}

void pyro_priced_free(pyro_priced *priced)
{
    if (priced->cost)
        pyro_cost_free(priced->cost);
    if (priced->model)
        pyro_model_close(priced->model);
    memset(priced, 0, sizeof *priced);
}
