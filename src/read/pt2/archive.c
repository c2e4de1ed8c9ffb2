/* Reads the archive around an exported program: its two layouts, its models and tied weights. */
#include "read/pt2/pt2.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/ties.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char flat_program[] = "serialized_exported_program.json";

/* Length of the archive's root folder name, with its slash. */
static size_t root_length(const pyro_zip *zip)
{
    const char *slash = zip->count ? strchr(zip->entries[0].name, '/') : NULL;
    if (!slash)
        return 0;
    size_t length = (size_t)(slash - zip->entries[0].name) + 1;
    for (size_t i = 1; i < zip->count; i++)
        if (strncmp(zip->entries[i].name, zip->entries[0].name, length))
            return 0;
    /* An archive that contains only models/ has no root folder. */
    return !strncmp(zip->entries[0].name, "models/", 7) ? 0 : length;
}

/* Length of the model's name in an entry "models/NAME.json"; 0: not a model. */
static size_t model_name(const char *entry, const char **name)
{
    size_t length = strlen(entry);
    if (strncmp(entry, "models/", 7) || length <= 12 || strcmp(entry + length - 5, ".json") ||
        strchr(entry + 7, '/'))
        return 0;
    *name = entry + 7;
    return length - 12;
}

static const pyro_zip_entry *find(const pyro_zip *zip, size_t root, const char *name)
{
    for (size_t i = 0; i < zip->count; i++)
        if (strlen(zip->entries[i].name) >= root && !strcmp(zip->entries[i].name + root, name))
            return &zip->entries[i];
    return NULL;
}

bool pyro_pt2_is(const pyro_zip *zip)
{
    size_t root = root_length(zip);
    const char *name;
    if (find(zip, root, flat_program))
        return true;
    for (size_t i = 0; i < zip->count; i++)
        if (model_name(zip->entries[i].name + root, &name))
            return true;
    return false;
}

/* Lists the models of the archive in `names`, and finds the requested one. */
static const pyro_zip_entry *choose(const pyro_zip *zip, size_t root, const char *wanted,
                                    pyro_buf *names, size_t *count)
{
    const pyro_zip_entry *chosen = NULL;
    for (size_t i = 0; i < zip->count; i++) {
        const char *name;
        size_t length = model_name(zip->entries[i].name + root, &name);
        if (!length)
            continue;
        if (names->length < 200)
            pyro_buf_addf(names, "%s%.*s", *count ? ", " : "", (int)length, name);
        ++*count;
        if (!wanted || (strlen(wanted) == length && !memcmp(wanted, name, length)))
            chosen = &zip->entries[i];
    }
    return chosen;
}

static int choose_model(const pyro_zip_entry **out, const pyro_zip *zip, size_t root,
                        const char *wanted, pyro_error *error)
{
    pyro_buf names = PYRO_BUF_INIT;
    size_t count = 0;
    int status = PYRO_OK;
    *out = choose(zip, root, wanted, &names, &count);
    if (names.failed)
        status = pyro_fail_memory(error);
    else if (count == 0 && !wanted)
        *out = find(zip, root, flat_program);
    else if (count > 1 && !wanted)
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT,
                           "the file has %zu models (%s): choose one with FILE:NAME", count,
                           names.data);
    if (status == PYRO_OK && !*out)
        status = pyro_fail(error, PYRO_ERROR_NOT_FOUND, "no model '%s' in the file; it has: %s",
                           wanted ? wanted : "", names.length ? names.data : "one without a name");
    pyro_buf_free(&names);
    return status;
}

/* Adds the member to an error, unless the message already names it, as the archive's own do. */
static void name_member(const pyro_model *model, const pyro_zip_entry *entry, pyro_error *error)
{
    bool named = error && !strncmp(error->message, entry->name, strlen(entry->name));
    pyro_error_where(error, model->file, named ? NULL : entry->name);
}

