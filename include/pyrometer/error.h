/* Status codes, and the error that a failing call fills in. The library never prints or exits. */
#ifndef PYROMETER_ERROR_H
#define PYROMETER_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks a symbol as part of the shared library's interface. */
#define PYRO_API __attribute__((visibility("default")))

/* The return value of functions that can fail: PYRO_OK or a negative code. */
typedef enum pyro_status {
    PYRO_OK = 0,
    PYRO_ERROR_MEMORY = -1, /* an allocation failed */
    PYRO_ERROR_IO = -2, /* a system call failed; the message says why */
    PYRO_ERROR_FORMAT = -3, /* the input is damaged or inconsistent */
    PYRO_ERROR_UNSUPPORTED = -4, /* the input is valid, but this library cannot read it */
    PYRO_ERROR_ARGUMENT = -5, /* an argument is invalid */
    PYRO_ERROR_LIMIT = -6, /* the input exceeds a limit on size or depth */
    PYRO_ERROR_NOT_FOUND = -7 /* no such file, model, input or symbol */
} pyro_status;

/* Filled by the first failure. A caller that needs only the status may pass NULL. */
typedef struct pyro_error {
    pyro_status code;
    int64_t offset; /* byte offset inside `where`, or -1 */
    char where[256]; /* the file that was being read, and its member; "" if no file */
    char message[512]; /* one line, lower case, no full stop */
} pyro_error;

/* Clears an error. Call this before passing it to a function. */
PYRO_API void pyro_error_clear(pyro_error *error);

/* Writes "where: message (at byte N)" into `line`, truncated to `size` bytes. Returns `line`. */
PYRO_API char *pyro_error_line(const pyro_error *error, char *line, unsigned long size);

#ifdef __cplusplus
}
#endif
#endif
