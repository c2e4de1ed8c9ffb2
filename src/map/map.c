/* Maps of models and recorded runs: prices work, predicts it on each chip, finds the best chip. */
#include "map/internal.h"

#include "base/error.h"
#include "graph/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Batches that are tried: powers of two up to 4096, as far as they fit. */
enum { BATCHES = 13 };
/* Of the most samples per second, from which on a batch is large enough. */
#define SATURATED 0.95

struct pyro_map_store {
    pyro_mapping map;
    pyro_arena arena;
    pyro_map_chip *chips;
};

static const char *const bound_names[] = {"compute", "memory", "launch", "communication"};
static const char *const origin_names[] = {"learnt", "calibrated", "data sheet"};

const char *pyro_map_bound_name(pyro_map_bound bound)
{
    return bound < PYRO_MAP_BOUND_COUNT ? bound_names[bound] : "";
}

const char *pyro_map_origin_name(pyro_map_origin origin)
{
    return origin < PYRO_MAP_ORIGIN_COUNT ? origin_names[origin] : "";
}

static pyro_mapping *new_map(const pyro_mapper *mapper, const char *name, const char *phase,
                             const pyro_map_options *options)
{
    struct pyro_map_store *store = calloc(1, sizeof *store);
    if (!store)
        return NULL;
    pyro_arena_init(&store->arena);
    store->map = (pyro_mapping){.phase = phase,
                                .dtype = "",
                                .measured_on = "",
                                .gpus = options->gpus > 1 ? options->gpus : 1,
                                .parallel = options->gpus > 1 ? options->parallel
                                                              : PYRO_PARALLEL_NONE,
                                .fused = options->fused,
                                .chip_count = mapper->count,
                                .best_by_time = -1,
                                .best_by_energy = -1,
                                .best_by_price = -1,
                                .store = store};
    store->map.model = pyro_arena_text(&store->arena, name, strlen(name));
    store->map.chips = store->chips = pyro_arena_array(&store->arena, mapper->count + 1,
                                                       sizeof *store->chips);
    if (!store->map.model || !store->chips) {
        pyro_mapping_free(&store->map);
        return NULL;
    }
    memset(store->chips, 0, (mapper->count + 1) * sizeof *store->chips);
    return &store->map;
}

void pyro_mapping_free(pyro_mapping *map)
{
    if (!map)
        return;
    struct pyro_map_store *store = map->store;
    pyro_arena_free(&store->arena);
    free(store);
}

pyro_arena *pyro_map_arena(pyro_mapping *map)
{
    return &map->store->arena;
}

int pyro_map_name_measured(pyro_mapping *map, const char *chip, pyro_error *error)
{
    const char *name = pyro_arena_text(&map->store->arena, chip, strlen(chip));
    if (!name)
        return pyro_fail_memory(error);
    map->measured_on = name;
    return PYRO_OK;
}

/* Names of the work's layers are copied: the work is freed. */
static bool keep_names(pyro_mapping *map, const pyro_map_work *work)
{
    for (size_t i = 0; i < work->layer_count; i++) {
        const char *name = pyro_arena_text(&map->store->arena, work->layers[i],
                                           strlen(work->layers[i]));
        for (size_t c = 0; c < map->chip_count; c++)
            map->chips[c].layers[i].name = name;
        if (!name)
            return false;
    }
    return true;
}

static int predict(pyro_mapping *map, const pyro_mapper *mapper, const pyro_map_work *work,
                   const pyro_map_options *options, pyro_error *error)
{
    for (size_t i = 0; i < mapper->count; i++) {
        pyro_map_chip *chip = &map->chips[i];
        if (!pyro_map_work_on(chip, &map->store->arena, mapper, i, work, options))
            return pyro_fail_memory(error);
        double price = options->prices_per_hour ? options->prices_per_hour[i] : 0;
        chip->price_per_hour = price > 0 ? price * map->gpus : 0;
        if (chip->price_per_hour > 0 && chip->samples_per_s > 0)
            chip->price_per_million = chip->price_per_hour / 3600 * 1e6 / chip->samples_per_s;
    }
    map->dtype = work->dtype;
    map->batch = work->samples;
    map->sequence = work->sequence;
    return keep_names(map, work) ? PYRO_OK : pyro_fail_memory(error);
}

static bool is_better(double value, double best)
{
    return value > 0 && (best <= 0 || value < best);
}

static void choose_best(pyro_mapping *map)
{
    double time = 0, energy = 0, price = 0;
    for (size_t i = 0; i < map->chip_count; i++) {
        const pyro_map_chip *chip = &map->chips[i];
        if (!chip->fits)
            continue;
        if (is_better(chip->total.time_ns, time)) {
            time = chip->total.time_ns;
            map->best_by_time = (int)i;
        }
        if (is_better(chip->total.energy_joules, energy)) {
            energy = chip->total.energy_joules;
            map->best_by_energy = (int)i;
        }
        if (is_better(chip->price_per_million, price)) {
            price = chip->price_per_million;
            map->best_by_price = (int)i;
        }
    }
}

