/* Options that take a regular expression. */
#ifndef PYRO_CLI_OPTIONS_REGEX_H
#define PYRO_CLI_OPTIONS_REGEX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Checks the value of `option` ("--filter") of a command; NULL is valid. Returns false, with a
 * message, if it is no POSIX extended regular expression or has fewer groups than needed.
 */
bool pyro_regex_option(const char *command, const char *option, const char *pattern, size_t groups);

#endif
