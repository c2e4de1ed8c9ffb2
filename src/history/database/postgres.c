/*
 * PostgreSQL through libpq, loaded at run time. The location is passed to libpq as it is, with all
 * its TLS options; messages show it without the password.
 */
#include "history/database/database.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "history/database/location.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of libpq-fe.h, and numbers of types. */
enum {
    CONNECTION_OK = 0,
    COMMAND_OK = 1,
    TUPLES_OK = 2,
    FORMAT_TEXT = 0,
    FORMAT_BINARY = 1,
    TYPE_BYTEA = 17,
    TYPE_INT8 = 20,
    TYPE_INT4 = 23,
    TYPE_FLOAT8 = 701
};

enum { CACHED_STATEMENTS = 64, PARAMETERS_MAX = 16, CELLS_MAX = 64, NUMBER_TEXT = 32 };

typedef struct pq_functions {
    void *(*connect)(const char *);
    int (*status)(const void *);
    char *(*message)(const void *);
    void (*finish)(void *);
    void *(*exec)(void *, const char *);
    void *(*prepare)(void *, const char *, const char *, int, const unsigned *);
    void *(*exec_prepared)(void *, const char *, int, const char *const *, const int *, const int *,
                           int);
    int (*result_status)(const void *);
    int (*row_count)(const void *);
    int (*column_count)(const void *);
    char *(*value)(const void *, int, int);
    int (*is_null)(const void *, int, int);
    int (*length)(const void *, int, int);
    unsigned (*type)(const void *, int);
    char *(*affected)(void *);
    void (*clear)(void *);
    void *(*set_notice)(void *, void (*)(void *, const char *), void *);
} pq_functions;

typedef struct postgres_database {
    pyro_database base;
    void *library, *connection;
    pq_functions f;
    const char *statements[CACHED_STATEMENTS]; /* the texts that are prepared as "s0", "s1", ... */
    size_t statement_count;
    pyro_buf bytes; /* decoded cells of the current row */
} postgres_database;

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define SYMBOL(member, name) {"PQ" name, offsetof(pq_functions, member)}
    SYMBOL(connect, "connectdb"),
    SYMBOL(status, "status"),
    SYMBOL(message, "errorMessage"),
    SYMBOL(finish, "finish"),
    SYMBOL(exec, "exec"),
    SYMBOL(prepare, "prepare"),
    SYMBOL(exec_prepared, "execPrepared"),
    SYMBOL(result_status, "resultStatus"),
    SYMBOL(row_count, "ntuples"),
    SYMBOL(column_count, "nfields"),
    SYMBOL(value, "getvalue"),
    SYMBOL(is_null, "getisnull"),
    SYMBOL(length, "getlength"),
    SYMBOL(type, "ftype"),
    SYMBOL(affected, "cmdTuples"),
    SYMBOL(clear, "clear"),
    SYMBOL(set_notice, "setNoticeProcessor"),
#undef SYMBOL
};

static int load(postgres_database *database, pyro_error *error)
{
    database->library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!database->library)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "a history in PostgreSQL needs libpq: install it (Debian: libpq5)");
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(database->library, symbols[i].name);

        if (!symbol)
            return pyro_fail(error, PYRO_ERROR_UNSUPPORTED, "libpq is too old: it has no %s",
                             symbols[i].name);
        memcpy((char *)&database->f + symbols[i].offset, &symbol, sizeof symbol);
    }
    return PYRO_OK;
}

/* The first line of libpq's message. It quotes no password of an address that was checked. */
static int fail(postgres_database *database, pyro_error *error)
{
    const char *message = database->f.message(database->connection);
    size_t length = strcspn(message, "\n");

    return pyro_fail(error, PYRO_ERROR_IO, "%.200s: %.*s", database->base.name,
                     length < 250 ? (int)length : 250, message);
}

static int check(postgres_database *database, void *result, pyro_error *error)
{
    int state = result ? database->f.result_status(result) : -1;

    return state == COMMAND_OK || state == TUPLES_OK ? PYRO_OK : fail(database, error);
}

static int prepare(postgres_database *database, const char *sql, char name[24], pyro_error *error)
{
    size_t index = 0;

    while (index < database->statement_count && database->statements[index] != sql)
        index++;
    snprintf(name, 24, "s%zu", index);
    if (index < database->statement_count)
        return PYRO_OK;
    if (index == CACHED_STATEMENTS)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "too many prepared statements");
    void *result = database->f.prepare(database->connection, name, sql, 0, NULL);
    int status = check(database, result, error);
    database->f.clear(result);
    if (status == PYRO_OK)
        database->statements[database->statement_count++] = sql;
    return status;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

/* "\x0102..." */
static pyro_sql_value decode_bytes(postgres_database *database, const char *text, size_t length)
{
    size_t start = database->bytes.length;

    for (size_t i = 2; i + 1 < length; i += 2)
        pyro_buf_addc(&database->bytes, (char)(hex_digit(text[i]) * 16 + hex_digit(text[i + 1])));
    return database->bytes.failed
               ? (pyro_sql_value){.kind = PYRO_SQL_NULL}
               : pyro_sql_bytes(database->bytes.data + start, database->bytes.length - start);
}

