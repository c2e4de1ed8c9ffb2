/* Options of a verdict, and the exit code that follows from one; diff and bench have both. */
#ifndef PYRO_CLI_VERDICT_H
#define PYRO_CLI_VERDICT_H

#include "options.h"

#include <pyrometer/bench.h>

/* Values of pyro_verdict_option_table. */
typedef struct pyro_verdict_values {
    const char *delta, *floor, *noise; /* "2%", "0.1ms", "1%" */
    int fail_on;                       /* -1: nothing, else an index of its choices */
    bool any_machine;
} pyro_verdict_values;

#define PYRO_VERDICT_INIT {NULL, NULL, NULL, -1, false}

extern const pyro_option pyro_verdict_option_table[];

/* PYRO_ERROR_ARGUMENT with what cannot be understood. */
int pyro_verdict_settle(pyro_verdict_options *out, const pyro_verdict_values *values,
                        pyro_error *error);
int pyro_verdict_exit_code(const pyro_comparison *comparison, const pyro_verdict_values *values);

#endif
