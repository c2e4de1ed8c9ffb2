/*
 * A window that slides over a JSON source, padded for the scans of scan.h. The pull reader and
 * faster readers use it.
 */
#ifndef PYRO_BASE_JSON_WINDOW_H
#define PYRO_BASE_JSON_WINDOW_H

#include "base/source/source.h"

typedef struct pyro_json_window {
    pyro_source *source; /* borrowed */
    pyro_error *error;   /* the caller's, may be NULL */
    int status;          /* the first failure */
    size_t max_token_bytes;
    char *bytes; /* `capacity` of them, and the padding */
    size_t capacity;
    char *at, *end; /* bytes that were read but not consumed; *end is NUL */
    char *token;    /* bytes from here on are kept when the window slides; never after `at` */
    int64_t offset; /* of the window's first byte in the source */
    bool source_ended;
    int64_t pause; /* offset after which reads are small; 0: none */
} pyro_json_window;

int pyro_json_window_open(pyro_json_window *window, pyro_source *source, size_t capacity,
                          size_t max_token_bytes, pyro_error *error);
void pyro_json_window_free(pyro_json_window *window);

/*
 * Reads more input. Keeps the bytes from `token` on, and adjusts `token` and `at` if they move;
 * other pointers become invalid, even on failure. Returns false at the end of input and on failure.
 */
bool pyro_json_window_refill(pyro_json_window *window);

/* Records a failure and stops reading; a failure of the source wins. Returns the status. */
int pyro_json_window_fail(pyro_json_window *window, int code, int64_t offset, const char *message);
int pyro_json_window_fail_long(pyro_json_window *window, int64_t offset);

static inline int64_t pyro_json_window_offset(const pyro_json_window *window, const char *at)
{
    return window->offset + (at - window->bytes);
}

#endif
