/*
 * Chips of the user's own: $XDG_CONFIG_HOME/pyrometer/hardware.json,
 *
 *   {"chips": [{"name": "Lab H100", "like": "H100 SXM", "power_watts": 500}]}
 *
 * A row takes what it does not name from the built-in chip after "like".
 */
#include "hardware/hardware.h"

#include "base/containers/arena.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "base/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MOST_CHIPS = 1000, MOST_NAME = 60 };
/* No chip has more of anything, in the units of the file. */
#define MOST_FIGURE 1e9

struct pyro_chip_list {
    pyro_arena arena;
    pyro_chip *own;
    size_t count, capacity;
};

static const struct {
    const char *key;
    size_t offset;
} figures[] = {
#define FIGURE(member) {#member, offsetof(pyro_chip, member)}
    FIGURE(fp64_tflops), FIGURE(fp32_tflops),      FIGURE(tf32_tflops),        FIGURE(fp16_tflops),
    FIGURE(bf16_tflops), FIGURE(fp8_tflops),       FIGURE(fp4_tflops),         FIGURE(int8_tops),
    FIGURE(power_watts), FIGURE(least_memory_gib), FIGURE(bandwidth_gb_per_s),
#undef FIGURE
};

typedef struct row_reader {
    pyro_chip_list *list;
    pyro_json *json;
    pyro_chip chip;
    const char *problem; /* why the row is refused */
} row_reader;

static bool read_figure(row_reader *r, double *out)
{
    if (pyro_json_next(r->json) != PYRO_JSON_NUMBER || !pyro_json_double(r->json, out) ||
        !(*out >= 0) || *out > MOST_FIGURE) {
        r->problem = "a figure of a chip is not a number from 0 to 1e9";
        return false;
    }
    return true;
}

/* A text of the row, kept in the list. */
static bool read_text(row_reader *r, const char **out)
{
    size_t length;
    if (pyro_json_next(r->json) != PYRO_JSON_STRING) {
        r->problem = "name, like, words and source of a chip are texts";
        return false;
    }
    const char *text = pyro_json_text(r->json, &length);
    bool plain = length > 0 && length <= MOST_NAME;
    for (size_t i = 0; plain && i < length; i++)
        plain = (unsigned char)text[i] >= ' ' && text[i] != 0x7f && text[i] != ',';
    if (!plain) {
        r->problem = "texts of a chip have 1 to 60 bytes, and no comma or control character";
        return false;
    }
    *out = pyro_arena_text(&r->list->arena, text, length);
    return *out != NULL;
}

/* What the row does not name is that of another chip; keys before "like" are kept. */
static bool take_over(row_reader *r, const char *name)
{
    const pyro_chip *like = pyro_chip_by_name(name);
    if (!like) {
        r->problem = "\"like\" names no built-in chip";
        return false;
    }
    pyro_chip own = r->chip;
    r->chip = *like;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        double *to = (double *)(void *)((char *)&r->chip + figures[i].offset);
        double from = *(double *)(void *)((char *)&own + figures[i].offset);
        *to = from >= 0 ? from : *to;
    }
    r->chip.name = own.name;
    r->chip.words = own.words;
    r->chip.source = own.source;
    r->chip.memory_bytes = own.memory_bytes >= 0 ? own.memory_bytes : like->memory_bytes;
    r->chip.cache_bytes = own.cache_bytes >= 0 ? own.cache_bytes : like->cache_bytes;
    r->chip.link_bytes_per_s = own.link_bytes_per_s >= 0 ? own.link_bytes_per_s
                                                         : like->link_bytes_per_s;
    return true;
}

static bool read_sized(row_reader *r, const char *key, bool *known)
{
    double figure;
    *known = true;
    if (strcmp(key, "memory_gib") == 0) {
        if (!read_figure(r, &figure))
            return false;
        r->chip.memory_bytes = (int64_t)(figure * 1073741824.0);
    } else if (strcmp(key, "cache_mib") == 0) {
        if (!read_figure(r, &figure))
            return false;
        r->chip.cache_bytes = (int64_t)(figure * 1048576.0);
    } else if (strcmp(key, "link_gb_per_s") == 0) {
        if (!read_figure(r, &figure))
            return false;
        r->chip.link_bytes_per_s = figure * 1e9;
    } else {
        *known = false;
    }
    return true;
}

/* The value of a key of a row. */
static bool read_member(row_reader *r, const char *key, const char **like)
{
    bool known;
    if (strcmp(key, "name") == 0)
        return read_text(r, &r->chip.name);
    if (strcmp(key, "words") == 0)
        return read_text(r, &r->chip.words);
    if (strcmp(key, "source") == 0)
        return read_text(r, &r->chip.source);
    if (strcmp(key, "like") == 0)
        return read_text(r, like);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strcmp(key, figures[i].key) == 0)
            return read_figure(r, (double *)(void *)((char *)&r->chip + figures[i].offset));
    if (!read_sized(r, key, &known))
        return false;
    if (!known)
        r->problem = "unknown key of a chip; docs/reference/hardware.md lists them";
    return known;
}

