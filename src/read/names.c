/* Models by name: which spellings are one name, where a name is looked for, and what is near it. */
#include "base/error.h"
#include "base/text/suggest.h"
#include "graph/model.h"
#include "read/catalog.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 128, NEAR_NAMES = 3 };

/* Reads a name as it is compared: lower case, and separators only where they part two numbers. */
typedef struct spelling {
    const char *at;
    bool after_digit;
} spelling;

static char next_letter(spelling *name)
{
    const char *start = name->at;
    while (*name->at == '-' || *name->at == '_' || *name->at == '.' || *name->at == ' ')
        name->at++;
    bool digit = isdigit((unsigned char)*name->at);
    /* regnet_x_1_6gf is not regnet_x_16gf. */
    if (name->at != start && digit && name->after_digit) {
        name->after_digit = false;
        return '.';
    }
    name->after_digit = digit;
    return *name->at ? (char)tolower((unsigned char)*name->at++) : '\0';
}

bool pyro_catalog_same_name(const char *a, const char *b)
{
    spelling first = {a, false}, second = {b, false};
    char letter;
    do {
        letter = next_letter(&first);
        if (letter != next_letter(&second))
            return false;
    } while (letter);
    return true;
}

static bool is_decode(const char *name)
{
    size_t length = strlen(name), suffix = strlen(PYRO_DECODE_SUFFIX);
    return length > suffix && !strcmp(name + length - suffix, PYRO_DECODE_SUFFIX);
}

const char *pyro_builtin_name(size_t index)
{
    for (size_t i = 0; pyro_embedded_models[i].name; i++)
        if (!is_decode(pyro_embedded_models[i].name) && index-- == 0)
            return pyro_embedded_models[i].name;
    return NULL;
}

size_t pyro_builtin_count(void)
{
    size_t count = 0;
    for (size_t i = 0; pyro_embedded_models[i].name; i++)
        count += !is_decode(pyro_embedded_models[i].name);
    return count;
}

static const pyro_embedded_model *find_exact(const char *name, size_t length, const char *suffix)
{
    for (const pyro_embedded_model *model = pyro_embedded_models; model->name; model++)
        if (!strncmp(model->name, name, length) && !strcmp(model->name + length, suffix))
            return model;
    return NULL;
}

const pyro_embedded_model *pyro_builtin_find(const char *name, bool decode)
{
    const pyro_embedded_model *found = find_exact(name, strlen(name), "");
    if (found && is_decode(name))
        return NULL;
    for (size_t i = 0; !found && pyro_embedded_models[i].name; i++)
        if (!is_decode(pyro_embedded_models[i].name) &&
            pyro_catalog_same_name(pyro_embedded_models[i].name, name))
            found = &pyro_embedded_models[i];
    if (!found || !decode)
        return found;
    return find_exact(found->name, strlen(found->name), PYRO_DECODE_SUFFIX);
}

static int open_builtin(pyro_model **out, const pyro_embedded_model *model, pyro_error *error)
{
    int status = pyro_model_open_memory(out, model->data, model->size, model->name, error);
    if (status == PYRO_OK) {
        (*out)->origin = PYRO_ORIGIN_BUILTIN;
        (*out)->cache_values_per_token = pyro_index_cache_values(model->name);
    }
    return status;
}

/* A built-in model that is known elsewhere under this id, which is said. */
static int open_alias(pyro_model **out, const pyro_embedded_model *model, const char *id,
                      pyro_error *error)
{
    pyro_index_model known;
    char at[64] = "";
    int status = open_builtin(out, model, error);
    if (pyro_index_find(model->name, &known) && known.image_side)
        snprintf(at, sizeof at, " with images of %lld x %lld", (long long)known.image_side,
                 (long long)known.image_side);
    if (status == PYRO_OK &&
        !pyro_model_note(*out,
                         "%.200s is priced as the built-in model %s%s; nothing was downloaded", id,
                         (*out)->name, at)) {
        pyro_model_close(*out);
        *out = NULL;
        status = pyro_fail_memory(error);
    }
    return status;
}

int pyro_catalog_open_id(pyro_model **out, const char *id, pyro_error *error)
{
    pyro_alias alias;
    return pyro_alias_find(&alias, id) && alias.exact ? open_alias(out, alias.model, id, error)
                                                      : PYRO_ERROR_NOT_FOUND;
}

int pyro_catalog_open_model(pyro_model **out, const char *name, pyro_error *error)
{
    char *path;
    const pyro_embedded_model *builtin = pyro_builtin_find(name, false);
    int status = pyro_registry_find(&path, name, builtin ? NULL : error);
    if (status == PYRO_OK && path) {
        status = pyro_model_open_file(out, path, error);
        if (status == PYRO_OK)
            (*out)->origin = PYRO_ORIGIN_OWN;
        if (status == PYRO_OK && builtin &&
            !pyro_model_note(*out,
                             "this is your own model; it hides the built-in one of that name "
                             "(pyrometer models remove %s brings that back)",
                             (*out)->name))
            status = pyro_fail_memory(error);
        free(path);
        return status;
    }
    if (builtin)
        return open_builtin(out, builtin, error);
    return status < 0 ? status : PYRO_ERROR_NOT_FOUND;
}

