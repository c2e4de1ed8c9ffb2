/* pyrometer run, pyrometer python: start a program with capturing switched on. Python replaces this
 * process, so that signals, terminal and exit code are those of the program. */
#include "base/error.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/help.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/python/interpreter.h"
#include "cli/run/options.h"

#include <errno.h>
#include <inttypes.h>
#include <pyrometer/capture.h>
#include <pyrometer/metrics.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For `run`: true for arguments that are passed to Python unchanged. */
static bool starts_program(const char *argument)
{
    return strncmp(argument, "-m", 2) == 0 || strncmp(argument, "-c", 2) == 0;
}

/* For `python`: true for all but our few long options; they go to the interpreter. */
static bool is_interpreters(const char *argument)
{
    static const char *const ours[] = {"--python", "--output-dir", "--help", "-h"};

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        size_t length = strlen(ours[i]);

        if (strncmp(argument, ours[i], length) == 0 &&
            (argument[length] == '\0' || argument[length] == '='))
            return false;
    }
    return true;
}

static bool is_ranked(void)
{
    const char *size = getenv("WORLD_SIZE");

    return size && atoi(size) > 1 && getenv("RANK");
}

/* train.py -> train.pyro, -m pkg.train -> train.pyro, -c -> code.pyro; one per rank. */
static char *default_output(int argc, char **argv)
{
    char *path = NULL, rank[32] = "";
    const char *name = argv[0], *start, *dot;

    if (strncmp(name, "-c", 2) == 0)
        name = "code";
    else if (strncmp(name, "-m", 2) == 0)
        name = name[2] != '\0' ? name + 2 : (argc > 1 ? argv[1] : "module");
    start = strrchr(name, '/');
    name = start ? start + 1 : name;
    dot = strrchr(name, '.');
    if (name == argv[0] || start) { /* a script: without its extension */
        if (!dot || dot == name)
            dot = name + strlen(name);
    } else { /* a module: its last part */
        name = dot ? dot + 1 : name;
        dot = name + strlen(name);
    }
    if (is_ranked())
        snprintf(rank, sizeof rank, "_rank%d", atoi(getenv("RANK")));
    if (asprintf(&path, "%.*s%s.pyro", (int)(dot - name), name, rank) < 0)
        return NULL;
    return path;
}

static char *absolute(const char *path)
{
    char *folder, *whole = NULL;

    if (path[0] == '/')
        return strdup(path);
    folder = getcwd(NULL, 0);
    if (!folder || asprintf(&whole, "%s/%s", folder, path) < 0)
        whole = NULL;
    free(folder);
    return whole;
}

/* Adds the files that python -m may run, for a package in the current folder. */
static void add_module(const char *name)
{
    static const char *const ends[] = {".py", "/__main__.py", "/__init__.py"};
    char *path = NULL;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (asprintf(&path, "%s%s", name, ends[i]) < 0)
            return;
        for (size_t at = 0; name[at] != '\0'; at++)
            if (path[at] == '.')
                path[at] = '/';
        pyro_inputs_add(path, false);
        free(path);
    }
}

/* Rejects a recording that would overwrite the program or one of its input files. */
static bool check_inputs(const char *recording, int argc, char **argv)
{
    pyro_error error;
    char *kernels = NULL;
    int status;

    for (int i = 0; i < argc; i++)
        pyro_inputs_add(argv[i], false);
    if (strncmp(argv[0], "-m", 2) == 0)
        add_module(argv[0][2] != '\0' ? argv[0] + 2 : (argc > 1 ? argv[1] : ""));
    pyro_error_clear(&error);
    status = pyro_inputs_check(recording, &error);
    if (status == PYRO_OK && asprintf(&kernels, "%s.devices.json", recording) >= 0)
        status = pyro_inputs_check(kernels, &error);
    free(kernels);
    if (status != PYRO_OK)
        pyro_common_fail(NULL, &error);
    return status == PYRO_OK;
}

