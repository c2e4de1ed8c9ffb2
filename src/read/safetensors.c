/* Reads the header of safetensors files: names, shapes and types of tensors. No weights are read. */
#include "base/error.h"
#include "base/json/json.h"
#include "read/weights.h"
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, MAX_HEADER = 100000000 };

/* The types of the format, with their bits per value. */
static const struct {
    const char *name;
    int bits;
    pyro_dtype dtype;
} types[] = {
    {"F64", 64, PYRO_DTYPE_FLOAT64},
    {"F32", 32, PYRO_DTYPE_FLOAT32},
    {"F16", 16, PYRO_DTYPE_FLOAT16},
    {"BF16", 16, PYRO_DTYPE_BFLOAT16},
    {"F8_E4M3", 8, PYRO_DTYPE_FLOAT8_E4M3FN},
    {"F8_E5M2", 8, PYRO_DTYPE_FLOAT8_E5M2},
    {"F8_E8M0", 8, PYRO_DTYPE_FLOAT8_E8M0FNU},
    {"F8_E4M3FNUZ", 8, PYRO_DTYPE_FLOAT8_E4M3FNUZ},
    {"F8_E5M2FNUZ", 8, PYRO_DTYPE_FLOAT8_E5M2FNUZ},
    {"F6_E2M3", 6, PYRO_DTYPE_UINT8},
    {"F6_E3M2", 6, PYRO_DTYPE_UINT8},
    {"F4", 4, PYRO_DTYPE_FLOAT4_E2M1},
    {"I64", 64, PYRO_DTYPE_INT64},
    {"I32", 32, PYRO_DTYPE_INT32},
    {"I16", 16, PYRO_DTYPE_INT16},
    {"I8", 8, PYRO_DTYPE_INT8},
    {"U64", 64, PYRO_DTYPE_UINT64},
    {"U32", 32, PYRO_DTYPE_UINT32},
    {"U16", 16, PYRO_DTYPE_UINT16},
    {"U8", 8, PYRO_DTYPE_UINT8},
    {"BOOL", 8, PYRO_DTYPE_BOOL},
    {"C64", 64, PYRO_DTYPE_COMPLEX64},
};

typedef struct header {
    pyro_model *model;
    pyro_json *json;
    pyro_error *error;
    pyro_stored_types *types;
    int64_t data_bytes; /* behind the header */
    int64_t used_bytes; /* of all tensors */
} header;

/* One tensor while it is read. */
typedef struct tensor {
    int bits;
    size_t rank;
    int64_t dims[PYRO_MAX_RANK], begin, end;
    bool has_shape, has_offsets;
    pyro_stored stored;
} tensor;

bool pyro_safetensors_is(const pyro_opening *opening)
{
    const unsigned char *head = opening->head;
    return opening->head_size > LENGTH_BYTES + 1 && head[8] == '{' && !head[7] && !head[6] &&
           !head[5] && !head[4];
}

static bool read_type(header *h, tensor *t)
{
    if (pyro_json_next(h->json) != PYRO_JSON_STRING)
        return pyro_json_fail(h->json, "expected the type of a tensor"), false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (pyro_json_is(h->json, types[i].name, strlen(types[i].name))) {
            t->stored.type = types[i].name;
            t->stored.dtype = types[i].dtype;
            t->bits = types[i].bits;
            return true;
        }
    return pyro_json_fail(h->json, "expected a known type of a tensor"), false;
}

/* A list of integers that are 0 or more. */
static bool read_list(header *h, int64_t *items, size_t most, size_t *count, const char *what)
{
    *count = 0;
    if (pyro_json_next(h->json) != PYRO_JSON_ARRAY)
        return pyro_json_fail(h->json, "expected %s", what), false;
    for (pyro_json_kind kind; (kind = pyro_json_next(h->json)) != PYRO_JSON_ARRAY_END;) {
        if (kind != PYRO_JSON_NUMBER || *count == most || !pyro_json_int(h->json, &items[*count]) ||
            items[*count] < 0)
            return pyro_json_fail(h->json, "expected %s", what), false;
        ++*count;
    }
    return true;
}

static bool read_tensor(header *h, tensor *t)
{
    if (pyro_json_next(h->json) != PYRO_JSON_OBJECT)
        return pyro_json_fail(h->json, "expected a tensor"), false;
    for (pyro_json_kind kind; (kind = pyro_json_next(h->json)) != PYRO_JSON_OBJECT_END;) {
        int64_t offsets[2];
        size_t count;
        bool good;
        if (kind != PYRO_JSON_KEY)
            return false;
        if (PYRO_JSON_IS(h->json, "dtype")) {
            good = read_type(h, t);
        } else if (PYRO_JSON_IS(h->json, "shape")) {
            good = t->has_shape = read_list(h, t->dims, PYRO_MAX_RANK, &t->rank,
                                            "the shape of a tensor");
        } else if (PYRO_JSON_IS(h->json, "data_offsets")) {
            good = t->has_offsets = read_list(h, offsets, 2, &count, "two offsets") && count == 2;
            t->begin = good ? offsets[0] : 0;
            t->end = good ? offsets[1] : 0;
        } else {
            good = pyro_json_skip(h->json);
        }
        if (!good)
            return false;
    }
    return true;
}

