/*
 * SQLite, loaded at run time: nothing but the history needs it, so the tool and the wheel start
 * without it. Declares the few functions that it uses; SQLite keeps them stable.
 */
#include "history/database/database.h"

#include "base/error.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Values of sqlite3.h. */
enum {
    RESULT_OK = 0,
    RESULT_BUSY = 5,
    RESULT_LOCKED = 6,
    RESULT_READONLY = 8,
    RESULT_CORRUPT = 11,
    RESULT_FULL = 13,
    RESULT_CANTOPEN = 14,
    RESULT_NOTADB = 26,
    RESULT_ROW = 100,
    RESULT_DONE = 101,
    OPEN_READONLY = 0x1,
    OPEN_READWRITE = 0x2,
    OPEN_CREATE = 0x4,
    OPEN_URI = 0x40,
    TYPE_INTEGER = 1,
    TYPE_FLOAT = 2,
    TYPE_TEXT = 3,
    TYPE_BLOB = 4
};

enum { WAIT_MS = 60000, CACHED_STATEMENTS = 48, CELLS_MAX = 64 };

typedef struct sqlite_functions {
    int (*open)(const char *, void **, int, const char *);
    int (*close)(void *);
    int (*busy_timeout)(void *, int);
    int (*exec)(void *, const char *, int (*)(void *, int, char **, char **), void *, char **);
    int (*prepare)(void *, const char *, int, void **, const char **);
    int (*finalize)(void *);
    int (*reset)(void *);
    int (*step)(void *);
    int (*bind_index)(void *, const char *);
    int (*bind_int64)(void *, int, long long);
    int (*bind_double)(void *, int, double);
    int (*bind_text)(void *, int, const char *, int, void (*)(void *));
    int (*bind_blob)(void *, int, const void *, int, void (*)(void *));
    int (*bind_null)(void *, int);
    int (*column_count)(void *);
    int (*column_type)(void *, int);
    long long (*column_int64)(void *, int);
    double (*column_double)(void *, int);
    const unsigned char *(*column_text)(void *, int);
    const void *(*column_blob)(void *, int);
    int (*column_bytes)(void *, int);
    int (*changes)(void *);
    const char *(*message)(void *);
} sqlite_functions;

typedef struct cached_statement {
    const char *sql;
    void *statement;
} cached_statement;

typedef struct sqlite_database {
    pyro_database base;
    void *library, *handle;
    sqlite_functions f;
    cached_statement cache[CACHED_STATEMENTS];
} sqlite_database;

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(member, name) {"sqlite3_" name, offsetof(sqlite_functions, member)}
    SYMBOL(open, "open_v2"),
    SYMBOL(close, "close"),
    SYMBOL(busy_timeout, "busy_timeout"),
    SYMBOL(exec, "exec"),
    SYMBOL(prepare, "prepare_v2"),
    SYMBOL(finalize, "finalize"),
    SYMBOL(reset, "reset"),
    SYMBOL(step, "step"),
    SYMBOL(bind_index, "bind_parameter_index"),
    SYMBOL(bind_int64, "bind_int64"),
    SYMBOL(bind_double, "bind_double"),
    SYMBOL(bind_text, "bind_text"),
    SYMBOL(bind_blob, "bind_blob"),
    SYMBOL(bind_null, "bind_null"),
    SYMBOL(column_count, "column_count"),
    SYMBOL(column_type, "column_type"),
    SYMBOL(column_int64, "column_int64"),
    SYMBOL(column_double, "column_double"),
    SYMBOL(column_text, "column_text"),
    SYMBOL(column_blob, "column_blob"),
    SYMBOL(column_bytes, "column_bytes"),
    SYMBOL(changes, "changes"),
    SYMBOL(message, "errmsg"),
#undef SYMBOL
};

static int load(sqlite_database *database, pyro_error *error)
{
    const char *name = getenv("PYRO_SQLITE");

    database->library = dlopen(name && name[0] != '\0' ? name : "libsqlite3.so.0",
                               RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; database->library && i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(database->library, symbols[i].name);

        if (!symbol)
            return pyro_fail(error, PYRO_ERROR_UNSUPPORTED, "libsqlite3 is too old: it has no %s",
                             symbols[i].name);
        memcpy((char *)&database->f + symbols[i].offset, &symbol, sizeof symbol);
    }
    if (!database->library)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "the history needs SQLite: install libsqlite3 (Debian: libsqlite3-0)");
    return PYRO_OK;
}

