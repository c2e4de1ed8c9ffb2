/* Reads GGUF files: metadata and the table of tensors. No weights are read. */
#include "base/containers/buf.h"
#include "base/error.h"
#include "read/gguf_graph.h"
#include "read/weights.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GGUF_MAX_ENTRIES = 1 << 20,
    GGUF_MAX_NAME = 1 << 16,
    GGUF_MAX_DIMS = 4,
    GGUF_MAX_NESTING = 4,
    GGUF_MAX_ITEMS = 1 << 24, /* of arrays of strings, in all: a sparse file has room for more */
    GGUF_MAX_ALIGNMENT = 1 << 20,
    WINDOW_BYTES = 1 << 16
};

/* Types of ggml: elements and bytes of a block. Unknown numbers are refused, never guessed. */
static const struct {
    const char *name;
    int64_t elements, bytes;
    pyro_dtype dtype;
} types[] = {
    [0] = {"F32", 1, 4, PYRO_DTYPE_FLOAT32},       [1] = {"F16", 1, 2, PYRO_DTYPE_FLOAT16},
    [2] = {"Q4_0", 32, 18, PYRO_DTYPE_UINT8},      [3] = {"Q4_1", 32, 20, PYRO_DTYPE_UINT8},
    [6] = {"Q5_0", 32, 22, PYRO_DTYPE_UINT8},      [7] = {"Q5_1", 32, 24, PYRO_DTYPE_UINT8},
    [8] = {"Q8_0", 32, 34, PYRO_DTYPE_INT8},       [9] = {"Q8_1", 32, 36, PYRO_DTYPE_INT8},
    [10] = {"Q2_K", 256, 84, PYRO_DTYPE_UINT8},    [11] = {"Q3_K", 256, 110, PYRO_DTYPE_UINT8},
    [12] = {"Q4_K", 256, 144, PYRO_DTYPE_UINT8},   [13] = {"Q5_K", 256, 176, PYRO_DTYPE_UINT8},
    [14] = {"Q6_K", 256, 210, PYRO_DTYPE_UINT8},   [15] = {"Q8_K", 256, 292, PYRO_DTYPE_INT8},
    [16] = {"IQ2_XXS", 256, 66, PYRO_DTYPE_UINT8}, [17] = {"IQ2_XS", 256, 74, PYRO_DTYPE_UINT8},
    [18] = {"IQ3_XXS", 256, 98, PYRO_DTYPE_UINT8}, [19] = {"IQ1_S", 256, 50, PYRO_DTYPE_UINT8},
    [20] = {"IQ4_NL", 32, 18, PYRO_DTYPE_UINT8},   [21] = {"IQ3_S", 256, 110, PYRO_DTYPE_UINT8},
    [22] = {"IQ2_S", 256, 82, PYRO_DTYPE_UINT8},   [23] = {"IQ4_XS", 256, 136, PYRO_DTYPE_UINT8},
    [24] = {"I8", 1, 1, PYRO_DTYPE_INT8},          [25] = {"I16", 1, 2, PYRO_DTYPE_INT16},
    [26] = {"I32", 1, 4, PYRO_DTYPE_INT32},        [27] = {"I64", 1, 8, PYRO_DTYPE_INT64},
    [28] = {"F64", 1, 8, PYRO_DTYPE_FLOAT64},      [29] = {"IQ1_M", 256, 56, PYRO_DTYPE_UINT8},
    [30] = {"BF16", 1, 2, PYRO_DTYPE_BFLOAT16},    [34] = {"TQ1_0", 256, 54, PYRO_DTYPE_UINT8},
    [35] = {"TQ2_0", 256, 66, PYRO_DTYPE_UINT8},   [39] = {"MXFP4", 32, 17, PYRO_DTYPE_UINT8},
    [40] = {"NVFP4", 64, 36, PYRO_DTYPE_UINT8},
};

