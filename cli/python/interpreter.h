/* The Python that commands run programs with: which one, and where the package lies in it. */
#ifndef PYRO_CLI_PYTHON_INTERPRETER_H
#define PYRO_CLI_PYTHON_INTERPRETER_H

#include "base/containers/buf.h"

#include <stdbool.h>

/* Value of --python, or the one to take without it; free() it. NULL when memory is out. */
char *pyro_python_choose(const char *given);

/*
 * Runs `python arguments...` (NULL-terminated, without argv[0]) and gathers what it writes to
 * standard output; its errors go to ours unless `hide_errors`. Its exit status, 127 when it could
 * not be started, 128 + N when signal N ended it.
 */
int pyro_python_ask(const char *python, const char *const *arguments, bool hide_errors,
                    pyro_buf *answer);

/*
 * The folder of the package `pyrometer` in that Python, to be freed; or NULL after saying on
 * standard error what is missing: no such Python, no package, or one of another version.
 */
char *pyro_python_package(const char *python);

#endif
