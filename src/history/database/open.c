/* Opens a database by its location. */
#include "history/database/database.h"
#include "history/database/location.h"

#include "base/error.h"

int pyro_database_open(pyro_database **out, const char *location, bool read_only, pyro_error *error)
{
    *out = NULL;
    if (!pyro_location_is_server(location))
        return pyro_sqlite_open(out, location, read_only, error);
    int status = pyro_location_check(location, error);
    return status == PYRO_OK ? pyro_postgres_open(out, location, read_only, error) : status;
}
