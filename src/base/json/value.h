/* Decodes JSON tokens: escapes, UTF-8 and numbers. */
#ifndef PYRO_BASE_JSON_VALUE_H
#define PYRO_BASE_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the first byte of invalid UTF-8, or NULL. */
const char *pyro_json_find_bad_utf8(const char *text, size_t length);

/*
 * Replaces escapes in place and shortens `length`; half of a surrogate pair becomes U+FFFD. Returns
 * NULL, or the backslash of an invalid escape.
 */
const char *pyro_json_unescape(char *text, size_t *length);

typedef struct pyro_scanned_number {
    const char *end;    /* after the number; NULL if it is malformed */
    const char *stop;   /* where scanning stopped: the first invalid byte of a malformed number */
    bool is_integer;    /* written as an integer, and it fits */
    int64_t integer;
} pyro_scanned_number;

/* Checks the grammar of the number at `at`, which must be followed by a byte that ends numbers. */
pyro_scanned_number pyro_json_scan_number(const char *at);

/* Reads a valid, NUL-terminated number in any locale; returns false if it is too large. */
bool pyro_json_parse_double(const char *text, double *out);

#endif
