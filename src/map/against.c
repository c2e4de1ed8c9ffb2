/* Puts the times of a recorded run beside the predictions for the model's layers. */
#include "map/internal.h"

#include "base/error.h"
#include "predict/chip_of_trace.h"
#include "predict/owned_times.h"
#include "trace/trace.h"

#include <string.h>

/* A layer's own time: on the device if anything ran there. */
static int64_t own_ns(const pyro_layer_row *row, bool on_device, bool is_training)
{
    int64_t forward = on_device ? row->forward_device_self_ns : row->forward_host_self_ns;
    int64_t backward = on_device ? row->backward_device_self_ns : row->backward_host_self_ns;
    return forward + (is_training ? backward : 0);
}

/* How often the model was called: as often as its root, else as the layer with most calls. */
static int64_t calls_of_model(const pyro_analysis *analysis)
{
    int64_t calls = 0;
    for (size_t i = 0; i < analysis->layer_count; i++) {
        const pyro_layer_row *row = &analysis->layers[i];
        if (!row->path[0] && row->calls > 0)
            return row->calls;
        if (row->depth <= 1 && row->calls > calls)
            calls = row->calls;
    }
    return calls > 0 ? calls : 1;
}

/* The predicted layer of a path: the same, else the one that contains it. */
static pyro_map_row *find_layer(pyro_map_chip *chip, const char *path)
{
    pyro_map_row *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < chip->layer_count; i++) {
        const char *name = chip->layers[i].name;
        size_t length = strlen(name);
        bool is_root = strcmp(name, "(model)") == 0;
        if (strcmp(name, path) == 0 || (is_root && !path[0]))
            return &chip->layers[i];
        if ((strncmp(name, path, length) == 0 && path[length] == '.' && length >= longest) ||
            (is_root && !best)) {
            best = &chip->layers[i];
            longest = is_root ? 0 : length;
        }
    }
    return best;
}

static void add_times(pyro_map_chip *chip, const pyro_analysis *analysis, bool on_device,
                      bool is_training)
{
    double calls = (double)calls_of_model(analysis), total = 0;
    for (size_t i = 0; i < chip->layer_count; i++)
        chip->layers[i].measured_ns = -1;
    for (size_t i = 0; i < analysis->layer_count; i++) {
        const pyro_layer_row *row = &analysis->layers[i];
        double time = (double)own_ns(row, on_device, is_training) / calls;
        pyro_map_row *layer = find_layer(chip, row->path);
        total += time;
        if (layer)
            layer->measured_ns = (layer->measured_ns > 0 ? layer->measured_ns : 0) + time;
    }
    chip->total.measured_ns = total;
}

/* Whether the run, on `where` or an unknown chip (""), ran on this chip. */
static bool ran_on(const pyro_map_chip *chip, const char *where, bool on_device)
{
    bool is_host = strcmp(chip->name, "host") == 0;
    return on_device ? !where[0] || strcmp(chip->name, where) == 0 : is_host;
}

int pyro_map_against(pyro_mapping *map, pyro_model *model, pyro_trace *trace, pyro_error *error)
{
    pyro_analysis_options options = {
        .model = model, .step = -1, .without_stacks = true, .without_gap_causes = true};
    char chip[PYRO_EFFICIENCY_TEXT];
    pyro_analysis *analysis = NULL;
    pyro_error unknown;
    bool on_device = pyro_trace_has_kernels(trace);

    int status = pyro_trace_analyze(&analysis, trace, &options, error);
    if (status != PYRO_OK)
        return status;
    if (!analysis->layer_count)
        status = pyro_fail(
            error, PYRO_ERROR_UNSUPPORTED,
            "the trace has no layers: record it with with_stack=True, or with pyrometer run");
    for (size_t i = 0; status == PYRO_OK && i < map->chip_count; i++)
        add_times(&map->chips[i], analysis, on_device, strcmp(map->phase, "training") == 0);
    pyro_error_clear(&unknown);
    if (pyro_chip_of_trace(chip, trace, on_device, &unknown) != PYRO_OK)
        chip[0] = '\0';
    for (size_t i = 0; status == PYRO_OK && i < map->chip_count; i++)
        map->chips[i].is_measured = ran_on(&map->chips[i], chip, on_device);
    if (status == PYRO_OK && chip[0])
        status = pyro_map_name_measured(map, chip, error);
    pyro_analysis_free(analysis);
    return status;
}
