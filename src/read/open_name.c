/* Opens models by name: registry models, built-in ones, and Hugging Face or timm ids of these. */
#include "base/error.h"
#include "graph/model.h"
#include "read/catalog.h"
#include "read/huggingface/folder.h"
#include <stdio.h>
#include <stdlib.h>

static int open_builtin(pyro_model **out, const pyro_embedded_model *model, pyro_error *error)
{
    int status = pyro_model_open_memory(out, model->data, model->size, model->name, error);
    if (status == PYRO_OK) {
        (*out)->origin = PYRO_ORIGIN_BUILTIN;
        (*out)->cache_values_per_token = pyro_index_cache_values(model->name);
    }
    return status;
}

/* Opens the built-in model for a Hugging Face or timm id, and adds a note about it. */
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
            "--format json lists those that do)");
    if (pyro_spec_of(name) == PYRO_SPEC_FOLDER) {
        int status = pyro_folder_open(out, name, true, error);
        if (status < 0)
            pyro_error_where(error, name, NULL);
        return status;
    }
    return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                     "only built-in models and folders with a config.json have a graph of a "
                     "decoding step; export yours with its cache as an input and price that");
}
