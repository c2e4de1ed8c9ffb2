/* Runs the Python helper that measures a model, once per process. */
#include "cli/bench/model.h"

#include "cli/command.h"
#include "cli/common.h"
#include "cli/python/helper.h"
#include "cli/process.h"
#include "cli/python/interpreter.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "bench/statistics/random.h"

#include <pyrometer/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const pyro_option pyro_bench_model_options[] = {
    {.long_name = "model-path",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, path),
     .metavar = "PATH",
     .help = "Measure a model instead of commands: a Hugging Face folder, a .pt2, .onnx or "
             "TorchScript file, FILE.py:FUNCTION that builds one, or the name of a built-in model "
             "(with random weights).",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = "device",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, device),
     .metavar = "DEVICE",
     .help = "Device to run on: cpu or cuda.",
     .default_text = "cuda if available"},
    {.long_name = "precision",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, precision),
     .metavar = "NAME[,...]",
     .help = "Precision: fp32, fp16, bf16 or int8; several are compared.",
     .default_text = "fp32"},
    {.long_name = "batch-size",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, batch_size),
     .metavar = "N[,...]",
     .help = "Batch size (dimension 0 of the inputs); several are measured one by one.",
     .default_text = "as in the inputs"},
    {.long_name = "input-shape",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, input_shape),
     .metavar = "DIMS[;...]",
     .help = "Shapes of the inputs, such as 1,3,224,224; their values are random.",
     .default_text = "chosen to fit the model"},
    {.long_name = "autocast",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_bench_model_values, autocast),
     .help = "Use autocast for 16-bit precision instead of casting the weights."},
    {.long_name = "detailed",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_bench_model_values, detailed),
     .help = "Also report layers, operators and recommendations, from a recording of one call."},
    {.long_name = "try",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_bench_model_values, try_variants),
     .help = "With --detailed: run the recommended changes and report what they gain."},
    {.long_name = "cold-cache",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_bench_model_values, cold_cache),
     .help = "Flush the caches before every call: the L2 cache of a GPU, else those of the CPU."},
    {.long_name = "processes",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(pyro_bench_model_values, processes),
     .metavar = "N",
     .help = "Number of processes to measure in, one after the other. A verdict needs at least 5 "
             "to know the variation between processes.",
     .default_text = "1; with --against 10 to 30 per side, within --total-time",
     .minimum = 1,
     .maximum = 1000},
    {.long_name = "python",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, python),
     .metavar = "PYTHON",
     .help = "Python interpreter with the package pyrometer and the model's packages.",
     .default_text = "python3 of the environment that holds pyrometer, or on PATH",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = NULL},
};

/* Only the first process is asked for what is the same in every process. */
static void write_request(pyro_buf *buf, const pyro_model_side *side,
                          const pyro_bench_model_values *values, const pyro_bench_model_runs *runs)
{
    bool first = !side->bench && !side->only_times;
    pyro_json_writer writer, *w = &writer;

    pyro_buf_reset(buf);
    pyro_json_writer_init(w, buf, 0);
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "model_path", side->path);
    pyro_json_member_string(w, "folder", side->folder);
    pyro_json_member_string(w, "checkout_from", side->checkout_from);
    pyro_json_member_string(w, "checkout_to", side->checkout_to);
    pyro_json_member_string(w, "device", values->device);
    pyro_json_member_string(w, "precision", values->precision);
    pyro_json_member_string(w, "batch_size", values->batch_size);
    pyro_json_member_string(w, "input_shape", values->input_shape);
    pyro_json_member_boolean(w, "autocast", values->autocast);
    pyro_json_member_boolean(w, "cold_cache", values->cold_cache);
    pyro_json_member_boolean(w, "only_times", !first);
    pyro_json_member_boolean(w, "detailed", values->detailed && first);
    pyro_json_member_boolean(w, "try", values->try_variants && first);
    pyro_json_member_integer(w, "warmup", runs->warmup);
    pyro_json_member_integer(w, "runs", runs->runs);
    pyro_json_member_integer(w, "min_runs", runs->min_runs);
    pyro_json_member_integer(w, "max_runs", runs->max_runs);
    pyro_json_member_number(w, "max_time_s", runs->max_time_s);
    pyro_json_member_strings(w, "thresholds", (const char *const *)runs->thresholds->items,
                             runs->thresholds->count);
    pyro_json_end_object(w);
}

/* The helper's error message, to be freed; NULL when it measured something. */
static char *find_complaint(const pyro_buf *answer)
{
    pyro_source *source = NULL;
    pyro_json *json = NULL;
    char *found = NULL;
    size_t length;

    if (pyro_source_open_memory(&source, answer->data, answer->length, NULL) == PYRO_OK &&
        pyro_json_open(&json, source, NULL, NULL) == PYRO_OK &&
        pyro_json_next(json) == PYRO_JSON_OBJECT && pyro_json_next(json) == PYRO_JSON_KEY &&
        PYRO_JSON_IS(json, "unusable") && pyro_json_next(json) == PYRO_JSON_STRING)
        found = strdup(pyro_json_text(json, &length));
    pyro_json_close(json);
    pyro_source_close(source);
    return found;
}

/* Measures in one process; sets *complaint on failure. */
static int measure_once(pyro_bench **out, const char *python, const pyro_buf *request,
                        char **complaint, pyro_error *error)
{
    pyro_helper helper;
    pyro_buf answer = PYRO_BUF_INIT;
    char *path = NULL;
    int status = pyro_helper_begin(&helper, python, error);

    if (status != PYRO_OK)
        return status;
    path = pyro_helper_path(&helper, "request.json");
    const char *arguments[] = {"bench", path, NULL};
    status = !path ? pyro_fail_memory(error)
                   : pyro_file_write_whole(path, request->data, request->length, true, error);
    if (status == PYRO_OK)
        status = pyro_helper_run(&helper, &answer, arguments, error);
    if (status == PYRO_OK)
        *complaint = find_complaint(&answer);
    if (status == PYRO_OK && !*complaint)
        status = pyro_bench_parse(out, answer.data, answer.length, error);
    pyro_helper_end(&helper);
    pyro_buf_free(&answer);
    free(path);
    return status;
}

