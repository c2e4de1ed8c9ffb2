/* Functions of the library that fill a pyro_error. */
#ifndef PYRO_BASE_ERROR_H
#define PYRO_BASE_ERROR_H

#include <pyrometer/error.h>

/* Records a failure (the first one wins; `error` may be NULL) and returns `code`. */
int pyro_fail(pyro_error *error, pyro_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with a byte offset. */
int pyro_fail_at(pyro_error *error, pyro_status code, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Names the file (and member, may be NULL) of a failure, unless it already has a name. */
void pyro_error_where(pyro_error *error, const char *file, const char *member);

/* Fails with "out of memory". */
int pyro_fail_memory(pyro_error *error);

#endif
