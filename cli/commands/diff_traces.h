/* pyrometer diff of two runs: traces or recordings. */
#ifndef PYRO_CLI_COMMANDS_DIFF_TRACES_H
#define PYRO_CLI_COMMANDS_DIFF_TRACES_H

#include "cli/common.h"

/* Whether a regular file begins as traces do: JSON, gzip or zstd, or a recording. */
bool pyro_is_trace(const char *path);

/* Shows what changed; `top` as pyro_report_options has it. Returns the exit code. */
int pyro_diff_traces(const char *before, const char *after, int top, const pyro_common *common);

#endif
