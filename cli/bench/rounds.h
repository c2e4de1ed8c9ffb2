/* How many rounds a comparison takes: what ends it, and how long that will take. */
#ifndef PYRO_CLI_BENCH_ROUNDS_H
#define PYRO_CLI_BENCH_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Replicates of a comparison: enough for an interval, and how many there may be. */
enum { PYRO_ROUNDS_MIN = 10, PYRO_ROUNDS_USUAL = 30, PYRO_ROUNDS_MAX = 500 };

/* A round runs every side once. */
typedef struct pyro_rounds {
    int64_t least, most; /* rounds; `most` is what was asked for, or as many as fit in side_s */
    double side_s;  /* > 0: more than PYRO_ROUNDS_USUAL only until one side took so long */
    double total_s; /* no round starts later, once there are PYRO_REPLICATES_MIN */
    bool quiet;
    int64_t start_ns, round_ns; /* when all began, and this round */
    double round_s;             /* what the last round took */
    bool announced;
    bool out_of_time; /* total_s ended it */
} pyro_rounds;

/* Says on standard error how long it may take, and starts the clock. `what`: "runs", "processes". */
void pyro_rounds_begin(pyro_rounds *rounds, const char *what);
/* At the end of every round, warm-up too. */
void pyro_rounds_tick(pyro_rounds *rounds);
/*
 * After `done` rounds, of which one side took `side_s` in all: whether no further one is to start,
 * whatever was measured. After the first it says how long the whole will take.
 */
bool pyro_rounds_end(pyro_rounds *rounds, int64_t done, double side_s);
/* Whether the interval may be looked at: often at first, then less, because that takes time. */
bool pyro_rounds_check(const pyro_rounds *rounds, int64_t done);

#endif