/* Gives both models the same names: a comparison matches results by name. */
static int name_alike(pyro_bench *bench, const pyro_bench *as, pyro_error *error)
{
    int status = PYRO_OK;

    for (size_t i = 0; i < bench->result_count && i < as->result_count; i++)
        if (status == PYRO_OK)
            status = pyro_bench_set_text(bench, &bench->results[i].name, as->results[i].name,
                                         error);
    return status;
}

/* Adds the results of one more process; interrupted ones only if there are no others. */
static int take(pyro_model_side *side, pyro_bench *next, pyro_error *error)
{
    int status = PYRO_OK;

    if (!side->bench) {
        side->bench = next;
        return PYRO_OK;
    }
    if (!pyro_process_interrupted())
        status = pyro_bench_merge(side->bench, next, error);
    pyro_bench_free(next);
    return status;
}

/* Measures one side in one process; sets *complaint on failure. */
static int measure_side(pyro_model_side *side, const pyro_bench *named, const char *python,
                        const pyro_bench_model_values *values, const pyro_bench_model_runs *runs,
                        char **complaint, pyro_error *error)
{
    pyro_buf request = PYRO_BUF_INIT;
    pyro_bench *next = NULL;

    write_request(&request, side, values, runs);
    int status = request.failed ? pyro_fail_memory(error)
                                : measure_once(&next, python, &request, complaint, error);
    pyro_buf_free(&request);
    if (next && named)
        status = name_alike(next, named, error);
    if (next && status == PYRO_OK)
        return take(side, next, error);
    pyro_bench_free(next);
    return status;
}

static void show_progress(const pyro_model_rounds *rounds, int64_t done, size_t side, size_t sides)
{
    if (rounds->quiet || rounds->count < 2 || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\rprocess %lld of at most %lld%s\033[K", (long long)done + 1,
            (long long)rounds->count,
            sides < 2   ? ""
            : side == 0 ? ", base"
                        : ", new");
}

static int measure_rounds(pyro_model_side *sides, size_t side_count, const char *python,
                          const pyro_bench_model_values *values, const pyro_bench_model_runs *runs,
                          const pyro_model_rounds *rounds, char **complaint, pyro_error *error)
{
    pyro_model_side *last = &sides[side_count - 1];
    size_t order[2] = {side_count - 1, 0}; /* first the side whose names the other takes */
    bool enough = false;
    pyro_random random;
    int status = PYRO_OK;

    pyro_random_seed(&random, rounds->seed);
    for (int64_t i = 0; i < rounds->count && !enough && !pyro_process_interrupted(); i++) {
        if (i > 0)
            pyro_random_order(&random, order, side_count);
        for (size_t j = 0; j < side_count; j++) {
            show_progress(rounds, i, order[j], side_count);
            status = measure_side(&sides[order[j]], last->bench, python, values, runs, complaint,
                                  error);
            if (pyro_process_interrupted() || status != PYRO_OK || *complaint)
                return status;
        }
        if (rounds->is_enough)
            status = rounds->is_enough(rounds->user, i + 1, &enough, error);
        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

/* Reports a text that names no model. A file may be of any kind that Python can run. */
static bool is_missing(const char *spec)
{
    pyro_model *model = NULL;
    pyro_error error;

    if (access(spec, F_OK) == 0 || pyro_spec_of(spec) != PYRO_SPEC_MODEL)
        return false;
    pyro_error_clear(&error);
    int status = pyro_model_open(&model, spec, &error);
    pyro_model_close(model);
    if (status != PYRO_OK)
        pyro_common_fail(spec, &error);
    return status != PYRO_OK;
}

/* The exit code of the measurement; reports why it failed. */
static int conclude(pyro_model_side *sides, size_t side_count, const char *complaint, int status,
                    const pyro_error *error)
{
    if (pyro_process_interrupted()) {
        for (size_t i = 0; i < side_count; i++)
            if (sides[i].bench)
                sides[i].bench->interrupted = true;
        if (sides[side_count - 1].bench)
            return PYRO_EXIT_FINE;
        pyro_common_complain("interrupted before anything was measured");
        return PYRO_EXIT_INTERRUPTED;
    }
    if (complaint)
        return pyro_common_complain("%s", complaint);
    return status != PYRO_OK ? pyro_common_fail(NULL, error) : PYRO_EXIT_FINE;
}

int pyro_bench_model_measure(pyro_model_side *sides, size_t side_count,
                             const pyro_bench_model_values *values,
                             const pyro_bench_model_runs *runs, const pyro_model_rounds *rounds)
{
    char *python = NULL, *package = NULL, *complaint = NULL;
    int exit_code = PYRO_EXIT_ERROR;
    pyro_error error;

    pyro_error_clear(&error);
    for (size_t i = 0; i < side_count; i++)
        if (is_missing(sides[i].path))
            return PYRO_EXIT_ERROR;
    python = pyro_python_choose(values->python);
    package = python ? pyro_python_package(python) : NULL;
    if (package) {
        int status = measure_rounds(sides, side_count, python, values, runs, rounds, &complaint,
                                    &error);

        if (!rounds->quiet && isatty(STDERR_FILENO))
            fputs("\r\033[K", stderr);
        exit_code = conclude(sides, side_count, complaint, status, &error);
    }
    free(complaint);
    free(package);
    free(python);
    return exit_code;
}