/* Checks the amount to keep and the triggers, which the program reads again. */
static bool set_flight(const run_values *values, uint64_t max_bytes)
{
    const char *keep = values->keep_last ? values->keep_last : "";
    const char *triggers = values->triggers ? values->triggers : "";
    pyro_flight_options options = {0};
    pyro_error error;

    pyro_error_clear(&error);
    if (keep[0] != '\0' && pyro_flight_parse_keep(&options, keep, &error) != PYRO_OK) {
        pyro_common_complain("--keep-last: %s", error.message);
        return false;
    }
    if (values->triggers && pyro_flight_parse_triggers(&options, triggers, &error) != PYRO_OK) {
        pyro_common_complain("--on: %s", error.message);
        return false;
    }
    if (values->keep_last && keep[0] == '\0' && max_bytes == 0 && !values->triggers) {
        pyro_common_complain("--keep-last requires an amount, such as 30s, or --max-size");
        return false;
    }
    if (setenv("PYROMETER_KEEP_LAST", keep, 1) != 0 || setenv("PYROMETER_ON", triggers, 1) != 0) {
        pyro_common_complain("out of memory");
        return false;
    }
    return true;
}

/* With metrics alone there is nothing to write a file for. */
static bool is_unnamed(const run_values *values)
{
    return values->metrics && !values->output && !values->max_size && !values->keep_last &&
           !values->triggers;
}

static bool set_metrics(const char *text)
{
    pyro_metrics_address address;
    pyro_error error;

    pyro_error_clear(&error);
    if (text && pyro_metrics_parse_address(&address, text, &error) != PYRO_OK) {
        pyro_common_complain("--metrics: %s", error.message);
        return false;
    }
    if (text ? setenv("PYROMETER_METRICS", text, 1) != 0 : unsetenv("PYROMETER_METRICS") != 0) {
        pyro_common_complain("out of memory");
        return false;
    }
    return true;
}

/* Passes the path of the Perfetto trace to the program. */
static bool set_perfetto(const char *path)
{
    char *whole = path && path[0] != '\0' ? absolute(path) : NULL;
    pyro_error error;

    pyro_error_clear(&error);
    if (path && (!whole || strcmp(path, "-") == 0))
        pyro_fail(&error, PYRO_ERROR_ARGUMENT, "--perfetto needs a file name");
    else if (path && pyro_inputs_check(whole, &error) == PYRO_OK)
        setenv("PYROMETER_PERFETTO", whole, 1);
    else if (!path)
        unsetenv("PYROMETER_PERFETTO");
    free(whole);
    return error.code == PYRO_OK || (pyro_common_fail(NULL, &error), false);
}

/* Checks that the file of the recording can be written. */
static bool check_output(const run_values *values, const char *path, const char *whole, int argc,
                         char **argv)
{
    const char *end = strrchr(path, '.');

    if (is_unnamed(values))
        return true;
    if (end && strcmp(end, ".html") == 0) {
        pyro_common_complain("%s: run writes a recording; record with -o %.*s.pyro, then run "
                             "pyrometer report %.*s.pyro -o %s",
                             path, (int)(end - path), path, (int)(end - path), path, path);
        return false;
    }
    if (!check_inputs(whole, argc, argv))
        return false;
    if (!values->force && access(whole, F_OK) == 0) {
        pyro_common_complain("%s already exists; -f replaces it, -o writes another file", path);
        return false;
    }
    return true;
}

