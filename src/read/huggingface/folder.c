/* Opens a folder of Hugging Face: the architecture follows from config.json. No code is run. */
#include "read/huggingface/folder.h"

#include "base/error.h"
#include "base/source/source.h"
#include "read/huggingface/family.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last part of a path: "models/Llama-3-8B/" is called Llama-3-8B. */
static const char *name_of(pyro_model *model, const char *folder)
{
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    size_t begin = length;
    while (begin && folder[begin - 1] != '/')
        begin--;
    return pyro_arena_text(&model->arena, folder + begin, length - begin);
}

static int build(pyro_model *model, pyro_source *source, bool decode, pyro_error *error)
{
    hf_config config;
    int status = hf_config_read(&config, source, &model->arena, error);
    /* A text model beside a vision tower is not the whole model. */
    bool is_part = status == PYRO_OK && *config.outer_type &&
                   strcmp(config.outer_type, config.model_type);
    const char *type = is_part ? config.outer_type : config.model_type;
    const hf_family *family = status == PYRO_OK ? hf_family_find(type) : NULL;
    config.text_family = is_part ? hf_family_find(config.model_type) : NULL;
    if (status == PYRO_OK && !family)
        status = pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                           "the model type '%.60s' is not one whose graph follows from its "
                           "configuration; Python has to build it",
                           type);
    if (status == PYRO_OK)
        status = family->build(model, &config, family, decode, error);
    if (status == PYRO_OK) {
        model->source = pyro_arena_format(&model->arena, "config.json, %.60s", config.model_type);
        bool good = model->source &&
                    pyro_model_note(model, "the graph is derived from config.json; --python builds "
                                           "it with transformers");
        status = good ? PYRO_OK : pyro_fail_memory(error);
    }
    hf_config_free(&config);
    return status;
}

/* Builds the model of an opened configuration, and closes that; `path` and `name` are its own. */
static int open_source(pyro_model **out, pyro_source *source, const char *path, const char *name,
                       bool decode, pyro_error *error)
{
    pyro_model *model = pyro_model_new();
    int status = PYRO_OK;
    if (model) {
        model->file = pyro_arena_text(&model->arena, path, strlen(path));
        model->name = model->display_name = name_of(model, name);
        model->graph = pyro_model_add_graph(model);
    }
    if (!model || !model->file || !model->name || !model->graph)
        status = pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = build(model, source, decode, error);
    pyro_source_close(source);
    if (status < 0) {
        pyro_model_close(model);
        return status;
    }
    *out = model;
    return PYRO_OK;
}

int pyro_folder_open(pyro_model **out, const char *folder, bool decode, pyro_error *error)
{
    char *path = NULL;
    pyro_source *source = NULL;
    if (asprintf(&path, "%s/config.json", folder) < 0)
        return pyro_fail_memory(error);
    int status = pyro_source_open_regular(&source, path, error);
    if (status == PYRO_OK)
        status = open_source(out, source, path, folder, decode, error);
    free(path);
    return status;
}

int pyro_config_open_memory(pyro_model **out, const void *data, size_t size, bool decode,
                            pyro_error *error)
{
    pyro_source *source = NULL;
    int status = pyro_source_open_memory(&source, data, size, error);
    if (status < 0)
        return status;
    return open_source(out, source, "config.json", "config", decode, error);
}
