/*
 * Collects the files that a command reads, before any work is done, and rejects outputs that would
 * overwrite one of them, even through a link.
 */
#ifndef PYRO_CLI_INPUTS_H
#define PYRO_CLI_INPUTS_H

#include "cli/command.h"

#include <pyrometer/error.h>

/*
 * Adds the files that a word of the command line may name: a file, FILE:NAME, a comma-separated
 * list, files in a shell command; with `folders` also a folder with its contents.
 */
void pyro_inputs_add(const char *word, bool folders);

/* Adds operands, the values of options that name files, the user's models and standard input. */
void pyro_inputs_collect(const pyro_option_group *groups, const void *values,
                         const pyro_words *operands);

/* PYRO_ERROR_ARGUMENT when writing to `path` would overwrite one of the inputs. */
int pyro_inputs_check(const char *path, pyro_error *error);

/* The same for every file that the command's options name as an output. */
int pyro_inputs_check_options(const pyro_option_group *groups, const void *values,
                              pyro_error *error);

/* Forgets all inputs. */
void pyro_inputs_clear(void);

#endif
