/* Options of a verdict, and its exit code. Shared by diff and bench. */
#ifndef PYRO_CLI_OPTIONS_VERDICT_H
#define PYRO_CLI_OPTIONS_VERDICT_H

#include "cli/options/options.h"

#include <pyrometer/bench.h>

/* Values of pyro_verdict_option_table. */
typedef struct pyro_verdict_values {
    const char *delta, *floor, *noise; /* "2%", "0.1ms", "1%" */
    unsigned fail_on;                  /* bits of its choices */
    bool any_machine;
} pyro_verdict_values;

#define PYRO_VERDICT_INIT {NULL, NULL, NULL, 0, false}

extern const pyro_option pyro_verdict_option_table[];

/* PYRO_ERROR_ARGUMENT names the value that is invalid. */
int pyro_verdict_settle(pyro_verdict_options *out, const pyro_verdict_values *values,
                        pyro_error *error);
int pyro_verdict_exit_code(const pyro_comparison *comparison, const pyro_verdict_values *values);
/* The exit code when no verdict is possible. */
int pyro_verdict_unknown_code(const pyro_verdict_values *values);
/*
 * Warns on standard error when "cannot tell" passes because --fail-on names only regressions.
 * Annotates in GitHub Actions every metric that regressed or has no verdict.
 */
void pyro_verdict_annotate(const pyro_comparison *comparison, const pyro_verdict_values *values);

#endif
