/* Finds the Python interpreter that commands use, and the package pyrometer in it. */
#ifndef PYRO_CLI_PYTHON_INTERPRETER_H
#define PYRO_CLI_PYTHON_INTERPRETER_H

#include "base/containers/buf.h"

#include <stdbool.h>

/* The value of --python, or the default; to be freed. NULL: out of memory. */
char *pyro_python_choose(const char *given);

/*
 * Runs `python arguments...` (NULL-terminated, without argv[0]) and collects its standard output.
 * Its standard error goes to ours unless `hide_errors`. Returns its exit code: 127 when it did not
 * start, 128 + N when signal N ended it.
 */
int pyro_python_ask(const char *python, const char *const *arguments, bool hide_errors,
                    pyro_buf *answer);

/*
 * The folder of the package `pyrometer` in that Python, to be freed. NULL, with an error message,
 * when the Python or the package is missing or the package has another version.
 */
char *pyro_python_package(const char *python);

#endif
