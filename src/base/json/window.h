/*
 * The part of a JSON source that is in memory: a window that slides over it and is padded as the
 * scans of scan.h need it. What the pull reader stands on, and any faster reader.
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
    char *at, *end; /* what was read and is not used up; *end is NUL */
    char *token;    /* bytes from here on stay when the window slides; never behind `at` */
    int64_t offset; /* of the window's first byte in the source */
    bool source_ended;
    int64_t pause; /* offset behind which only little is read at a time; 0: none */
} pyro_json_window;

int pyro_json_window_open(pyro_json_window *window, pyro_source *source, size_t capacity,
                          size_t max_token_bytes, pyro_error *error);
void pyro_json_window_free(pyro_json_window *window);

/*
 * Reads on. Bytes from `token` on are kept, and `token` and `at` follow them when they move (other
 * pointers do not, also where this returns false). False at the end of the input and on failure.
 */
bool pyro_json_window_refill(pyro_json_window *window);

/* Records a failure and ends the reading; one of the source itself wins. Returns the status. */
int pyro_json_window_fail(pyro_json_window *window, int code, int64_t offset, const char *message);
int pyro_json_window_fail_long(pyro_json_window *window, int64_t offset);

static inline int64_t pyro_json_window_offset(const pyro_json_window *window, const char *at)
{
    return window->offset + (at - window->bytes);
}

#endif