/* Samples per second by power of two of the batch; 0: not tried, or it does not fit. */
typedef double batch_rates[BATCHES];

/* The smallest batch near the best of them. At the largest that fits, a larger one may be faster. */
static void set_saturation(pyro_map_chip *chip, const batch_rates rates)
{
    double best = 0;
    int largest = 0;
    for (int i = 0; i < BATCHES; i++) {
        best = fmax(best, rates[i]);
        largest = rates[i] > 0 ? i : largest;
    }
    for (int i = 0; best > 0 && i < BATCHES && !chip->saturating_batch; i++)
        if (rates[i] >= SATURATED * best) {
            chip->saturating_batch = INT64_C(1) << i;
            chip->is_saturated = i < largest;
        }
}

/* Rates of one batch on every chip; false if it fits on none. */
static int try_batch(batch_rates *rates, int step, bool *fits, const pyro_mapper *mapper,
                     pyro_model *model, const pyro_cost_options *cost_options,
                     const pyro_map_options *options, pyro_error *error)
{
    pyro_map_work work;
    pyro_arena arena;
    int status = pyro_map_work_of_model(&work, model, cost_options, options, error);

    *fits = false;
    if (status != PYRO_OK)
        return status;
    pyro_arena_init(&arena);
    for (size_t i = 0; i < mapper->count; i++) {
        pyro_map_chip chip;
        if (pyro_map_work_on(&chip, &arena, mapper, i, &work, options) && chip.fits) {
            rates[i][step] = chip.samples_per_s;
            *fits = true;
        }
    }
    pyro_arena_free(&arena);
    pyro_map_work_free(&work);
    return PYRO_OK;
}

static int find_saturation(pyro_mapping *map, const pyro_mapper *mapper, pyro_model *model,
                           const pyro_cost_options *cost_options, const pyro_map_options *options,
                           pyro_error *error)
{
    batch_rates *rates = calloc(mapper->count + 1, sizeof *rates);
    pyro_symbol *saved = pyro_model_save_sizes(model);
    int status = rates && saved ? PYRO_OK : pyro_fail_memory(error);
    bool fits = true;

    for (int step = 0; status == PYRO_OK && fits && step < BATCHES; step++) {
        pyro_error refused;
        pyro_error_clear(&refused);
        pyro_model_restore_sizes(model, saved, true);
        if (pyro_model_set_batch(model, INT64_C(1) << step, &refused) != PYRO_OK)
            break;
        status = try_batch(rates, step, &fits, mapper, model, cost_options, options, error);
    }
    for (size_t i = 0; status == PYRO_OK && i < mapper->count; i++)
        set_saturation(&map->chips[i], rates[i]);
    free(rates);
    if (saved)
        pyro_model_restore_sizes(model, saved, false);
    free(saved);
    return status;
}

static const pyro_map_options defaults;

int pyro_map_model(pyro_mapping **out, const pyro_mapper *mapper, pyro_model *model,
                   const pyro_cost_options *cost_options, const pyro_map_options *given,
                   pyro_error *error)
{
    const pyro_map_options *options = given ? given : &defaults;
    pyro_map_work work;

    *out = NULL;
    int status = pyro_map_work_of_model(&work, model, cost_options, options, error);
    if (status != PYRO_OK)
        return status;
    pyro_mapping *map = new_map(mapper, pyro_model_name(model),
                                options->train ? "training" : "inference", options);
    status = map ? predict(map, mapper, &work, options, error) : pyro_fail_memory(error);
    pyro_map_work_free(&work);
    if (status == PYRO_OK && options->find_saturation)
        status = find_saturation(map, mapper, model, cost_options, options, error);
    if (status == PYRO_OK) {
        choose_best(map);
        *out = map;
    } else {
        pyro_mapping_free(map);
    }
    return status;
}

int pyro_map_trace(pyro_mapping **out, const pyro_mapper *mapper, pyro_trace *trace,
                   const pyro_map_options *given, pyro_error *error)
{
    const pyro_map_options *options = given ? given : &defaults;
    char chip[PYRO_EFFICIENCY_TEXT];
    pyro_map_work work;

    *out = NULL;
    int status = pyro_map_work_of_trace(&work, trace, chip, error);
    if (status != PYRO_OK)
        return status;
    pyro_mapping *map = new_map(mapper, "run", "run", options);
    status = map ? predict(map, mapper, &work, options, error) : pyro_fail_memory(error);
    pyro_map_work_free(&work);
    if (status == PYRO_OK)
        status = pyro_map_name_measured(map, chip, error);
    for (size_t i = 0; status == PYRO_OK && i < map->chip_count; i++)
        map->chips[i].is_measured = !chip[0] || strcmp(mapper->chips[i].key, chip) == 0;
    if (status == PYRO_OK) {
        choose_best(map);
        *out = map;
    } else {
        pyro_mapping_free(map);
    }
    return status;
}