static pyro_sql_value read_cell(postgres_database *database, void *result, int row, int column)
{
    const pq_functions *f = &database->f;
    const char *text = f->value(result, row, column);

    if (f->is_null(result, row, column))
        return (pyro_sql_value){.kind = PYRO_SQL_NULL};
    switch (f->type(result, column)) {
    case TYPE_INT8:
    case TYPE_INT4:
        return pyro_sql_integer(strtoll(text, NULL, 10));
    case TYPE_FLOAT8:
        return pyro_sql_real(strtod(text, NULL));
    case TYPE_BYTEA:
        return decode_bytes(database, text, (size_t)f->length(result, row, column));
    default:
        return pyro_sql_text(text);
    }
}

static int read_rows(postgres_database *database, void *result, pyro_sql_row *row, void *user,
                     pyro_error *error)
{
    pyro_sql_value cells[CELLS_MAX];
    int columns = database->f.column_count(result), rows = database->f.row_count(result);
    int status = PYRO_OK;

    columns = columns < CELLS_MAX ? columns : CELLS_MAX;
    for (int i = 0; i < rows && status == PYRO_OK; i++) {
        /* At most one cell of bytes per row, so that growing moves no earlier one. */
        pyro_buf_reset(&database->bytes);
        for (int j = 0; j < columns; j++)
            cells[j] = read_cell(database, result, i, j);
        status = database->bytes.failed ? pyro_fail_memory(error)
                                        : row(user, cells, (size_t)columns, error);
    }
    return status == PYRO_SQL_STOP ? PYRO_OK : status;
}

static const char *write_parameter(char text[NUMBER_TEXT], const pyro_sql_value *value)
{
    switch (value->kind) {
    case PYRO_SQL_INTEGER:
        snprintf(text, NUMBER_TEXT, "%lld", (long long)value->integer);
        return text;
    case PYRO_SQL_REAL:
        snprintf(text, NUMBER_TEXT, "%.17g", value->real);
        return text;
    case PYRO_SQL_TEXT:
        return value->text;
    case PYRO_SQL_BYTES:
        return value->size > 0 ? value->text : "";
    default:
        return NULL;
    }
}

static int run(pyro_database *base, const char *sql, const pyro_sql_value *parameters, size_t count,
               pyro_sql_row *row, void *user, pyro_error *error)
{
    postgres_database *database = (postgres_database *)base;
    char numbers[PARAMETERS_MAX][NUMBER_TEXT], name[24];
    const char *values[PARAMETERS_MAX];
    int lengths[PARAMETERS_MAX], formats[PARAMETERS_MAX];

    base->changed = 0;
    if (count > PARAMETERS_MAX)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "too many parameters");
    for (size_t i = 0; i < count; i++) {
        if (parameters[i].size > INT32_MAX / 2)
            return pyro_fail(error, PYRO_ERROR_LIMIT, "a value is larger than 1 GB");
        values[i] = write_parameter(numbers[i], &parameters[i]);
        lengths[i] = (int)parameters[i].size;
        formats[i] = parameters[i].kind == PYRO_SQL_BYTES ? FORMAT_BINARY : FORMAT_TEXT;
    }
    int status = prepare(database, sql, name, error);
    if (status != PYRO_OK)
        return status;
    void *result = database->f.exec_prepared(database->connection, name, (int)count, values,
                                             lengths, formats, FORMAT_TEXT);
    status = check(database, result, error);
    if (status == PYRO_OK) {
        base->changed = strtoll(database->f.affected(result), NULL, 10);
        if (row)
            status = read_rows(database, result, row, user, error);
    }
    database->f.clear(result);
    return status;
}

static int run_script(pyro_database *base, const char *sql, pyro_error *error)
{
    postgres_database *database = (postgres_database *)base;
    void *result = database->f.exec(database->connection, sql);
    int status = check(database, result, error);

    database->f.clear(result);
    return status;
}

static void close_database(pyro_database *base)
{
    postgres_database *database = (postgres_database *)base;

    if (database->connection)
        database->f.finish(database->connection);
    if (database->library)
        dlclose(database->library);
    pyro_buf_free(&database->bytes);
    free(base->name);
    free(database);
}

static const pyro_database_kind postgres_kind = {
    .run = run,
    .script = run_script,
    .close = close_database,
    .begin_write = "BEGIN",
    /* An arbitrary number that names this lock among those of the server. */
    .lock = "SELECT pg_advisory_xact_lock(1887007089)",
    .id = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    .bytes = "BYTEA",
    .settings_count = "SELECT count(*) FROM information_schema.tables WHERE "
                      "table_schema = current_schema() AND table_name = 'settings'",
};

static void ignore_notice(void *user, const char *message)
{
    (void)user;
    (void)message;
}

int pyro_postgres_open(pyro_database **out, const char *location, bool read_only, pyro_error *error)
{
    postgres_database *database = calloc(1, sizeof *database);
    int status;

    *out = NULL;
    if (!database)
        return pyro_fail_memory(error);
    database->base.kind = &postgres_kind;
    database->base.read_only = read_only;
    database->base.name = pyro_location_name(location);
    status = database->base.name ? load(database, error) : pyro_fail_memory(error);
    if (status == PYRO_OK) {
        database->connection = database->f.connect(location);
        if (!database->connection)
            status = pyro_fail_memory(error);
        else if (database->f.status(database->connection) != CONNECTION_OK)
            status = fail(database, error);
        else
            database->f.set_notice(database->connection, ignore_notice, NULL);
    }
    if (status == PYRO_OK && read_only)
        status = run_script(&database->base, "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
                            error);
    if (status == PYRO_OK)
        *out = &database->base;
    else
        close_database(&database->base);
    return status;
}
