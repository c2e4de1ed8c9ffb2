/* Reads TensorProto: shape, type, and the values of small ones. Weights are skipped. */
#include "read/onnx/onnx.h"

#include "base/bytes.h"

#include "base/checked.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of onnx.proto. */
enum tensor_field {
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_FLOATS = 4,
    TENSOR_INT32S = 5,
    TENSOR_INT64S = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_DOUBLES = 10,
    TENSOR_UINT64S = 11,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14,
};
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, LOCATION_EXTERNAL = 1 };

uint8_t onnx_dtype(int64_t code)
{
    static const uint8_t types[] = {
        [1] = PYRO_DTYPE_FLOAT32 + 1,
        [2] = PYRO_DTYPE_UINT8 + 1,
        [3] = PYRO_DTYPE_INT8 + 1,
        [4] = PYRO_DTYPE_UINT16 + 1,
        [5] = PYRO_DTYPE_INT16 + 1,
        [6] = PYRO_DTYPE_INT32 + 1,
        [7] = PYRO_DTYPE_INT64 + 1,
        [9] = PYRO_DTYPE_BOOL + 1,
        [10] = PYRO_DTYPE_FLOAT16 + 1,
        [11] = PYRO_DTYPE_FLOAT64 + 1,
        [12] = PYRO_DTYPE_UINT32 + 1,
        [13] = PYRO_DTYPE_UINT64 + 1,
        [14] = PYRO_DTYPE_COMPLEX64 + 1,
        [15] = PYRO_DTYPE_COMPLEX128 + 1,
        [16] = PYRO_DTYPE_BFLOAT16 + 1,
        [17] = PYRO_DTYPE_FLOAT8_E4M3FN + 1,
        [18] = PYRO_DTYPE_FLOAT8_E4M3FNUZ + 1,
        [19] = PYRO_DTYPE_FLOAT8_E5M2 + 1,
        [20] = PYRO_DTYPE_FLOAT8_E5M2FNUZ + 1,
        [21] = PYRO_DTYPE_UINT4 + 1,
        [22] = PYRO_DTYPE_INT4 + 1,
        [23] = PYRO_DTYPE_FLOAT4_E2M1 + 1,
        [24] = PYRO_DTYPE_FLOAT8_E8M0FNU + 1,
        [25] = PYRO_DTYPE_UINT2 + 1,
        [26] = PYRO_DTYPE_INT2 + 1,
    };
    if (code < 0 || code >= (int64_t)sizeof types || !types[code])
        return PYRO_DTYPE_UNKNOWN;
    return (uint8_t)(types[code] - 1);
}

static bool add_dim(onnx_reader *reader, onnx_tensor_proto *out, uint64_t dim, int64_t offset)
{
    if (out->rank == PYRO_MAX_RANK)
        return pyro_wire_fail(&reader->wire, offset, "a tensor of more than %d dims",
                              PYRO_MAX_RANK);
    if ((int64_t)dim < 0)
        return pyro_wire_fail(&reader->wire, offset, "a tensor with a negative size");
    out->dims[out->rank++] = (int64_t)dim;
    return true;
}

/* Calls for one number of a list that may be packed or not. */
static bool read_dims(onnx_reader *reader, const pyro_wire_field *field, onnx_tensor_proto *out)
{
    uint64_t dim;
    if (field->type == PYRO_WIRE_VARINT)
        return add_dim(reader, out, field->value, field->offset);
    for (int64_t at = field->begin; at < field->end;)
        if (!pyro_wire_varint(&reader->wire, &at, field->end, &dim) ||
            !add_dim(reader, out, dim, field->offset))
            return false;
    return true;
}

/* External data must lie in the folder of the file: no absolute path, no "..". */
static bool is_inside(const char *path)
{
    if (!*path || *path == '/' || strchr(path, '\\') || (path[0] && path[1] == ':'))
        return false;
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
            return false;
    }
    return true;
}

static bool read_external(onnx_reader *reader, const pyro_wire_field *entry, onnx_tensor_proto *out)
{
    pyro_wire_field field;
    const char *key = "", *value = "";
    for (int64_t at = entry->begin; pyro_wire_next(&reader->wire, &at, entry->end, &field);) {
        if (field.number == ENTRY_KEY && !(key = onnx_text(reader, &field)))
            return false;
        if (field.number == ENTRY_VALUE && !(value = onnx_text(reader, &field)))
            return false;
    }
    if (reader->wire.failed)
        return false;
    if (!strcmp(key, "location")) {
        if (!is_inside(value))
            return pyro_wire_fail(&reader->wire, entry->offset,
                                  "external data at '%.100s' is outside the folder of the file",
                                  value);
        out->location = value;
    } else if (!strcmp(key, "offset") || !strcmp(key, "length")) {
        char *end;
        long long number = strtoll(value, &end, 10);
        if (!*value || *end || number < 0)
            return pyro_wire_fail(&reader->wire, entry->offset,
                                  "the %s of external data is not a number: '%.40s'", key, value);
        if (key[0] == 'o')
            out->location_offset = number;
    }
    return true;
}

