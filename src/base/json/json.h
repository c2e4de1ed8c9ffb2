/*
 * The one JSON reader: a pull reader over a byte source. Memory is bounded by the longest token,
 * not by the file. The scanning underneath is in scan.h; a reader that needs more speed than
 * a token at a time stands on that directly.
 */
#ifndef PYRO_BASE_JSON_JSON_H
#define PYRO_BASE_JSON_JSON_H

#include "base/source/source.h"
#include <string.h>

typedef enum pyro_json_kind {
    PYRO_JSON_ERROR,
    PYRO_JSON_END, /* of the document: only white space followed */
    PYRO_JSON_OBJECT,
    PYRO_JSON_OBJECT_END,
    PYRO_JSON_ARRAY,
    PYRO_JSON_ARRAY_END,
    PYRO_JSON_KEY,
    PYRO_JSON_STRING,
    PYRO_JSON_NUMBER,
    PYRO_JSON_TRUE,
    PYRO_JSON_FALSE,
    PYRO_JSON_NULL
} pyro_json_kind;

typedef struct pyro_json_options {
    size_t max_depth;       /* 0: 256 */
    size_t max_token_bytes; /* 0: 64 MiB */
    bool any_utf8;          /* take bytes that are not UTF-8 as they are; else an error */
    bool nonfinite;         /* take NaN, Infinity and -Infinity as numbers; else an error */
    size_t window_bytes;    /* read at a time, 0: 256 KiB; tests make it small (64 at least) */
} pyro_json_options;

typedef struct pyro_json pyro_json;

/* Borrows the source. */
int pyro_json_open(pyro_json **out, pyro_source *source, const pyro_json_options *options,
                   pyro_error *error);
void pyro_json_close(pyro_json *json);

/*
 * The next token. After PYRO_JSON_ERROR (position and reason in the error given to open) it stays.
 * A failure of the source (a wrong checksum, say) is reported rather than the damage it caused.
 */
pyro_json_kind pyro_json_next(pyro_json *json);
pyro_json_kind pyro_json_current(const pyro_json *json);
/* PYRO_OK, or what PYRO_JSON_ERROR stands for. */
int pyro_json_status(const pyro_json *json);

/*
 * Passes over the value that comes next or, when the current token opens an object or array, over
 * the rest of that one; everything inside is still checked for balance and string ends, not for
 * grammar. A key that comes next is passed over with its value; an end that comes next is read. The
 * current token is the last one passed over, its text is not kept. False on error.
 */
bool pyro_json_skip(pyro_json *json);

/* Text of the current key or string, unescaped, NUL-terminated, valid until the next call. */
const char *pyro_json_text(pyro_json *json, size_t *length);
/* The current number as it stands in the file, NUL-terminated, valid until the next call. */
const char *pyro_json_number_text(pyro_json *json, size_t *length);
/* False when it is no integer or does not fit. */
bool pyro_json_int(pyro_json *json, int64_t *out);
bool pyro_json_double(pyro_json *json, double *out);
/* Where the current token begins in the source. */
int64_t pyro_json_offset(const pyro_json *json);
size_t pyro_json_depth(const pyro_json *json);

/* True when the current key or string, unescaped, is this literal. */
bool pyro_json_is(const pyro_json *json, const char *literal, size_t length);
#define PYRO_JSON_IS(json, literal) pyro_json_is(json, literal, sizeof(literal) - 1)

/*
 * Records "what, got X" at the current token, ends the reading and returns PYRO_ERROR_FORMAT; or
 * returns the status of an earlier failure, which is kept.
 */
int pyro_json_fail(pyro_json *json, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
