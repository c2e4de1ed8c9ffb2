/* Options that take a share of a whole: 10%, or 0.1. */
#ifndef PYRO_CLI_OPTIONS_SHARE_H
#define PYRO_CLI_OPTIONS_SHARE_H

#include <pyrometer/error.h>
#include <stdbool.h>

/*
 * Reads the value of --`option`; NULL leaves *out alone. An option that once took a bare number as
 * a percentage (`was_percent`) prints on standard error how it reads one now.
 */
int pyro_share_option(double *out, const char *option, const char *text, bool was_percent,
                      pyro_error *error);

#endif
