/* The address of a history on a server: checks it, and hides its password. */
#ifndef PYRO_HISTORY_DATABASE_LOCATION_H
#define PYRO_HISTORY_DATABASE_LOCATION_H

#include <pyrometer/error.h>
#include <stdbool.h>

/* True for "postgresql://..." and the like; false for the name of a file. */
bool pyro_location_is_server(const char *location);

/*
 * Fails for an address that libpq would refuse with a message that quotes the password, and for a
 * server that is not PostgreSQL. Messages never quote the address.
 */
int pyro_location_check(const char *location, pyro_error *error);

/* Overwrites every password in an address; a file's name stays. */
void pyro_location_mask(char *location);

/* The address without passwords and options, for messages. The caller frees it; NULL: no memory. */
char *pyro_location_name(const char *location);

#endif
