/* Runs the helper that measures a model in the user's Python, once for each process asked for. */
#include "bench_model.h"

#include "command.h"
#include "common.h"
#include "helper.h"
#include "python.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_write.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const pyro_option pyro_bench_model_options[] = {
    {.long_name = "model-path",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, path),
     .metavar = "PATH",
     .help = "Measure a model in place of commands: a Hugging Face folder, a .pt2, .onnx or "
             "TorchScript file, or FILE.py:FUNCTION that builds one.",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = "device",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, device),
     .metavar = "DEVICE",
     .help = "cpu or cuda.",
     .default_text = "cuda where there is one"},
    {.long_name = "precision",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, precision),
     .metavar = "NAME[,...]",
     .help = "fp32, fp16, bf16 or int8; several are compared.",
     .default_text = "fp32"},
    {.long_name = "batch-size",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, batch_size),
     .metavar = "N[,...]",
     .help = "Dim 0 of the inputs; several are a sweep.",
     .default_text = "that of the inputs"},
    {.long_name = "input-shape",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, input_shape),
     .metavar = "DIMS[;...]",
     .help = "Shapes of the inputs, 1,3,224,224 for one; their values are random.",
     .default_text = "made from what the model says it takes"},
    {.long_name = "autocast",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_bench_model_values, autocast),
     .help = "16-bit precision by autocast rather than by casting the weights."},
    {.long_name = "detailed",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_bench_model_values, detailed),
     .help = "Layers, operators and recommendations too, from a recording of one call."},
    {.long_name = "try",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_bench_model_values, try_variants),
     .help = "With --detailed: run what is recommended here, and say what it gains."},
    {.long_name = "processes",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(pyro_bench_model_values, processes),
     .metavar = "N",
     .help = "Measure in so many processes, one after the other: from 5 on a verdict knows how "
             "processes differ.",
     .default_text = "1",
     .minimum = 1,
     .maximum = 1000},
    {.long_name = "python",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_bench_model_values, python),
     .metavar = "PYTHON",
     .help = "The Python that has the package pyrometer and what the model needs.",
     .default_text = "python3",
     .completion = PYRO_COMPLETE_FILE},
    {.long_name = NULL},
};

/* What does not differ from one process to the next is asked of the first alone. */
static void write_request(pyro_buf *buf, const pyro_bench_model_values *values,
                          const pyro_bench_model_runs *runs, bool first)
{
    pyro_json_writer writer, *w = &writer;

    pyro_buf_reset(buf);
    pyro_json_writer_init(w, buf, 0);
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "model_path", values->path);
    pyro_json_member_string(w, "device", values->device);
    pyro_json_member_string(w, "precision", values->precision);
    pyro_json_member_string(w, "batch_size", values->batch_size);
    pyro_json_member_string(w, "input_shape", values->input_shape);
    pyro_json_member_boolean(w, "autocast", values->autocast);
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

/* What the helper says stood in the way, to be freed; NULL: these are results. */
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

/* One process; *complaint is set where it could not be measured. */
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
    status = path == NULL
                 ? pyro_fail_memory(error)
                 : pyro_file_write_whole(path, request->data, request->length, true, error);
    if (status == PYRO_OK)
        status = pyro_helper_run(&helper, &answer, arguments, error);
    if (status == PYRO_OK)
        *complaint = find_complaint(&answer);
    if (status == PYRO_OK && *complaint == NULL)
        status = pyro_bench_parse(out, answer.data, answer.length, error);
    pyro_helper_end(&helper);
    pyro_buf_free(&answer);
    free(path);
    return status;
}

pyro_bench *pyro_bench_model_measure(const pyro_bench_model_values *values,
                                     const pyro_bench_model_runs *runs, int *exit_code)
{
    char *python = pyro_python_choose(values->python);
    char *package = NULL, *complaint = NULL;
    pyro_buf request = PYRO_BUF_INIT;
    pyro_bench *bench = NULL;
    pyro_error error;
    int status = PYRO_OK;

    pyro_error_clear(&error);
    *exit_code = PYRO_EXIT_ERROR;
    if (strchr(values->path, ':') == NULL && access(values->path, F_OK) != 0) {
        pyro_common_complain("%s: no such file or folder", values->path);
        goto done;
    }
    package = python != NULL ? pyro_python_package(python) : NULL;
    if (package == NULL)
        goto done;
    for (int64_t i = 0; i < values->processes && status == PYRO_OK && complaint == NULL; i++) {
        pyro_bench *next = NULL;

        write_request(&request, values, runs, i == 0);
        status = request.failed ? pyro_fail_memory(&error)
                                : measure_once(&next, python, &request, &complaint, &error);
        if (bench == NULL) {
            bench = next;
        } else if (next != NULL) {
            status = pyro_bench_merge(bench, next, &error);
            pyro_bench_free(next);
        }
    }
    if (complaint != NULL)
        *exit_code = pyro_common_complain("%s", complaint);
    else if (status != PYRO_OK)
        *exit_code = pyro_common_fail(NULL, &error);
    else
        *exit_code = PYRO_EXIT_FINE;
    if (*exit_code != PYRO_EXIT_FINE) {
        pyro_bench_free(bench);
        bench = NULL;
    }
done:
    pyro_buf_free(&request);
    free(complaint);
    free(package);
    free(python);
    return bench;
}