/* Passes the recording's path and settings to the program in environment variables. */
static bool set_recording(const run_values *values, int argc, char **argv)
{
    char settings[256], process[32];
    char *path, *whole;
    uint64_t max_bytes = 0;
    bool done;
    pyro_error error;

    pyro_error_clear(&error);
    if (values->max_size &&
        pyro_recorder_parse_size(&max_bytes, values->max_size, &error) != PYRO_OK) {
        pyro_common_complain("--max-size: %s", error.message);
        return false;
    }
    if (!set_flight(values, max_bytes) || !set_metrics(values->metrics))
        return false;
    path = values->output ? strdup(values->output) : default_output(argc, argv);
    whole = path ? absolute(path) : NULL;
    if (whole &&
        (!check_output(values, path, whole, argc, argv) || !set_perfetto(values->perfetto))) {
        free(path);
        free(whole);
        return false;
    }
    snprintf(settings, sizeof settings,
             "max_bytes=%" PRIu64 ",keep_last=%d,stacks=%d,shapes=%d,outputs=%d,memory=%d,ops=%d,"
             "overwrite=%d,quiet=%d,max_files=%d,nvtx=%d,unnamed=%d",
             max_bytes, values->keep_last != NULL, !values->no_stacks && !is_unnamed(values),
             !values->no_shapes, !values->no_outputs && !is_unnamed(values), !values->no_memory,
             !values->no_ops, values->force, values->quiet,
             (int)(values->max_files ? values->max_files : PYRO_FLIGHT_MOST_FILES), values->nvtx,
             is_unnamed(values));
    snprintf(process, sizeof process, "%ld", (long)getpid());
    done = whole && setenv("PYROMETER_RECORD", whole, 1) == 0 &&
           setenv("PYROMETER_RECORD_SETTINGS", settings, 1) == 0 &&
           setenv("PYROMETER_RECORD_PROCESS", process, 1) == 0;
    if (!done)
        pyro_common_complain("cannot set the path of the recording: %s", strerror(errno));
    free(path);
    free(whole);
    return done;
}

/* Puts a folder with a sitecustomize first in PYTHONPATH, which every child Python then runs. */
static bool set_startup(const char *package)
{
    const char *before = getenv("PYTHONPATH");
    bool has = before && before[0] != '\0';
    char *path = NULL;
    bool done = asprintf(&path, "%s/_capture/startup%s%s", package, has ? ":" : "",
                         has ? before : "") >= 0;

    done = done && setenv("PYTHONPATH", path, 1) == 0 && setenv("PYROMETER", "1", 1) == 0;
    if (!done)
        pyro_common_complain("out of memory");
    free(path);
    return done;
}

static bool set_folder(const char *folder)
{
    char *whole;
    bool done;

    if (!folder)
        return true;
    whole = absolute(folder);
    done = whole && setenv("PYROMETER_OUTPUT_DIR", whole, 1) == 0;
    if (!done)
        pyro_common_complain("out of memory");
    free(whole);
    return done;
}

static bool set_gpu(int way, double sampling_s)
{
    char text[32];

    if (sampling_s > 0 && sampling_s < PYRO_GPU_SAMPLING_LEAST_NS / 1e9) {
        pyro_common_complain("--gpu-sampling: %g is too small (at least %g, or 0 for no samples)",
                             sampling_s, PYRO_GPU_SAMPLING_LEAST_NS / 1e9);
        return false;
    }
    snprintf(text, sizeof text, "%g", sampling_s);
    bool done = (way == 0 || setenv("PYROMETER_GPU", pyro_gpu_ways[way], 1) == 0) &&
                (sampling_s < 0 || setenv("PYROMETER_GPU_SAMPLING", text, 1) == 0);

    if (!done)
        pyro_common_complain("out of memory");
    return done;
}

/* Replaces this process; returns only on failure. */
static int become_python(const char *python, int argc, char **argv)
{
    char **words = calloc((size_t)argc + 2, sizeof *words);

    if (!words)
        return pyro_common_complain("out of memory");
    words[0] = (char *)python;
    memcpy(words + 1, argv, (size_t)argc * sizeof *argv);
    fflush(NULL);
    execvp(python, words);
    free(words);
    return pyro_common_complain("%s: %s", python, strerror(errno));
}

