/*
 * Makes text from files and command lines safe to print: replaces control characters and those that
 * reorder or hide text (bidirectional controls, zero-width and other invisible characters).
 */
#ifndef PYRO_BASE_TEXT_PRINTABLE_H
#define PYRO_BASE_TEXT_PRINTABLE_H

#include "base/containers/buf.h"

/*
 * Number of bytes (1 to 4) of the character at `at`, which is before `end`. *printable is false for
 * characters that must not reach a terminal, and for bytes that are not UTF-8.
 */
size_t pyro_next_character(const char *at, const char *end, bool *printable);
/* The code point of a character that is UTF-8. */
uint32_t pyro_code_point(const char *at, size_t size);
/* Appends a text with '?' for each character that is not printable. */
void pyro_buf_add_printable(pyro_buf *buf, const char *text);
/* The same in place; the text never gets longer. */
void pyro_make_printable(char *text);

#endif
