/* Lists all models: the built-in ones with data from the index, and the user's registry. */
#include "read/catalog.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/source/source.h"
#include "base/zip/zip.h"
#include "graph/dims.h"
#include "graph/model.h"
#include "read/pt2/pt2.h"
#include <fnmatch.h>
#include <pyrometer/cost.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct pyro_catalog {
    pyro_arena arena;
    pyro_intern names; /* of the built-in models; an id is an index into `macs` */
    int64_t *macs;
    pyro_catalog_entry *entries;
    pyro_model **models; /* of each entry: owns its facts; NULL if unreadable */
    size_t count, capacity;
};

static const pyro_facts no_facts = PYRO_FACTS_NONE;

/* Reads one model of the index, inside its object. */
static bool read_index_entry(pyro_catalog *catalog, pyro_json *json)
{
    uint32_t id = PYRO_INTERN_NONE;
    int64_t macs = -1;
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        size_t length;
        if (PYRO_JSON_IS(json, "name") && pyro_json_next(json) == PYRO_JSON_STRING) {
            const char *name = pyro_json_text(json, &length);
            id = name ? pyro_intern_find(&catalog->names, name, length) : PYRO_INTERN_NONE;
        } else if (PYRO_JSON_IS(json, "macs") && pyro_json_next(json) == PYRO_JSON_NUMBER) {
            pyro_json_int(json, &macs);
        } else if (!pyro_json_skip(json)) {
            return false;
        }
    }
    if (id != PYRO_INTERN_NONE)
        catalog->macs[id] = macs;
    return pyro_json_current(json) == PYRO_JSON_OBJECT_END;
}

/* {"models": [{"name": ..., "macs": ...}, ...]} */
static int read_index(pyro_catalog *catalog, pyro_error *error)
{
    pyro_source *source = NULL;
    pyro_json *json = NULL;
    int status = pyro_source_open_memory(&source, pyro_embedded_index, pyro_embedded_index_size,
                                         error);
    if (status == PYRO_OK)
        status = pyro_json_open(&json, source, NULL, error);
    if (status == PYRO_OK && pyro_json_next(json) == PYRO_JSON_OBJECT)
        while (pyro_json_next(json) == PYRO_JSON_KEY) {
            if (!PYRO_JSON_IS(json, "models")) {
                pyro_json_skip(json);
                continue;
            }
            pyro_json_next(json);
            while (pyro_json_next(json) == PYRO_JSON_OBJECT && read_index_entry(catalog, json))
                ;
        }
    if (status == PYRO_OK)
        status = pyro_json_status(json);
    pyro_json_close(json);
    pyro_source_close(source);
    return status;
}

/* The facts of an archive, without its graph. */
static int read_facts(pyro_model **out, const pyro_embedded_model *builtin, pyro_error *error)
{
    pyro_source *source = NULL;
    pyro_zip zip;
    pyro_model *model = pyro_model_new();
    if (!model)
        return pyro_fail_memory(error);
    model->name = model->display_name = model->file = builtin->name;
    int status = pyro_source_open_memory(&source, builtin->data, builtin->size, error);
    if (status == PYRO_OK) {
        status = pyro_zip_open(&zip, source, error);
        if (status == PYRO_OK) {
            status = pyro_pt2_read_facts(model, &zip, error);
            pyro_zip_close(&zip);
        }
    }
    pyro_source_close(source);
    if (status < 0)
        pyro_model_close(model);
    else
        *out = model;
    return status;
}

/* Adds an empty entry; NULL if memory runs out. */
static pyro_catalog_entry *new_entry(pyro_catalog *catalog, pyro_error *error)
{
    size_t capacity = catalog->capacity;
    if (!pyro_grow(&catalog->entries, &capacity, catalog->count + 1, sizeof *catalog->entries) ||
        !pyro_grow(&catalog->models, &catalog->capacity, catalog->count + 1,
                   sizeof *catalog->models)) {
        pyro_fail_memory(error);
        return NULL;
    }
    catalog->models[catalog->count] = NULL;
    pyro_catalog_entry *entry = &catalog->entries[catalog->count++];
    *entry = (pyro_catalog_entry){.facts = &no_facts, .macs = -1};
    return entry;
}

static int add_builtin(pyro_catalog *catalog, size_t index, const pyro_embedded_model *builtin,
                       pyro_error *error)
{
    pyro_catalog_entry *entry = new_entry(catalog, error);
    if (!entry)
        return PYRO_ERROR_MEMORY;
    pyro_model **model = &catalog->models[catalog->count - 1];
    int status = read_facts(model, builtin, error);
    if (status < 0)
        return status;
    entry->facts = &(*model)->facts;
    entry->macs = catalog->macs[index];
    entry->has_decode = pyro_builtin_find(builtin->name, true) != NULL;
    return PYRO_OK;
}

