/* Bounds of a comparison in rounds and time, and the lines that announce them. */
#include "cli/bench/rounds.h"

#include "base/text/units.h"
#include "bench/clock.h"
#include "bench/verdict.h"

#include <math.h>
#include <stdio.h>

static const char *duration(char text[PYRO_UNIT_TEXT], double seconds)
{
    return pyro_format_duration(text, llround(fmin(seconds, 1e9) * 1e9));
}

void pyro_rounds_begin(pyro_rounds *rounds, const char *what)
{
    char side[PYRO_UNIT_TEXT], total[PYRO_UNIT_TEXT];

    rounds->start_ns = rounds->round_ns = pyro_now_ns();
    if (rounds->quiet)
        return;
    if (rounds->least == rounds->most) {
        fprintf(stderr, "Comparing: %lld %s of each side", (long long)rounds->most, what);
    } else {
        int64_t usual = rounds->most < PYRO_ROUNDS_USUAL ? rounds->most : PYRO_ROUNDS_USUAL;

        fprintf(stderr, "Comparing: %lld to %lld %s of each side", (long long)rounds->least,
                (long long)usual, what);
        if (rounds->side_s > 0 && rounds->most > PYRO_ROUNDS_USUAL)
            fprintf(stderr, ", or as many as take %s", duration(side, rounds->side_s));
    }
    fprintf(stderr, "; none starts after %s (--total-time)\n", duration(total, rounds->total_s));
}

void pyro_rounds_tick(pyro_rounds *rounds)
{
    int64_t now = pyro_now_ns();

    rounds->round_s = (double)(now - rounds->round_ns) / 1e9;
    rounds->round_ns = now;
}

/* Between which two times the whole will take, from the first round. */
static void announce(const pyro_rounds *rounds, double side_s)
{
    double round_s = rounds->round_s;
    int64_t usual = rounds->most < PYRO_ROUNDS_USUAL ? rounds->most : PYRO_ROUNDS_USUAL;
    double least_s = (double)rounds->least * round_s, most_s = (double)usual * round_s;
    char least[PYRO_UNIT_TEXT], most[PYRO_UNIT_TEXT];

    if (rounds->side_s > 0 && rounds->most > usual && side_s > 0) {
        double fitting = fmin((double)rounds->most, rounds->side_s / side_s);

        most_s = fmax(most_s, fitting * round_s);
    }
    least_s = fmin(least_s, rounds->total_s + round_s);
    most_s = fmin(most_s, rounds->total_s + round_s);
    if (most_s > 1.05 * least_s)
        fprintf(stderr, "Comparing: this takes about %s to %s\n", duration(least, least_s),
                duration(most, most_s));
    else
        fprintf(stderr, "Comparing: this takes about %s\n", duration(least, least_s));
}

bool pyro_rounds_end(pyro_rounds *rounds, int64_t done, double side_s)
{
    double elapsed_s = (double)(pyro_now_ns() - rounds->start_ns) / 1e9;

    if (!rounds->quiet && !rounds->announced)
        announce(rounds, side_s);
    rounds->announced = true;
    if (done >= rounds->most)
        return true;
    rounds->out_of_time = done >= PYRO_REPLICATES_MIN && elapsed_s >= rounds->total_s;
    if (rounds->out_of_time)
        return true;
    return rounds->side_s > 0 && done >= PYRO_ROUNDS_USUAL && done >= rounds->least &&
           side_s >= rounds->side_s;
}

bool pyro_rounds_check(const pyro_rounds *rounds, int64_t done)
{
    int64_t step = done / 10 > 1 ? done / 10 : 1;

    return done >= rounds->least && done % step == 0;
}
