/* Predicts how much faster a stored benchmark would be on other chips, by pyrometer map. */
#include "cli/history/predict.h"

#include "base/error.h"
#include "cli/model_open.h"
#include "history/benchmark.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pyro_predictor_open(pyro_predictor *predictor, const pyro_history_values *values,
                        pyro_error *error)
{
    pyro_words none = {0};

    *predictor = (pyro_predictor){.values = values};
    if (!pyro_model_words_collect(&predictor->names, &values->on, &none, "h100"))
        return pyro_fail_memory(error);
    return pyro_mapper_new(&predictor->targets, predictor->names.specs.items,
                           predictor->names.specs.count, NULL, error);
}

void pyro_predictor_close(pyro_predictor *predictor)
{
    pyro_mapper_free(predictor->targets);
    pyro_mapper_free(predictor->source);
    pyro_model_words_free(&predictor->names);
}

size_t pyro_predictor_count(const pyro_predictor *predictor)
{
    return predictor->names.specs.count;
}

static bool has_value(const char *benchmark, const char *name, const char *value)
{
    size_t length;
    const char *found = pyro_benchmark_parameter(benchmark, name, &length);

    return found && length == strlen(value) && strncmp(found, value, length) == 0;
}

/* A class ends with its GPU: "x86_64, AMD EPYC 7763, 16 CPUs, NVIDIA H100 80GB HBM3". */
static int name_source(char name[PYRO_PREDICTED_TEXT], const pyro_predictor *predictor,
                       const pyro_history_line *line, pyro_error *error)
{
    const char *last = line->machine_class, *given = predictor->values->measured_on;

    for (const char *at = strstr(last, ", "); at; at = strstr(last, ", "))
        last = at + 2;
    if (given)
        snprintf(name, PYRO_PREDICTED_TEXT, "%s", given);
    else if (has_value(line->benchmark, "device", "cpu"))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "it ran on a processor; --measured-on host, if that is this machine and "
                         "'pyrometer doctor --calibrate' has measured it");
    else if (pyro_chip_by_name(last))
        snprintf(name, PYRO_PREDICTED_TEXT, "%s", last);
    else
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "its class of machine names no chip that map knows; --measured-on names "
                         "it");
    return PYRO_OK;
}

/* Prepares the chip that the line was measured on. */
static int find_source(pyro_predictor *predictor, const pyro_history_line *line, pyro_error *error)
{
    char name[PYRO_PREDICTED_TEXT];
    const char *const names[] = {name};
    int status = name_source(name, predictor, line, error);

    if (status != PYRO_OK || (predictor->source && strcmp(name, predictor->source_name) == 0))
        return status;
    pyro_mapper_free(predictor->source);
    predictor->source = NULL;
    memcpy(predictor->source_name, name, sizeof name);
    return pyro_mapper_new(&predictor->source, names, 1, NULL, error);
}

/* Sizes of "0: float32[8, 3, 224, 224], mask: bool[8]", by name or by position. */
static int set_inputs(pyro_model *model, const char *text, size_t length, pyro_error *error)
{
    const char *end = text + length;
    int status = PYRO_OK;

    for (size_t index = 0; text < end && status == PYRO_OK; index++) {
        char name[PYRO_PREDICTED_TEXT], shape[PYRO_PREDICTED_TEXT];
        int64_t dims[PYRO_DIMS_MAX];
        pyro_input input;
        size_t rank = 0;
        int used = 0;

        if (sscanf(text, "%511[^:]: %*[^[][%511[0-9, ]]%n", name, shape, &used) != 2 || used == 0 ||
            text + used > end)
            return pyro_fail(error, PYRO_ERROR_UNSUPPORTED, "its inputs are not tensors with dims");
        status = pyro_parse_dims(shape, "inputs", dims, &rank, error);
        if (status == PYRO_OK && isdigit((unsigned char)name[0])) {
            status = pyro_model_input(model, index, &input, error);
            snprintf(name, sizeof name, "%.500s", status == PYRO_OK ? input.name : "");
        }
        if (status == PYRO_OK)
            status = pyro_model_set_shape(model, name, dims, rank, error);
        text += used;
        text += strspn(text, ", ");
    }
    return status;
}

static int set_sizes(pyro_model *model, const char *benchmark, pyro_error *error)
{
    size_t length;
    const char *inputs = pyro_benchmark_parameter(benchmark, "inputs", &length);

    if (inputs)
        return set_inputs(model, inputs, length, error);
    return pyro_benchmark_parameter(benchmark, "batch_size", &length) ||
                   pyro_benchmark_parameter(benchmark, "batch", &length)
               ? pyro_model_set_batch(model, (int64_t)pyro_benchmark_batch(benchmark), error)
               : PYRO_OK;
}

