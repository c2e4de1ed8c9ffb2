/* What both kinds of databases have in common: values, statements, transactions. */
#include "history/database/database.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

pyro_sql_value pyro_sql_integer(int64_t value)
{
    return (pyro_sql_value){.kind = PYRO_SQL_INTEGER, .integer = value};
}

pyro_sql_value pyro_sql_real(double value)
{
    return (pyro_sql_value){.kind = isfinite(value) ? PYRO_SQL_REAL : PYRO_SQL_NULL, .real = value};
}

pyro_sql_value pyro_sql_text(const char *text)
{
    return (pyro_sql_value){.kind = text ? PYRO_SQL_TEXT : PYRO_SQL_NULL,
                            .text = text,
                            .size = text ? strlen(text) : 0};
}

pyro_sql_value pyro_sql_bytes(const void *bytes, size_t size)
{
    return (pyro_sql_value){.kind = PYRO_SQL_BYTES, .text = bytes, .size = size};
}

int64_t pyro_sql_get_integer(const pyro_sql_value *value)
{
    return value->kind == PYRO_SQL_INTEGER ? value->integer : 0;
}

double pyro_sql_get_real(const pyro_sql_value *value)
{
    if (value->kind == PYRO_SQL_INTEGER)
        return (double)value->integer;
    return value->kind == PYRO_SQL_REAL ? value->real : NAN;
}

const char *pyro_sql_get_text(const pyro_sql_value *value)
{
    return value->kind == PYRO_SQL_TEXT ? value->text : "";
}

void pyro_database_close(pyro_database *database)
{
    if (database)
        database->kind->close(database);
}

int pyro_database_run(pyro_database *database, const char *sql, const pyro_sql_value *parameters,
                      size_t count, pyro_sql_row *row, void *user, pyro_error *error)
{
    return database->kind->run(database, sql, parameters, count, row, user, error);
}

int pyro_database_execute(pyro_database *database, const char *sql, pyro_error *error)
{
    return pyro_database_run(database, sql, NULL, 0, NULL, NULL, error);
}

typedef struct integer_cell {
    int64_t value;
    bool found;
} integer_cell;

static int take_integer(void *user, const pyro_sql_value *cells, size_t count, pyro_error *error)
{
    integer_cell *cell = user;

    (void)error;
    if (!cell->found && count > 0 && cells[0].kind == PYRO_SQL_INTEGER)
        *cell = (integer_cell){cells[0].integer, true};
    return PYRO_OK;
}

int pyro_database_integer(pyro_database *database, const char *sql,
                          const pyro_sql_value *parameters, size_t count, int64_t *out, bool *found,
                          pyro_error *error)
{
    integer_cell cell = {0, false};
    int status = pyro_database_run(database, sql, parameters, count, take_integer, &cell, error);

    *out = cell.value;
    *found = cell.found;
    return status;
}

int pyro_database_begin(pyro_database *database, pyro_error *error)
{
    if (database->read_only)
        return pyro_fail(error, PYRO_ERROR_IO, "%.300s: opened for reading only", database->name);
    int status = pyro_database_execute(database, database->kind->begin_write, error);

    if (status == PYRO_OK && database->kind->lock) {
        status = pyro_database_execute(database, database->kind->lock, error);
        if (status != PYRO_OK)
            pyro_database_execute(database, "ROLLBACK", NULL);
    }
    return status;
}

int pyro_database_end(pyro_database *database, int status, pyro_error *error)
{
    if (status == PYRO_OK)
        status = pyro_database_execute(database, "COMMIT", error);
    /* Also after a failed commit: SQLite keeps the transaction open then. */
    if (status != PYRO_OK)
        pyro_database_execute(database, "ROLLBACK", NULL);
    return status;
}
