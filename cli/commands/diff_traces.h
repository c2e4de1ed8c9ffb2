/* Compares two runs, given as traces or recordings, for pyrometer diff. */
#ifndef PYRO_CLI_COMMANDS_DIFF_TRACES_H
#define PYRO_CLI_COMMANDS_DIFF_TRACES_H

#include "cli/common.h"

/* True when a regular file begins like a trace (JSON, gzip, zstd) or a recording. */
bool pyro_is_trace(const char *path);

/* Reports what changed; `top` as in pyro_report_options. Returns the exit code. */
int pyro_diff_traces(const char *before, const char *after, int top, const pyro_common *common);

#endif
