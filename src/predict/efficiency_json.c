/* Reads and writes tables of efficiencies: pyrometer.efficiency/2, a row per line. */
#include "predict/efficiency_table.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/json/write.h"
#include "predict/describe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCHEMA "pyrometer.efficiency/2"
/* Only read: no schema of it is kept. */
#define OLD_SCHEMA \
    "pyrometer.efficiency" \
    "/1"

/* Logarithms of values below 2^64. */
#define MOST_LOG (INT64_C(64) * PYRO_LOG_UNIT)
#define MOST_SAMPLES (INT64_C(1) << 30)

static const struct {
    const char *key;
    size_t offset;
} integers[] = {
    {"samples", offsetof(pyro_efficiency_row, samples)},
    {"time_log", offsetof(pyro_efficiency_row, time_log)},
    {"time_log_squares", offsetof(pyro_efficiency_row, time_log_squares)},
    {"least_ns", offsetof(pyro_efficiency_row, least_ns)},
    {"most_ns", offsetof(pyro_efficiency_row, most_ns)},
};
enum {
    INTEGERS = sizeof integers / sizeof *integers,
    /* Bits of what a row has, after those of the integers. */
    HAS_CHIP = 1 << INTEGERS,
    HAS_LIBRARY = HAS_CHIP << 1,
    HAS_KIND = HAS_CHIP << 2,
    HAS_DTYPE = HAS_CHIP << 3,
    HAS_FORM = HAS_CHIP << 4,
    HAS_SIZES = HAS_CHIP << 5,
    HAS_SIZE_LOGS = HAS_CHIP << 6,
    HAS_ALL = (HAS_CHIP << 7) - 1
};

static int64_t *integer_of(pyro_efficiency_row *row, size_t i)
{
    return (int64_t *)(void *)((char *)row + integers[i].offset);
}

