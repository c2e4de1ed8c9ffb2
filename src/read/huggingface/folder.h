/* Folders of Hugging Face with a config.json. */
#ifndef PYRO_READ_HUGGINGFACE_FOLDER_H
#define PYRO_READ_HUGGINGFACE_FOLDER_H

#include <pyrometer/model.h>
#include <stdbool.h>

/*
 * Builds the model that a folder's config.json describes. PYRO_ERROR_UNSUPPORTED if its model type
 * is not one whose graph follows from the configuration; then transformers can build it.
 */
/* `decode`: the graph of one token with a cache of past ones. */
int pyro_folder_open(pyro_model **out, const char *folder, bool decode, pyro_error *error);

/* The same for the text of a config.json, without a folder. */
int pyro_config_open_memory(pyro_model **out, const void *data, size_t size, bool decode,
                            pyro_error *error);

#endif
