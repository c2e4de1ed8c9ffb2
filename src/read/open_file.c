/* Opens a model from a file or from memory, in any supported format. */
#include "read/open_file.h"

#include "base/error.h"
#include "read/catalog.h"
#include "read/formats.h"
#include <string.h>

/* "models/resnet18.pt2" is called resnet18 until the file says otherwise. */
static int name_by_file(pyro_model *model, const char *path, pyro_error *error)
{
    const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path;
    const char *dot = strrchr(stem, '.');
    size_t length = dot && dot != stem ? (size_t)(dot - stem) : strlen(stem);
    model->file = pyro_arena_text(&model->arena, path, strlen(path));
    model->name = model->display_name = pyro_arena_text(&model->arena, stem, length);
    return model->file && model->name ? PYRO_OK : pyro_fail_memory(error);
}

static int finish(pyro_model **out, pyro_model *model, const char *label, int status,
                  pyro_error *error)
{
    if (status < 0) {
        pyro_error_where(error, label, NULL);
        pyro_model_close(model);
        return status;
    }
    *out = model;
    return PYRO_OK;
}

int pyro_open_file(pyro_model **out, const char *path, const char *name, pyro_buf *stripped,
                   pyro_error *error)
{
    pyro_source *source = NULL;
    pyro_model *model = pyro_model_new();
    if (!model)
        return pyro_fail_memory(error);
    int status = name_by_file(model, path, error);
    if (status == PYRO_OK)
        status = pyro_source_open_regular(&source, path, error);
    if (status == PYRO_OK) {
        model->file_bytes = source->size;
        status = pyro_formats_open(
            &(pyro_opening){.model = model, .stripped = stripped, .source = source, .name = name},
            error);
    }
    pyro_source_close(source);
    return finish(out, model, path, status, error);
}

int pyro_open_memory(pyro_model **out, const void *data, size_t size, const char *label,
                     pyro_buf *stripped, pyro_error *error)
{
    pyro_source *source = NULL;
    pyro_model *model = pyro_model_new();
    if (!model)
        return pyro_fail_memory(error);
    int status = name_by_file(model, label, error);
    if (status == PYRO_OK)
        status = pyro_source_open_memory(&source, data, size, error);
    if (status == PYRO_OK)
        status = pyro_formats_open(
            &(pyro_opening){.model = model, .stripped = stripped, .source = source}, error);
    pyro_source_close(source);
    return finish(out, model, label, status, error);
}

int pyro_model_open_memory(pyro_model **out, const void *data, size_t size, const char *label,
                           pyro_error *error)
{
    return pyro_open_memory(out, data, size, label, NULL, error);
}

int pyro_model_open_file(pyro_model **out, const char *path, pyro_error *error)
{
    return pyro_open_file(out, path, NULL, NULL, error);
}
