/* Option tables of pyrometer run and pyrometer python. */
#include "cli/run/options.h"

#include <pyrometer/capture.h>
#include <stddef.h>
#include <unistd.h>

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

const char *const pyro_gpu_ways[] = {"auto", "collector", "torch", "none", NULL};

#define GPU_OPTION \
    {.long_name = "gpu", \
     .kind = PYRO_OPTION_CHOICE, \
     .offset = offsetof(run_values, gpu), \
     .metavar = "WAY", \
     .help = "How to record kernels. collector: into the recording, with CUPTI; torch: with " \
             "torch.profiler; none; auto: the collector where it works.", \
     .default_text = "auto", \
     .choices = pyro_gpu_ways}

/* PYROMETER_GPU_SAMPLING in the program. */
#define GPU_SAMPLING_OPTION \
    {.long_name = "gpu-sampling", \
     .kind = PYRO_OPTION_NUMBER, \
     .offset = offsetof(run_values, gpu_sampling), \
     .maximum = 60, \
     .metavar = "SECONDS", \
     .help = "Interval between samples of the GPU's power, energy, clocks, temperature and use, " \
             "by NVML, at least 0.001; 0: no samples.", \
     .default_text = "0.1"}

#define HELP_OPTION \
    {.long_name = "help", \
     .short_name = 'h', \
     .kind = PYRO_OPTION_FLAG, \
     .offset = offsetof(run_values, help), \
     .help = "Show this help."}

/* An amount, or what was meant to be one: a number, unless a program has this name. */
static bool is_kept_amount(const char *text)
{
    pyro_flight_options options = {0};

    return pyro_flight_parse_keep(&options, text, NULL) == PYRO_OK ||
           (text[0] >= '0' && text[0] <= '9' && access(text, F_OK) != 0);
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
     .help = "Keep only the last part of the run: a time or a number of steps (30s, 500ms, 2m, "
             "200steps), of at most --max-size (512M unless given). Without AMOUNT: as much as "
             "--max-size allows."},
    {.long_name = "on",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(run_values, triggers),
     .metavar = "TRIGGERS",
     .help =
         "Save the last part to a file of its own when something happens, and go on: "
         "slow-step (more than twice the median; slow-step:1.5x, slow-step:250ms), oom, "
         "exception, signal (SIGUSR2), SIGUSR1, SIGUSR2, SIGHUP, SIGTERM, SIGINT, "
         "cuda-profiler; several are separated by commas. Keeps 30s unless --keep-last is given."},
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

const pyro_option_group pyro_run_option_groups[] = {
    {"The recording:", file_options, 0},
    {"What to record:", what_options, 0},
    {"Metrics:", metrics_options, 0},
    {"The program:", program_options, 0},
    {NULL, NULL, 0},
};

static const pyro_option python_options[] = {
    PYTHON_OPTION, FOLDER_OPTION, GPU_OPTION, HELP_OPTION, {.long_name = NULL}};

const pyro_option_group pyro_python_option_groups[] = {
    {"Options:", python_options, 0},
    {NULL, NULL, 0},
};
