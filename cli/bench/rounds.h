/* Prints the plan and the estimated duration of a comparison. */
#ifndef PYRO_CLI_BENCH_ROUNDS_H
#define PYRO_CLI_BENCH_ROUNDS_H

#include "bench/rounds.h"

/* Prints the limits before the first round. `what` is "runs" or "processes". */
void pyro_rounds_print_plan(const pyro_rounds *rounds, const char *what);
/* Prints the time of all rounds, estimated from one in which a side took `side_s`. */
void pyro_rounds_print_estimate(const pyro_rounds *rounds, double side_s);

#endif
