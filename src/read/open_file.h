/* Opening bytes, for those who know the file: open.c decides which file a text names. */
#ifndef PYRO_READ_OPEN_FILE_H
#define PYRO_READ_OPEN_FILE_H

#include "base/containers/buf.h"
#include <pyrometer/model.h>

/*
 * Opens a file; `name` chooses one of several models in it, NULL: the only one. Where `stripped` is
 * not NULL the program is added to it without what does not price it, and the model has no graph.
 */
int pyro_open_file(pyro_model **out, const char *path, const char *name, pyro_buf *stripped,
                   pyro_error *error);
int pyro_open_memory(pyro_model **out, const void *data, size_t size, const char *label,
                     pyro_buf *stripped, pyro_error *error);

#endif
