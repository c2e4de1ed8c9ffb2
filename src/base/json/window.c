/* Implements the sliding window: moves, grows and refills it, and records failures. */
#include "base/json/window.h"

#include "base/error.h"
#include "base/json/scan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_WINDOW_BYTES 64
/* After a syntax error, how much more of a checksummed source is read to reach its checksum. */
#define SHORT_READ_BYTES ((ptrdiff_t)16 << 10)
#define DRAIN_BYTES ((int64_t)256 << 20)

int pyro_json_window_open(pyro_json_window *window, pyro_source *source, size_t capacity,
                          size_t max_token_bytes, pyro_error *error)
{
    if (capacity < SMALLEST_WINDOW_BYTES)
        capacity = SMALLEST_WINDOW_BYTES;
    *window = (pyro_json_window){
        .source = source, .error = error, .max_token_bytes = max_token_bytes, .capacity = capacity};
    window->bytes = malloc(capacity + PYRO_JSON_PADDING);
    if (!window->bytes)
        return pyro_fail_memory(error);
    window->token = window->at = window->end = window->bytes;
    memset(window->end, 0, PYRO_JSON_PADDING);
    return PYRO_OK;
}

void pyro_json_window_free(pyro_json_window *window)
{
    free(window->bytes);
}

/* Damaged data often breaks the grammar before its checksum, which is the better diagnosis. */
static void drain_source(pyro_json_window *window)
{
    char scratch[8192];
    int64_t got = window->source->checked && !window->source_ended ? 1 : 0;
    for (int64_t left = DRAIN_BYTES; got > 0 && left > 0; left -= got)
        got = pyro_source_read(window->source, scratch, sizeof scratch, window->error);
    if (got < 0)
        window->status = (int)got;
}

int pyro_json_window_fail(pyro_json_window *window, int code, int64_t offset, const char *message)
{
    if (window->status == PYRO_OK)
        drain_source(window);
    if (window->status == PYRO_OK)
        window->status = pyro_fail_at(window->error, (pyro_status)code, offset, "%s", message);
    window->source_ended = true;
    return window->status;
}

int pyro_json_window_fail_long(pyro_json_window *window, int64_t offset)
{
    char message[96];
    snprintf(message, sizeof message, "a string or number is longer than %zu bytes",
             window->max_token_bytes);
    return pyro_json_window_fail(window, PYRO_ERROR_LIMIT, offset, message);
}

/* Moves the bytes from `token` on to the front, and grows the window if they fill it. */
static bool make_room(pyro_json_window *window)
{
    size_t kept = (size_t)(window->end - window->token);
    size_t used = (size_t)(window->at - window->token);
    if (window->token != window->bytes)
        memmove(window->bytes, window->token, kept);
    window->offset += window->token - window->bytes;
    if (kept == window->capacity) {
        /* A string's opening quote is kept too; readers count the text alone. */
        if (kept > window->max_token_bytes + 1) {
            pyro_json_window_fail_long(window, window->offset);
            return false;
        }
        char *larger = realloc(window->bytes, 2 * window->capacity + PYRO_JSON_PADDING);
        if (!larger) {
            window->status = pyro_fail_memory(window->error);
            window->source_ended = true;
            return false;
        }
        window->bytes = larger;
        window->capacity *= 2;
    }
    window->token = window->bytes;
    window->at = window->bytes + used;
    window->end = window->bytes + kept;
    return true;
}

/* Where filling stops. Behind the pause the bytes in the window double, so that a long token is not
 * scanned too often. */
static char *fill_limit(const pyro_json_window *window)
{
    ptrdiff_t room = (ptrdiff_t)window->capacity, kept = window->end - window->bytes;
    int64_t wanted = window->pause - window->offset;
    if (wanted < kept + SHORT_READ_BYTES || wanted < 2 * kept)
        wanted = kept > SHORT_READ_BYTES ? 2 * kept : kept + SHORT_READ_BYTES;
    return window->bytes + (window->pause > 0 && wanted < room ? (ptrdiff_t)wanted : room);
}

bool pyro_json_window_refill(pyro_json_window *window)
{
    if (window->source_ended || !make_room(window))
        return false;
    /* In the middle of a token the window is filled completely: restarting the scan with every
       few bytes of a long number would take quadratic time. */
    bool fill = window->end > window->bytes;
    char *begin = window->end, *limit = fill_limit(window);
    do {
        int64_t got = pyro_source_read(window->source, window->end, (size_t)(limit - window->end),
                                       window->error);
        if (got < 0)
            window->status = (int)got;
        if (got <= 0) {
            window->source_ended = true;
            break;
        }
        window->end += got;
    } while (fill && window->end < limit);
    memset(window->end, 0, PYRO_JSON_PADDING);
    return window->status == PYRO_OK && window->end > begin;
}
