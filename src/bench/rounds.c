/* Plans the rounds of a comparison and decides when there are enough. */
#include "bench/rounds.h"

#include "bench/verdict.h"

#include <math.h>

/* Default seconds per side of a comparison, which noise makes longer than one command alone. */
#define SIDE_TIME_S 60.0

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

pyro_rounds pyro_rounds_plan(const pyro_rounds_request *request)
{
    int64_t most = request->most > 0 ? request->most : PYRO_ROUNDS_MAX;
    int64_t least = request->least > 0 ? request->least : PYRO_ROUNDS_MIN;
    double side_s = request->side_s > 0 ? request->side_s : SIDE_TIME_S;

    if (request->exact > 0)
        least = most = request->exact;
    return (pyro_rounds){.least = smaller(least, most),
                         .most = most,
                         .side_s = request->most > 0 ? 0 : side_s,
                         .total_s = request->total_s};
}

void pyro_rounds_limit_by_earlier_base(pyro_rounds *rounds)
{
    if (rounds->side_s <= 0 || rounds->least >= rounds->most)
        return;
    rounds->side_s = 0;
    rounds->most = rounds->least > PYRO_ROUNDS_USUAL ? rounds->least : PYRO_ROUNDS_USUAL;
}

bool pyro_rounds_base_has_replicates(const pyro_bench *base)
{
    for (size_t i = 0; i < base->result_count; i++)
        if (base->results[i].process_count < PYRO_REPLICATES_MIN)
            return false;
    return base->result_count > 0;
}

void pyro_rounds_start(pyro_rounds *rounds, int64_t now_ns)
{
    rounds->start_ns = rounds->round_start_ns = now_ns;
}

void pyro_rounds_end_round(pyro_rounds *rounds, int64_t now_ns)
{
    rounds->round_s = (double)(now_ns - rounds->round_start_ns) / 1e9;
    rounds->round_start_ns = now_ns;
}

pyro_rounds_estimate pyro_rounds_estimate_time(const pyro_rounds *rounds, double side_s)
{
    double round_s = rounds->round_s;
    int64_t usual = smaller(rounds->most, PYRO_ROUNDS_USUAL);
    double least_s = (double)rounds->least * round_s, most_s = (double)usual * round_s;

    if (rounds->side_s > 0 && rounds->most > usual && side_s > 0) {
        double fitting = fmin((double)rounds->most, rounds->side_s / side_s);

        most_s = fmax(most_s, fitting * round_s);
    }
    return (pyro_rounds_estimate){fmin(least_s, rounds->total_s + round_s),
                                  fmin(most_s, rounds->total_s + round_s)};
}

double pyro_round_samples_side_s(const pyro_round_samples *samples)
{
    double sum_ns = 0;

    for (size_t i = 0; i < samples->current_count; i++)
        sum_ns += samples->current_ns[i];
    return sum_ns / 1e9;
}

bool pyro_rounds_reached_limit(pyro_rounds *rounds, int64_t done, double side_s, int64_t now_ns)
{
    double elapsed_s = (double)(now_ns - rounds->start_ns) / 1e9;

    if (done >= rounds->most)
        return true;
    rounds->out_of_time = done >= PYRO_REPLICATES_MIN && elapsed_s >= rounds->total_s;
    if (rounds->out_of_time)
        return true;
    return rounds->side_s > 0 && done >= PYRO_ROUNDS_USUAL && done >= rounds->least &&
           side_s >= rounds->side_s;
}

bool pyro_rounds_is_look_due(const pyro_rounds *rounds, int64_t done)
{
    int64_t step = done / 10 > 1 ? done / 10 : 1;

    return done >= rounds->least && done < rounds->most && done % step == 0;
}

/* Half the width of the interval of a change, as a logarithm; NaN without an interval. */
static double half_width(const pyro_verdict_row *row)
{
    return log((1 + row->interval.high) / (1 + row->interval.low)) / 2;
}

static int is_narrow(const pyro_round_samples *samples, const pyro_verdict_options *verdict,
                     bool *narrow, pyro_error *error)
{
    double delta = verdict->delta > 0 ? verdict->delta : PYRO_DEFAULT_DELTA;
    pyro_verdict_row row = {.processes = true, .interleaved = samples->is_interleaved};

    *narrow = false;
    if (samples->base_count < PYRO_REPLICATES_MIN)
        return PYRO_OK;
    /* A constant factor between the two sides (ns, ms) shifts the interval but keeps its width. */
    int status = pyro_verdict_of(&row, samples->base, samples->base_count, samples->current_ns,
                                 samples->current_count, false, verdict, error);
    *narrow = status == PYRO_OK && half_width(&row) <= log1p(delta) / 2;
    return status;
}

int pyro_rounds_is_enough(pyro_rounds *rounds, const pyro_round_samples *samples,
                          const pyro_verdict_options *verdict, int64_t now_ns, bool *enough,
                          pyro_error *error)
{
    int64_t done = (int64_t)samples->current_count;
    bool narrow = false;
    int status = PYRO_OK;

    if (pyro_rounds_is_look_due(rounds, done))
        status = is_narrow(samples, verdict, &narrow, error);
    *enough = pyro_rounds_reached_limit(rounds, done, pyro_round_samples_side_s(samples), now_ns) ||
              narrow;
    return status;
}

static int are_narrow(const pyro_bench *base, const pyro_bench *current,
                      const pyro_verdict_options *verdict, bool *narrow, pyro_error *error)
{
    pyro_comparison *comparison = NULL;
    int status = pyro_bench_compare(&comparison, base, current, verdict, error);

    *narrow = status == PYRO_OK;
    for (size_t i = 0; *narrow && i < comparison->row_count; i++) {
        double width = half_width(&comparison->rows[i]);

        /* If there is no interval by now, more processes would not give one. */
        *narrow = isnan(width) || width <= log1p(comparison->rows[i].delta) / 2;
    }
    pyro_comparison_free(comparison);
    return status;
}

int pyro_rounds_are_results_enough(pyro_rounds *rounds, int64_t done, const pyro_bench *base,
                                   const pyro_bench *current, const pyro_verdict_options *verdict,
                                   int64_t now_ns, bool *enough, pyro_error *error)
{
    bool narrow = false;
    int status = PYRO_OK;

    if (pyro_rounds_is_look_due(rounds, done))
        status = are_narrow(base, current, verdict, &narrow, error);
    *enough = pyro_rounds_reached_limit(rounds, done, 0, now_ns) || narrow;
    return status;
}
