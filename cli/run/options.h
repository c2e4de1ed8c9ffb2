/* Options of pyrometer run and pyrometer python. */
#ifndef PYRO_CLI_RUN_OPTIONS_H
#define PYRO_CLI_RUN_OPTIONS_H

#include "cli/command.h"

typedef struct run_values {
    const char *output, *max_size, *keep_last, *triggers, *perfetto, *metrics, *python, *output_dir;
    int64_t max_files;
    int gpu; /* index of pyro_gpu_ways */
    double gpu_sampling; /* seconds; negative: the package decides */
    bool force, nvtx, no_stacks, no_shapes, no_outputs, no_memory, no_ops, quiet, help;
} run_values;

/* Values of PYROMETER_GPU in the program; the package knows what they mean. */
extern const char *const pyro_gpu_ways[];
extern const pyro_option_group pyro_run_option_groups[];
extern const pyro_option_group pyro_python_option_groups[];

#endif
