/* What pyrometer top shows: the state of a recording, and where the time of its last part went. */
#ifndef PYRO_CLI_TOP_SCREEN_H
#define PYRO_CLI_TOP_SCREEN_H

#include "base/containers/buf.h"

#include <pyrometer/error.h>
#include <stdint.h>

typedef enum top_table { TOP_LAYERS, TOP_OPS, TOP_KERNELS } top_table;

typedef struct top_view {
    const char *path;
    int64_t last_ns; /* how much of the recording */
    top_table table;
    bool is_paused;
    bool shows_keys; /* a terminal, not a file */
    int columns, rows; /* rows 0: no limit */
} top_view;

/* Fails if the file is not a recording; a recording without events has a screen. */
int top_screen(pyro_buf *buf, const top_view *view, pyro_error *error);

#endif