static int open_member(pyro_source **out, const pyro_zip *zip, const pyro_zip_entry *entry,
                       pyro_error *error)
{
    if (entry->size > PYRO_PT2_MAX_BYTES ||
        (entry->size > PYRO_PT2_EXPANSION_FREE_BYTES &&
         entry->size / PYRO_PT2_MAX_EXPANSION > entry->compressed_size))
        return pyro_fail(error, PYRO_ERROR_LIMIT,
                         "%.150s: %lld bytes would become %lld, more than the limit", entry->name,
                         (long long)entry->compressed_size, (long long)entry->size);
    return pyro_zip_open_member(out, zip, entry, error);
}

/* One weight of the configuration: {"path_name": ..., "is_param": ..., "tensor_meta": ...}. */
static bool read_weight(pt2_reader *reader, pyro_intern *files, pyro_map *first_of_file,
                        uint32_t parameter, bool *any_on_disk)
{
    uint32_t file = PYRO_INTERN_NONE;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "the description of a weight"))
        return false;
    while (pt2_next_key(reader)) {
        if (!PYRO_JSON_IS(reader->json, "path_name")) {
            if (!pt2_skip(reader))
                return false;
            continue;
        }
        size_t length;
        if (!pt2_expect(reader, PYRO_JSON_STRING, "the file of a weight"))
            return false;
        const char *text = pyro_json_text(reader->json, &length);
        file = text ? pyro_intern_add(files, text, length) : PYRO_INTERN_NONE;
        if (file == PYRO_INTERN_NONE)
            return pt2_out_of_memory(reader);
    }
    if (pt2_failed(reader) || file == PYRO_INTERN_NONE || parameter == PYRO_NO_VALUE)
        return !pt2_failed(reader);
    pyro_model *model = reader->model;
    if (model->graph->values[model->parameters[parameter].value].on_meta)
        return true; /* all weights on meta have the same empty file */
    *any_on_disk = true;
    uint32_t first = pyro_map_get(first_of_file, file);
    if (first == PYRO_MAP_NONE)
        return pyro_map_put(first_of_file, file, parameter) || pt2_out_of_memory(reader);
    while (model->parameters[first].tied_to != PYRO_NO_VALUE)
        first = model->parameters[first].tied_to;
    if (first != parameter) /* a weight that is listed twice is not tied to itself */
        model->parameters[parameter].tied_to = first;
    return true;
}

/* {"config": {path: weight, ...}} */
static bool read_weights(pt2_reader *reader, bool *any_on_disk)
{
    pyro_map first_of_file = PYRO_MAP_INIT;
    pyro_arena arena;
    pyro_intern files;
    pyro_arena_init(&arena);
    pyro_intern_init(&files, &arena);
    bool good = pt2_expect(reader, PYRO_JSON_OBJECT, "the configuration of weights");
    while (good && pt2_next_key(reader)) {
        if (!PYRO_JSON_IS(reader->json, "config")) {
            good = pt2_skip(reader);
            continue;
        }
        good = pt2_expect(reader, PYRO_JSON_OBJECT, "weights by path");
        while (good && pt2_next_key(reader)) {
            size_t length;
            const char *text = pyro_json_text(reader->json, &length);
            uint32_t parameter = text ? pt2_find_parameter(reader->model, text, length)
                                      : PYRO_NO_VALUE;
            good = read_weight(reader, &files, &first_of_file, parameter, any_on_disk);
        }
    }
    good = good && !pt2_failed(reader);
    pyro_map_free(&first_of_file);
    pyro_intern_free(&files);
    pyro_arena_free(&arena);
    return good;
}

