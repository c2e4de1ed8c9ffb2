/*
 * Reads the kernels that `pyrometer doctor --calibrate` measured: devices[].kernels of
 * pyrometer.peaks/2, each with its work and time. They become rows of a table of efficiencies, so
 * that lookups between measured sizes are the same as for learnt ones.
 */
#include "map/internal.h"

#include "base/error.h"
#include "base/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 100000, MOST_WORD = 32 };

typedef struct kernel_row {
    char kind[MOST_WORD], dtype[MOST_WORD];
    double m, n, k, flops, bytes, time_ns;
} kernel_row;

typedef struct device_reader {
    pyro_json *json;
    pyro_efficiency_table *table;
    pyro_error *error;
    kernel_row *rows; /* of the device that is being read */
    size_t count, capacity;
    char *processor;
} device_reader;

static bool read_number(pyro_json *json, double *out)
{
    return pyro_json_next(json) == PYRO_JSON_NUMBER && pyro_json_double(json, out) && *out >= 0 &&
           *out <= 9e15;
}

static bool read_word(pyro_json *json, char *out, size_t size)
{
    if (pyro_json_next(json) != PYRO_JSON_STRING)
        return false;
    snprintf(out, size, "%s", pyro_json_text(json, NULL));
    return true;
}

static bool read_kernel(device_reader *r)
{
    static const struct {
        const char *key;
        size_t offset;
    } numbers[] = {
        {"m", offsetof(kernel_row, m)},         {"n", offsetof(kernel_row, n)},
        {"k", offsetof(kernel_row, k)},         {"flops", offsetof(kernel_row, flops)},
        {"bytes", offsetof(kernel_row, bytes)}, {"time_ns", offsetof(kernel_row, time_ns)}};
    kernel_row row = {0};
    bool sound = r->count < MOST_KERNELS;

    while (sound && pyro_json_next(r->json) == PYRO_JSON_KEY) {
        bool is_known = false;
        if (PYRO_JSON_IS(r->json, "kind")) {
            sound = read_word(r->json, row.kind, sizeof row.kind);
            continue;
        }
        if (PYRO_JSON_IS(r->json, "dtype")) {
            sound = read_word(r->json, row.dtype, sizeof row.dtype);
            continue;
        }
        for (size_t i = 0; !is_known && i < sizeof numbers / sizeof *numbers; i++)
            if (strcmp(pyro_json_text(r->json, NULL), numbers[i].key) == 0) {
                is_known = true;
                sound = read_number(r->json, (double *)(void *)((char *)&row + numbers[i].offset));
            }
        sound = sound && (is_known || pyro_json_skip(r->json));
    }
    if (!sound || pyro_json_current(r->json) != PYRO_JSON_OBJECT_END ||
        !pyro_grow(&r->rows, &r->capacity, r->count + 1, sizeof *r->rows))
        return false;
    r->rows[r->count++] = row;
    return true;
}

static bool read_kernels(device_reader *r)
{
    if (pyro_json_next(r->json) != PYRO_JSON_ARRAY)
        return false;
    while (pyro_json_next(r->json) == PYRO_JSON_OBJECT)
        if (!read_kernel(r))
            return false;
    return pyro_json_current(r->json) == PYRO_JSON_ARRAY_END;
}

/* The chip's name in tables: of hardware.def, or the processor with its threads. */
static void name_device(char key[PYRO_EFFICIENCY_TEXT], const char *kind, const char *name,
                        double threads)
{
    const pyro_chip *chip = strcmp(kind, "cpu") == 0 ? NULL : pyro_chip_by_name(name);
    if (chip)
        snprintf(key, PYRO_EFFICIENCY_TEXT, "%.90s", chip->name);
    else if (strcmp(kind, "cpu") == 0 && threads >= 1 && threads < 100000)
        snprintf(key, PYRO_EFFICIENCY_TEXT, "%.70s, %d thread%s", name, (int)threads,
                 threads < 2 ? "" : "s");
    else
        snprintf(key, PYRO_EFFICIENCY_TEXT, "%.90s", name);
}

