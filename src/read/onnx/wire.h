/*
 * Reads protobuf's wire format from a seekable source through one window. Fields that nobody asks
 * for (weights) are skipped by their length and never read.
 */
#ifndef PYRO_READ_ONNX_WIRE_H
#define PYRO_READ_ONNX_WIRE_H

#include "base/source/source.h"

typedef struct pyro_wire {
    pyro_source *source;
    pyro_error *error;
    unsigned char *window;
    size_t capacity, length; /* bytes of the window, and those that are filled */
    int64_t begin;           /* offset of the window in the source */
    bool failed;             /* `error` is filled */
} pyro_wire;

typedef enum pyro_wire_type {
    PYRO_WIRE_VARINT = 0,
    PYRO_WIRE_FIXED64 = 1,
    PYRO_WIRE_BYTES = 2,
    PYRO_WIRE_FIXED32 = 5
} pyro_wire_type;

typedef struct pyro_wire_field {
    uint32_t number;
    uint8_t type;
    uint64_t value;     /* of a varint or a fixed field */
    int64_t begin, end; /* of the content of a length-delimited field */
    int64_t offset;     /* of the field itself, for errors */
} pyro_wire_field;

bool pyro_wire_open(pyro_wire *wire, pyro_source *source, pyro_error *error);
void pyro_wire_close(pyro_wire *wire);

/*
 * Reads the field at *at of the message that ends at `end`, and moves *at behind it. Returns false
 * at the end of the message and on failure.
 */
bool pyro_wire_next(pyro_wire *wire, int64_t *at, int64_t end, pyro_wire_field *field);
/* Reads a varint at *at, for packed lists. */
bool pyro_wire_varint(pyro_wire *wire, int64_t *at, int64_t end, uint64_t *value);
/*
 * The bytes of a length-delimited field, valid until the next call; NULL on failure. Fields of more
 * than PYRO_WIRE_MAX_TEXT bytes are too long.
 */
#define PYRO_WIRE_MAX_TEXT (1 << 20)
const char *pyro_wire_bytes(pyro_wire *wire, const pyro_wire_field *field, size_t *length);
/* Records a failure at an offset; returns false. */
bool pyro_wire_fail(pyro_wire *wire, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