static int read_sizes(pyro_json *json, pyro_efficiency_row *row)
{
    if (pyro_json_next(json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(json, "\"sizes\" is not an array");
    for (int i = 0; i < PYRO_SIZE_COUNT; i++) {
        int64_t size = PYRO_SIZE_NONE;
        pyro_json_kind kind = pyro_json_next(json);
        if (kind != PYRO_JSON_NULL && (kind != PYRO_JSON_NUMBER || !pyro_json_int(json, &size) ||
                                       size < 0 || size >= PYRO_SIZE_NONE))
            return pyro_json_fail(json, "a size is not a bucket from 0 to %d", PYRO_SIZE_NONE - 1);
        row->sizes[i] = (uint8_t)size;
    }
    if (pyro_json_next(json) != PYRO_JSON_ARRAY_END)
        return pyro_json_fail(json, "\"sizes\" has more than %d entries", PYRO_SIZE_COUNT);
    return PYRO_OK;
}

static int read_size_logs(pyro_json *json, pyro_efficiency_row *row)
{
    if (pyro_json_next(json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(json, "\"size_logs\" is not an array");
    for (int i = 0; i < PYRO_SIZE_COUNT; i++)
        if (pyro_json_next(json) != PYRO_JSON_NUMBER || !pyro_json_int(json, &row->size_logs[i]) ||
            row->size_logs[i] < 0)
            return pyro_json_fail(json, "a sum is not an integer of at least 0");
    if (pyro_json_next(json) != PYRO_JSON_ARRAY_END)
        return pyro_json_fail(json, "\"size_logs\" has more than %d entries", PYRO_SIZE_COUNT);
    return PYRO_OK;
}

/* The number of a kind, type or form; -1: unknown. */
static int number_of(unsigned what, const char *text)
{
    if (what == HAS_DTYPE)
        return pyro_efficiency_dtype(text);
    int value = what == HAS_KIND ? (int)pyro_work_kind_from_name(text)
                                 : (int)pyro_work_form_from_name(text);
    return value == (what == HAS_KIND ? (int)PYRO_WORK_KIND_COUNT : (int)PYRO_FORM_COUNT) ? -1
                                                                                          : value;
}

/* The value of "chip", "library", "kind", "dtype" or "form". */
static int read_name(pyro_json *json, pyro_efficiency_table *table, pyro_efficiency_row *row,
                     unsigned what, pyro_error *error)
{
    size_t length;
    if (pyro_json_next(json) != PYRO_JSON_STRING)
        return pyro_json_fail(json, "a name is not a text");
    const char *text = pyro_json_text(json, &length);
    if (strlen(text) != length)
        return pyro_json_fail(json, "a name contains a NUL");
    if (what == HAS_CHIP || what == HAS_LIBRARY) {
        uint32_t id = what == HAS_CHIP ? pyro_efficiency_chip_id(table, text, error)
                                       : pyro_efficiency_library_id(table, text, error);
        if (id == PYRO_INTERN_NONE)
            return PYRO_ERROR_FORMAT;
        *(what == HAS_CHIP ? &row->chip : &row->library) = (uint16_t)id;
        return PYRO_OK;
    }
    int value = number_of(what, text);
    if (value < 0)
        return pyro_json_fail(json, "unknown %s",
                              what == HAS_KIND    ? "kind"
                              : what == HAS_DTYPE ? "dtype"
                                                  : "form");
    *(what == HAS_KIND    ? &row->kind
      : what == HAS_DTYPE ? &row->dtype
                          : &row->form) = (uint8_t)value;
    return PYRO_OK;
}

static unsigned find_key(pyro_json *json)
{
    static const char *const names[] = {"chip", "library", "kind",     "dtype",
                                        "form", "sizes",   "size_logs"};
    const char *key = pyro_json_text(json, NULL);
    for (size_t i = 0; i < INTEGERS; i++)
        if (strcmp(key, integers[i].key) == 0)
            return 1u << i;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(key, names[i]) == 0)
            return HAS_CHIP << i;
    return 0;
}

static int read_member(pyro_json *json, pyro_efficiency_table *table, pyro_efficiency_row *row,
                       unsigned *has, pyro_error *error)
{
    unsigned key = find_key(json);
    if (*has & key)
        return pyro_json_fail(json, "a key stands twice in a row");
    *has |= key;
    if (!key)
        return pyro_json_skip(json) ? PYRO_OK : pyro_json_status(json);
    if (key == HAS_SIZES)
        return read_sizes(json, row);
    if (key == HAS_SIZE_LOGS)
        return read_size_logs(json, row);
    if (key >= HAS_CHIP)
        return read_name(json, table, row, key, error);
    int64_t *integer = integer_of(row, (size_t)__builtin_ctz(key));
    if (pyro_json_next(json) != PYRO_JSON_NUMBER || !pyro_json_int(json, integer) || *integer < 0)
        return pyro_json_fail(json, "a sum is not an integer of at least 0");
    return PYRO_OK;
}

/* Sums that samples can have. */
static bool is_possible(const pyro_efficiency_row *row)
{
    if (row->samples < 1 || row->samples > MOST_SAMPLES || row->least_ns < 1 ||
        row->most_ns < row->least_ns)
        return false;
    int64_t most = row->samples * MOST_LOG;
    if (row->time_log > most || row->time_log_squares > row->samples * MOST_LOG * MOST_LOG)
        return false;
    for (int i = 0; i < PYRO_SIZE_COUNT; i++)
        if (row->size_logs[i] > most)
            return false;
    /* The mean of squares is at least the square of the mean; one unit of rounding per sample. */
    double mean = (double)row->time_log / (double)row->samples;
    return (double)row->time_log_squares / (double)row->samples >= mean * mean * (1 - 1e-9) - 1;
}

static int read_row(pyro_json *json, pyro_efficiency_table *table, pyro_error *error)
{
    pyro_efficiency_row row = {0};
    unsigned has = 0;
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        int status = read_member(json, table, &row, &has, error);
        if (status != PYRO_OK)
            return status;
    }
    if (pyro_json_current(json) != PYRO_JSON_OBJECT_END)
        return pyro_json_fail(json, "a row does not end");
    if (has != HAS_ALL)
        return pyro_json_fail(json, "row %zu lacks a key", table->count + 1);
    if (!is_possible(&row))
        return pyro_json_fail(json, "row %zu: no samples have these sums", table->count + 1);
    return pyro_efficiency_add_row(table, &row, error);
}

static int read_rows(pyro_json *json, pyro_efficiency_table *table, pyro_error *error)
{
    int status = PYRO_OK;
    if (pyro_json_next(json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(json, "\"rows\" is not an array");
    while (status == PYRO_OK && pyro_json_next(json) == PYRO_JSON_OBJECT)
        status = read_row(json, table, error);
    if (status == PYRO_OK && pyro_json_current(json) != PYRO_JSON_ARRAY_END)
        return pyro_json_fail(json, "a row is not an object");
    return status;
}

static int read_schema(pyro_json *json, pyro_error *error)
{
    if (pyro_json_next(json) == PYRO_JSON_STRING && PYRO_JSON_IS(json, OLD_SCHEMA))
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "a table of an older pyrometer learn (" OLD_SCHEMA
                         "): remove it, and learn from the traces again");
    if (pyro_json_current(json) != PYRO_JSON_STRING || !PYRO_JSON_IS(json, SCHEMA))
        return pyro_json_fail(json, "not a table of pyrometer learn (" SCHEMA ")");
    return PYRO_OK;
}

static int read_table(pyro_json *json, pyro_efficiency_table *table, pyro_error *error)
{
    bool has_schema = false, has_rows = false;
    int status = PYRO_OK;
    if (pyro_json_next(json) != PYRO_JSON_OBJECT)
        return pyro_json_fail(json, "not a table of pyrometer learn (" SCHEMA ")");
    while (status == PYRO_OK && pyro_json_next(json) == PYRO_JSON_KEY) {
        if (PYRO_JSON_IS(json, "schema")) {
            status = read_schema(json, error);
            has_schema = true;
        } else if (PYRO_JSON_IS(json, "rows")) {
            has_rows = true;
            status = read_rows(json, table, error);
        } else if (!pyro_json_skip(json)) {
            return pyro_json_status(json);
        }
    }
    if (status != PYRO_OK)
        return status;
    if (pyro_json_current(json) != PYRO_JSON_OBJECT_END || !has_schema || !has_rows)
        return pyro_json_fail(json, "not a table of pyrometer learn (" SCHEMA ")");
    return pyro_json_next(json) == PYRO_JSON_END ? PYRO_OK
                                                 : pyro_json_fail(json, "text after the table");
}

/* Closes the source. */
static int read_source(pyro_efficiency_table *table, pyro_source *source, pyro_error *error)
{
    pyro_efficiency_table *read = pyro_efficiency_new();
    pyro_json *json = NULL;
    int status = read ? pyro_json_open(&json, source, NULL, error) : pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = read_table(json, read, error);
    if (status == PYRO_OK)
        status = pyro_efficiency_merge(table, read, error);
    pyro_json_close(json);
    pyro_source_close(source);
    pyro_efficiency_free(read);
    return status;
}

int pyro_efficiency_read(pyro_efficiency_table *table, const char *path, pyro_error *error)
{
    pyro_source *source = NULL;
    int status = pyro_source_open_regular(&source, path, error);
    if (status == PYRO_OK)
        status = read_source(table, source, error);
    if (status != PYRO_OK)
        pyro_error_where(error, path, NULL);
    return status;
}

int pyro_efficiency_read_memory(pyro_efficiency_table *table, const void *bytes, size_t size,
                                pyro_error *error)
{
    pyro_source *source = NULL;
    int status = pyro_source_open_memory(&source, bytes, size, error);
    return status == PYRO_OK ? read_source(table, source, error) : status;
}

int pyro_efficiency_read_shipped(pyro_efficiency_table *table, pyro_error *error)
{
    return pyro_efficiency_read_memory(table, pyro_shipped_efficiency, pyro_shipped_efficiency_size,
                                       error);
}

int pyro_efficiency_load(pyro_efficiency_table **out, const char *path, bool *is_old,
                         pyro_error *error)
{
    *is_old = false;
    *out = pyro_efficiency_new();
    int status = *out ? pyro_efficiency_read_shipped(*out, error) : pyro_fail_memory(error);
    if (status == PYRO_OK && path && access(path, F_OK) == 0)
        status = pyro_efficiency_read(*out, path, error);
    if (status == PYRO_ERROR_UNSUPPORTED) {
        *is_old = true;
        status = PYRO_OK;
        pyro_error_clear(error);
    }
    if (status == PYRO_OK)
        status = pyro_efficiency_prepare(*out, error);
    if (status != PYRO_OK) {
        pyro_efficiency_free(*out);
        *out = NULL;
    }
    return status;
}

char *pyro_efficiency_user_path(void)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char *path = NULL;
    int length = -1;
    if (data && data[0] == '/')
        length = asprintf(&path, "%s/pyrometer/efficiency.json", data);
    else if (home && home[0])
        length = asprintf(&path, "%s/.local/share/pyrometer/efficiency.json", home);
    return length < 0 ? NULL : path;
}

static int compare_texts(const void *a, const void *b)
{
    const pyro_intern_entry *left = a, *right = b;
    return strcmp(left->text, right->text);
}

/* Numbers the texts in their order, so that rows do not depend on the order of merging. */
static bool sort_texts(pyro_efficiency_table *table, pyro_intern *texts, uint16_t *new_of_old)
{
    pyro_intern sorted;
    size_t count = texts->count;
    pyro_intern_entry *entries = malloc((count + 1) * sizeof *entries);
    bool is_sorted = entries != NULL;
    pyro_intern_init(&sorted, &table->arena);
    if (is_sorted && count) {
        memcpy(entries, texts->entries, count * sizeof *entries);
        qsort(entries, count, sizeof *entries, compare_texts);
    }
    for (size_t i = 0; is_sorted && i < count; i++) {
        uint32_t old = pyro_intern_find(texts, entries[i].text, entries[i].length);
        new_of_old[old] = (uint16_t)i;
        is_sorted = pyro_intern_add(&sorted, entries[i].text, entries[i].length) == i;
    }
    free(entries);
    if (is_sorted) {
        pyro_intern_free(texts);
        *texts = sorted;
    } else {
        pyro_intern_free(&sorted);
    }
    return is_sorted;
}

static int compare_rows(const void *a, const void *b)
{
    const pyro_efficiency_row *left = a, *right = b;
    int order = (int)left->chip - (int)right->chip;
    if (!order)
        order = (int)left->library - (int)right->library;
    if (!order)
        order = (int)left->kind - (int)right->kind;
    if (!order)
        order = (int)left->dtype - (int)right->dtype;
    if (!order)
        order = (int)left->form - (int)right->form;
    return order ? order : memcmp(left->sizes, right->sizes, sizeof left->sizes);
}

static void write_row(pyro_json_writer *writer, const pyro_efficiency_table *table,
                      pyro_efficiency_row *row)
{
    pyro_json_begin_object_inline(writer);
    pyro_json_member_string(writer, "chip", pyro_efficiency_chip(table, row->chip));
    pyro_json_member_string(writer, "library", pyro_efficiency_library(table, row->library));
    pyro_json_member_string(writer, "kind", pyro_work_kind_name((pyro_work_kind)row->kind));
    pyro_json_member_string(writer, "dtype", pyro_efficiency_dtype_name(row->dtype));
    pyro_json_member_string(writer, "form", pyro_work_form_name((pyro_work_form)row->form));
    pyro_json_key(writer, "sizes");
    pyro_json_begin_array(writer);
    for (int i = 0; i < PYRO_SIZE_COUNT; i++) {
        if (row->sizes[i] == PYRO_SIZE_NONE)
            pyro_json_null(writer);
        else
            pyro_json_integer(writer, row->sizes[i]);
    }
    pyro_json_end_array(writer);
    pyro_json_key(writer, "size_logs");
    pyro_json_begin_array(writer);
    for (int i = 0; i < PYRO_SIZE_COUNT; i++)
        pyro_json_integer(writer, row->size_logs[i]);
    pyro_json_end_array(writer);
    for (size_t i = 0; i < INTEGERS; i++)
        pyro_json_member_integer(writer, integers[i].key, *integer_of(row, i));
    pyro_json_end_object(writer);
}

/* Adds sorted rows again, because the map has the old places. */
static int sort_rows(pyro_efficiency_table *table, pyro_error *error)
{
    uint16_t *chips = calloc(table->chips.count + 1, sizeof *chips);
    uint16_t *libraries = calloc(table->libraries.count + 1, sizeof *libraries);
    int status = chips && libraries && sort_texts(table, &table->chips, chips) &&
                         sort_texts(table, &table->libraries, libraries)
                     ? PYRO_OK
                     : pyro_fail_memory(error);
    size_t count = status == PYRO_OK ? table->count : 0;
    for (size_t i = 0; i < count; i++) {
        table->rows[i].chip = chips[table->rows[i].chip];
        table->rows[i].library = libraries[table->rows[i].library];
    }
    free(chips);
    free(libraries);
    if (status != PYRO_OK || !count)
        return status;
    qsort(table->rows, count, sizeof *table->rows, compare_rows);
    pyro_map_free(&table->by_key);
    table->by_key = (pyro_map)PYRO_MAP_INIT;
    table->count = 0;
    for (size_t i = 0; i < count && status == PYRO_OK; i++) {
        pyro_efficiency_row row = table->rows[i];
        status = pyro_efficiency_add_row(table, &row, error);
    }
    return status;
}

int pyro_efficiency_write(pyro_efficiency_table *table, pyro_buf *buf, pyro_error *error)
{
    pyro_json_writer writer;
    int status = sort_rows(table, error);
    if (status != PYRO_OK)
        return status;
    pyro_json_writer_init(&writer, buf, 1);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "schema", SCHEMA);
    pyro_json_key(&writer, "rows");
    pyro_json_begin_array(&writer);
    for (size_t i = 0; i < table->count; i++)
        write_row(&writer, table, &table->rows[i]);
    pyro_json_end_array(&writer);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return buf->failed ? pyro_fail_memory(error) : PYRO_OK;
}