/* Types of metadata: bytes of one value; strings and arrays have lengths of their own. */
enum value_type { VALUE_STRING = 8, VALUE_ARRAY = 9, VALUE_TYPES = 13 };
static const uint8_t value_bytes[VALUE_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

/* A position in the file, behind one window. */
typedef struct cursor {
    pyro_source *source;
    pyro_error *error;
    int64_t at, begin;
    size_t length;
    unsigned char *window;
    int status;
    uint64_t items; /* of arrays that were read one by one */
    int64_t used_bytes, data_end; /* of all tensors; the end of the last, behind the header */
    const char *last;             /* the name of that tensor */
    pyro_gguf content;
} cursor;

bool pyro_gguf_is(const pyro_opening *opening)
{
    return opening->head_size >= 24 && !memcmp(opening->head, "GGUF", 4);
}

static bool fail(cursor *c, const char *what)
{
    c->status = pyro_fail_at(c->error, PYRO_ERROR_FORMAT, c->at, "%s", what);
    return false;
}

/* Bytes at the position, which moves behind them; NULL at the end of the file. */
static const unsigned char *take(cursor *c, size_t count)
{
    if (c->source->size - c->at < (int64_t)count) {
        fail(c, "the file ends inside its header: it is truncated or damaged");
        return NULL;
    }
    if (c->at < c->begin || c->at + (int64_t)count > c->begin + (int64_t)c->length) {
        int64_t left = c->source->size - c->at;
        c->length = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        c->begin = c->at;
        c->status = pyro_source_read_at(c->source, c->at, c->window, c->length, c->error);
        if (c->status < 0)
            return NULL;
    }
    const unsigned char *bytes = c->window + (c->at - c->begin);
    c->at += (int64_t)count;
    return bytes;
}

static bool take_number(cursor *c, size_t count, uint64_t *out)
{
    const unsigned char *bytes = take(c, count);
    *out = 0;
    for (size_t i = count; bytes && i-- > 0;)
        *out = *out << 8 | bytes[i];
    return bytes != NULL;
}

static bool skip(cursor *c, uint64_t count)
{
    if (count > (uint64_t)(c->source->size - c->at))
        return fail(c, "the file ends inside its header: it is truncated or damaged");
    c->at += (int64_t)count;
    return true;
}

static const char *take_text(cursor *c, size_t *length)
{
    uint64_t count;
    if (!take_number(c, 8, &count))
        return NULL;
    if (count >= GGUF_MAX_NAME) {
        fail(c, "a name of more than 65,535 bytes");
        return NULL;
    }
    *length = (size_t)count;
    return count ? (const char *)take(c, (size_t)count) : "";
}

static bool skip_value(cursor *c, uint64_t type, int nesting)
{
    uint64_t count, item;
    if (type >= VALUE_TYPES)
        return fail(c, "metadata of an unknown type");
    if (type == VALUE_STRING)
        return take_number(c, 8, &count) && skip(c, count);
    if (type != VALUE_ARRAY)
        return skip(c, value_bytes[type]);
    if (nesting == GGUF_MAX_NESTING)
        return fail(c, "arrays in metadata are nested too deep");
    if (!take_number(c, 4, &item) || !take_number(c, 8, &count))
        return false;
    if (item < VALUE_TYPES && value_bytes[item])
        return count > (uint64_t)INT64_MAX / 8 ? fail(c, "an array is too long")
                                               : skip(c, count * value_bytes[item]);
    if (count > GGUF_MAX_ITEMS || (c->items += count) > GGUF_MAX_ITEMS)
        return fail(c, "an array is too long");
    for (uint64_t i = 0; i < count; i++)
        if (!skip_value(c, item, nesting + 1))
            return false;
    return true;
}

/* A number of the metadata: unsigned and signed integers of any size. */
static bool read_number(cursor *c, const char *key, uint64_t type)
{
    uint64_t value;
    if (!take_number(c, value_bytes[type], &value))
        return false;
    if (type == 5) /* a signed number of 32 bits */
        value = (uint64_t)(int64_t)(int32_t)value;
    return pyro_gguf_number(&c->content, key, (int64_t)value) ||
           (c->status = pyro_fail_memory(c->error), false);
}

/* Metadata: the architecture, the name, and the numbers that describe the architecture. */
static bool read_entry(cursor *c, pyro_model *model)
{
    enum { UINT32 = 4, INT32 = 5, UINT64 = 10, INT64 = 11 };
    size_t length;
    char key[128];
    uint64_t type;
    const char *text = take_text(c, &length);
    if (!text)
        return false;
    snprintf(key, sizeof key, "%.*s", (int)(length < 120 ? length : 120), text);
    if (!take_number(c, 4, &type))
        return false;
    if (type == UINT32 || type == INT32 || type == UINT64 || type == INT64)
        return read_number(c, key, type);
    bool name = !strcmp(key, "general.name"), kind = !strcmp(key, "general.architecture");
    if (type != VALUE_STRING || !(name || kind))
        return skip_value(c, type, 0);
    text = take_text(c, &length);
    const char *copy = text ? pyro_arena_text(&model->arena, text, length) : NULL;
    if (!copy)
        return false;
    if (kind)
        c->content.architecture = copy;
    else if (length)
        model->display_name = copy;
    return true;
}

/* The bytes of a tensor: whole blocks along its fastest dim. */
static bool measure(cursor *c, uint64_t type, pyro_stored *stored, uint64_t fastest)
{
    if (type >= sizeof types / sizeof *types || !types[type].name) {
        c->status = pyro_fail(c->error, PYRO_ERROR_UNSUPPORTED,
                              "tensor '%.*s' has the unknown type %" PRIu64 " of ggml",
                              (int)(stored->name_length < 80 ? stored->name_length : 80),
                              stored->name, type);
        return false;
    }
    int64_t values = 1;
    for (size_t d = 0; d < stored->rank; d++)
        if (__builtin_mul_overflow(values, stored->dims[d], &values))
            return fail(c, "a tensor is too large: its values do not fit in 64 bits");
    if (fastest % (uint64_t)types[type].elements)
        return fail(c, "a tensor whose rows are not whole blocks");
    stored->type = types[type].name;
    stored->dtype = types[type].dtype;
    if (__builtin_mul_overflow(values / types[type].elements, types[type].bytes, &stored->bytes))
        return fail(c, "a tensor is too large: its bytes do not fit in 64 bits");
    return true;
}

/* Remembers how far the data of the tensors reach. */
static bool place(cursor *c, const pyro_stored *stored, uint64_t offset)
{
    int64_t end;
    if (offset > INT64_MAX || __builtin_add_overflow((int64_t)offset, stored->bytes, &end) ||
        __builtin_add_overflow(c->used_bytes, stored->bytes, &c->used_bytes))
        return fail(c, "the offset of a tensor does not fit in 64 bits");
    if (end > c->data_end) {
        c->data_end = end;
        c->last = stored->name;
    }
    return true;
}

/* The data begin after the header, aligned; a download that broke off ends before they do. */
static bool check_data(cursor *c)
{
    int64_t alignment = hf_number(&c->content.numbers, "general.alignment", 32), begin, end;
    if (alignment < 1 || alignment > GGUF_MAX_ALIGNMENT || alignment & (alignment - 1))
        return fail(c, "the alignment is not a power of two");
    if (!c->data_end)
        return true;
    begin = (c->at + alignment - 1) & -alignment;
    if (__builtin_add_overflow(begin, c->data_end, &end) || end > c->source->size) {
        c->status = pyro_fail(c->error, PYRO_ERROR_FORMAT,
                              "tensor '%.100s' ends behind the end of the file, which has %" PRId64
                              " bytes: it is truncated",
                              c->last, c->source->size);
        return false;
    }
    return c->used_bytes <= c->source->size - begin || fail(c, "tensors overlap");
}

static bool read_tensor(cursor *c, pyro_model *model)
{
    pyro_stored stored = {.name = NULL};
    uint64_t rank, type, offset, size, fastest = 1;
    int64_t *dims = pyro_arena_array(&model->arena, GGUF_MAX_DIMS, sizeof *dims);
    const char *text = take_text(c, &stored.name_length);
    stored.name = text ? pyro_arena_text(&model->arena, text, stored.name_length) : NULL;
    if (!stored.name || !dims || !take_number(c, 4, &rank))
        return false;
    if (rank > GGUF_MAX_DIMS)
        return fail(c, "a tensor of more than 4 dims");
    for (uint64_t d = 0; d < rank; d++) {
        if (!take_number(c, 8, &size))
            return false;
        if (size > INT64_MAX)
            return fail(c, "a tensor with an absurd size");
        fastest = d ? fastest : size;
        dims[rank - 1 - d] = (int64_t)size; /* the file has the fastest dim first */
    }
    stored.rank = (size_t)rank;
    stored.dims = dims;
    if (!take_number(c, 4, &type) || !take_number(c, 8, &offset) ||
        !measure(c, type, &stored, fastest) || !place(c, &stored, offset))
        return false;
    if (!pyro_grow(&c->content.tensors, &c->content.tensor_capacity, c->content.tensor_count + 1,
                   sizeof *c->content.tensors))
        return false;
    c->content.tensors[c->content.tensor_count++] = stored;
    return true;
}

static bool read_file(cursor *c, pyro_model *model)
{
    uint64_t magic, version, tensors, entries;
    if (!take_number(c, 4, &magic) || !take_number(c, 4, &version))
        return false;
    if (version < 2 || version > 3) {
        c->status = pyro_fail(c->error, PYRO_ERROR_UNSUPPORTED,
                              "a GGUF file of version %" PRIu64 "; versions 2 and 3 can be read",
                              version);
        return false;
    }
    if (!take_number(c, 8, &tensors) || !take_number(c, 8, &entries))
        return false;
    if (tensors > GGUF_MAX_ENTRIES || entries > GGUF_MAX_ENTRIES)
        return fail(c, "a GGUF file with more than a million entries");
    for (uint64_t i = 0; i < entries; i++)
        if (!read_entry(c, model))
            return false;
    for (uint64_t i = 0; i < tensors; i++)
        if (!read_tensor(c, model))
            return false;
    if (!check_data(c))
        return false;
    const char *architecture = c->content.architecture;
    model->source = pyro_arena_format(&model->arena, "gguf%s%.60s", *architecture ? ", " : "",
                                      architecture);
    c->status = model->source ? pyro_gguf_fill(model, &c->content, c->error)
                              : pyro_fail_memory(c->error);
    return c->status == PYRO_OK;
}

int pyro_gguf_open(const pyro_opening *opening, pyro_error *error)
{
    if (opening->stripped)
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "a GGUF file: it has weights but no graph; " PYRO_EXPORT_HINT);
    int status = pyro_weights_begin(opening->model, error);
    if (status < 0)
        return status;
    cursor c = {.source = opening->source, .error = error, .window = malloc(WINDOW_BYTES)};
    if (!c.window)
        return pyro_fail_memory(error);
    pyro_gguf_begin(&c.content, &opening->model->arena, error);
    bool good = read_file(&c, opening->model);
    pyro_gguf_end(&c.content);
    free(c.window);
    if (!good && c.status == PYRO_OK)
        return pyro_fail_memory(error);
    return good ? PYRO_OK : c.status;
}
