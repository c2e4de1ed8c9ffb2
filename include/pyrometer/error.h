/* Status codes and the error that every failing call fills in. The library never prints or exits. */
#ifndef PYROMETER_ERROR_H
#define PYROMETER_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks a symbol as part of the shared library's interface. */
#define PYRO_API __attribute__((visibility("default")))

/* What a function that can fail returns: PYRO_OK, or one of the negative codes. */
typedef enum pyro_status {
    PYRO_OK = 0,
    PYRO_ERROR_MEMORY = -1, /* an allocation failed */
    PYRO_ERROR_IO = -2, /* the system refused: message holds its reason */
    PYRO_ERROR_FORMAT = -3, /* the input is damaged or contradicts itself */
    PYRO_ERROR_UNSUPPORTED = -4, /* the input is sound, but nothing here reads it */
    PYRO_ERROR_ARGUMENT = -5, /* the caller asked for something impossible */
    PYRO_ERROR_LIMIT = -6, /* the input is larger or deeper than is read */
    PYRO_ERROR_NOT_FOUND = -7 /* no such file, model, input or symbol */
} pyro_status;

/* Filled by the first failure. A caller may pass NULL where it wants only the status. */
typedef struct pyro_error {
    pyro_status code;
    int64_t offset; /* byte offset inside `where`, or -1 */
    char where[256]; /* file, and member of it, that was being read; "" when none */
    char message[512]; /* one line, lower case, no full stop */
} pyro_error;

/* Empties an error so that it can be passed to a call. */
PYRO_API void pyro_error_clear(pyro_error *error);

/* Writes "where: message (at byte N)" into `line`, cut to `size` bytes; returns `line`. */
PYRO_API char *pyro_error_line(const pyro_error *error, char *line, unsigned long size);

#ifdef __cplusplus
}
#endif
#endif
