/*
 * Runs the sampling loop: warm-up, then iterations until the median's interval is narrow enough or
 * a limit is reached. It never considers what the verdict would be.
 */
#include "base/containers/buf.h"
#include "base/error.h"
#include "bench/clock.h"
#include "bench/gpu.h"
#include "bench/statistics/random.h"
#include "bench/statistics/statistics.h"

#include <pyrometer/bench.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARMUP_WINDOW = 20, WARMUP_RUNS_MAX = 300, MIN_RUNS = 10 };

/* At most twice the wanted number of throttled samples are discarded, plus this many. */
enum { DISCARDED_MORE = 20 };

#define MAX_TIME_NS (10 * PYRO_SECOND_NS)
#define TARGET_WIDTH 0.02
#define CONFIDENCE 0.95
/* Sleeps end late by tens of microseconds, so the last part of a wait spins. */
#define SPIN_NS INT64_C(200000)

typedef struct series {
    double *values;
    size_t count, capacity;
} series;

struct pyro_loop {
    pyro_loop_options options;
    pyro_loop_phase phase;
    pyro_loop_end end;
    series latency, service, warmup;
    double *scratch; /* as large as `latency` at the last check */
    size_t scratch_capacity, next_check, needed_runs;
    size_t window_start; /* of a detected warm-up: where the two windows begin */
    bool settled;
    double elapsed_ns, warmup_elapsed_ns;
    int64_t start_ns, intended_ns, schedule_start_ns, phase_start_ns;
    double schedule_offset_ns;
    pyro_random random;
    pyro_gpu_watch watch; /* gpu NULL: none */
    size_t trusted;       /* samples that the last look accepted */
    size_t discarded, throttled;
    bool was_throttled;
};

static void fill_defaults(pyro_loop_options *options)
{
    if (options->warmup_window <= 1)
        options->warmup_window = WARMUP_WINDOW;
    if (options->warmup_runs_max <= 0)
        options->warmup_runs_max = WARMUP_RUNS_MAX;
    if (options->min_runs <= 0)
        options->min_runs = MIN_RUNS;
    if (options->max_time_ns <= 0)
        options->max_time_ns = MAX_TIME_NS;
    if (!(options->target_width > 0))
        options->target_width = TARGET_WIDTH;
}

int pyro_loop_new(pyro_loop **out, const pyro_loop_options *options, pyro_error *error)
{
    pyro_loop *loop = calloc(1, sizeof *loop);

    *out = NULL;
    if (!loop)
        return pyro_fail_memory(error);
    if (options)
        loop->options = *options;
    else
        loop->options.warmup_runs = -1;
    fill_defaults(&loop->options);
    const pyro_loop_options *chosen = &loop->options;
    if ((chosen->max_runs > 0 && chosen->max_runs < chosen->min_runs) ||
        !(chosen->deepest_percentile >= 0 && chosen->deepest_percentile < 1) ||
        !(chosen->rate_per_s >= 0 && chosen->rate_per_s <= 1e9)) {
        free(loop);
        return pyro_fail(
            error, PYRO_ERROR_ARGUMENT,
            "invalid loop limits: max_runs below min_runs, or percentile or rate out of range");
    }
    loop->needed_runs = (size_t)chosen->min_runs;
    if (chosen->deepest_percentile > 0) {
        size_t needs = pyro_quantile_needs(chosen->deepest_percentile, CONFIDENCE);
        loop->needed_runs = needs > loop->needed_runs ? needs : loop->needed_runs;
    }
    loop->settled = true;
    loop->phase = chosen->warmup_runs == 0 ? PYRO_LOOP_MEASURE : PYRO_LOOP_WARMUP;
    pyro_random_seed(&loop->random, chosen->seed);
    *out = loop;
    return PYRO_OK;
}

void pyro_loop_free(pyro_loop *loop)
{
    if (!loop)
        return;
    free(loop->latency.values);
    free(loop->service.values);
    free(loop->warmup.values);
    free(loop->scratch);
    pyro_gpu_watch_free(&loop->watch);
    free(loop);
}

int pyro_loop_watch(pyro_loop *loop, const pyro_gpu *gpu, pyro_error *error)
{
    if (loop->watch.gpu || loop->latency.count > 0 || loop->warmup.count > 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "a loop watches one GPU, set before its first iteration");
    pyro_gpu_watch_begin(&loop->watch, gpu);
    return PYRO_OK;
}

