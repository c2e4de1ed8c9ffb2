/* Reads config.json into a flat table. Sizes, depth and the number of fields are bounded. */
#include "read/huggingface/config.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 16 << 20, MAX_DEPTH = 32, MAX_ENTRIES = 200000, MAX_PATH = 512 };

static bool put(hf_config *config, const char *path, size_t length, hf_entry entry)
{
    uint32_t id = pyro_intern_add(&config->paths, path, length);
    if (id == PYRO_INTERN_NONE ||
        !pyro_grow(&config->entries, &config->capacity, id + 1u, sizeof *config->entries)) {
        pyro_fail_memory(config->error);
        return false;
    }
    config->entries[id] = entry;
    return true;
}

static bool add_entry(hf_config *config, const pyro_buf *path, hf_entry entry)
{
    return put(config, path->data ? path->data : "", path->length, entry);
}

void hf_config_begin(hf_config *config, pyro_arena *arena, pyro_error *error)
{
    *config = (hf_config){
        .arena = arena, .prefix = "", .model_type = "", .outer_type = "", .error = error};
    pyro_intern_init(&config->paths, arena);
}

bool hf_config_set(hf_config *config, const char *name, hf_entry entry)
{
    return put(config, name, strlen(name), entry);
}

static bool read_value(hf_config *config, pyro_json *json, pyro_buf *path, pyro_json_kind kind);

/* Appends ".name" or ".3" to the path, reads a value, and takes it away again. */
static bool read_member(hf_config *config, pyro_json *json, pyro_buf *path, const char *name,
                        size_t length, pyro_json_kind kind)
{
    size_t before = path->length;
    if (path->length)
        pyro_buf_addc(path, '.');
    pyro_buf_add(path, name, length);
    if (path->failed || path->length > MAX_PATH || config->paths.count > MAX_ENTRIES) {
        pyro_json_fail(json, "expected no more than %d fields", MAX_ENTRIES);
        return false;
    }
    bool good = read_value(config, json, path, kind == PYRO_JSON_KEY ? pyro_json_next(json) : kind);
    path->length = before;
    if (path->data)
        path->data[before] = 0;
    return good;
}

static bool read_object(hf_config *config, pyro_json *json, pyro_buf *path, int64_t *count)
{
    pyro_json_kind kind;
    *count = 0;
    while ((kind = pyro_json_next(json)) == PYRO_JSON_KEY) {
        size_t length;
        const char *text = pyro_json_text(json, &length);
        char name[128];
        if (!text)
            return false;
        length = length < sizeof name ? length : sizeof name - 1;
        memcpy(name, text, length);
        if (!read_member(config, json, path, name, length, PYRO_JSON_KEY))
            return false;
        ++*count;
    }
    return kind == PYRO_JSON_OBJECT_END;
}

static bool read_list(hf_config *config, pyro_json *json, pyro_buf *path, int64_t *count)
{
    pyro_json_kind kind;
    *count = 0;
    while ((kind = pyro_json_next(json)) != PYRO_JSON_ARRAY_END) {
        char name[24];
        int length = snprintf(name, sizeof name, "%lld", (long long)(*count)++);
        if (kind == PYRO_JSON_ERROR || !read_member(config, json, path, name, (size_t)length, kind))
            return false;
    }
    return true;
}

static bool read_value(hf_config *config, pyro_json *json, pyro_buf *path, pyro_json_kind kind)
{
    hf_entry entry = {.kind = HF_NULL, .text = ""};
    size_t length;
    switch (kind) {
    case PYRO_JSON_OBJECT:
        entry.kind = HF_OBJECT;
        return read_object(config, json, path, &entry.integer) && add_entry(config, path, entry);
    case PYRO_JSON_ARRAY:
        entry.kind = HF_LIST;
        return read_list(config, json, path, &entry.integer) && add_entry(config, path, entry);
    case PYRO_JSON_TRUE:
    case PYRO_JSON_FALSE:
        entry.kind = HF_TRUTH;
        entry.integer = kind == PYRO_JSON_TRUE;
        break;
    case PYRO_JSON_NUMBER:
        entry.kind = pyro_json_int(json, &entry.integer) ? HF_INTEGER : HF_REAL;
        if (entry.kind == HF_REAL && !pyro_json_double(json, &entry.real))
            entry.kind = HF_NULL;
        break;
    case PYRO_JSON_STRING: {
        const char *text = pyro_json_text(json, &length);
        entry.kind = HF_TEXT;
        entry.text = text ? pyro_arena_text(config->arena, text, length) : NULL;
        if (!entry.text)
            return false;
        break;
    }
    case PYRO_JSON_NULL:
        break;
    default:
        return false;
    }
    return add_entry(config, path, entry);
}