/* Reads a small JSON member with one of the functions above, if the member exists. */
static int read_member(pyro_model *model, const pyro_zip *zip, const pyro_zip_entry *entry,
                       bool (*read)(pt2_reader *, bool *), bool *flag, pyro_error *error)
{
    pt2_reader reader = {.model = model, .error = error};
    pyro_source *source = NULL;
    if (!entry)
        return PYRO_OK;
    int status = open_member(&source, zip, entry, error);
    if (status == PYRO_OK)
        status = pyro_json_open(&reader.json, source, NULL, error);
    if (status == PYRO_OK &&
        (!read(&reader, flag) || !pt2_expect(&reader, PYRO_JSON_END, "the end of the file")))
        status = error && error->code < 0 ? error->code : PYRO_ERROR_FORMAT;
    if (status < 0)
        name_member(model, entry, error);
    pyro_json_close(reader.json);
    pyro_source_close(source);
    return status;
}

/* Finds tied weights: by Pyrometer's list, by the files they are stored in, else by their use. */
static int tie_weights(pyro_model *model, const pyro_zip *zip, size_t root, const char *name,
                       size_t name_length, pyro_error *error)
{
    bool has_ties = false, any_on_disk = false;
    pyro_buf config = PYRO_BUF_INIT;
    int status = read_member(model, zip, find(zip, root, "extra/pyrometer.json"), pt2_extra,
                             &has_ties, error);
    if (status < 0 || has_ties)
        return status;
    pyro_buf_addf(&config, "data/weights/%.*s_weights_config.json", (int)name_length, name);
    if (config.failed)
        return pyro_fail_memory(error);
    status = read_member(model, zip, find(zip, root, config.data), read_weights, &any_on_disk,
                         error);
    pyro_buf_free(&config);
    if (status < 0 || any_on_disk)
        return status;
    return pyro_model_tie_unused(model, error);
}

int pyro_pt2_read_facts(pyro_model *model, const pyro_zip *zip, pyro_error *error)
{
    bool has_ties;
    const pyro_zip_entry *entry = find(zip, root_length(zip), "extra/pyrometer.json");
    return read_member(model, zip, entry, pt2_extra, &has_ties, error);
}

int pyro_pt2_open_program(pyro_source **out, const pyro_zip *zip, const char *name,
                          pyro_error *error)
{
    const pyro_zip_entry *entry;
    int status = choose_model(&entry, zip, root_length(zip), name, error);
    return status < 0 ? status : open_member(out, zip, entry, error);
}

/* Reads a large program: one thread decompresses ahead, another one makes memory ready. */
static int read_large(pyro_model *model, pyro_source **source, bool is_compressed,
                      pyro_error *error)
{
    pyro_populator *populator = pyro_populator_start();
    int status = is_compressed ? pyro_source_open_readahead(source, *source, error) : PYRO_OK;
    pyro_arena_set_populator(&model->arena, populator);
    if (status == PYRO_OK)
        status = pyro_pt2_read_program(model, *source, error);
    pyro_arena_set_populator(&model->arena, NULL);
    pyro_populator_stop(populator);
    return status;
}

int pyro_pt2_open(pyro_model *model, const pyro_zip *zip, const char *name, pyro_error *error)
{
    size_t root = root_length(zip);
    const pyro_zip_entry *entry;
    pyro_source *source = NULL;
    int status = choose_model(&entry, zip, root, name, error);
    if (status < 0)
        return status;
    status = open_member(&source, zip, entry, error);
    if (status == PYRO_OK)
        status = entry->size > PYRO_PT2_LARGE_BYTES
                     ? read_large(model, &source, entry->method != 0, error)
                     : pyro_pt2_read_program(model, source, error);
    pyro_source_close(source);
    if (status < 0) {
        name_member(model, entry, error);
        return status;
    }
    const char *chosen = "";
    size_t length = model_name(entry->name + root, &chosen);
    if (length && !(length == 5 && !memcmp(chosen, "model", 5))) {
        model->name = pyro_arena_text(&model->arena, chosen, length);
        if (!model->name)
            return pyro_fail_memory(error);
        model->display_name = model->name;
    }
    return tie_weights(model, zip, root, chosen, length, error);
}
