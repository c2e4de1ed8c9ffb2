/* Rows of efficiencies: samples become sums per bucket, and tables are merged. */
#include "predict/efficiency_table.h"

#include "base/error.h"
#include "base/text/utf8.h"
#include "predict/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SQRT_HALF 0.70710678118654752440
/* More would overflow the sums of squares. */
#define MOST_SAMPLES (INT64_C(1) << 30)

pyro_efficiency_table *pyro_efficiency_new(void)
{
    pyro_efficiency_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    pyro_arena_init(&table->arena);
    pyro_intern_init(&table->chips, &table->arena);
    pyro_intern_init(&table->libraries, &table->arena);
    return table;
}

void pyro_efficiency_free(pyro_efficiency_table *table)
{
    if (!table)
        return;
    free(table->rows);
    free(table->cells);
    free(table->octaves);
    free(table->facts);
    free(table->near_rows);
    free(table->near_first);
    pyro_map_free(&table->by_key);
    pyro_map_free(&table->cell_of_key);
    pyro_map_free(&table->curve_of_key);
    pyro_intern_free(&table->chips);
    pyro_intern_free(&table->libraries);
    pyro_arena_free(&table->arena);
    free(table);
}

const char *pyro_efficiency_dtype_name(uint8_t dtype)
{
    return dtype == PYRO_DTYPE_TF32 ? "tf32" : pyro_dtype_name((pyro_dtype)dtype);
}

int pyro_efficiency_dtype(const char *name)
{
    for (int dtype = 0; dtype < PYRO_DTYPE_COUNT; dtype++)
        if (name == pyro_dtype_name((pyro_dtype)dtype)) /* the usual case, and faster */
            return dtype;
    if (strcmp(name, "tf32") == 0)
        return PYRO_DTYPE_TF32;
    pyro_dtype dtype = pyro_dtype_from_name(name);
    return dtype == PYRO_DTYPE_UNKNOWN ? -1 : (int)dtype;
}

static bool is_plain(const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t bytes = pyro_utf8_sequence(text + at, text + length);
        if (!bytes || (unsigned char)text[at] < ' ' || text[at] == 0x7f)
            return false;
        at += bytes;
    }
    return length > 0;
}

static uint32_t text_id(pyro_intern *texts, size_t most, const char *what, const char *name,
                        pyro_error *error)
{
    size_t length = strlen(name);
    uint32_t id = pyro_intern_find(texts, name, length);
    if (id != PYRO_INTERN_NONE)
        return id;
    if (length >= PYRO_EFFICIENCY_TEXT || !is_plain(name, length)) {
        pyro_fail(error, PYRO_ERROR_FORMAT, "the name of a %s is empty, too long or not plain text",
                  what);
        return PYRO_INTERN_NONE;
    }
    if (texts->count >= most) {
        pyro_fail(error, PYRO_ERROR_LIMIT, "more than %zu names of a %s", most, what);
        return PYRO_INTERN_NONE;
    }
    id = pyro_intern_add(texts, name, length);
    if (id == PYRO_INTERN_NONE)
        pyro_fail_memory(error);
    return id;
}

uint32_t pyro_efficiency_chip_id(pyro_efficiency_table *table, const char *name, pyro_error *error)
{
    return text_id(&table->chips, PYRO_EFFICIENCY_CHIPS, "chip", name, error);
}

uint32_t pyro_efficiency_library_id(pyro_efficiency_table *table, const char *name,
                                    pyro_error *error)
{
    return text_id(&table->libraries, PYRO_EFFICIENCY_LIBRARIES, "library", name, error);
}

static uint8_t bucket_of(uint64_t size)
{
    int exponent;
    if (!size)
        return PYRO_SIZE_NONE;
    double mantissa = frexp((double)size, &exponent); /* from 0.5 to 1; no logarithm: it is hot */
    int bucket = 2 * (exponent - 1) + (mantissa >= SQRT_HALF);
    return (uint8_t)(bucket < PYRO_SIZE_NONE ? bucket : PYRO_SIZE_NONE - 1);
}

static uint64_t size_of(const struct pyro_op_work *work, int size)
{
    const int64_t sizes[PYRO_SIZE_COUNT] = {[PYRO_SIZE_M] = work->m,
                                            [PYRO_SIZE_N] = work->n,
                                            [PYRO_SIZE_K] = work->k,
                                            [PYRO_SIZE_PARTS] = work->parts > 1 ? work->parts : 1};
    return size == PYRO_SIZE_FLOPS   ? work->flops
           : size == PYRO_SIZE_BYTES ? work->bytes
                                     : (uint64_t)(sizes[size] > 0 ? sizes[size] : 0);
}

void pyro_efficiency_sizes(uint8_t sizes[PYRO_SIZE_COUNT], const struct pyro_op_work *work)
{
    for (int i = 0; i < PYRO_SIZE_COUNT; i++)
        sizes[i] = bucket_of(size_of(work, i));
}

static bool has_key(const pyro_efficiency_row *a, const pyro_efficiency_row *b)
{
    return a->chip == b->chip && a->library == b->library && a->kind == b->kind &&
           a->dtype == b->dtype && a->form == b->form &&
           memcmp(a->sizes, b->sizes, sizeof a->sizes) == 0;
}