/* Multimodal models nest the text model. */
static void find_text_model(hf_config *config)
{
    static const char *const nests[] = {"text_config.", "llm_config.", "language_config."};
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        config->prefix = nests[i];
        if (hf_number(config, "hidden_size", 0) > 0)
            return;
    }
    config->prefix = "";
}

int hf_config_read(hf_config *config, pyro_source *source, pyro_arena *arena, pyro_error *error)
{
    pyro_json *json = NULL;
    pyro_buf path = PYRO_BUF_INIT;
    pyro_json_options options = {
        .max_depth = MAX_DEPTH, .max_token_bytes = 1 << 20, .nonfinite = true};
    hf_config_begin(config, arena, error);
    if (source->size > MAX_BYTES)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "a configuration of more than %d bytes",
                         MAX_BYTES);
    int status = pyro_json_open(&json, source, &options, error);
    int64_t fields;
    bool good = status == PYRO_OK && pyro_json_next(json) == PYRO_JSON_OBJECT &&
                read_object(config, json, &path, &fields);
    if (status == PYRO_OK && !good)
        status = pyro_json_status(json) < 0 ? pyro_json_status(json)
                                            : pyro_json_fail(json, "expected a configuration");
    pyro_json_close(json);
    pyro_buf_free(&path);
    if (status < 0)
        return status;
    const char *outer = hf_text(config, "model_type", "");
    find_text_model(config);
    config->model_type = hf_text(config, "model_type", outer);
    config->outer_type = outer;
    return PYRO_OK;
}

void hf_config_free(hf_config *config)
{
    pyro_intern_free(&config->paths);
    free(config->entries);
}

const hf_entry *hf_find(const hf_config *config, const char *name)
{
    char path[MAX_PATH];
    int length = snprintf(path, sizeof path, "%s%s", config->prefix, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return NULL;
    uint32_t id = pyro_intern_find(&config->paths, path, (size_t)length);
    return id == PYRO_INTERN_NONE || config->entries[id].kind == HF_NULL ? NULL
                                                                         : &config->entries[id];
}

int64_t hf_integer(const hf_config *config, const char *const *names, int64_t otherwise)
{
    for (; *names; names++) {
        const hf_entry *entry = hf_find(config, *names);
        if (entry && entry->kind == HF_INTEGER)
            return entry->integer;
    }
    return otherwise;
}

int64_t hf_number(const hf_config *config, const char *name, int64_t otherwise)
{
    const char *const names[] = {name, NULL};
    return hf_integer(config, names, otherwise);
}

bool hf_truth(const hf_config *config, const char *name, bool otherwise)
{
    const hf_entry *entry = hf_find(config, name);
    return entry && entry->kind == HF_TRUTH ? entry->integer != 0 : otherwise;
}

const char *hf_text(const hf_config *config, const char *name, const char *otherwise)
{
    const hf_entry *entry = hf_find(config, name);
    return entry && entry->kind == HF_TEXT ? entry->text : otherwise;
}

const char *hf_item(const hf_config *config, const char *name, int64_t index)
{
    char path[MAX_PATH];
    snprintf(path, sizeof path, "%s.%lld", name, (long long)index);
    return hf_text(config, path, "");
}

int hf_optional(const hf_config *config, const char *const *names, int64_t otherwise, int64_t *out)
{
    *out = hf_integer(config, names, otherwise);
    for (size_t i = 0; names[i]; i++) {
        const hf_entry *entry = hf_find(config, names[i]);
        if (entry && entry->kind != HF_INTEGER)
            return pyro_fail(config->error, PYRO_ERROR_FORMAT,
                             "'%s' of the configuration is not an integer", names[i]);
    }
    return PYRO_OK;
}

int hf_need(const hf_config *config, const char *const *names, int64_t *out)
{
    *out = hf_integer(config, names, 0);
    if (*out > 0 && *out < INT32_MAX)
        return PYRO_OK;
    for (size_t i = 0; names[i]; i++) {
        const hf_entry *entry = hf_find(config, names[i]);
        if (entry && entry->kind == HF_INTEGER)
            return pyro_fail(config->error, PYRO_ERROR_FORMAT,
                             "'%s' of the configuration is %lld; the model type '%.60s' needs a "
                             "number from 1 to 2^31 - 2",
                             names[i], (long long)entry->integer, config->model_type);
    }
    return pyro_fail(config->error, PYRO_ERROR_FORMAT,
                     "the configuration lacks a valid '%s', which the model type '%.60s' needs",
                     names[0], config->model_type);
}
