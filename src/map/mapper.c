/* Prepares chips: figures of their rows, learnt tables, and what was measured on this machine. */
#include "map/internal.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* What an eager program needs per op on a fast host: Python, the dispatcher, the launch. */
#define USUAL_HOST_NS 10000.0

static int load_tables(pyro_mapper *mapper, const pyro_mapper_options *options, pyro_error *error)
{
    char *user = options->table ? NULL : pyro_efficiency_user_path();
    int status = PYRO_OK;
    if (options->table) {
        mapper->learnt = pyro_efficiency_new();
        status = mapper->learnt ? pyro_efficiency_read(mapper->learnt, options->table, error)
                                : pyro_fail_memory(error);
        if (status == PYRO_OK)
            status = pyro_efficiency_prepare(mapper->learnt, error);
    } else if (!options->without_learnt) {
        status = pyro_efficiency_load(&mapper->learnt, user, &mapper->has_old_table, error);
    }
    free(user);
    return status;
}

/* Memory of this machine; 0: unknown. */
static int64_t host_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : 0;
}

static void set_host(pyro_mapped_chip *chip, const pyro_rates *rates)
{
    chip->is_host = true;
    chip->rates = *rates;
    chip->chip = (pyro_chip){.name = chip->name,
                             .words = "",
                             .fp64_tflops = rates->float64_flops_per_s / 1e12,
                             .fp32_tflops = rates->float32_flops_per_s / 1e12,
                             .fp16_tflops = rates->float16_flops_per_s / 1e12,
                             .bf16_tflops = rates->bfloat16_flops_per_s / 1e12,
                             .int8_tops = rates->int8_ops_per_s / 1e12,
                             .bandwidth_gb_per_s = rates->bytes_per_s / 1e9,
                             .memory_bytes = host_memory_bytes(),
                             .source = "pyrometer doctor --calibrate"};
}

/* Below its power limit a chip runs slower: power grows about with the cube of the clock. */
static void scale(pyro_chip *chip, const pyro_mapper_options *options)
{
    double share = options->clock_share > 0 ? options->clock_share : 1;
    double cap = options->power_cap_watts;
    if (cap > 0 && chip->power_watts > cap) {
        share *= cbrt(cap / chip->power_watts);
        chip->power_watts = cap;
    }
    double *peaks[] = {&chip->fp64_tflops, &chip->fp32_tflops, &chip->tf32_tflops,
                       &chip->fp16_tflops, &chip->bf16_tflops, &chip->fp8_tflops,
                       &chip->fp4_tflops,  &chip->int8_tops};
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
        *peaks[i] *= share;
}

static int set_chip(pyro_mapper *mapper, size_t index, const char *name, const pyro_peaks *peaks,
                    const char *processor, const pyro_mapper_options *options, pyro_error *error)
{
    pyro_mapped_chip *chip = &mapper->chips[index];
    const pyro_chip *row = pyro_chip_list_find(mapper->list, name);

    if (strcasecmp(name, "host") == 0) {
        if (peaks->host.bytes_per_s <= 0)
            return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                             "this machine was not measured: run pyrometer doctor --calibrate");
        snprintf(chip->name, sizeof chip->name, "host");
        snprintf(chip->key, sizeof chip->key, "%s", processor);
        set_host(chip, &peaks->host);
    } else if (row) {
        chip->chip = *row;
        chip->host_ns = USUAL_HOST_NS;
        snprintf(chip->name, sizeof chip->name, "%.90s", row->name);
        snprintf(chip->key, sizeof chip->key, "%.90s", row->name);
        for (size_t i = 0; i < peaks->device_count; i++)
            if (pyro_chip_find(peaks->devices[i].name, row->memory_bytes) == row) {
                chip->rates = peaks->devices[i].rates;
                chip->host_ns = fmax(chip->rates.launch_ns, USUAL_HOST_NS);
            }
        if (options->host_ns > 0)
            chip->host_ns = options->host_ns;
    } else {
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "unknown chip \"%.60s\" ('pyrometer hardware' lists them)", name);
    }
    scale(&chip->chip, options);
    return PYRO_OK;
}

static int read_peaks(pyro_mapper *mapper, pyro_peaks *peaks, char processor[PYRO_EFFICIENCY_TEXT],
                      const pyro_mapper_options *options, pyro_error *error)
{
    char *path = options->peaks ? strdup(options->peaks) : pyro_peaks_path();
    int status = PYRO_OK;

    *peaks = (pyro_peaks){0};
    processor[0] = '\0';
    bool exists = path && (options->peaks || access(path, F_OK) == 0);
    if (exists)
        status = pyro_peaks_read(peaks, path, error);
    mapper->calibrated = exists && status == PYRO_OK ? pyro_efficiency_new() : NULL;
    if (mapper->calibrated) {
        status = pyro_calibration_read(mapper->calibrated, path, processor, error);
        if (status == PYRO_OK)
            status = pyro_efficiency_prepare(mapper->calibrated, error);
    }
    free(path);
    if (options->without_calibration) {
        pyro_efficiency_free(mapper->calibrated);
        mapper->calibrated = NULL;
    }
    return status;
}

int pyro_mapper_new(pyro_mapper **out, const char *const *names, size_t count,
                    const pyro_mapper_options *given, pyro_error *error)
{
    pyro_mapper_options options = given ? *given : (pyro_mapper_options){0};
    pyro_mapper *mapper = calloc(1, sizeof *mapper);
    char processor[PYRO_EFFICIENCY_TEXT];
    pyro_peaks peaks;

    *out = NULL;
    if (!mapper || !(mapper->chips = calloc(count + 1, sizeof *mapper->chips))) {
        pyro_mapper_free(mapper);
        return pyro_fail_memory(error);
    }
    int status = pyro_chip_list_load(&mapper->list, options.chips, error);
    if (status == PYRO_OK)
        status = load_tables(mapper, &options, error);
    if (status == PYRO_OK)
        status = read_peaks(mapper, &peaks, processor, &options, error);
    for (size_t i = 0; status == PYRO_OK && i < count; i++, mapper->count++)
        status = set_chip(mapper, i, names[i], &peaks, processor, &options, error);
    if (status == PYRO_OK)
        *out = mapper;
    else
        pyro_mapper_free(mapper);
    return status;
}

void pyro_mapper_free(pyro_mapper *mapper)
{
    if (!mapper)
        return;
    pyro_chip_list_free(mapper->list);
    pyro_efficiency_free(mapper->learnt);
    pyro_efficiency_free(mapper->calibrated);
    free(mapper->chips);
    free(mapper);
}

bool pyro_mapper_has_old_table(const pyro_mapper *mapper)
{
    return mapper->has_old_table;
}

size_t pyro_mapper_count(const pyro_mapper *mapper)
{
    return mapper->count;
}