static int fail_result(sqlite_database *database, int result, pyro_error *error)
{
    const char *name = database->base.name;

    switch (result & 0xff) {
    case RESULT_BUSY:
    case RESULT_LOCKED:
        return pyro_fail(error, PYRO_ERROR_IO,
                         "%.300s: another program has kept it locked for %d s", name,
                         WAIT_MS / 1000);
    case RESULT_READONLY:
        return pyro_fail(error, PYRO_ERROR_IO, "%.300s: cannot write: the file is read-only", name);
    case RESULT_FULL:
        return pyro_fail(error, PYRO_ERROR_IO, "%.300s: cannot write: the disk is full", name);
    case RESULT_CANTOPEN:
        return pyro_fail(error, PYRO_ERROR_IO, "%.300s: cannot open or create this file", name);
    case RESULT_CORRUPT:
    case RESULT_NOTADB:
        return pyro_fail(error, PYRO_ERROR_FORMAT,
                         "%.300s: damaged, or not a history: %.120s; restore a copy", name,
                         database->f.message(database->handle));
    default:
        return pyro_fail(error, PYRO_ERROR_IO, "%.300s: %.200s", name,
                         database->f.message(database->handle));
    }
}

static bool is_busy(int result)
{
    return (result & 0xff) == RESULT_BUSY || (result & 0xff) == RESULT_LOCKED;
}

/* Finds a prepared statement, or prepares it and keeps it in place of the one in its slot. */
static int prepare(sqlite_database *database, const char *sql, void **out, pyro_error *error)
{
    cached_statement *slot = &database->cache[((uintptr_t)sql / 16) % CACHED_STATEMENTS];

    if (slot->sql == sql && slot->statement) {
        *out = slot->statement;
        return PYRO_OK;
    }
    if (slot->statement)
        database->f.finalize(slot->statement);
    *slot = (cached_statement){0};
    int result = database->f.prepare(database->handle, sql, -1, &slot->statement, NULL);
    if (result != RESULT_OK)
        return fail_result(database, result, error);
    slot->sql = sql;
    *out = slot->statement;
    return PYRO_OK;
}

static int bind_one(const sqlite_functions *f, void *statement, int index,
                    const pyro_sql_value *value)
{
    switch (value->kind) {
    case PYRO_SQL_INTEGER:
        return f->bind_int64(statement, index, value->integer);
    case PYRO_SQL_REAL:
        return f->bind_double(statement, index, value->real);
    case PYRO_SQL_TEXT:
        return f->bind_text(statement, index, value->text, (int)value->size, NULL);
    case PYRO_SQL_BYTES:
        /* A NULL pointer would bind NULL. */
        return f->bind_blob(statement, index, value->size > 0 ? value->text : "", (int)value->size,
                            NULL);
    default:
        return f->bind_null(statement, index);
    }
}

static int bind_all(sqlite_database *database, void *statement, const pyro_sql_value *values,
                    size_t count, pyro_error *error)
{
    for (size_t i = 0; i < count; i++) {
        char name[24];

        if (values[i].size > INT32_MAX)
            return pyro_fail(error, PYRO_ERROR_LIMIT, "a value is larger than 2 GB");
        snprintf(name, sizeof name, "$%zu", i + 1);
        int index = database->f.bind_index(statement, name);
        int result = index > 0 ? bind_one(&database->f, statement, index, &values[i]) : RESULT_OK;

        if (result != RESULT_OK)
            return fail_result(database, result, error);
    }
    return PYRO_OK;
}

static pyro_sql_value read_cell(const sqlite_functions *f, void *statement, int column)
{
    switch (f->column_type(statement, column)) {
    case TYPE_INTEGER:
        return pyro_sql_integer(f->column_int64(statement, column));
    case TYPE_FLOAT:
        return pyro_sql_real(f->column_double(statement, column));
    case TYPE_TEXT:
        return pyro_sql_text((const char *)f->column_text(statement, column));
    case TYPE_BLOB:
        return pyro_sql_bytes(f->column_blob(statement, column),
                              (size_t)f->column_bytes(statement, column));
    default:
        return (pyro_sql_value){.kind = PYRO_SQL_NULL};
    }
}

static int read_rows(sqlite_database *database, void *statement, pyro_sql_row *row, void *user,
                     pyro_error *error)
{
    pyro_sql_value cells[CELLS_MAX];
    int result;

    while ((result = database->f.step(statement)) == RESULT_ROW) {
        int count = database->f.column_count(statement);

        count = count < CELLS_MAX ? count : CELLS_MAX;
        for (int i = 0; i < count; i++)
            cells[i] = read_cell(&database->f, statement, i);
        int status = row ? row(user, cells, (size_t)count, error) : PYRO_OK;
        if (status != PYRO_OK)
            return status == PYRO_SQL_STOP ? PYRO_OK : status;
    }
    return result == RESULT_DONE ? PYRO_OK : fail_result(database, result, error);
}

static int run(pyro_database *base, const char *sql, const pyro_sql_value *parameters, size_t count,
               pyro_sql_row *row, void *user, pyro_error *error)
{
    sqlite_database *database = (sqlite_database *)base;
    void *statement = NULL;
    int status = prepare(database, sql, &statement, error);

    if (status != PYRO_OK)
        return status;
    status = bind_all(database, statement, parameters, count, error);
    if (status == PYRO_OK)
        status = read_rows(database, statement, row, user, error);
    database->f.reset(statement);
    base->changed = status == PYRO_OK ? database->f.changes(database->handle) : 0;
    return status;
}

