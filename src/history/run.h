/* A run in memory, before it is stored. */
#ifndef PYRO_HISTORY_RUN_H
#define PYRO_HISTORY_RUN_H

#include "base/containers/arena.h"
#include "base/containers/buf.h"
#include "base/sha256.h"

#include <pyrometer/history.h>

/* Limits: a file with more is damaged or hostile. */
enum {
    PYRO_RUN_METRICS_MAX = 100000,
    PYRO_RUN_SAMPLES_MAX = 10000000, /* per metric */
    PYRO_RUN_TEXT_MAX = 4096, /* bytes of a name, cut at the end of a character */
    PYRO_RUNS_MAX = 10000000
};

struct pyro_run_store {
    pyro_run run;
    pyro_arena arena;
    size_t metric_capacity;
};

/* The key under which a run is stored once: its own, or the hash of its labels and numbers. */
void pyro_run_key(const pyro_run *run, char hex[PYRO_SHA256_HEX]);

/* Statistics of a metric, from its samples if it has them. */
int pyro_run_summarize(pyro_run_statistics *out, const pyro_run_metric *metric, pyro_error *error);

/* Appends a run; takes ownership of it, even on failure. */
int pyro_runs_add(pyro_runs *runs, pyro_run *run, pyro_error *error);

/* Writes runs with their labels as JSON that pyro_runs_parse() reads. */
int pyro_runs_write(pyro_buf *out, const pyro_runs *runs, pyro_error *error);

/* Hashes a text into a fingerprint of 16 digits. */
enum { PYRO_FINGERPRINT = 17 };
void pyro_fingerprint(char out[PYRO_FINGERPRINT], const char *text);

#endif
