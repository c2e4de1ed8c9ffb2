/* Help texts, written from the commands' tables. */
#ifndef PYRO_CLI_HELP_H
#define PYRO_CLI_HELP_H

#include "base/containers/buf.h"
#include "cli/command.h"

/* The help of one command. */
void pyro_help_command(pyro_buf *buf, const pyro_command *command, bool color);
/* What the tool is, its commands, and what to type next. */
void pyro_help_overview(pyro_buf *buf, bool color);

/* Shows the help of a command (NULL: the overview) on standard output; the exit code. */
int pyro_help_show(const pyro_command *command, bool color);

/* What an option does, whether it repeats, and its default; `add` writes a piece of the text. */
void pyro_help_option_text(pyro_buf *buf, const pyro_command *command, const pyro_option *option,
                           void (*add)(pyro_buf *buf, const char *text));
/* What it does alone. */
void pyro_help_option(pyro_buf *buf, const pyro_command *command, const pyro_option *option);

#endif
