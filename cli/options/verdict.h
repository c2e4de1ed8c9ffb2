/* Options of a verdict, and the exit code that follows from one; diff and bench have both. */
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

/* PYRO_ERROR_ARGUMENT with what cannot be understood. */
int pyro_verdict_settle(pyro_verdict_options *out, const pyro_verdict_values *values,
                        pyro_error *error);
int pyro_verdict_exit_code(const pyro_comparison *comparison, const pyro_verdict_values *values);
/* The exit code where no verdict can be given. */
int pyro_verdict_unknown_code(const pyro_verdict_values *values);
/*
 * Warns on standard error where "cannot tell" passes because --fail-on asks for regressions alone,
 * and GitHub (GITHUB_ACTIONS) of every metric that regressed or cannot be told.
 */
void pyro_verdict_annotate(const pyro_comparison *comparison, const pyro_verdict_values *values);

#endif
