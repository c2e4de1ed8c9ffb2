/* Strips an exported program to what its cost needs. */
#ifndef PYRO_READ_STRIP_H
#define PYRO_READ_STRIP_H

#include "base/containers/buf.h"
#include "base/source/source.h"

/* Reads the JSON of a program and adds the stripped one to `out`. */
int pyro_strip_program(pyro_buf *out, pyro_source *program, pyro_error *error);

#endif
