/* Folders of Hugging Face with a config.json. */
#ifndef PYRO_READ_HUGGINGFACE_FOLDER_H
#define PYRO_READ_HUGGINGFACE_FOLDER_H

#include <pyrometer/model.h>

/*
 * Builds the model that a folder's config.json describes. PYRO_ERROR_UNSUPPORTED if its model type
 * is not one whose graph follows from the configuration; then transformers can build it.
 */
int pyro_folder_open(pyro_model **out, const char *folder, pyro_error *error);

#endif
