/* Opens a model from a known file; open.c decides which file a spec names. */
#ifndef PYRO_READ_OPEN_FILE_H
#define PYRO_READ_OPEN_FILE_H

#include "base/containers/buf.h"
#include <pyrometer/model.h>

/*
 * Opens a file; `name` selects one of several models in it (NULL: the only one). If `stripped` is
 * not NULL, the stripped program is appended to it and the model gets no graph.
 */
int pyro_open_file(pyro_model **out, const char *path, const char *name, pyro_buf *stripped,
                   pyro_error *error);
int pyro_open_memory(pyro_model **out, const void *data, size_t size, const char *label,
                     pyro_buf *stripped, pyro_error *error);

#endif
