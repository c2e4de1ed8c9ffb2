/* Reads the small text files in which the kernel describes the machine and its processes. */
#ifndef PYRO_BENCH_SYSTEM_FILES_H
#define PYRO_BENCH_SYSTEM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PYRO_SYSTEM_TEXT = 65536 }; /* bytes; a longer file is cut */

/* Reads the start of a file, NUL-terminated; false if it is unreadable. */
bool pyro_system_text(const char *path, char *text, size_t size);
/* Reads a file of one line, without the line end; false if it is empty or unreadable. */
bool pyro_system_line(const char *path, char *text, size_t size);
/* Finds what follows "key" and separators at the start of a line; false without such a line. */
bool pyro_system_value(const char *text, const char *key, char *value, size_t size);
/* The same as an integer; -1 without such a line. */
int64_t pyro_system_number(const char *text, const char *key);

#endif
