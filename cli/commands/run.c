/* pyrometer run, pyrometer python: start a program with capturing switched on. Python replaces this
 * process, so that signals, terminal and exit code are those of the program. */
#include "base/error.h"
#include "base/text/units.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/help.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/python/interpreter.h"

#include <errno.h>
#include <inttypes.h>
#include <pyrometer/capture.h>
#include <pyrometer/metrics.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct run_values {
    const char *output, *max_size, *keep_last, *triggers, *perfetto, *metrics, *python, *output_dir;
    int64_t max_files;
    int gpu; /* index of gpu_ways */
    double gpu_sampling; /* seconds; negative: the package decides */
    bool force, nvtx, no_stacks, no_shapes, no_outputs, no_memory, no_ops, quiet, help;
} run_values;

#define PYTHON_OPTION \
    {.long_name = "python", \
     .kind = PYRO_OPTION_STRING, \
     .offset = offsetof(run_values, python), \
     .metavar = "EXE", \
     .help = "Python interpreter for the program; it needs the package pyrometer.", \
     .default_text = "python3 of the environment that holds pyrometer, or on PATH", \
     .completion = PYRO_COMPLETE_FILE}

#define FOLDER_OPTION \
    {.long_name = "output-dir", \
     .kind = PYRO_OPTION_STRING, \
     .offset = offsetof(run_values, output_dir), \
     .metavar = "DIR", \
     .help = "Folder where decorated models write one file per forward pass.", \
     .default_text = "the current folder", \
     .completion = PYRO_COMPLETE_FILE, \
     .writes = PYRO_WRITES_FOLDER}

/* PYROMETER_GPU in the program; the package knows what they mean. */
static const char *const gpu_ways[] = {"auto", "collector", "torch", "none", NULL};

#define GPU_OPTION \
    {.long_name = "gpu", \
     .kind = PYRO_OPTION_CHOICE, \
     .offset = offsetof(run_values, gpu), \
     .metavar = "WAY", \
     .help = "How to record kernels. collector: into the recording, with CUPTI; torch: with " \
             "torch.profiler; none; auto: the collector where it works.", \
     .default_text = "auto", \
     .choices = gpu_ways}

/* PYROMETER_GPU_SAMPLING in the program. */
#define GPU_SAMPLING_OPTION \
    {.long_name = "gpu-sampling", \
     .kind = PYRO_OPTION_NUMBER, \
     .offset = offsetof(run_values, gpu_sampling), \
     .maximum = 60, \
     .metavar = "SECONDS", \
     .help = "Interval between samples of the GPU's power, energy, clocks, temperature and use, " \
             "by NVML; 0: no samples.", \
     .default_text = "0.1"}

#define HELP_OPTION \
    {.long_name = "help", \
     .short_name = 'h', \
     .kind = PYRO_OPTION_FLAG, \
     .offset = offsetof(run_values, help), \
     .help = "Show this help."}

static bool is_kept_amount(const char *text)
{
    pyro_flight_options options = {0};

    return pyro_flight_parse_keep(&options, text, NULL) == PYRO_OK;
}