int pyro_model_open_decode(pyro_model **out, const char *name, pyro_error *error)
{
    pyro_alias alias;
    const pyro_embedded_model *model = pyro_builtin_find(name, false);
    bool elsewhere = !model && pyro_alias_find(&alias, name) && alias.exact;
    if (elsewhere)
        model = alias.model;
    const pyro_embedded_model *decode = model ? pyro_builtin_find(model->name, true) : NULL;
    if (decode)
        return elsewhere ? open_alias(out, decode, name, error) : open_builtin(out, decode, error);
    if (model)
        return pyro_fail(
            error, PYRO_ERROR_UNSUPPORTED,
            "the model has no graph of a decoding step (\"decode\" in pyrometer models "
            "--format json says which have one)");
    return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                     "only built-in models have a graph of a decoding step; export yours with its "
                     "cache as an input and price that");
}

/* The name as it is compared, in `text`. */
static void normalize(char text[NAME_BYTES], const char *name)
{
    spelling rest = {name, false};
    size_t length = 0;
    char letter;
    while (length < NAME_BYTES - 1 && (letter = next_letter(&rest)))
        text[length++] = letter;
    text[length] = '\0';
}

/* The nearest names so far, nearest first. */
typedef struct nearest {
    char wanted[NAME_BYTES];
    const char *names[NEAR_NAMES];
    size_t distances[NEAR_NAMES], count;
} nearest;

static void keep(nearest *near, const char *name, size_t distance)
{
    size_t at = near->count < NEAR_NAMES ? near->count++ : NEAR_NAMES;
    while (at > 0 && near->distances[at - 1] > distance) {
        if (at < NEAR_NAMES) {
            near->names[at] = near->names[at - 1];
            near->distances[at] = near->distances[at - 1];
        }
        at--;
    }
    if (at < NEAR_NAMES) {
        near->names[at] = name;
        near->distances[at] = distance;
    }
}

static void offer(nearest *near, const char *name)
{
    char text[NAME_BYTES];
    pyro_suggestion suggestion = PYRO_SUGGESTION(near->wanted);
    normalize(text, name);
    pyro_suggestion_offer(&suggestion, text);
    if (suggestion.nearest)
        keep(near, name, suggestion.distance);
}

static void add_names(pyro_buf *buf, const char *before, const nearest *near, const char *behind)
{
    for (size_t i = 0; i < near->count; i++)
        pyro_buf_addf(buf, "%s%s",
                      i == 0                 ? before
                      : i + 1 == near->count ? " or "
                                             : ", ",
                      near->names[i]);
    pyro_buf_adds(buf, near->count ? behind : "");
}

/* The longest family whose name is part of what is wanted ("llama" in "codellama13b"). */
static bool find_family(char family[PYRO_INDEX_NAME], const char *wanted)
{
    pyro_index_model known;
    char text[NAME_BYTES];
    size_t longest = 2;
    const char *name;
    for (size_t i = 0; (name = pyro_builtin_name(i)); i++) {
        if (!pyro_index_find(name, &known))
            continue;
        normalize(text, known.family);
        if (strlen(text) > longest && strstr(wanted, text)) {
            longest = strlen(text);
            strcpy(family, known.family);
        }
    }
    return longest > 2;
}

/* The models of a family that are nearest by their names. */
static void suggest_family(pyro_buf *buf, nearest *near, const char *family)
{
    char before[PYRO_INDEX_NAME + 64] = "; nearest of family ";
    pyro_index_model known;
    const char *name;
    for (size_t i = 0; (name = pyro_builtin_name(i)); i++) {
        char text[NAME_BYTES];
        if (!pyro_index_find(name, &known) || strcmp(known.family, family))
            continue;
        normalize(text, name);
        keep(near, name, pyro_edit_distance(near->wanted, text));
    }
    strcat(before, family);
    add_names(buf, strcat(before, ": "), near, "");
}

void pyro_catalog_suggest(pyro_buf *buf, const char *wanted)
{
    char name[PYRO_INDEX_NAME], family[PYRO_INDEX_NAME];
    nearest near = {.count = 0};
    pyro_arena arena;
    const char **own = NULL, *builtin;
    size_t own_count = 0;
    pyro_arena_init(&arena);
    const char *id = pyro_alias_name(wanted, name);
    normalize(near.wanted, id ? id : wanted);
    for (size_t i = 0; (builtin = pyro_builtin_name(i)); i++)
        offer(&near, builtin);
    if (pyro_registry_names(&own, &own_count, &arena, NULL) == PYRO_OK)
        for (size_t i = 0; i < own_count; i++)
            offer(&near, own[i]);
    if (near.count > 0)
        add_names(buf, "; did you mean ", &near, "?");
    else if (id && find_family(family, near.wanted))
        suggest_family(buf, &near, family);
    pyro_arena_free(&arena);
}
