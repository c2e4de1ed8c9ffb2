/*
 * A database behind the history: SQL with numbered parameters ($1, $2, ...) on SQLite or PostgreSQL.
 * Their libraries are loaded at run time. Texts of statements must be literals: prepared statements
 * are cached by their address.
 */
#ifndef PYRO_HISTORY_DATABASE_DATABASE_H
#define PYRO_HISTORY_DATABASE_DATABASE_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pyro_sql_kind {
    PYRO_SQL_NULL,
    PYRO_SQL_INTEGER,
    PYRO_SQL_REAL,
    PYRO_SQL_TEXT,
    PYRO_SQL_BYTES
} pyro_sql_kind;

/* A parameter or a cell. Cells are valid until the row function returns. */
typedef struct pyro_sql_value {
    pyro_sql_kind kind;
    int64_t integer;
    double real;
    const char *text; /* of a text (NUL-terminated) or of bytes */
    size_t size;
} pyro_sql_value;

/* Parameters; a NULL text and a number that is not finite become NULL. */
pyro_sql_value pyro_sql_integer(int64_t value);
pyro_sql_value pyro_sql_real(double value);
pyro_sql_value pyro_sql_text(const char *text);
pyro_sql_value pyro_sql_bytes(const void *bytes, size_t size);

/* Cells with defaults for NULL: 0, NaN and "". */
int64_t pyro_sql_get_integer(const pyro_sql_value *value);
double pyro_sql_get_real(const pyro_sql_value *value);
const char *pyro_sql_get_text(const pyro_sql_value *value);

/* Called per row; a status other than PYRO_OK ends the statement. PYRO_SQL_STOP is no failure. */
enum { PYRO_SQL_STOP = 1 };
typedef int pyro_sql_row(void *user, const pyro_sql_value *cells, size_t count, pyro_error *error);

typedef struct pyro_database pyro_database;

typedef struct pyro_database_kind {
    int (*run)(pyro_database *database, const char *sql, const pyro_sql_value *parameters,
               size_t count, pyro_sql_row *row, void *user, pyro_error *error);
    /* Runs statements without parameters or rows; their text need not be a literal. */
    int (*script)(pyro_database *database, const char *sql, pyro_error *error);
    void (*close)(pyro_database *database);
    const char *begin_write; /* the statement that starts a writing transaction */
    const char *lock; /* serializes writers inside the transaction; NULL: begin_write does */
    const char *id; /* type of a column that numbers the rows */
    const char *bytes; /* type of a column of bytes */
    const char *compact; /* returns the room of removed rows to the disk; NULL: the server does */
    const char *settings_count; /* how many tables are named "settings" */
} pyro_database_kind;

/* The common first member of both kinds. */
struct pyro_database {
    const pyro_database_kind *kind;
    char *name; /* for messages; never contains a password */
    bool read_only;
    int64_t changed; /* rows that the last statement inserted, updated or deleted */
};

/*
 * Opens a file of SQLite, or a server by "postgresql://...". Creates the file if it is missing,
 * unless `read_only`. PYRO_ERROR_UNSUPPORTED if the library is missing.
 */
int pyro_database_open(pyro_database **out, const char *location, bool read_only,
                       pyro_error *error);
int pyro_sqlite_open(pyro_database **out, const char *path, bool read_only, pyro_error *error);
int pyro_postgres_open(pyro_database **out, const char *location, bool read_only,
                       pyro_error *error);
void pyro_database_close(pyro_database *database); /* accepts NULL */

/* Runs one statement; `row` may be NULL, and must not run another statement. */
int pyro_database_run(pyro_database *database, const char *sql, const pyro_sql_value *parameters,
                      size_t count, pyro_sql_row *row, void *user, pyro_error *error);
/* Runs a statement without parameters or rows. */
int pyro_database_execute(pyro_database *database, const char *sql, pyro_error *error);
/* The first cell of the first row as an integer; *found says whether there was one. */
int pyro_database_integer(pyro_database *database, const char *sql,
                          const pyro_sql_value *parameters, size_t count, int64_t *out, bool *found,
                          pyro_error *error);

/* A transaction that writes. Only one runs at a time; others wait. */
int pyro_database_begin(pyro_database *database, pyro_error *error);
/* Commits after PYRO_OK, else rolls back; returns the status of both. */
int pyro_database_end(pyro_database *database, int status, pyro_error *error);

#endif
