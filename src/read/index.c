/* Looks up data in the catalog's index, a small JSON text that is parsed on each call. */
#include "read/index.h"

#include "base/json/json.h"
#include "base/source/source.h"
#include "read/catalog.h"
#include <string.h>

/* Called at the first token of a section's value; false ends the search. */
typedef bool (*visit)(pyro_json *json, void *user);

/* Visits the sections of the index that have this name. */
static void visit_section(const char *section, visit visit, void *user)
{
    pyro_source *source = NULL;
    pyro_json *json = NULL;
    if (pyro_source_open_memory(&source, pyro_embedded_index, pyro_embedded_index_size, NULL) ==
            PYRO_OK &&
        pyro_json_open(&json, source, NULL, NULL) == PYRO_OK &&
        pyro_json_next(json) == PYRO_JSON_OBJECT)
        while (pyro_json_next(json) == PYRO_JSON_KEY) {
            if (pyro_json_is(json, section, strlen(section))) {
                visit(json, user);
                break;
            }
            if (!pyro_json_skip(json))
                break;
        }
    pyro_json_close(json);
    pyro_source_close(source);
}

static void copy_text(pyro_json *json, char out[PYRO_INDEX_NAME])
{
    size_t length;
    const char *text = pyro_json_text(json, &length);
    if (!text || length >= PYRO_INDEX_NAME)
        length = 0;
    memcpy(out, text ? text : "", length);
    out[length] = '\0';
}

typedef struct alias_search {
    const char *id;
    char *name;
    bool found;
} alias_search;

/* {"owner/name": "model", ...} */
static bool find_alias(pyro_json *json, void *user)
{
    alias_search *search = user;
    if (pyro_json_next(json) != PYRO_JSON_OBJECT)
        return false;
    while (!search->found && pyro_json_next(json) == PYRO_JSON_KEY) {
        size_t length;
        const char *alias = pyro_json_text(json, &length);
        search->found = alias && pyro_catalog_same_name(alias, search->id);
        if (pyro_json_next(json) != PYRO_JSON_STRING)
            return false;
        if (search->found)
            copy_text(json, search->name);
    }
    return search->found;
}

bool pyro_index_alias(const char *id, char name[PYRO_INDEX_NAME], bool *exact)
{
    alias_search search = {id, name, false};
    visit_section("aliases", find_alias, &search);
    *exact = search.found;
    if (!search.found)
        visit_section("near", find_alias, &search);
    return search.found && *name;
}

typedef struct number_search {
    const char *name;
    int64_t number;
} number_search;

/* {"model": 65536, ...} */
static bool find_number(pyro_json *json, void *user)
{
    number_search *search = user;
    if (pyro_json_next(json) != PYRO_JSON_OBJECT)
        return false;
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        bool found = pyro_json_is(json, search->name, strlen(search->name));
        if (pyro_json_next(json) != PYRO_JSON_NUMBER)
            return false;
        if (found)
            return pyro_json_int(json, &search->number);
    }
    return false;
}

int64_t pyro_index_cache_values(const char *name)
{
    number_search search = {name, 0};
    visit_section("cache_values_per_token", find_number, &search);
    return search.number;
}

typedef struct model_search {
    const char *name;
    pyro_index_model *out;
    bool found;
} model_search;

/* {"x": [1, 3, 224, 224]}: the side of a square image; else 0. */
static bool read_side(pyro_json *json, int64_t *side)
{
    int64_t dims[4] = {0};
    size_t rank = 0;
    *side = 0;
    if (pyro_json_next(json) != PYRO_JSON_OBJECT || pyro_json_next(json) != PYRO_JSON_KEY ||
        pyro_json_next(json) != PYRO_JSON_ARRAY)
        return false;
    while (pyro_json_next(json) == PYRO_JSON_NUMBER) {
        if (rank < 4)
            pyro_json_int(json, &dims[rank]);
        rank++;
    }
    if (rank == 4 && dims[2] == dims[3])
        *side = dims[2];
    while (pyro_json_current(json) != PYRO_JSON_OBJECT_END)
        if (pyro_json_next(json) == PYRO_JSON_ERROR)
            return false;
    return true;
}

/* ["batch", "height", ...] */
static bool read_dims(pyro_json *json, bool *open_image)
{
    if (pyro_json_next(json) != PYRO_JSON_ARRAY)
        return false;
    while (pyro_json_next(json) == PYRO_JSON_STRING)
        *open_image = *open_image || PYRO_JSON_IS(json, "height");
    return pyro_json_current(json) == PYRO_JSON_ARRAY_END;
}

/* Reads one model of the list, inside its object. */
static bool read_model(pyro_json *json, model_search *search)
{
    char name[PYRO_INDEX_NAME] = "";
    *search->out = (pyro_index_model){.image_side = 0};
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        bool good = true;
        if (PYRO_JSON_IS(json, "name") && pyro_json_next(json) == PYRO_JSON_STRING)
            copy_text(json, name);
        else if (PYRO_JSON_IS(json, "family") && pyro_json_next(json) == PYRO_JSON_STRING)
            copy_text(json, search->out->family);
        else if (PYRO_JSON_IS(json, "input"))
            good = read_side(json, &search->out->image_side);
        else if (PYRO_JSON_IS(json, "dims"))
            good = read_dims(json, &search->out->open_image);
        else
            good = pyro_json_skip(json);
        if (!good)
            return false;
    }
    search->found = !strcmp(name, search->name);
    return !search->found && pyro_json_current(json) == PYRO_JSON_OBJECT_END;
}

static bool find_model(pyro_json *json, void *user)
{
    model_search *search = user;
    if (pyro_json_next(json) != PYRO_JSON_ARRAY)
        return false;
    while (pyro_json_next(json) == PYRO_JSON_OBJECT && read_model(json, search))
        ;
    return search->found;
}

bool pyro_index_find(const char *name, pyro_index_model *out)
{
    model_search search = {name, out, false};
    *out = (pyro_index_model){.image_side = 0};
    visit_section("models", find_model, &search);
    return search.found;
}
