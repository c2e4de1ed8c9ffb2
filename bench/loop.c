/*
 * Measures the sampling loop's overhead per iteration, and how often its intervals contain the true
 * value. The callables sleep or spin for a time drawn from a known distribution.
 */
#include "bench/clock.h"
#include "bench/statistics/random.h"

#include <pyrometer/bench.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { OVERHEAD_RUNS = 2000000, LOOPS = 60, RUNS = 200 };

#define MEAN_NS 400000.0
#define SIGMA 0.3

typedef struct callable {
    pyro_random random;
    bool sleeps;
    double taken_ns; /* total, by its own clock */
} callable;

/* Takes a lognormal time whose mean is MEAN_NS. */
static int take_time(void *user)
{
    callable *self = user;
    double wanted = MEAN_NS * exp(SIGMA * pyro_random_normal(&self->random) - SIGMA * SIGMA / 2);
    int64_t start_ns = pyro_now_ns(), end_ns = start_ns + (int64_t)wanted;

    if (self->sleeps) {
        struct timespec end = {(time_t)(end_ns / PYRO_SECOND_NS), (long)(end_ns % PYRO_SECOND_NS)};

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    }
    while (pyro_now_ns() < end_ns)
        ;
    self->taken_ns += (double)(pyro_now_ns() - start_ns);
    return 0;
}

/* This thread's CPU time, which excludes other programs. */
static int64_t processor_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * PYRO_SECOND_NS + time.tv_nsec;
}

/* Times empty iterations; their durations are random, so that the interval stays wide. */
static void measure_overhead(const char *name, pyro_loop_options options)
{
    pyro_loop *loop;
    pyro_random random;

    pyro_random_seed(&random, 1);
    if (pyro_loop_new(&loop, &options, NULL) != PYRO_OK)
        exit(1);
    int64_t start_ns = processor_ns();
    while (pyro_loop_next(loop) != PYRO_LOOP_DONE)
        if (pyro_loop_record(loop, (int64_t)pyro_random_below(&random, 1000000), NULL) != PYRO_OK)
            exit(1);
    size_t count = pyro_loop_read(loop).count;
    printf("overhead, %s: %.0f ns per iteration, %zu iterations\n", name,
           (double)(processor_ns() - start_ns) / (double)count, count);
    pyro_loop_free(loop);
}

/* Runs one loop; counts whether its intervals contain the callable's own mean and true median. */
static void check_loop(callable *self, int *holds_own, int *holds_true, double *error)
{
    pyro_loop_options options = {.warmup_runs = 0, .min_runs = RUNS, .max_runs = RUNS};
    pyro_bench *bench;
    pyro_loop *loop;
    size_t index;

    self->taken_ns = 0;
    if (pyro_loop_new(&loop, &options, NULL) != PYRO_OK || pyro_bench_new(&bench, NULL) != PYRO_OK)
        exit(1);
    if (pyro_loop_run(loop, take_time, NULL, self, NULL) != PYRO_OK ||
        pyro_bench_add(bench, "known", "callable", &index, NULL) != PYRO_OK ||
        pyro_bench_add_loop(bench, index, loop, NULL) != PYRO_OK ||
        pyro_bench_finish(bench, NULL) != PYRO_OK)
        exit(1);
    const pyro_summary *summary = &pyro_bench_metric(&bench->results[0], "latency")->summary;
    const pyro_interval *median = &summary->percentiles[0].interval;
    double own_ms = self->taken_ns / RUNS / 1e6;
    double true_ms = MEAN_NS / 1e6 * exp(-SIGMA * SIGMA / 2);
    *holds_own += own_ms >= summary->mean_interval.low && own_ms <= summary->mean_interval.high;
    *holds_true += true_ms >= median->low && true_ms <= median->high;
    *error += fabs(summary->mean / own_ms - 1) / LOOPS;
    pyro_bench_free(bench);
    pyro_loop_free(loop);
}

int main(void)
{
    static const char *const names[] = {"spins", "sleeps"};

    measure_overhead("fixed runs",
                     (pyro_loop_options){.min_runs = OVERHEAD_RUNS, .max_runs = OVERHEAD_RUNS});
    measure_overhead("until narrow", (pyro_loop_options){.min_runs = 1,
                                                         .max_runs = OVERHEAD_RUNS,
                                                         .target_width = 1e-12,
                                                         .max_time_ns = INT64_MAX});
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        callable self = {.sleeps = sleeps == 1};
        int holds_own = 0, holds_true = 0;
        double error = 0;

        pyro_random_seed(&self.random, 5);
        for (int i = 0; i < LOOPS; i++)
            check_loop(&self, &holds_own, &holds_true, &error);
        printf("callable that %s: in %d of %d loops the mean's interval contains the mean by its "
               "own clock, in %d the median's contains the true median; means differ by %.4f%%\n",
               names[sleeps], holds_own, LOOPS, holds_true, error * 100);
    }
    return 0;
}