/* The offsets must span exactly what shape and type need. */
static int add_tensor(header *h, tensor *t)
{
    int64_t values = 1, bits;
    const char *name = t->stored.name;
    if (!t->stored.type || !t->has_shape || !t->has_offsets)
        return pyro_fail(h->error, PYRO_ERROR_FORMAT,
                         "tensor '%.100s' lacks its type, shape or offsets", name);
    for (size_t d = 0; d < t->rank; d++)
        if (__builtin_mul_overflow(values, t->dims[d], &values))
            values = -1, d = t->rank;
    if (values < 0 || __builtin_mul_overflow(values, t->bits, &bits) || bits % 8 ||
        t->end < t->begin || t->end - t->begin != bits / 8)
        return pyro_fail(h->error, PYRO_ERROR_FORMAT,
                         "tensor '%.100s': its offsets do not match its shape", name);
    if (t->end > h->data_bytes)
        return pyro_fail(h->error, PYRO_ERROR_FORMAT,
                         "tensor '%.100s' ends behind the end of the file: it is truncated", name);
    t->stored.rank = t->rank;
    t->stored.dims = t->dims;
    t->stored.bytes = bits / 8;
    h->used_bytes += bits / 8;
    if (h->used_bytes > h->data_bytes)
        return pyro_fail(h->error, PYRO_ERROR_FORMAT, "tensors overlap");
    return pyro_weights_add(h->model, h->types, &t->stored, h->error);
}

static int read_header(header *h)
{
    if (pyro_json_next(h->json) != PYRO_JSON_OBJECT)
        return pyro_json_fail(h->json, "expected the header of a safetensors file");
    for (pyro_json_kind kind; (kind = pyro_json_next(h->json)) != PYRO_JSON_OBJECT_END;) {
        tensor t = {.stored = {.name = NULL}};
        if (kind != PYRO_JSON_KEY)
            return pyro_json_status(h->json);
        if (PYRO_JSON_IS(h->json, "__metadata__")) {
            if (!pyro_json_skip(h->json))
                return pyro_json_status(h->json);
            continue;
        }
        size_t length;
        const char *text = pyro_json_text(h->json, &length);
        t.stored.name = text ? pyro_arena_text(&h->model->arena, text, length) : NULL;
        t.stored.name_length = length;
        if (!t.stored.name)
            return pyro_fail_memory(h->error);
        if (!read_tensor(h, &t))
            return pyro_json_status(h->json) < 0 ? pyro_json_status(h->json)
                                                 : pyro_json_fail(h->json, "a damaged tensor");
        int status = add_tensor(h, &t);
        if (status < 0)
            return status;
    }
    return PYRO_OK;
}

int pyro_safetensors_read(pyro_model *model, pyro_source *source, pyro_stored_types *stored,
                          pyro_error *error)
{
    unsigned char length_bytes[LENGTH_BYTES];
    uint64_t length = 0;
    int status = pyro_source_read_at(source, 0, length_bytes, sizeof length_bytes, error);
    if (status < 0)
        return status;
    for (int i = LENGTH_BYTES; i-- > 0;)
        length = length << 8 | length_bytes[i];
    if (length > MAX_HEADER || (int64_t)length > source->size - LENGTH_BYTES)
        return pyro_fail(error, PYRO_ERROR_FORMAT,
                         "a safetensors header of %llu bytes, in a file of %lld bytes",
                         (unsigned long long)length, (long long)source->size);
    char *text = malloc(length + 1);
    pyro_source *memory = NULL;
    header h = {.model = model,
                .error = error,
                .types = stored,
                .data_bytes = source->size - LENGTH_BYTES - (int64_t)length};
    status = text ? pyro_source_read_at(source, LENGTH_BYTES, text, length, error)
                  : pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = pyro_source_open_memory(&memory, text, length, error);
    if (status == PYRO_OK)
        status = pyro_json_open(&h.json, memory, NULL, error);
    if (status == PYRO_OK)
        status = read_header(&h);
    pyro_json_close(h.json);
    pyro_source_close(memory);
    free(text);
    return status;
}

int pyro_safetensors_open(const pyro_opening *opening, pyro_error *error)
{
    pyro_stored_types stored = {.count = 0};
    if (opening->stripped)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "a safetensors file: it has weights but no graph; " PYRO_EXPORT_HINT);
    int status = pyro_weights_begin(opening->model, error);
    if (status == PYRO_OK)
        status = pyro_safetensors_read(opening->model, opening->source, &stored, error);
    opening->model->source = "safetensors";
    return status == PYRO_OK ? pyro_weights_end(opening->model, &stored, error) : status;
}