static uint64_t hash_of(const pyro_efficiency_row *row)
{
    uint64_t hash = (uint64_t)row->chip << 32 | (uint64_t)row->library << 16 |
                    (uint64_t)row->kind << 8 | row->dtype | (uint64_t)row->form << 48;
    for (int i = 0; i < PYRO_SIZE_COUNT; i++)
        hash = (hash ^ row->sizes[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 31;
}

static int add_sums(pyro_efficiency_row *to, const pyro_efficiency_row *from, pyro_error *error)
{
    if (from->samples > MOST_SAMPLES - to->samples)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %lld samples of one size",
                         (long long)MOST_SAMPLES);
    to->samples += from->samples;
    to->time_log += from->time_log;
    to->time_log_squares += from->time_log_squares;
    for (int i = 0; i < PYRO_SIZE_COUNT; i++)
        to->size_logs[i] += from->size_logs[i];
    to->least_ns = to->least_ns < from->least_ns ? to->least_ns : from->least_ns;
    to->most_ns = to->most_ns > from->most_ns ? to->most_ns : from->most_ns;
    return PYRO_OK;
}

int pyro_efficiency_add_row(pyro_efficiency_table *table, const pyro_efficiency_row *row,
                            pyro_error *error)
{
    uint64_t key = hash_of(row);
    for (;; key++) {
        uint32_t at = pyro_map_get(&table->by_key, key);
        if (at == PYRO_MAP_NONE)
            break;
        if (has_key(&table->rows[at], row))
            return add_sums(&table->rows[at], row, error);
    }
    if (table->count >= PYRO_EFFICIENCY_ROWS)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d rows", PYRO_EFFICIENCY_ROWS);
    if (!pyro_grow(&table->rows, &table->capacity, table->count + 1, sizeof *table->rows) ||
        !pyro_map_put(&table->by_key, key, (uint32_t)table->count))
        return pyro_fail_memory(error);
    table->rows[table->count++] = *row;
    return PYRO_OK;
}

static int64_t log_of(double value)
{
    return value > 1 ? llround(log2(value) * PYRO_LOG_UNIT) : 0;
}

void pyro_efficiency_set_sizes(pyro_efficiency_row *row, const struct pyro_op_work *work)
{
    pyro_efficiency_sizes(row->sizes, work);
    for (int i = 0; i < PYRO_SIZE_COUNT; i++)
        row->size_logs[i] = log_of((double)size_of(work, i));
}

int pyro_efficiency_add(pyro_efficiency_table *table, const struct pyro_op_work *work,
                        const char *chip, const char *library, int64_t time_ns, pyro_error *error)
{
    pyro_work_kind kind = pyro_work_kind_from_name(work->kind);
    int dtype = pyro_efficiency_dtype(work->dtype);
    if (kind == PYRO_WORK_KIND_COUNT || dtype < 0 || work->form >= PYRO_FORM_COUNT || time_ns <= 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "no sample: %.40s of %.40s in %lld ns",
                         work->kind, work->dtype, (long long)time_ns);
    uint32_t chip_id = pyro_efficiency_chip_id(table, chip, error);
    uint32_t library_id = chip_id == PYRO_INTERN_NONE
                              ? PYRO_INTERN_NONE
                              : pyro_efficiency_library_id(table, library, error);
    if (library_id == PYRO_INTERN_NONE)
        return PYRO_ERROR_ARGUMENT;
    int64_t time_log = log_of((double)time_ns);
    pyro_efficiency_row row = {.chip = (uint16_t)chip_id,
                               .library = (uint16_t)library_id,
                               .kind = (uint8_t)kind,
                               .dtype = (uint8_t)dtype,
                               .form = work->form,
                               .samples = 1,
                               .time_log = time_log,
                               .time_log_squares = time_log * time_log,
                               .least_ns = time_ns,
                               .most_ns = time_ns};
    pyro_efficiency_set_sizes(&row, work);
    return pyro_efficiency_add_row(table, &row, error);
}

int pyro_efficiency_merge(pyro_efficiency_table *table, const pyro_efficiency_table *other,
                          pyro_error *error)
{
    for (size_t i = 0; i < other->count; i++) {
        pyro_efficiency_row row = other->rows[i];
        uint32_t chip = pyro_efficiency_chip_id(table, pyro_efficiency_chip(other, row.chip),
                                                error);
        uint32_t library = pyro_efficiency_library_id(
            table, pyro_efficiency_library(other, row.library), error);
        if (chip == PYRO_INTERN_NONE || library == PYRO_INTERN_NONE)
            return PYRO_ERROR_LIMIT;
        row.chip = (uint16_t)chip;
        row.library = (uint16_t)library;
        int status = pyro_efficiency_add_row(table, &row, error);
        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

const pyro_efficiency_row *pyro_efficiency_rows(const pyro_efficiency_table *table, size_t *count)
{
    *count = table->count;
    return table->rows;
}

const char *pyro_efficiency_chip(const pyro_efficiency_table *table, size_t chip)
{
    return pyro_intern_text(&table->chips, (uint32_t)chip);
}

const char *pyro_efficiency_library(const pyro_efficiency_table *table, size_t library)
{
    return pyro_intern_text(&table->libraries, (uint32_t)library);
}

size_t pyro_efficiency_chip_count(const pyro_efficiency_table *table)
{
    return table->chips.count;
}
