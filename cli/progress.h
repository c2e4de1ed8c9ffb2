/* Shows the progress of a long read as a line on a terminal; prints nothing to a pipe. */
#ifndef PYRO_CLI_PROGRESS_H
#define PYRO_CLI_PROGRESS_H

#include "base/containers/buf.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct pyro_progress {
    const char *label;
    bool enabled, shown;
    int width;
    int64_t start_ns, last_ns;
    atomic_flag drawing; /* readers may report from several threads */
} pyro_progress;

/* Shows nothing if `quiet`, or if standard error is not a terminal. Borrows the label. */
void pyro_progress_begin(pyro_progress *progress, const char *label, bool quiet);
/* A pyro_progress_fn; `user` is the pyro_progress. Waits a second, then draws every 0.1 s. */
void pyro_progress_update(void *user, int64_t done_bytes, int64_t total_bytes);
/* Erases the line. */
void pyro_progress_end(pyro_progress *progress);

/* The line itself, at most `width` columns: bytes, rate and, if the total is known, time left. */
void pyro_progress_line(pyro_buf *buf, const char *label, int64_t done_bytes, int64_t total_bytes,
                        int64_t elapsed_ns, int width);

#endif
