/*
 * The stopping rule of a comparison in interleaved rounds: how many rounds to run, when to check
 * the interval of the change, and when to stop. It starts no process and reads no clock: the caller
 * passes samples and the time of CLOCK_MONOTONIC.
 */
#ifndef PYRO_BENCH_ROUNDS_H
#define PYRO_BENCH_ROUNDS_H

#include <pyrometer/bench.h>
#include <stdbool.h>
#include <stdint.h>

/* Rounds before the first check of the interval, rounds of a usual comparison, and the limit. */
enum { PYRO_ROUNDS_MIN = 10, PYRO_ROUNDS_USUAL = 30, PYRO_ROUNDS_MAX = 500 };

/* The user's request; 0: not given. */
typedef struct pyro_rounds_request {
    int64_t exact; /* this many rounds, whatever is measured */
    int64_t least, most;
    double side_s; /* seconds per side after which no more than PYRO_ROUNDS_USUAL are run */
    double total_s; /* seconds of the whole comparison; always given */
} pyro_rounds_request;

/* A round runs every side once. */
typedef struct pyro_rounds {
    int64_t least, most;
    double side_s;  /* > 0: more than PYRO_ROUNDS_USUAL only until one side took this long */
    double total_s; /* no round starts later, if there are enough replicates for an interval */
    int64_t start_ns, round_start_ns;
    double round_s;   /* duration of the last round */
    bool out_of_time; /* total_s ended the comparison */
} pyro_rounds;

/* Samples of one benchmark on both sides; `base` may be in another unit of time. */
typedef struct pyro_round_samples {
    const double *base, *current_ns;
    size_t base_count, current_count;
    bool is_interleaved; /* sample i of both sides is of the same round */
} pyro_round_samples;

/* Estimated seconds of a whole comparison. */
typedef struct pyro_rounds_estimate {
    double least_s, most_s;
} pyro_rounds_estimate;

pyro_rounds pyro_rounds_plan(const pyro_rounds_request *request);
/* The base was recorded earlier: more rounds do not remove the drift of the machine since then. */
void pyro_rounds_limit_by_earlier_base(pyro_rounds *rounds);
/* Whether an earlier result ran in enough processes to be compared with new processes. */
bool pyro_rounds_base_has_replicates(const pyro_bench *base);

void pyro_rounds_start(pyro_rounds *rounds, int64_t now_ns);
/* Call at the end of every round, including warm-up. */
void pyro_rounds_end_round(pyro_rounds *rounds, int64_t now_ns);
/* Estimates from the last round, in which one side took `side_s`. */
pyro_rounds_estimate pyro_rounds_estimate_time(const pyro_rounds *rounds, double side_s);
/* Seconds that the new side has run. */
double pyro_round_samples_side_s(const pyro_round_samples *samples);

/* Whether a limit forbids another round after `done`, whatever was measured. */
bool pyro_rounds_reached_limit(pyro_rounds *rounds, int64_t done, double side_s, int64_t now_ns);
/*
 * Whether to check the interval after `done` rounds: often at first and less later, because
 * computing it takes time. Never if an exact number of rounds was requested.
 */
bool pyro_rounds_is_look_due(const pyro_rounds *rounds, int64_t done);

/*
 * After a round: whether it was the last one. A limit ends a comparison, and so does an interval of
 * the change whose half width is at most half of a change that matters. The position of the
 * interval does not count: stopping on a verdict would bias verdicts.
 */
int pyro_rounds_is_enough(pyro_rounds *rounds, const pyro_round_samples *samples,
                          const pyro_verdict_options *verdict, int64_t now_ns, bool *enough,
                          pyro_error *error);
/* The same after `done` processes, for all metrics of two sets of results. */
int pyro_rounds_are_results_enough(pyro_rounds *rounds, int64_t done, const pyro_bench *base,
                                   const pyro_bench *current, const pyro_verdict_options *verdict,
                                   int64_t now_ns, bool *enough, pyro_error *error);

#endif
