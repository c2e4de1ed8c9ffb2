/* Opens a model given on the command line: a name, id, file, folder or Python function. */
#ifndef PYRO_CLI_MODEL_OPEN_H
#define PYRO_CLI_MODEL_OPEN_H

#include <pyrometer/model.h>

/* Options for models that Python has to build and export. */
typedef struct pyro_open_options {
    const char *python;      /* NULL: the default Python */
    const char *input_shape; /* of the only input; NULL: the inputs that the builder returns */
} pyro_open_options;

/* Opens a model the same way for every command; `options` may be NULL. */
int pyro_open_model(pyro_model **out, const char *spec, const pyro_open_options *options,
                    pyro_error *error);

#endif
