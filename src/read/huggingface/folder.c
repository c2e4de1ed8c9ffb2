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

static int build(pyro_model *model, pyro_source *source, pyro_error *error)
{
    hf_config config;
    int status = hf_config_read(&config, source, &model->arena, error);
    const hf_family *family = status == PYRO_OK ? hf_family_find(config.model_type) : NULL;
    if (status == PYRO_OK && !family)
        status = pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                           "the model type '%.60s' is not one whose graph follows from its "
                           "configuration; Python has to build it",
                           config.model_type);
    if (status == PYRO_OK)
        status = hf_build_decoder(model, &config, family, error);
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

int pyro_folder_open(pyro_model **out, const char *folder, pyro_error *error)
{
    char *path = NULL;
    pyro_source *source = NULL;
    pyro_model *model = pyro_model_new();
    if (!model || asprintf(&path, "%s/config.json", folder) < 0) {
        pyro_model_close(model);
        return pyro_fail_memory(error);
    }
    model->file = pyro_arena_text(&model->arena, path, strlen(path));
    model->name = model->display_name = name_of(model, folder);
    model->graph = pyro_model_add_graph(model);
    int status = model->file && model->name && model->graph ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = pyro_source_open_regular(&source, path, error);
    if (status == PYRO_OK)
        status = build(model, source, error);
    pyro_source_close(source);
    free(path);
    if (status < 0) {
        pyro_model_close(model);
        return status;
    }
    *out = model;
    return PYRO_OK;
}
