/* What the JSON reader does with a token it has found: escapes, UTF-8 and numbers. */
#ifndef PYRO_BASE_JSON_VALUE_H
#define PYRO_BASE_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first byte that is not part of sound UTF-8, or NULL. */
const char *pyro_json_find_bad_utf8(const char *text, size_t length);

/*
 * Replaces escapes in place and shortens `length`; half of a surrogate pair becomes U+FFFD. Returns
 * NULL, or the backslash of an escape that JSON does not have.
 */
const char *pyro_json_unescape(char *text, size_t *length);

typedef struct pyro_scanned_number {
    const char *end;    /* behind the number; NULL when it is malformed */
    const char *stop;   /* where scanning stopped: a malformed number's first wrong byte */
    bool is_integer;    /* written as one, and it fits */
    int64_t integer;
} pyro_scanned_number;

/* Checks the grammar of the number at `at`; a byte that no number has must follow it. */
pyro_scanned_number pyro_json_scan_number(const char *at);

/* The value of a sound, NUL-terminated number in any locale; false when it is too large. */
bool pyro_json_parse_double(const char *text, double *out);

#endif