/* The number of elements, which must fit. */
static bool count_elements(onnx_reader *reader, onnx_tensor_proto *out, int64_t offset)
{
    out->elements = 1;
    for (size_t d = 0; d < out->rank; d++)
        if (!pyro_mul_i64(out->elements, out->dims[d], &out->elements))
            return pyro_wire_fail(&reader->wire, offset,
                                  "a tensor is too large: its elements do not fit in 64 bits");
    return true;
}

static onnx_values *new_values(onnx_reader *reader, uint32_t count, bool real)
{
    onnx_values *values = pyro_arena_alloc(&reader->model->arena, sizeof *values);
    if (!values)
        return NULL;
    values->count = count;
    if (real)
        values->reals = pyro_arena_array(&reader->model->arena, count + 1u, sizeof(double));
    else
        values->integers = pyro_arena_array(&reader->model->arena, count + 1u, sizeof(int64_t));
    return values->reals || values->integers ? values : NULL;
}

static double from_float32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double from_float16(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double value = exponent == 31  ? (fraction > 0 ? (double)NAN : (double)INFINITY)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 ? -value : value;
}

/* One element of raw_data: little-endian. */
static void take_raw(onnx_values *values, uint32_t i, uint8_t dtype, const unsigned char *bytes)
{
    size_t size = (size_t)pyro_dtype_bytes(dtype);
    uint64_t bits = 0;
    for (size_t b = 0; b < size; b++)
        bits |= (uint64_t)bytes[b] << (8 * b);
    if (dtype == PYRO_DTYPE_FLOAT32)
        values->reals[i] = from_float32((uint32_t)bits);
    else if (dtype == PYRO_DTYPE_FLOAT16)
        values->reals[i] = from_float16((uint16_t)bits);
    else if (dtype == PYRO_DTYPE_BFLOAT16)
        values->reals[i] = from_float32((uint32_t)bits << 16);
    else if (dtype == PYRO_DTYPE_FLOAT64)
        memcpy(&values->reals[i], &bits, sizeof bits);
    else if (dtype == PYRO_DTYPE_INT32)
        values->integers[i] = (int32_t)bits;
    else if (dtype == PYRO_DTYPE_INT16)
        values->integers[i] = (int16_t)bits;
    else if (dtype == PYRO_DTYPE_INT8)
        values->integers[i] = (int8_t)bits;
    else
        values->integers[i] = (int64_t)bits;
}

/* True for types whose small tensors are kept. */
static bool is_kept(uint8_t dtype)
{
    return pyro_dtype_bytes(dtype) <= 8 && dtype != PYRO_DTYPE_UNKNOWN &&
           !(dtype >= PYRO_DTYPE_COMPLEX32 && dtype <= PYRO_DTYPE_COMPLEX128) &&
           !(dtype >= PYRO_DTYPE_FLOAT8_E4M3FN && dtype <= PYRO_DTYPE_FLOAT8_E8M0FNU) &&
           dtype < PYRO_DTYPE_INT4;
}

static bool read_raw(onnx_reader *reader, const pyro_wire_field *field, onnx_tensor_proto *out,
                     onnx_values *values)
{
    size_t length, size = (size_t)pyro_dtype_bytes(out->dtype);
    const char *bytes = pyro_wire_bytes(&reader->wire, field, &length);
    if (!bytes)
        return false;
    if (length != size * values->count)
        return pyro_wire_fail(&reader->wire, field->offset,
                              "a tensor has %zu bytes of values, not %zu", length,
                              size * values->count);
    for (uint32_t i = 0; i < values->count; i++)
        take_raw(values, i, out->dtype, (const unsigned char *)bytes + size * i);
    return true;
}

/* One item of float_data, int32_data, int64_data, double_data or uint64_data. */
static void take_item(onnx_values *values, uint32_t i, uint32_t number, uint8_t dtype,
                      uint64_t bits)
{
    if (i >= values->count)
        return;
    if (values->integers)
        values->integers[i] = number == TENSOR_INT32S ? (int32_t)bits : (int64_t)bits;
    else if (number == TENSOR_FLOATS)
        values->reals[i] = from_float32((uint32_t)bits);
    else if (number == TENSOR_DOUBLES)
        memcpy(&values->reals[i], &bits, sizeof bits);
    else if (number == TENSOR_INT32S && dtype == PYRO_DTYPE_FLOAT16)
        values->reals[i] = from_float16((uint16_t)bits);
    else if (number == TENSOR_INT32S)
        values->reals[i] = from_float32((uint32_t)bits << 16);
}