static bool add_sample(series *to, double value)
{
    if (to->count == to->capacity &&
        !pyro_grow(&to->values, &to->capacity, to->count + 1, sizeof *to->values))
        return false;
    to->values[to->count++] = value;
    return true;
}

/* The schedule depends on the seed only, never on how long anything took. */
static void wait_for_schedule(pyro_loop *loop)
{
    double gap = loop->options.poisson ? pyro_random_exponential(&loop->random) : 1;

    if (loop->schedule_start_ns == 0)
        loop->schedule_start_ns = pyro_now_ns();
    loop->intended_ns = loop->schedule_start_ns + (int64_t)loop->schedule_offset_ns;
    loop->schedule_offset_ns += gap * 1e9 / loop->options.rate_per_s;
    int64_t sleep_until = loop->intended_ns - SPIN_NS;
    if (pyro_now_ns() < sleep_until) {
        struct timespec time = {(time_t)(sleep_until / PYRO_SECOND_NS),
                                (long)(sleep_until % PYRO_SECOND_NS)};

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
            ;
    }
    while (pyro_now_ns() < loop->intended_ns)
        ;
}

pyro_loop_phase pyro_loop_next(pyro_loop *loop)
{
    if (loop->phase == PYRO_LOOP_MEASURE && loop->options.rate_per_s > 0)
        wait_for_schedule(loop);
    loop->start_ns = pyro_now_ns();
    if (loop->phase_start_ns == 0)
        loop->phase_start_ns = loop->start_ns;
    return loop->phase;
}

/* Whether the median's interval, by order statistics, is as narrow as requested. */
static int is_narrow(pyro_loop *loop, bool *narrow, pyro_error *error)
{
    size_t count = loop->latency.count;
    pyro_rank_bounds ranks = pyro_quantile_ranks(count, 0.5, CONFIDENCE);

    *narrow = false;
    if (ranks.low == 0 || ranks.high > count)
        return PYRO_OK;
    if (!pyro_grow(&loop->scratch, &loop->scratch_capacity, count, sizeof *loop->scratch))
        return pyro_fail_memory(error);
    memcpy(loop->scratch, loop->latency.values, count * sizeof *loop->scratch);
    double low = pyro_select(loop->scratch, count, ranks.low - 1);
    double high = pyro_select(loop->scratch, count, ranks.high - 1);
    double median = pyro_select(loop->scratch, count, count / 2);
    *narrow = high - low <= loop->options.target_width * median;
    return PYRO_OK;
}

static void finish(pyro_loop *loop, pyro_loop_end end)
{
    loop->phase = PYRO_LOOP_DONE;
    loop->end = end;
}

/* Whether a time limit was reached; the one that overrides numbers of runs includes warm-up. */
static bool is_out_of_time(const pyro_loop *loop)
{
    const pyro_loop_options *options = &loop->options;
    double limit_ns = (double)options->max_time_ns;

    if (options->max_time_wins)
        return loop->elapsed_ns >= limit_ns - loop->warmup_elapsed_ns;
    return loop->latency.count >= (size_t)options->min_runs && loop->elapsed_ns >= limit_ns;
}

/*
 * Each check comes after a quarter more samples, so that the cost of checks per sample is bounded
 * however long the loop runs.
 */
static int decide(pyro_loop *loop, pyro_error *error)
{
    const pyro_loop_options *options = &loop->options;
    size_t count = loop->latency.count;
    bool enough = count >= loop->needed_runs && loop->elapsed_ns >= (double)options->min_time_ns;
    bool out_of_runs = options->max_runs > 0 && count >= (size_t)options->max_runs;
    bool out_of_time = is_out_of_time(loop);
    bool narrow;

    if (out_of_runs && options->min_runs == options->max_runs) {
        finish(loop, PYRO_LOOP_FIXED);
        return PYRO_OK;
    }
    if (!out_of_runs && !out_of_time && (!enough || count < loop->next_check))
        return PYRO_OK;
    loop->next_check = count + (count / 4 > 0 ? count / 4 : 1);
    int status = is_narrow(loop, &narrow, error);
    if (status != PYRO_OK)
        return status;
    if (narrow && enough)
        finish(loop, PYRO_LOOP_NARROW);
    else if (out_of_runs || out_of_time)
        finish(loop, PYRO_LOOP_NOISY);
    return PYRO_OK;
}

