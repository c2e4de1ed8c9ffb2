/*
 * The JSON reader: a pull reader over a byte source. Memory is bounded by the longest token, not by
 * the file. It scans with scan.h, which faster readers use directly.
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
    bool any_utf8;          /* accept bytes that are not UTF-8; else an error */
    bool nonfinite;         /* accept NaN, Infinity and -Infinity as numbers; else an error */
    size_t window_bytes;    /* read at a time, 0: 256 KiB; tests make it small (64 at least) */
} pyro_json_options;

typedef struct pyro_json pyro_json;

/*
 * The current token: the head of a reader, so that the functions below, which readers of large files
 * call several times per token, are inlined. Only json.c changes it.
 */
typedef struct pyro_json_token {
    pyro_json_kind kind;
    bool escapes; /* a text was written with escapes; only those can make a NUL */
    char *text;   /* of a key, string or number; NULL if it was skipped */
    size_t length;
} pyro_json_token;

/* Borrows the source. */
int pyro_json_open(pyro_json **out, pyro_source *source, const pyro_json_options *options,
                   pyro_error *error);
void pyro_json_close(pyro_json *json);

/*
 * Reads the next token. PYRO_JSON_ERROR is permanent; position and reason are in the error given to
 * open. A failure of the source (such as a wrong checksum) takes precedence over the syntax error
 * that it caused.
 */
pyro_json_kind pyro_json_next(pyro_json *json);
static inline pyro_json_kind pyro_json_current(const pyro_json *json)
{
    return ((const pyro_json_token *)json)->kind;
}
/* PYRO_OK, or the status behind PYRO_JSON_ERROR. */
int pyro_json_status(const pyro_json *json);

/*
 * Skips the next value or, if the current token opens an object or array, the rest of that. Checks
 * only that brackets are balanced and strings end. A following key is skipped with its value; a
 * following end is read. The current token is then the last one skipped, without its text. Returns
 * false on error.
 */
bool pyro_json_skip(pyro_json *json);

/*
 * Shortcuts for objects that a file contains a million times. If the current token opens an object
 * whose rest is exactly `before`, a text without escapes (or an integer), and `after`, they read it at
 * once: its end becomes the current token, and `text` is valid until the next call, without a NUL.
 * Otherwise they read nothing and return false. `before` may open one more object, which `after`
 * closes.
 */
bool pyro_json_take_text(pyro_json *json, const char *before, const char *after, const char **text,
                         size_t *length);
bool pyro_json_take_integer(pyro_json *json, const char *before, const char *after,
                            int64_t *integer);
/*
 * The same for an object that begins with `before`, a text, `between`, a text, and `after`, and that
 * stays open. `between` and `after` begin with the quote that ends a text; `after` closes the one or
 * two objects that `between` opens, and their end becomes the current token.
 */
bool pyro_json_take_texts(pyro_json *json, const char *before, const char *between,
                          const char *after, const char *texts[2], size_t lengths[2]);

/* Text of the current key or string, unescaped, NUL-terminated, valid until the next call. */
const char *pyro_json_text(pyro_json *json, size_t *length);
/* The current number as written in the file, NUL-terminated, valid until the next call. */
const char *pyro_json_number_text(pyro_json *json, size_t *length);
/* Returns false if the number is not an integer or does not fit. */
bool pyro_json_int(pyro_json *json, int64_t *out);
bool pyro_json_double(pyro_json *json, double *out);
/* Offset of the current token in the source. */
int64_t pyro_json_offset(const pyro_json *json);
size_t pyro_json_depth(const pyro_json *json);

/* True if the current key or string, unescaped, equals this literal. */
static inline bool pyro_json_is(const pyro_json *json, const char *literal, size_t length)
{
    const pyro_json_token *token = (const pyro_json_token *)json;
    return token->length == length && token->text &&
           (token->kind == PYRO_JSON_KEY || token->kind == PYRO_JSON_STRING) &&
           memcmp(token->text, literal, length) == 0;
}
/* True if the current key or string contains a NUL character. */
static inline bool pyro_json_has_nul(const pyro_json *json)
{
    const pyro_json_token *token = (const pyro_json_token *)json;
    return token->escapes && token->text &&
           (token->kind == PYRO_JSON_KEY || token->kind == PYRO_JSON_STRING) &&
           memchr(token->text, '\0', token->length);
}
#define PYRO_JSON_IS(json, literal) pyro_json_is(json, literal, sizeof(literal) - 1)

/*
 * Records "what, got X" at the current token, stops reading and returns PYRO_ERROR_FORMAT; or
 * returns the status of an earlier failure, which it keeps.
 */
int pyro_json_fail(pyro_json *json, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