/* Figures that no key gave are 0. */
static void settle(pyro_chip *chip)
{
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        double *figure = (double *)(void *)((char *)chip + figures[i].offset);
        *figure = *figure < 0 ? 0 : *figure;
    }
    chip->memory_bytes = chip->memory_bytes < 0 ? 0 : chip->memory_bytes;
    chip->cache_bytes = chip->cache_bytes < 0 ? 0 : chip->cache_bytes;
    chip->link_bytes_per_s = chip->link_bytes_per_s < 0 ? 0 : chip->link_bytes_per_s;
    chip->words = chip->words ? chip->words : chip->name;
    chip->source = chip->source ? chip->source : "the user's file";
}

static const pyro_chip nothing_given = {.fp64_tflops = -1,
                                        .fp32_tflops = -1,
                                        .tf32_tflops = -1,
                                        .fp16_tflops = -1,
                                        .bf16_tflops = -1,
                                        .fp8_tflops = -1,
                                        .fp4_tflops = -1,
                                        .int8_tops = -1,
                                        .power_watts = -1,
                                        .least_memory_gib = -1,
                                        .bandwidth_gb_per_s = -1,
                                        .memory_bytes = -1,
                                        .cache_bytes = -1,
                                        .link_bytes_per_s = -1};

static bool read_row(row_reader *r)
{
    const char *like = NULL;
    char key[64];

    r->chip = nothing_given;
    while (pyro_json_next(r->json) == PYRO_JSON_KEY) {
        snprintf(key, sizeof key, "%s", pyro_json_text(r->json, NULL));
        if (!read_member(r, key, &like))
            return false;
    }
    if (pyro_json_current(r->json) != PYRO_JSON_OBJECT_END || (like && !take_over(r, like)))
        return false;
    settle(&r->chip);
    if (!r->chip.name || r->chip.bandwidth_gb_per_s <= 0)
        r->problem = "a chip needs a name, and bandwidth_gb_per_s or like";
    else if (r->list->count >= MOST_CHIPS)
        r->problem = "more than 1000 chips";
    if (r->problem ||
        !pyro_grow(&r->list->own, &r->list->capacity, r->list->count + 1, sizeof *r->list->own))
        return false;
    r->list->own[r->list->count++] = r->chip;
    return true;
}

static bool read_rows(row_reader *r)
{
    if (pyro_json_next(r->json) != PYRO_JSON_ARRAY)
        return false;
    while (pyro_json_next(r->json) == PYRO_JSON_OBJECT)
        if (!read_row(r))
            return false;
    return pyro_json_current(r->json) == PYRO_JSON_ARRAY_END;
}

static bool read_file(row_reader *r)
{
    bool sound = pyro_json_next(r->json) == PYRO_JSON_OBJECT;
    while (sound && pyro_json_next(r->json) == PYRO_JSON_KEY)
        sound = PYRO_JSON_IS(r->json, "chips") ? read_rows(r) : pyro_json_skip(r->json);
    return sound && pyro_json_current(r->json) == PYRO_JSON_OBJECT_END;
}

/* NULL: no home folder; free() it. */
static char *default_path(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int length = -1;
    if (config && config[0] == '/')
        length = asprintf(&path, "%s/pyrometer/hardware.json", config);
    else if (home)
        length = asprintf(&path, "%s/.config/pyrometer/hardware.json", home);
    return length < 0 ? NULL : path;
}

static int read_list(pyro_chip_list *list, const char *path, pyro_error *error)
{
    row_reader r = {.list = list};
    pyro_source *source = NULL;
    int status = pyro_source_open_regular(&source, path, error);
    if (status == PYRO_OK)
        status = pyro_json_open(&r.json, source, NULL, error);
    if (status == PYRO_OK && !read_file(&r))
        status = pyro_fail(error, PYRO_ERROR_FORMAT, "%s: %s", path,
                           r.problem ? r.problem : "not a file of chips");
    pyro_json_close(r.json);
    pyro_source_close(source);
    return status;
}

int pyro_chip_list_load(pyro_chip_list **out, const char *path, pyro_error *error)
{
    pyro_chip_list *list = calloc(1, sizeof *list);
    char *found = path ? NULL : default_path();
    int status = PYRO_OK;

    *out = NULL;
    if (!list) {
        free(found);
        return pyro_fail_memory(error);
    }
    pyro_arena_init(&list->arena);
    if (path || (found && access(found, F_OK) == 0))
        status = read_list(list, path ? path : found, error);
    free(found);
    if (status == PYRO_OK)
        *out = list;
    else
        pyro_chip_list_free(list);
    return status;
}

void pyro_chip_list_free(pyro_chip_list *list)
{
    if (!list)
        return;
    pyro_arena_free(&list->arena);
    free(list->own);
    free(list);
}

size_t pyro_chip_list_count(const pyro_chip_list *list, size_t *own_count)
{
    if (own_count)
        *own_count = list->count;
    return list->count + pyro_chip_count;
}

const pyro_chip *pyro_chip_list_get(const pyro_chip_list *list, size_t index)
{
    return index < list->count ? &list->own[index] : &pyro_chips[index - list->count];
}

const pyro_chip *pyro_chip_list_find(const pyro_chip_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcasecmp(list->own[i].name, name) == 0)
            return &list->own[i];
    return pyro_chip_by_name(name);
}