/* Kernels of unknown kinds or types are left out. */
static void add_rows(device_reader *r, const char *key)
{
    for (size_t i = 0; i < r->count; i++) {
        const kernel_row *row = &r->rows[i];
        pyro_work_kind kind = pyro_work_kind_from_name(row->kind);
        int dtype = pyro_efficiency_dtype(row->dtype);
        struct pyro_op_work work = {.kind = pyro_work_kind_name(kind),
                                    .dtype = dtype < 0 ? ""
                                                       : pyro_efficiency_dtype_name((uint8_t)dtype),
                                    .flops = (uint64_t)row->flops,
                                    .bytes = (uint64_t)row->bytes,
                                    .m = (int64_t)row->m,
                                    .n = (int64_t)row->n,
                                    .k = (int64_t)row->k,
                                    .form = PYRO_FORM_ANY};
        pyro_error ignored;
        pyro_error_clear(&ignored);
        if (kind < PYRO_WORK_KIND_COUNT && dtype >= 0 && row->time_ns >= 1)
            pyro_efficiency_add(r->table, &work, key, "calibration", (int64_t)row->time_ns,
                                &ignored);
    }
}

static bool read_device(device_reader *r)
{
    char kind[MOST_WORD] = "", name[PYRO_EFFICIENCY_TEXT] = "", key[PYRO_EFFICIENCY_TEXT];
    double threads = 0;
    bool sound = true;

    r->count = 0;
    while (sound && pyro_json_next(r->json) == PYRO_JSON_KEY) {
        if (PYRO_JSON_IS(r->json, "device"))
            sound = read_word(r->json, kind, sizeof kind);
        else if (PYRO_JSON_IS(r->json, "name"))
            sound = read_word(r->json, name, sizeof name);
        else if (PYRO_JSON_IS(r->json, "threads"))
            sound = read_number(r->json, &threads);
        else if (PYRO_JSON_IS(r->json, "kernels"))
            sound = read_kernels(r);
        else
            sound = pyro_json_skip(r->json);
    }
    if (!sound || pyro_json_current(r->json) != PYRO_JSON_OBJECT_END)
        return false;
    name_device(key, kind, name, threads);
    if (strcmp(kind, "cpu") == 0)
        snprintf(r->processor, PYRO_EFFICIENCY_TEXT, "%s", key);
    add_rows(r, key);
    return true;
}

static bool read_file(device_reader *r)
{
    bool sound = pyro_json_next(r->json) == PYRO_JSON_OBJECT;
    while (sound && pyro_json_next(r->json) == PYRO_JSON_KEY) {
        if (!PYRO_JSON_IS(r->json, "devices")) {
            sound = pyro_json_skip(r->json);
            continue;
        }
        sound = pyro_json_next(r->json) == PYRO_JSON_ARRAY;
        while (sound && pyro_json_next(r->json) == PYRO_JSON_OBJECT)
            sound = read_device(r);
        sound = sound && pyro_json_current(r->json) == PYRO_JSON_ARRAY_END;
    }
    return sound && pyro_json_current(r->json) == PYRO_JSON_OBJECT_END;
}

int pyro_calibration_read(pyro_efficiency_table *table, const char *path,
                          char processor[PYRO_EFFICIENCY_TEXT], pyro_error *error)
{
    device_reader r = {.table = table, .error = error, .processor = processor};
    pyro_source *source = NULL;

    processor[0] = '\0';
    int status = pyro_source_open_regular(&source, path, error);
    if (status == PYRO_OK)
        status = pyro_json_open(&r.json, source, NULL, error);
    if (status == PYRO_OK && !read_file(&r))
        status = pyro_fail(error, PYRO_ERROR_FORMAT,
                           "not a file of pyrometer doctor --calibrate (pyrometer.peaks/2)");
    free(r.rows);
    pyro_json_close(r.json);
    pyro_source_close(source);
    return status;
}
