/*
 * The schema and its migrations: one script per version, run in one transaction. One text serves
 * both databases; {id} and {bytes} stand for the types that differ.
 */
#include "history/schema.h"

#include "base/containers/buf.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A published script is never edited: a change of the schema is one more script. */
static const char *const migrations[] = {
    /* 1: results. A point is one metric of one benchmark in one run. */
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE machines (id {id}, class TEXT NOT NULL, fingerprint TEXT NOT NULL,"
    " description TEXT NOT NULL, UNIQUE (class, fingerprint));"
    "CREATE TABLE methods (id {id}, description TEXT NOT NULL UNIQUE);"
    "CREATE TABLE runs (id {id}, content_key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,"
    " project TEXT NOT NULL, commit_id TEXT NOT NULL, branch TEXT NOT NULL,"
    " time_ns BIGINT NOT NULL, added_ns BIGINT NOT NULL, machine BIGINT NOT NULL,"
    " tool TEXT NOT NULL, tags TEXT NOT NULL);"
    "CREATE INDEX runs_by_time ON runs (time_ns);"
    "CREATE TABLE series (id {id}, project TEXT NOT NULL, benchmark TEXT NOT NULL,"
    " metric TEXT NOT NULL, unit TEXT NOT NULL, machine_class TEXT NOT NULL,"
    " higher_is_better BIGINT NOT NULL,"
    " UNIQUE (project, benchmark, metric, unit, machine_class));"
    "CREATE TABLE points (series BIGINT NOT NULL, run BIGINT NOT NULL, method BIGINT NOT NULL,"
    " sample_count BIGINT NOT NULL, mean DOUBLE PRECISION, median DOUBLE PRECISION,"
    " stddev DOUBLE PRECISION, lowest DOUBLE PRECISION, highest DOUBLE PRECISION,"
    " p95 DOUBLE PRECISION, p99 DOUBLE PRECISION, PRIMARY KEY (series, run));"
    "CREATE INDEX points_by_run ON points (run);"
    "CREATE TABLE samples (series BIGINT NOT NULL, run BIGINT NOT NULL,"
    " sample_values {bytes} NOT NULL, PRIMARY KEY (series, run));",
    /* 2: changes that somebody has accepted. */
    "CREATE TABLE acknowledgements (series BIGINT NOT NULL, commit_id TEXT NOT NULL,"
    " note TEXT NOT NULL, added_ns BIGINT NOT NULL, PRIMARY KEY (series, commit_id));",
};

enum { NEWEST = sizeof migrations / sizeof *migrations };

static int take_version(void *user, const pyro_sql_value *cells, size_t count, pyro_error *error)
{
    (void)count;
    (void)error;
    *(int64_t *)user = strtoll(pyro_sql_get_text(&cells[0]), NULL, 10);
    return PYRO_OK;
}

/* *version is 0 if the database has no tables yet. */
static int read_version(pyro_database *database, int64_t *version, pyro_error *error)
{
    bool is_there;
    int64_t count;
    int status = pyro_database_integer(database, database->kind->settings_count, NULL, 0, &count,
                                       &is_there, error);

    *version = 0;
    if (status != PYRO_OK || count == 0)
        return status;
    return pyro_database_run(database, "SELECT value FROM settings WHERE name = 'schema'", NULL, 0,
                             take_version, version, error);
}

static int run_migration(pyro_database *database, const char *script, pyro_error *error)
{
    pyro_buf sql = PYRO_BUF_INIT;
    int status;

    for (const char *at = script; *at != '\0';) {
        if (strncmp(at, "{id}", 4) == 0) {
            pyro_buf_adds(&sql, database->kind->id);
            at += 4;
        } else if (strncmp(at, "{bytes}", 7) == 0) {
            pyro_buf_adds(&sql, database->kind->bytes);
            at += 7;
        } else {
            pyro_buf_addc(&sql, *at++);
        }
    }
    status = sql.failed ? pyro_fail_memory(error)
                        : database->kind->script(database, sql.data, error);
    pyro_buf_free(&sql);
    return status;
}

static int upgrade(pyro_database *database, int64_t version, pyro_error *error)
{
    int status = PYRO_OK;
    char text[24];

    for (int64_t i = version; i < NEWEST && status == PYRO_OK; i++)
        status = run_migration(database, migrations[i], error);
    snprintf(text, sizeof text, "%d", (int)NEWEST);
    pyro_sql_value parameters[] = {pyro_sql_text(text)};
    if (status == PYRO_OK)
        status = pyro_database_execute(database, "DELETE FROM settings WHERE name = 'schema'",
                                       error);
    if (status == PYRO_OK)
        status = pyro_database_run(database,
                                   "INSERT INTO settings (name, value) VALUES ('schema', $1)",
                                   parameters, 1, NULL, NULL, error);
    return status;
}

static int fail_newer(const pyro_database *database, int64_t version, pyro_error *error)
{
    return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                     "%.300s: a newer Pyrometer wrote this history (schema %lld); this one knows "
                     "schemas up to %d: update it",
                     database->name, (long long)version, (int)NEWEST);
}

int pyro_schema_is_older(pyro_database *database, bool *is_older, pyro_error *error)
{
    int64_t version = 0;
    int status = read_version(database, &version, error);

    *is_older = version > 0 && version < NEWEST;
    return status;
}

int pyro_schema_prepare(pyro_database *database, pyro_error *error)
{
    int64_t version;
    int status = read_version(database, &version, error);

    if (status != PYRO_OK || version == NEWEST)
        return status;
    if (version > NEWEST)
        return fail_newer(database, version, error);
    if (database->read_only && version == 0)
        return pyro_fail(error, PYRO_ERROR_NOT_FOUND, "%.300s: no history here", database->name);
    status = pyro_database_begin(database, error);
    if (status != PYRO_OK)
        return status;
    /* Another program may have upgraded it meanwhile. */
    status = read_version(database, &version, error);
    if (status == PYRO_OK && version > NEWEST)
        status = fail_newer(database, version, error);
    if (status == PYRO_OK && version < NEWEST)
        status = upgrade(database, version, error);
    return pyro_database_end(database, status, error);
}