static int start_program(const run_values *values, int argc, char **argv, bool record)
{
    char *python = pyro_python_choose(values->python);
    char *package = python ? pyro_python_package(python) : NULL;
    int exit_code = PYRO_EXIT_ERROR;

    if (package && (!record || set_recording(values, argc, argv)) &&
        set_folder(values->output_dir) && set_gpu(values->gpu, values->gpu_sampling) &&
        set_startup(package))
        exit_code = become_python(python, argc, argv);
    free(package);
    free(python);
    return exit_code;
}

static int run_program(const pyro_command *command, int argc, char **argv, bool record)
{
    run_values values = {.gpu_sampling = -1};
    pyro_error error;
    int used = 0;

    pyro_error_clear(&error);
    if (pyro_options_parse_leading(command->groups, &values, argc, argv,
                                   record ? starts_program : is_interpreters, &used,
                                   &error) != PYRO_OK)
        return pyro_common_complain("%s (see pyrometer %s --help)", error.message, command->name);
    if (values.help)
        return pyro_help_show(command, pyro_output_wants_color());
    if (used == argc)
        return pyro_common_complain("%s needs a program: pyrometer %s SCRIPT "
                                    "(see pyrometer %s --help)",
                                    command->name, command->name, command->name);
    return start_program(&values, argc - used, argv + used, record);
}

static int run_run(const pyro_command *command, int argc, char **argv)
{
    return run_program(command, argc, argv, true);
}

static int run_python(const pyro_command *command, int argc, char **argv)
{
    return run_program(command, argc, argv, false);
}

static const pyro_example run_examples[] = {
    {"pyrometer run train.py --epochs 1", "Record the whole program to train.pyro."},
    {"pyrometer trace train.pyro", "Show where the time went."},
    {"pyrometer run -m package.train", "Record a module, as with python -m."},
    {"pyrometer run --keep-last 30s --on slow-step:1.5x,oom,exception,SIGUSR2 serve.py",
     "Leave it on: save the last 30 s when something goes wrong."},
    {"pyrometer run --metrics 9400 serve.py",
     "Serve steps, FLOPs, bytes, memory and device use at http://127.0.0.1:9400/metrics."},
    {NULL, NULL},
};

static const pyro_example python_examples[] = {
    {"pyrometer python my_model_script.py",
     "Write a JSON file and print a table per forward pass of models with @capture_model."},
    {"pyrometer python --output-dir traces train.py", "Write the files to the folder traces."},
    {NULL, NULL},
};

const pyro_command cmd_run = {
    .name = "run",
    .summary = "run a Python program and record what its models do",
    .usage = "[OPTION...] SCRIPT|-m MODULE|-c CODE [ARGUMENT...]",
    .description =
        "Runs a Python program as python would, with the same arguments, exit code, signals and "
        "tracebacks, and records every layer, op, allocation and stack of PyTorch to a file. "
        "pyrometer trace reads that file, even while the program runs or after it was killed. "
        "Models with @capture_model also write one file per forward pass.\n\n"
        "Options come before the program; everything after it belongs to the program. Child "
        "processes record to their own files, FILE.PID.pyro.",
    .examples = run_examples,
    .groups = pyro_run_option_groups,
    .operands = PYRO_COMPLETE_FILE,
    .run = run_run,
};

const pyro_command cmd_python = {
    .name = "python",
    .summary = "run a Python program with @capture_model switched on",
    .usage = "[OPTION...] SCRIPT|-m MODULE|-c CODE [ARGUMENT...]",
    .description =
        "Runs a Python program as python would, with PYROMETER=1: every forward pass of a model "
        "with @capture_model writes MODEL_forward_001.json and so on, and prints a table of its "
        "layers. Nothing else is recorded; pyrometer run records the whole program.\n\n"
        "Interpreter options (-u, -W, -X) are passed on.",
    .examples = python_examples,
    .groups = pyro_python_option_groups,
    .operands = PYRO_COMPLETE_FILE,
    .run = run_python,
};
