/* Writes help texts from the option tables of the commands. */
#ifndef PYRO_CLI_HELP_H
#define PYRO_CLI_HELP_H

#include "base/containers/buf.h"
#include "cli/command.h"

/* Appends the help of one command. */
void pyro_help_command(pyro_buf *buf, const pyro_command *command, bool color);
/* Prints it on standard output; returns the exit code. */
int pyro_help_show(const pyro_command *command, bool color);

/* Appends an option's help, whether it repeats, and its default, piece by piece through `add`. */
void pyro_help_option_text(pyro_buf *buf, const pyro_command *command, const pyro_option *option,
                           void (*add)(pyro_buf *buf, const char *text));
/* Appends only the option's help. */
void pyro_help_option(pyro_buf *buf, const pyro_command *command, const pyro_option *option);

#endif
