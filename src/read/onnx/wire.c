/* Reads protobuf's wire format: fields, varints, texts. */
#include "read/onnx/wire.h"

#include "base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_WINDOW = 1 << 16, MAX_VARINT = 10 };

bool pyro_wire_open(pyro_wire *wire, pyro_source *source, pyro_error *error)
{
    *wire = (pyro_wire){.source = source, .error = error, .capacity = FIRST_WINDOW};
    wire->window = malloc(wire->capacity);
    wire->failed = !wire->window;
    if (wire->failed)
        pyro_fail_memory(error);
    return !wire->failed;
}

void pyro_wire_close(pyro_wire *wire)
{
    free(wire->window);
}

bool pyro_wire_fail(pyro_wire *wire, int64_t offset, const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    wire->failed = true;
    pyro_fail_at(wire->error, PYRO_ERROR_FORMAT, offset, "%s", text);
    return false;
}

/* Makes the window contain `count` bytes from an offset; the caller has checked that they exist. */
static const unsigned char *view(pyro_wire *wire, int64_t offset, size_t count)
{
    if (offset >= wire->begin && offset - wire->begin + (int64_t)count <= (int64_t)wire->length)
        return wire->window + (offset - wire->begin);
    if (count > wire->capacity) {
        unsigned char *larger = realloc(wire->window, count);
        if (!larger) {
            wire->failed = true;
            pyro_fail_memory(wire->error);
            return NULL;
        }
        wire->window = larger;
        wire->capacity = count;
    }
    int64_t left = wire->source->size - offset;
    size_t wanted = left < (int64_t)wire->capacity ? (size_t)left : wire->capacity;
    wire->length = 0;
    if (pyro_source_read_at(wire->source, offset, wire->window, wanted, wire->error) < 0) {
        wire->failed = true;
        return NULL;
    }
    wire->begin = offset;
    wire->length = wanted;
    return wire->window;
}

bool pyro_wire_varint(pyro_wire *wire, int64_t *at, int64_t end, uint64_t *value)
{
    int64_t start = *at;
    *value = 0;
    for (int i = 0; i < MAX_VARINT; i++) {
        if (*at >= end)
            return pyro_wire_fail(wire, start, "the file ends inside a number");
        const unsigned char *byte = view(wire, *at, 1);
        if (!byte)
            return false;
        ++*at;
        if (i == MAX_VARINT - 1 && *byte > 1)
            break;
        *value |= (uint64_t)(*byte & 0x7f) << (7 * i);
        if (!(*byte & 0x80))
            return true;
    }
    return pyro_wire_fail(wire, start, "a number of more than 64 bits");
}

static bool read_fixed(pyro_wire *wire, int64_t *at, int64_t end, size_t count, uint64_t *value)
{
    if (end - *at < (int64_t)count)
        return pyro_wire_fail(wire, *at, "the file ends inside a number");
    const unsigned char *bytes = view(wire, *at, count);
    if (!bytes)
        return false;
    *value = 0;
    for (size_t i = 0; i < count; i++)
        *value |= (uint64_t)bytes[i] << (8 * i);
    *at += (int64_t)count;
    return true;
}

bool pyro_wire_next(pyro_wire *wire, int64_t *at, int64_t end, pyro_wire_field *field)
{
    uint64_t tag;
    if (wire->failed || *at >= end)
        return false;
    *field = (pyro_wire_field){.offset = *at};
    if (!pyro_wire_varint(wire, at, end, &tag))
        return false;
    field->number = (uint32_t)(tag >> 3);
    field->type = tag & 7;
    if (field->number == 0 || tag >> 32)
        return pyro_wire_fail(wire, field->offset, "not a protobuf field");
    if (field->type == PYRO_WIRE_VARINT)
        return pyro_wire_varint(wire, at, end, &field->value);
    if (field->type == PYRO_WIRE_FIXED32 || field->type == PYRO_WIRE_FIXED64)
        return read_fixed(wire, at, end, field->type == PYRO_WIRE_FIXED32 ? 4 : 8, &field->value);
    if (field->type != PYRO_WIRE_BYTES)
        return pyro_wire_fail(wire, field->offset, "a protobuf field of unknown type %u",
                              field->type);
    uint64_t length;
    if (!pyro_wire_varint(wire, at, end, &length))
        return false;
    if (length > (uint64_t)(end - *at))
        return pyro_wire_fail(wire, field->offset,
                              "the file ends inside a field of %llu bytes: it is truncated or "
                              "damaged",
                              (unsigned long long)length);
    field->begin = *at;
    field->end = *at += (int64_t)length;
    return true;
}

const char *pyro_wire_bytes(pyro_wire *wire, const pyro_wire_field *field, size_t *length)
{
    *length = 0;
    if (field->type != PYRO_WIRE_BYTES) {
        pyro_wire_fail(wire, field->offset, "expected a text");
        return NULL;
    }
    if (field->end - field->begin > PYRO_WIRE_MAX_TEXT) {
        pyro_wire_fail(wire, field->offset, "a text of more than %d bytes", PYRO_WIRE_MAX_TEXT);
        return NULL;
    }
    *length = (size_t)(field->end - field->begin);
    return *length ? (const char *)view(wire, field->begin, *length) : "";
}
