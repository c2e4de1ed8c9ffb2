/* How the library's own code fills a pyro_error. */
#ifndef PYRO_BASE_ERROR_H
#define PYRO_BASE_ERROR_H

#include <pyrometer/error.h>

/* Records a failure (the first one wins; `error` may be NULL) and returns `code`. */
int pyro_fail(pyro_error *error, pyro_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with a byte offset. */
int pyro_fail_at(pyro_error *error, pyro_status code, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Names the file (and member, may be NULL) that a failure happened in; kept if already named. */
void pyro_error_where(pyro_error *error, const char *file, const char *member);

/* "out of memory", the one text for it. */
int pyro_fail_memory(pyro_error *error);

#endif
