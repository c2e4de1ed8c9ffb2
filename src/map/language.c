/* Tokens per second of language models: reading prompts and making tokens, by length of the context
 * and by the number of sequences at once. */
#include "map/internal.h"

#include "base/error.h"
#include "graph/model.h"

#include <stdlib.h>
#include <string.h>

static const int64_t contexts[] = {512, 2048, 8192, 32768};
static const int64_t sequences[] = {1, 8, 64};
enum {
    CONTEXTS = sizeof contexts / sizeof *contexts,
    SEQUENCES = sizeof sequences / sizeof *sequences
};

static bool set_sizes(pyro_model *model, const char *what, int64_t length, int64_t batch)
{
    pyro_symbol *saved = pyro_model_save_sizes(model);
    pyro_error refused;

    if (!saved)
        return false;
    pyro_error_clear(&refused);
    pyro_model_restore_sizes(model, saved, true);
    free(saved);
    return pyro_model_set_batch(model, batch, &refused) == PYRO_OK &&
           pyro_model_set_kind(model, what, length, &refused) == PYRO_OK;
}

/* Predicts one size on all chips: seconds per step into `seconds`, what fits into `fits`. */
static int price(double *seconds, bool *fits, const pyro_mapper *mapper, pyro_model *model,
                 const pyro_cost_options *cost_options, const pyro_map_options *options,
                 pyro_error *error)
{
    pyro_map_work work;
    pyro_arena arena;
    int status = pyro_map_work_of_model(&work, model, cost_options, options, error);
    if (status != PYRO_OK)
        return status;
    pyro_arena_init(&arena);
    for (size_t i = 0; i < mapper->count; i++) {
        pyro_map_chip chip;
        bool done = pyro_map_work_on(&chip, &arena, mapper, i, &work, options);
        seconds[i] = done ? chip.total.time_ns / 1e9 : 0;
        fits[i] = done && chip.fits;
    }
    pyro_arena_free(&arena);
    pyro_map_work_free(&work);
    return PYRO_OK;
}

typedef struct language {
    pyro_mapping *map;
    const pyro_mapper *mapper;
    pyro_model *model, *decode;
    const pyro_cost_options *cost_options;
    pyro_map_options options;
    double *seconds; /* by chip */
    bool *fits;
} language;

static int add_row(language *l, int64_t context, int64_t count, pyro_error *error)
{
    size_t chips = l->map->chip_count;
    bool can_read = set_sizes(l->model, "sequence", context, count);
    bool can_make = l->decode && set_sizes(l->decode, "past", context, count);
    int status = PYRO_OK;

    if (!can_read && !can_make)
        return PYRO_OK;
    for (size_t i = 0; i < chips; i++)
        l->map->chips[i].tokens[l->map->chips[i].token_count++] = (pyro_map_tokens){
            .context = context,
            .sequences = count,
            .prefill_per_s = -1,
            .decode_per_s = -1,
            .decode_ms = -1,
            .fits = true};
    if (can_read)
        status = price(l->seconds, l->fits, l->mapper, l->model, l->cost_options, &l->options,
                       error);
    for (size_t i = 0; can_read && status == PYRO_OK && i < chips; i++) {
        pyro_map_tokens *row = &l->map->chips[i].tokens[l->map->chips[i].token_count - 1];
        row->prefill_per_s = (double)(context * count) / l->seconds[i];
        row->fits = l->fits[i];
    }
    if (can_make && status == PYRO_OK)
        status = price(l->seconds, l->fits, l->mapper, l->decode, l->cost_options, &l->options,
                       error);
    for (size_t i = 0; can_make && status == PYRO_OK && i < chips; i++) {
        pyro_map_tokens *row = &l->map->chips[i].tokens[l->map->chips[i].token_count - 1];
        row->decode_per_s = (double)count / l->seconds[i];
        row->decode_ms = 1e3 * l->seconds[i];
        row->fits = l->fits[i]; /* prompts can be read one after another */
    }
    return status;
}

int pyro_map_language(pyro_mapping *map, const pyro_mapper *mapper, pyro_model *model,
                      pyro_model *decode, const pyro_cost_options *cost_options,
                      const pyro_map_options *options, pyro_error *error)
{
    language l = {.map = map,
                  .mapper = mapper,
                  .model = model,
                  .decode = decode,
                  .cost_options = cost_options,
                  .options = options ? *options : (pyro_map_options){0}};
    pyro_arena *arena = pyro_map_arena(map);
    int status = PYRO_OK;

    l.options.train = false;
    l.options.graphs = true; /* servers start one graph per token */
    l.seconds = pyro_arena_array(arena, map->chip_count + 1, sizeof *l.seconds);
    l.fits = pyro_arena_array(arena, map->chip_count + 1, sizeof *l.fits);
    if (!l.seconds || !l.fits)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < map->chip_count; i++) {
        map->chips[i].tokens = pyro_arena_array(arena, CONTEXTS * SEQUENCES,
                                                sizeof *map->chips[i].tokens);
        if (!map->chips[i].tokens)
            return pyro_fail_memory(error);
    }
    for (size_t c = 0; status == PYRO_OK && c < CONTEXTS; c++)
        for (size_t s = 0; status == PYRO_OK && s < SEQUENCES; s++)
            status = add_row(&l, contexts[c], sequences[s], error);
    return status;
}
