/* Opening what a command line calls a model: names, ids, files, folders and Python functions. */
#ifndef PYRO_CLI_MODEL_OPEN_H
#define PYRO_CLI_MODEL_OPEN_H

#include <pyrometer/model.h>

/* What a model that Python has to build is exported with. */
typedef struct pyro_open_options {
    const char *python;      /* NULL: the default one */
    const char *input_shape; /* of its one input; NULL: as its builder says */
} pyro_open_options;

/* Opens a model as every command takes it; `options` may be NULL. */
int pyro_open_model(pyro_model **out, const char *spec, const pyro_open_options *options,
                    pyro_error *error);

#endif