/* Accepts the samples since the last look if the GPU was not throttled at either end of them. */
static int look_at_gpu(pyro_loop *loop, int64_t now_ns, pyro_error *error)
{
    size_t fresh = loop->latency.count - loop->trusted;
    bool throttled;
    int status = pyro_gpu_watch_look(&loop->watch, now_ns, &throttled, error);

    if (status != PYRO_OK)
        return status;
    if (throttled || loop->was_throttled) {
        bool enough = loop->discarded >= 2 * loop->needed_runs + DISCARDED_MORE;
        bool last = is_out_of_time(loop) && loop->trusted == 0;

        if (enough || last) {
            loop->throttled += fresh;
        } else {
            loop->discarded += fresh;
            loop->latency.count = loop->service.count = loop->trusted;
        }
    }
    loop->was_throttled = throttled;
    loop->trusted = loop->latency.count;
    return PYRO_OK;
}

/* Decides with the samples that the GPU's state allows; new ones replace those that it rejects. */
static int decide_watched(pyro_loop *loop, pyro_error *error)
{
    int64_t now_ns = pyro_now_ns();
    int status = decide(loop, error);
    bool done = loop->phase == PYRO_LOOP_DONE;
    size_t discarded = loop->discarded;

    if (status != PYRO_OK || (!done && !pyro_gpu_watch_is_due(&loop->watch, now_ns)))
        return status;
    status = look_at_gpu(loop, now_ns, error);
    if (status == PYRO_OK && done && loop->discarded > discarded && !is_out_of_time(loop)) {
        loop->phase = PYRO_LOOP_MEASURE;
        loop->end = PYRO_LOOP_RUNNING;
        loop->next_check = 0;
    }
    return status;
}

static int decide_now(pyro_loop *loop, pyro_error *error)
{
    return loop->watch.gpu ? decide_watched(loop, error) : decide(loop, error);
}

/* The clock rises during warm-up; later clocks are compared with the highest one. */
static int look_while_warming(pyro_loop *loop, pyro_error *error)
{
    int64_t now_ns = pyro_now_ns();

    if (!loop->watch.gpu || !pyro_gpu_watch_is_due(&loop->watch, now_ns))
        return PYRO_OK;
    return pyro_gpu_watch_look(&loop->watch, now_ns, &loop->was_throttled, error);
}

static void spend(pyro_loop *loop, double service_ns)
{
    if (loop->options.wall_time)
        loop->elapsed_ns = (double)(pyro_now_ns() - loop->phase_start_ns);
    else
        loop->elapsed_ns += service_ns;
}

static void begin_measuring(pyro_loop *loop)
{
    loop->phase = PYRO_LOOP_MEASURE;
    loop->warmup_elapsed_ns = loop->elapsed_ns;
    loop->elapsed_ns = 0;
    loop->phase_start_ns = pyro_now_ns();
}

/* Two windows that agree are steady, so they count as samples. */
static int keep_windows(pyro_loop *loop, pyro_error *error)
{
    size_t start = loop->window_start, end = loop->warmup.count;

    begin_measuring(loop);
    if (loop->options.rate_per_s > 0)
        return PYRO_OK; /* the schedule did not start them */
    loop->warmup.count = start;
    for (size_t i = start; i < end; i++) {
        double value = loop->warmup.values[i];

        if (!add_sample(&loop->latency, value) || !add_sample(&loop->service, value))
            return pyro_fail_memory(error);
        loop->elapsed_ns += value;
        loop->warmup_elapsed_ns -= value;
        loop->phase_start_ns -= (int64_t)value;
    }
    return decide_now(loop, error);
}

