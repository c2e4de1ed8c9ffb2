/* Adds a model to the user's registry: opens it, strips it, and stores the archive. */
#include "base/error.h"
#include "base/file.h"
#include "read/catalog.h"
#include <stdlib.h>
#include <string.h>

/* Finds the file of FILE, FILE:NAME or a registry model's name; false: not found. */
static bool identify_source(const char *given, pyro_file_identity *out)
{
    const char *colon = strrchr(given, ':');
    char *file = NULL;
    if (pyro_file_identify(given, out))
        return true;
    if (colon)
        file = strndup(given, (size_t)(colon - given));
    else
        pyro_registry_find(&file, given, NULL);
    bool found = file && pyro_file_identify(file, out);
    free(file);
    return found;
}

/* Rejects adding a model from its own entry, which would overwrite its source. */
static int check_source(const char *given, const char *path, pyro_error *error)
{
    pyro_file_identity source, target;
    bool same = given && identify_source(given, &source) && pyro_file_identify(path, &target) &&
                pyro_file_equal(source, target);
    return same ? pyro_fail(error, PYRO_ERROR_ARGUMENT,
                            "would overwrite its own source %.200s; copy that file first", given)
                : PYRO_OK;
}

static int store(const char *name, const char *source, const pyro_buf *archive, bool replace,
                 pyro_error *error)
{
    char *path = NULL, *folder = NULL;
    int status = pyro_registry_folder(&folder, error);
    if (status == PYRO_OK)
        status = pyro_file_make_folder(folder, error);
    if (status == PYRO_OK)
        status = pyro_registry_path(&path, name, error);
    if (status == PYRO_OK)
        status = check_source(source, path, error);
    if (status == PYRO_OK) {
        status = pyro_file_write_whole(path, archive->data, archive->length, replace, error);
        if (status < 0)
            pyro_error_where(error, path, NULL);
    }
    free(folder);
    free(path);
    return status;
}

int pyro_registry_add(const char *name, const pyro_registry_model *given,
                      const pyro_registry_options *options, pyro_error *error)
{
    static const pyro_registry_options defaults = {0};
    pyro_buf archive = PYRO_BUF_INIT;
    pyro_model *model = NULL;
    if (!options)
        options = &defaults;
    int status = pyro_registry_check_name(name, options->replace, error);
    if (status == PYRO_OK)
        status = given->path
                     ? pyro_model_open(&model, given->path, error)
                     : pyro_model_open_memory(&model, given->data, given->size, name, error);
    if (status == PYRO_OK && options->dims)
        status = pyro_model_set_shape(model, NULL, options->dims, options->rank, error);
    if (status == PYRO_OK)
        status = pyro_skeleton_write(&archive, model, given, name, options, error);
    if (status == PYRO_OK)
        status = store(name, given->path, &archive, options->replace, error);
    pyro_model_close(model);
    pyro_buf_free(&archive);
    return status;
}
