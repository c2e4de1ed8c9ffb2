/* The option --history of commands that measure. */
#ifndef PYRO_CLI_HISTORY_STORE_H
#define PYRO_CLI_HISTORY_STORE_H

#include "cli/options/options.h"

typedef struct pyro_history_store_values {
    bool wanted;
    const char *database;
} pyro_history_store_values;

extern const pyro_option pyro_history_store_options[];

/*
 * Removes the password of an address from the command line, which other users can read in the list
 * of processes; returns a copy that has it, to be freed. NULL stays NULL.
 */
char *pyro_history_hide_password(const char *database);

/*
 * Stores results in JSON, with the labels of CI and git. If the history cannot be written, keeps
 * them in a file to add later, and says which.
 */
void pyro_history_store(const pyro_history_store_values *values, const char *json, size_t size);

#endif