static int choose_type(pyro_cost_options *options, const char *benchmark, pyro_error *error)
{
    static const char *const types[][2] = {
        {"fp32", "float32"}, {"fp16", "float16"}, {"bf16", "bfloat16"}};
    size_t length;
    const char *precision = pyro_benchmark_parameter(benchmark, "precision", &length);

    if (!precision)
        return PYRO_OK;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (has_value(benchmark, "precision", types[i][0])) {
            options->dtype = types[i][1];
            return PYRO_OK;
        }
    return pyro_fail(error, PYRO_ERROR_UNSUPPORTED, "map does not predict its precision %.*s",
                     (int)(length < 40 ? length : 40), precision);
}

/* Names in a database are not trusted: they open models by name, no file in another folder and no
 * Python. What the user names may be any model. */
static int open_model(pyro_model **out, const pyro_predictor *predictor, const char *benchmark,
                      pyro_error *error)
{
    const pyro_history_values *values = predictor->values;
    char name[PYRO_PREDICTED_TEXT];
    size_t length = strcspn(benchmark, " ");

    if (values->graph)
        return pyro_open_model(out, values->graph, NULL, error);
    snprintf(name, sizeof name, "%.*s", (int)(length < 500 ? length : 500), benchmark);
    bool is_given = values->model && strcmp(values->model, name) == 0;
    if (!is_given && strpbrk(name, "/:"))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "its name is not that of a model; --graph names the model to predict");
    if (pyro_spec_of(name) == PYRO_SPEC_PYTHON)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "its model is a Python function; --graph names the model to predict");
    return pyro_model_open(out, name, error);
}

/* Of both errors, as if they were independent. */
static double combine(double first, double second)
{
    return exp(hypot(log(fmax(first, 1)), log(fmax(second, 1))));
}

static void compare(pyro_predicted_ratio *out, const pyro_map_chip *source,
                    const pyro_map_chip *target)
{
    const pyro_map_row *from = &source->total, *to = &target->total;

    snprintf(out->chip, sizeof out->chip, "%s", target->name);
    snprintf(out->measured_on, sizeof out->measured_on, "%s", source->name);
    out->ratio = to->time_ns / from->time_ns;
    out->low = out->ratio / combine(to->time_ns / to->low_ns, from->high_ns / from->time_ns);
    out->high = out->ratio * combine(to->high_ns / to->time_ns, from->time_ns / from->low_ns);
    if (!target->fits)
        snprintf(out->why_not, sizeof out->why_not, "the model does not fit into its memory");
    else if (!(from->time_ns > 0 && to->time_ns > 0 && isfinite(out->low) && isfinite(out->high)))
        snprintf(out->why_not, sizeof out->why_not, "map predicts no time");
}

static int map_line(pyro_predicted_ratio *out, const pyro_predictor *predictor, pyro_model *model,
                    const char *benchmark, pyro_error *error)
{
    const pyro_map_options options = {.gpus = 1};
    pyro_cost_options cost = {.depth = -1};
    pyro_mapping *source = NULL, *targets = NULL;
    int status = choose_type(&cost, benchmark, error);

    if (status == PYRO_OK)
        status = pyro_map_model(&source, predictor->source, model, &cost, &options, error);
    if (status == PYRO_OK)
        status = pyro_map_model(&targets, predictor->targets, model, &cost, &options, error);
    for (size_t i = 0; status == PYRO_OK && i < targets->chip_count; i++)
        compare(&out[i], &source->chips[0], &targets->chips[i]);
    pyro_mapping_free(source);
    pyro_mapping_free(targets);
    return status;
}

void pyro_predict_line(pyro_predicted_ratio *out, pyro_predictor *predictor,
                       const pyro_history_line *line)
{
    pyro_model *model = NULL;
    pyro_error error;

    pyro_error_clear(&error);
    for (size_t i = 0; i < pyro_predictor_count(predictor); i++) {
        out[i] = (pyro_predicted_ratio){.ratio = NAN, .low = NAN, .high = NAN};
        snprintf(out[i].chip, sizeof out[i].chip, "%s", predictor->names.specs.items[i]);
    }
    int status = find_source(predictor, line, &error);
    if (status == PYRO_OK)
        status = open_model(&model, predictor, line->benchmark, &error);
    if (status == PYRO_OK)
        status = set_sizes(model, line->benchmark, &error);
    if (status == PYRO_OK)
        status = map_line(out, predictor, model, line->benchmark, &error);
    for (size_t i = 0; status != PYRO_OK && i < pyro_predictor_count(predictor); i++)
        pyro_error_line(&error, out[i].why_not, sizeof out[i].why_not);
    if (model)
        pyro_model_close(model);
}