/* Lists a registry model that cannot be read, with the reason. */
static int add_own(pyro_catalog *catalog, const char *name, pyro_error *error)
{
    pyro_catalog_entry *entry = new_entry(catalog, error);
    pyro_error reason;
    pyro_model *model = NULL;
    pyro_cost *cost = NULL;
    char *path = NULL, line[sizeof reason.message + 64];
    if (!entry)
        return PYRO_ERROR_MEMORY;
    pyro_error_clear(&reason);
    int status = pyro_registry_find(&path, name, &reason);
    if (status == PYRO_OK)
        status = path ? pyro_model_open_file(&model, path, &reason)
                      : pyro_fail(&reason, PYRO_ERROR_NOT_FOUND, "it was just removed");
    if (status == PYRO_OK)
        status = pyro_cost_compute(&cost, model, NULL, &reason);
    free(path);
    pyro_facts *facts = pyro_arena_alloc(&catalog->arena, sizeof *facts);
    if (!facts) {
        pyro_cost_free(cost);
        pyro_model_close(model);
        return pyro_fail_memory(error);
    }
    *facts = model ? model->facts : no_facts;
    facts->name = name;
    if (!*facts->display_name)
        facts->display_name = name;
    entry->facts = facts;
    entry->is_own = true;
    entry->hides_builtin = pyro_builtin_find(name, false) != NULL;
    if (status == PYRO_OK) {
        entry->macs = pyro_cost_total(cost)->work.macs;
        facts->params = pyro_cost_total(cost)->work.params;
    } else {
        reason.where[0] = '\0';
        pyro_error_line(&reason, line, sizeof line);
        entry->problem = pyro_arena_text(&catalog->arena, line, strlen(line));
    }
    pyro_cost_free(cost);
    catalog->models[catalog->count - 1] = model;
    return status == PYRO_OK || entry->problem ? PYRO_OK : pyro_fail_memory(error);
}

static int fill(pyro_catalog *catalog, pyro_error *error)
{
    const char *name, **own;
    size_t count = pyro_builtin_count(), own_count;
    catalog->macs = pyro_arena_array(&catalog->arena, count + 1, sizeof *catalog->macs);
    if (!catalog->macs)
        return pyro_fail_memory(error);
    for (size_t i = 0; (name = pyro_builtin_name(i)); i++) {
        catalog->macs[i] = -1;
        if (pyro_intern_add(&catalog->names, name, strlen(name)) != i)
            return pyro_fail_memory(error);
    }
    int status = read_index(catalog, error);
    for (size_t i = 0; status == PYRO_OK && i < count; i++)
        status = add_builtin(catalog, i, pyro_builtin_find(pyro_builtin_name(i), false), error);
    if (status == PYRO_OK)
        status = pyro_registry_names(&own, &own_count, &catalog->arena, error);
    for (size_t i = 0; status == PYRO_OK && i < own_count; i++)
        status = add_own(catalog, own[i], error);
    return status;
}

/* By name; a registry model comes before the built-in one that it hides. */
static int compare_entries(const void *a, const void *b)
{
    const pyro_catalog_entry *first = a, *second = b;
    int order = strcmp(first->facts->name, second->facts->name);
    return order ? order : second->is_own - first->is_own;
}

int pyro_catalog_open(pyro_catalog **out, pyro_error *error)
{
    *out = NULL;
    pyro_catalog *catalog = calloc(1, sizeof *catalog);
    if (!catalog)
        return pyro_fail_memory(error);
    pyro_arena_init(&catalog->arena);
    pyro_intern_init(&catalog->names, &catalog->arena);
    int status = fill(catalog, error);
    if (status < 0) {
        pyro_catalog_close(catalog);
        return status;
    }
    if (catalog->count)
        qsort(catalog->entries, catalog->count, sizeof *catalog->entries, compare_entries);
    *out = catalog;
    return PYRO_OK;
}

void pyro_catalog_close(pyro_catalog *catalog)
{
    if (!catalog)
        return;
    for (size_t i = 0; i < catalog->count; i++)
        pyro_model_close(catalog->models[i]);
    free(catalog->models);
    free(catalog->entries);
    pyro_intern_free(&catalog->names);
    pyro_arena_free(&catalog->arena);
    free(catalog);
}

size_t pyro_catalog_count(const pyro_catalog *catalog)
{
    return catalog->count;
}

const pyro_catalog_entry *pyro_catalog_at(const pyro_catalog *catalog, size_t index)
{
    return index < catalog->count ? &catalog->entries[index] : NULL;
}

static bool is_part(const char *text, const char *part)
{
    return strcasestr(text, part) != NULL;
}

bool pyro_catalog_matches(const pyro_catalog_entry *entry, const char *pattern, const char *family,
                          const char *task)
{
    const pyro_facts *facts = entry->facts;
    if (family && !pyro_catalog_same_name(facts->family, family))
        return false;
    if (task && !pyro_catalog_same_name(facts->task, task))
        return false;
    if (!pattern)
        return true;
    if (strpbrk(pattern, "*?["))
        return fnmatch(pattern, facts->name, 0) == 0;
    return is_part(facts->name, pattern) || is_part(facts->display_name, pattern) ||
           is_part(facts->family, pattern) || pyro_catalog_same_name(facts->name, pattern);
}
