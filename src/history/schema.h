/* Tables of the history, and how an older database becomes a newer one. */
#ifndef PYRO_HISTORY_SCHEMA_H
#define PYRO_HISTORY_SCHEMA_H

#include "history/database/database.h"

/*
 * Creates or upgrades the tables. PYRO_ERROR_UNSUPPORTED if a newer program made them;
 * PYRO_ERROR_NOT_FOUND if the database is opened for reading only and has none.
 */
int pyro_schema_prepare(pyro_database *database, pyro_error *error);
/* Whether an older program made the tables, so that they must be upgraded before reading. */
int pyro_schema_is_older(pyro_database *database, bool *is_older, pyro_error *error);

#endif
