/* Prints errors and notices on standard error. */
#ifndef PYRO_CLI_MESSAGE_H
#define PYRO_CLI_MESSAGE_H

#include <pyrometer/error.h>

/* Prints "wrote FILE (what)" on standard error. */
void pyro_common_say_written(const char *path, const char *what);

/* Prints "pyrometer: ...", made safe for a terminal; returns PYRO_EXIT_ERROR. */
int pyro_common_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "pyrometer: subject: message (at byte N)"; returns PYRO_EXIT_ERROR. */
int pyro_common_fail(const char *subject, const pyro_error *error);

#endif
