/* Messages to the user: errors and what was written. */
#ifndef PYRO_CLI_MESSAGE_H
#define PYRO_CLI_MESSAGE_H

#include <pyrometer/error.h>

/* "wrote FILE (what)" on standard error. */
void pyro_common_say_written(const char *path, const char *what);

/* "pyrometer: ..." on standard error, made safe for a terminal; the exit code for it. */
int pyro_common_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "pyrometer: subject: message (at byte N)" on standard error; the exit code for it. */
int pyro_common_fail(const char *subject, const pyro_error *error);

#endif