static int run_script(pyro_database *base, const char *sql, pyro_error *error)
{
    sqlite_database *database = (sqlite_database *)base;
    int result = database->f.exec(database->handle, sql, NULL, NULL, NULL);

    return result == RESULT_OK ? PYRO_OK : fail_result(database, result, error);
}

static void close_database(pyro_database *base)
{
    sqlite_database *database = (sqlite_database *)base;

    for (size_t i = 0; i < CACHED_STATEMENTS; i++)
        if (database->cache[i].statement)
            database->f.finalize(database->cache[i].statement);
    if (database->handle)
        database->f.close(database->handle);
    if (database->library)
        dlclose(database->library);
    free(base->name);
    free(database);
}

static const pyro_database_kind sqlite_kind = {
    .run = run,
    .script = run_script,
    .close = close_database,
    .begin_write = "BEGIN IMMEDIATE",
    .id = "INTEGER PRIMARY KEY",
    .bytes = "BLOB",
    .compact = "VACUUM",
    .settings_count = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = "
                      "'settings'",
};

static int64_t now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Changing the journal of a new file does not wait for other programs, so this repeats it. */
static int set_journal(sqlite_database *database, pyro_error *error)
{
    static const char sql[] = "PRAGMA journal_mode = WAL";
    int64_t end_ms = now_ms() + WAIT_MS;
    int result;

    do {
        void *statement = NULL;

        result = database->f.prepare(database->handle, sql, -1, &statement, NULL);
        while (result == RESULT_OK || result == RESULT_ROW)
            result = database->f.step(statement);
        database->f.finalize(statement);
        if (is_busy(result))
            nanosleep(&(struct timespec){0, 5000000}, NULL);
    } while (is_busy(result) && now_ms() < end_ms);
    return result == RESULT_DONE ? PYRO_OK : fail_result(database, result, error);
}

/* "file:PATH?immutable=1", escaped; the caller frees it. */
static char *immutable_uri(const char *path)
{
    char *uri = malloc(3 * strlen(path) + 32), *at;

    if (!uri)
        return NULL;
    at = uri + sprintf(uri, "file:");
    for (; *path != '\0'; path++) {
        if (strchr("%?#", *path))
            at += sprintf(at, "%%%02X", (unsigned char)*path);
        else
            *at++ = *path;
    }
    strcpy(at, "?immutable=1");
    return uri;
}

/* Readers of a WAL need to write beside the file; where they cannot, the file cannot change. */
static int reopen_immutable(sqlite_database *database, pyro_error *error)
{
    char *uri = immutable_uri(database->base.name);

    if (!uri)
        return pyro_fail_memory(error);
    database->f.close(database->handle);
    database->handle = NULL;
    int result = database->f.open(uri, &database->handle, OPEN_READONLY | OPEN_URI, NULL);
    free(uri);
    return result == RESULT_OK ? PYRO_OK : fail_result(database, result, error);
}

static int open_for_reading(sqlite_database *database, pyro_error *error)
{
    pyro_error first;
    int64_t count;
    bool found;

    pyro_error_clear(&first);
    if (pyro_database_integer(&database->base, "SELECT count(*) FROM sqlite_master", NULL, 0,
                              &count, &found, &first) == PYRO_OK)
        return PYRO_OK;
    for (size_t i = 0; i < CACHED_STATEMENTS; i++) {
        if (database->cache[i].statement)
            database->f.finalize(database->cache[i].statement);
        database->cache[i] = (cached_statement){0};
    }
    return reopen_immutable(database, error);
}

int pyro_sqlite_open(pyro_database **out, const char *path, bool read_only, pyro_error *error)
{
    sqlite_database *database = calloc(1, sizeof *database);
    int status = PYRO_OK;

    *out = NULL;
    if (!database)
        return pyro_fail_memory(error);
    database->base.kind = &sqlite_kind;
    database->base.read_only = read_only;
    database->base.name = strdup(path);
    if (!database->base.name)
        status = pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = load(database, error);
    if (status == PYRO_OK) {
        int flags = read_only ? OPEN_READONLY : OPEN_READWRITE | OPEN_CREATE;
        int result = database->f.open(path, &database->handle, flags, NULL);

        if (result != RESULT_OK)
            status = fail_result(database, result, error);
    }
    if (status == PYRO_OK) {
        database->f.busy_timeout(database->handle, WAIT_MS);
        status = read_only ? open_for_reading(database, error) : set_journal(database, error);
    }
    /* A killed process loses nothing; only a power failure can lose the last results. */
    if (status == PYRO_OK && !read_only)
        status = pyro_database_execute(&database->base, "PRAGMA synchronous = NORMAL", error);
    if (status == PYRO_OK)
        *out = &database->base;
    else
        close_database(&database->base);
    return status;
}
