/* Options of pyrometer trace. */
#ifndef PYRO_CLI_TRACE_OPTIONS_H
#define PYRO_CLI_TRACE_OPTIONS_H

#include "cli/command.h"
#include "cli/common.h"
#include "cli/history/store.h"

typedef struct trace_values {
    int view;  /* index of a view, or -1: the overview */
    int64_t top;   /* -1: not given */
    int64_t depth; /* -1: not given */
    int64_t step;  /* -1: not given */
    int phase;     /* index of a phase, or -1 */
    const char *filter, *layers_from, *steps_from, *model;
    const char *annotations, *provenance, *peaks;
    const char *chrome, *perfetto;
    pyro_words ignored; /* ids of findings */
    bool folded, strict, check;
    int64_t threads;
    pyro_history_store_values history;
    pyro_common common;
} trace_values;

extern const pyro_option_group pyro_trace_option_groups[];

#endif
