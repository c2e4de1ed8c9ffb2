/* The user's registry: a folder with one small archive per model, and no index. */
#include "base/error.h"
#include "read/catalog.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_LENGTH = 100, MAX_OWN_MODELS = 100000 };

static const char extension[] = ".pt2";

int pyro_registry_folder(char **out, pyro_error *error)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length;
    *out = NULL;
    /* The standard says to ignore a relative path here. */
    if (data && data[0] == '/')
        length = asprintf(out, "%s/pyrometer/models", data);
    else if (home && home[0] == '/')
        length = asprintf(out, "%s/.local/share/pyrometer/models", home);
    else
        return pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                         "no folder for the model registry: set HOME to an absolute path");
    if (length >= 0)
        return PYRO_OK;
    *out = NULL;
    return pyro_fail_memory(error);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length > end_length && !strcmp(text + length - end_length, end);
}

/* A name must be valid as a file name and as a word on a command line. */
static bool is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-";
    size_t length = strlen(name);
    return length > 0 && length <= NAME_MAX_LENGTH && strspn(name, allowed) == length &&
           !strchr("._-", name[0]) && !ends_with(name, extension) &&
           !ends_with(name, PYRO_DECODE_SUFFIX);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds a file's model to the list. Returns 0 or a negative status. */
static int add_name(const char ***names, size_t *count, size_t *capacity, pyro_arena *arena,
                    const char *file, pyro_error *error)
{
    size_t length = strlen(file) - strlen(extension);
    char *name = pyro_arena_text(arena, file, length);
    if (!name || !pyro_grow(names, capacity, *count + 1, sizeof **names))
        return pyro_fail_memory(error);
    if (!is_name(name))
        return PYRO_OK;
    if (*count == MAX_OWN_MODELS)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d models in the registry",
                         MAX_OWN_MODELS);
    (*names)[(*count)++] = name;
    return PYRO_OK;
}

int pyro_registry_names(const char ***out, size_t *count, pyro_arena *arena, pyro_error *error)
{
    char *folder = NULL;
    const char **names = NULL;
    size_t capacity = 0;
    struct dirent *file;
    *out = NULL;
    *count = 0;
    if (pyro_registry_folder(&folder, NULL) < 0)
        return PYRO_OK; /* no registry folder, so the list is empty */
    DIR *files = opendir(folder);
    int status = PYRO_OK;
    if (!files && errno != ENOENT && errno != ENOTDIR)
        status = pyro_fail(error, PYRO_ERROR_IO, "cannot read %.200s: %s", folder, strerror(errno));
    while (files && status == PYRO_OK && (file = readdir(files)))
        if (ends_with(file->d_name, extension))
            status = add_name(&names, count, &capacity, arena, file->d_name, error);
    if (files)
        closedir(files);
    if (status == PYRO_OK && *count) {
        qsort(names, *count, sizeof *names, compare_names);
        *out = pyro_arena_array(arena, *count, sizeof *names);
        if (*out)
            memcpy(*out, names, *count * sizeof *names);
        else
            status = pyro_fail_memory(error);
    }
    free(names);
    free(folder);
    return status;
}

int pyro_registry_path(char **out, const char *name, pyro_error *error)
{
    char *folder;
    int status = pyro_registry_folder(&folder, error);
    if (status < 0)
        return status;
    if (asprintf(out, "%s/%s%s", folder, name, extension) < 0) {
        *out = NULL;
        status = pyro_fail_memory(error);
    }
    free(folder);
    return status;
}

/* The user's spelling of a name, in the arena; NULL if there is no such model. */
static int find_name(const char **out, const char *wanted, pyro_arena *arena, pyro_error *error)
{
    const char **names;
    size_t count;
    int status = pyro_registry_names(&names, &count, arena, error);
    *out = NULL;
    for (size_t i = 0; status == PYRO_OK && i < count; i++)
        if (!strcmp(names[i], wanted) || (!*out && pyro_catalog_same_name(names[i], wanted)))
            *out = names[i];
    return status;
}

int pyro_registry_find(char **out, const char *name, pyro_error *error)
{
    pyro_arena arena;
    const char *own;
    *out = NULL;
    if (strchr(name, '/'))
        return PYRO_OK;
    pyro_arena_init(&arena);
    int status = find_name(&own, name, &arena, error);
    if (status == PYRO_OK && own)
        status = pyro_registry_path(out, own, error);
    pyro_arena_free(&arena);
    return status;
}

int pyro_registry_check_name(const char *name, bool replace, pyro_error *error)
{
    pyro_arena arena;
    const char *own;
    if (!is_name(name))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "\"%.100s\" is not a valid model name: use letters, digits and, after the "
                         "first character, . _ -; at most %d characters, no extension",
                         name, NAME_MAX_LENGTH);
    const pyro_embedded_model *builtin = pyro_builtin_find(name, false);
    if (builtin && !replace)
        return pyro_fail(
            error, PYRO_ERROR_ARGUMENT,
            "%s is a built-in model; choose another name (force hides the built-in one)",
            builtin->name);
    pyro_arena_init(&arena);
    int status = find_name(&own, name, &arena, error);
    if (status == PYRO_OK && own && strcmp(own, name))
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT,
                           "your model %s counts as the same name; remove it first or choose "
                           "another name",
                           own);
    else if (status == PYRO_OK && own && !replace)
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT,
                           "you already have a model called %s (force replaces it)", own);
    pyro_arena_free(&arena);
    return status;
}

int pyro_registry_remove(const char *name, pyro_error *error)
{
    char *path;
    int status = pyro_registry_find(&path, name, error);
    if (status == PYRO_OK && !path) {
        const pyro_embedded_model *builtin = pyro_builtin_find(name, false);
        status = pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                           builtin ? "%.100s is a built-in model, which cannot be removed"
                                   : "you have no model called %.100s",
                           builtin ? builtin->name : name);
    }
    if (status == PYRO_OK && unlink(path) != 0)
        status = pyro_fail(error, errno == ENOENT ? PYRO_ERROR_NOT_FOUND : PYRO_ERROR_IO,
                           "cannot remove %.200s: %s", path, strerror(errno));
    free(path);
    return status;
}