static int detect_warmup(pyro_loop *loop, pyro_error *error)
{
    size_t window = (size_t)loop->options.warmup_window, count = loop->warmup.count;

    if (loop->window_start == 0)
        loop->window_start = 1; /* the first call is never representative */
    if (count >= loop->window_start + 2 * window) {
        const double *first = loop->warmup.values + loop->window_start;

        if (!pyro_grow(&loop->scratch, &loop->scratch_capacity, 2 * window, sizeof *loop->scratch))
            return pyro_fail_memory(error);
        if (pyro_windows_agree(first, first + window, window, loop->scratch))
            return keep_windows(loop, error);
        loop->window_start++;
    }
    if (count >= (size_t)loop->options.warmup_runs_max + 2 * window ||
        loop->elapsed_ns >= (double)loop->options.max_time_ns / 2) {
        loop->settled = false;
        begin_measuring(loop);
    }
    return PYRO_OK;
}

static int record_warmup(pyro_loop *loop, double service_ns, pyro_error *error)
{
    const pyro_loop_options *options = &loop->options;
    int status = look_while_warming(loop, error);

    if (status != PYRO_OK)
        return status;
    if (!add_sample(&loop->warmup, service_ns))
        return pyro_fail_memory(error);
    if (options->warmup_runs < 0)
        return detect_warmup(loop, error);
    if (loop->warmup.count >= (size_t)options->warmup_runs ||
        (options->max_time_wins && loop->elapsed_ns >= (double)options->max_time_ns / 2))
        begin_measuring(loop);
    return PYRO_OK;
}

static int record(pyro_loop *loop, double latency_ns, double service_ns, pyro_error *error)
{
    if (loop->phase == PYRO_LOOP_DONE)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the loop has ended");
    spend(loop, service_ns);
    if (loop->phase == PYRO_LOOP_WARMUP)
        return record_warmup(loop, service_ns, error);
    if (loop->options.rate_per_s > 0)
        loop->elapsed_ns = (double)(pyro_now_ns() - loop->schedule_start_ns);
    if (!add_sample(&loop->latency, latency_ns) || !add_sample(&loop->service, service_ns))
        return pyro_fail_memory(error);
    return decide_now(loop, error);
}

static int64_t late_by(const pyro_loop *loop)
{
    bool scheduled = loop->phase == PYRO_LOOP_MEASURE && loop->options.rate_per_s > 0;

    return scheduled ? loop->start_ns - loop->intended_ns : 0;
}

int pyro_loop_tick(pyro_loop *loop, pyro_error *error)
{
    int64_t duration_ns = pyro_now_ns() - loop->start_ns;

    return record(loop, (double)(duration_ns + late_by(loop)), (double)duration_ns, error);
}

int pyro_loop_record(pyro_loop *loop, int64_t duration_ns, pyro_error *error)
{
    if (duration_ns < 0)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "invalid duration: below 0");
    return record(loop, (double)(duration_ns + late_by(loop)), (double)duration_ns, error);
}

void pyro_loop_stop(pyro_loop *loop)
{
    if (loop->phase != PYRO_LOOP_DONE)
        finish(loop, PYRO_LOOP_STOPPED);
}

pyro_loop_samples pyro_loop_read(const pyro_loop *loop)
{
    return (pyro_loop_samples){
        .latency_ns = loop->latency.values,
        .service_ns = loop->service.values,
        .count = loop->latency.count,
        .warmup_ns = loop->warmup.values,
        .warmup_count = loop->warmup.count,
        .warmup_settled = loop->settled,
        .wanted_count = loop->options.min_runs == loop->options.max_runs
                            ? (size_t)loop->options.max_runs
                            : 0,
        .discarded_count = loop->discarded,
        .throttled_count = loop->throttled,
        .gpu = pyro_gpu_watch_read(&loop->watch),
        .rate_per_s = loop->options.rate_per_s,
        .end = loop->end,
    };
}

int pyro_loop_run(pyro_loop *loop, pyro_loop_callback run, pyro_loop_callback synchronize,
                  void *user, pyro_error *error)
{
    int status = PYRO_OK;

    while (status == PYRO_OK && loop->phase != PYRO_LOOP_DONE) {
        if (synchronize)
            status = synchronize(user);
        if (status == PYRO_OK) {
            pyro_loop_next(loop);
            status = run(user);
        }
        if (status == PYRO_OK && synchronize)
            status = synchronize(user);
        if (status == PYRO_OK)
            status = pyro_loop_tick(loop, error);
    }
    if (status != PYRO_OK)
        pyro_loop_stop(loop);
    return status;
}
