/* Prints how many rounds a comparison takes, and how long that will be. */
#ifndef PYRO_CLI_BENCH_ROUNDS_H
#define PYRO_CLI_BENCH_ROUNDS_H

#include "bench/rounds.h"

/* The limits, before the first round, on standard error. `what`: "runs", "processes". */
void pyro_rounds_print_plan(const pyro_rounds *rounds, const char *what);
/* The time of all rounds, estimated after one of which one side took `side_s`. */
void pyro_rounds_print_estimate(const pyro_rounds *rounds, double side_s);

#endif