static bool read_items(onnx_reader *reader, const pyro_wire_field *field, onnx_tensor_proto *out,
                       onnx_values *values, uint32_t *count)
{
    if (field->type != PYRO_WIRE_BYTES) {
        take_item(values, (*count)++, field->number, out->dtype, field->value);
        return true;
    }
    size_t size = field->number == TENSOR_FLOATS ? 4 : field->number == TENSOR_DOUBLES ? 8 : 0;
    if (!size) {
        for (int64_t at = field->begin; at < field->end;) {
            uint64_t item;
            if (!pyro_wire_varint(&reader->wire, &at, field->end, &item))
                return false;
            take_item(values, (*count)++, field->number, out->dtype, item);
        }
        return true;
    }
    size_t length;
    const char *bytes = pyro_wire_bytes(&reader->wire, field, &length);
    for (size_t at = 0; bytes && at + size <= length; at += size) {
        uint64_t item = 0;
        memcpy(&item, bytes + at, size);
        take_item(values, (*count)++, field->number, out->dtype, item);
    }
    return bytes != NULL;
}

/* Reads the values of a small tensor in a second pass, when its shape is known. */
static bool read_values(onnx_reader *reader, int64_t begin, int64_t end, onnx_tensor_proto *out)
{
    bool real = pyro_dtype_is_floating(out->dtype);
    onnx_values *values = new_values(reader, (uint32_t)out->elements, real);
    if (!values)
        return onnx_out_of_memory(reader);
    pyro_wire_field field;
    uint32_t count = 0;
    for (int64_t at = begin; pyro_wire_next(&reader->wire, &at, end, &field);) {
        bool good = true;
        if (field.number == TENSOR_RAW && field.type == PYRO_WIRE_BYTES) {
            good = read_raw(reader, &field, out, values);
            count = values->count;
        } else if (field.number == TENSOR_FLOATS || field.number == TENSOR_INT32S ||
                   field.number == TENSOR_INT64S || field.number == TENSOR_DOUBLES ||
                   field.number == TENSOR_UINT64S) {
            good = read_items(reader, &field, out, values, &count);
        }
        if (!good)
            return false;
    }
    if (count == values->count)
        out->values = values;
    return !reader->wire.failed;
}

static bool take_field(onnx_reader *reader, const pyro_wire_field *field, onnx_tensor_proto *out,
                       bool *external)
{
    if (field->number == TENSOR_DIMS)
        return read_dims(reader, field, out);
    if (field->number == TENSOR_TYPE)
        out->dtype = onnx_dtype((int64_t)field->value);
    else if (field->number == TENSOR_NAME)
        out->name = *field;
    else if (field->number == TENSOR_LOCATION)
        *external = field->value == LOCATION_EXTERNAL;
    else if (field->number == TENSOR_EXTERNAL)
        return read_external(reader, field, out);
    return true;
}

bool onnx_read_tensor(onnx_reader *reader, int64_t begin, int64_t end, onnx_tensor_proto *out)
{
    pyro_wire_field field;
    bool external = false;
    *out = (onnx_tensor_proto){.dtype = PYRO_DTYPE_UNKNOWN};
    for (int64_t at = begin; pyro_wire_next(&reader->wire, &at, end, &field);)
        if (!take_field(reader, &field, out, &external))
            return false;
    if (reader->wire.failed || !count_elements(reader, out, begin))
        return false;
    if (external || out->elements > ONNX_MAX_ELEMENTS || !is_kept(out->dtype))
        return true;
    return read_values(reader, begin, end, out);
}

bool onnx_describe(onnx_reader *reader, onnx_graph *graph, uint32_t index,
                   const onnx_tensor_proto *tensor)
{
    onnx_value *value = onnx_value_of(graph, index);
    pyro_size *sizes = pyro_arena_array(&reader->model->arena, tensor->rank + 1u, sizeof *sizes);
    if (!sizes)
        return onnx_out_of_memory(reader);
    pyro_copy(sizes, tensor->dims, tensor->rank * sizeof *sizes);
    value->declared = sizes;
    value->declared_rank = tensor->rank;
    value->declared_dtype = tensor->dtype;
    value->is_stored = true;
    value->constant = tensor->values;
    value->location = tensor->location;
    value->location_offset = tensor->location_offset;
    return true;
}
