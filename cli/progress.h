/* A line on a terminal that says how far a long read has come; nothing in a pipe. */
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

/* Standard error must be a terminal, and `quiet` not asked for. Borrows the label. */
void pyro_progress_begin(pyro_progress *progress, const char *label, bool quiet);
/* A pyro_progress_fn; `user` is the pyro_progress. Draws after a second, ten times a second. */
void pyro_progress_update(void *user, int64_t done_bytes, int64_t total_bytes);
/* Takes the line away. */
void pyro_progress_end(pyro_progress *progress);

/* The line itself, at most `width` columns: bytes, rate and, where the total is known, time left. */
void pyro_progress_line(pyro_buf *buf, const char *label, int64_t done_bytes, int64_t total_bytes,
                        int64_t elapsed_ns, int width);

#endif
