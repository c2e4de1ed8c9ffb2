/* Opens a database by its location. */
#include "history/database/database.h"

#include <string.h>

static bool is_server(const char *location)
{
    return strncmp(location, "postgresql://", 13) == 0 || strncmp(location, "postgres://", 11) == 0;
}

int pyro_database_open(pyro_database **out, const char *location, bool read_only, pyro_error *error)
{
    *out = NULL;
    return is_server(location) ? pyro_postgres_open(out, location, read_only, error)
                               : pyro_sqlite_open(out, location, read_only, error);
}