static const pyro_option file_options[] = {
    {.long_name = "output",
     .short_name = 'o',
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(run_values, output),
     .metavar = "FILE",
     .help = "File to record to.",
     .default_text = "the script's name with .pyro",
     .completion = PYRO_COMPLETE_FILE,
     .writes = PYRO_WRITES_FILE},
    {.long_name = "force",
     .short_name = 'f',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(run_values, force),
     .help = "Replace an existing recording."},
    {.long_name = "max-size",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(run_values, max_size),
     .metavar = "SIZE",
     .help = "Stop recording when the file reaches this size (500M, 2G); the program continues.",
     .default_text = "no limit"},
    {.long_name = "keep-last",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(run_values, keep_last),
     .metavar = "AMOUNT",
     .is_value = is_kept_amount,
     .help = "Keep only the last part of the run: a time or a number of steps (30s, 500ms, "
             "200steps), of at most --max-size (512M unless given). Without AMOUNT: as much as "
             "--max-size allows."},
    {.long_name = "on",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(run_values, triggers),
     .metavar = "TRIGGERS",
     .help = "Save the last part to a file of its own when something happens, and go on: "
             "slow-step (more than twice the median; slow-step:1.5x, slow-step:250ms), oom, "
             "exception, SIGUSR1, SIGUSR2, SIGHUP, SIGTERM, SIGINT, cuda-profiler; several are "
             "separated by commas. Keeps 30s unless --keep-last is given."},
    {.long_name = "max-files",
     .kind = PYRO_OPTION_INTEGER,
     .offset = offsetof(run_values, max_files),
     .metavar = "N",
     .help = "Save at most N files per trigger.",
     .default_text = "10",
     .minimum = 1,
     .maximum = 9999},
    {.long_name = "perfetto",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(run_values, perfetto),
     .metavar = "FILE",
     .help = "Also write the recording in Perfetto's own format (.pftrace) when the program ends, "
             "for ui.perfetto.dev.",
     .completion = PYRO_COMPLETE_FILE,
     .writes = PYRO_WRITES_FILE},
    FOLDER_OPTION,
    {.long_name = NULL},
};

static const pyro_option what_options[] = {
    {.long_name = "no-stacks",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(run_values, no_stacks),
     .help = "Do not record the Python stacks of ops."},
    {.long_name = "no-shapes",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(run_values, no_shapes),
     .help = "Do not record shapes and types of inputs and outputs. Without them there are no "
             "FLOPs."},
    {.long_name = "no-outputs",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(run_values, no_outputs),
     .help = "Do not record shapes and types of outputs. Cheaper; torch.profiler omits them too."},
    {.long_name = "no-memory",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(run_values, no_memory),
     .help = "Do not record allocations and frees."},
    {.long_name = "no-ops",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(run_values, no_ops),
     .help = "Record only layers: the lowest overhead."},
    GPU_OPTION,
    {.long_name = "nvtx",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(run_values, nvtx),
     .help = "Make every call of a layer an NVTX range, and the run a range of the CUDA profiler, "
             "for nsys."},
    GPU_SAMPLING_OPTION,
    {.long_name = NULL},
};

static const pyro_option metrics_options[] = {
    {.long_name = "metrics",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(run_values, metrics),
     .metavar = "ADDRESS",
     .help = "Serve counters of the running program for Prometheus: a port on 127.0.0.1, or "
             "HOST:PORT; port 0: any free one. Alone, it records no file."},
    {.long_name = NULL},
};

static const pyro_option program_options[] = {
    PYTHON_OPTION,
    {.long_name = "quiet",
     .short_name = 'q',
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(run_values, quiet),
     .help = "Print only problems on standard error."},
    HELP_OPTION,
    {.long_name = NULL},
};

static const pyro_option_group run_groups[] = {
    {"The recording:", file_options, 0},
    {"What to record:", what_options, 0},
    {"Metrics:", metrics_options, 0},
    {"The program:", program_options, 0},
    {NULL, NULL, 0},
};

static const pyro_option python_options[] = {
    PYTHON_OPTION, FOLDER_OPTION, GPU_OPTION, HELP_OPTION, {.long_name = NULL}};

static const pyro_option_group python_groups[] = {
    {"Options:", python_options, 0},
    {NULL, NULL, 0},
};

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

    if (values->max_size && !pyro_parse_size(values->max_size, &max_bytes)) {
        pyro_common_complain("--max-size: \"%.60s\" is not a size; write 500M or 2G",
                             values->max_size);
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
    snprintf(text, sizeof text, "%g", sampling_s);
    bool done = (way == 0 || setenv("PYROMETER_GPU", gpu_ways[way], 1) == 0) &&
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
    .groups = run_groups,
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
    .groups = python_groups,
    .operands = PYRO_COMPLETE_FILE,
    .run = run_python,
};
