/* Prints the plan and the estimated duration of a comparison. */
#include "cli/bench/rounds.h"

#include "base/text/units.h"

#include <math.h>
#include <stdio.h>

static const char *duration(char text[PYRO_UNIT_TEXT], double seconds)
{
    return pyro_format_duration(text, llround(fmin(seconds, 1e9) * 1e9));
}

void pyro_rounds_print_plan(const pyro_rounds *rounds, const char *what)
{
    char side[PYRO_UNIT_TEXT], total[PYRO_UNIT_TEXT];

    if (rounds->least == rounds->most) {
        fprintf(stderr, "Comparing: %lld %s per side", (long long)rounds->most, what);
    } else {
        int64_t usual = rounds->most < PYRO_ROUNDS_USUAL ? rounds->most : PYRO_ROUNDS_USUAL;

        fprintf(stderr, "Comparing: %lld to %lld %s per side", (long long)rounds->least,
                (long long)usual, what);
        if (rounds->side_s > 0 && rounds->most > PYRO_ROUNDS_USUAL)
            fprintf(stderr, ", or as many as fit in %s", duration(side, rounds->side_s));
    }
    fprintf(stderr, "; no new round after %s (--total-time)\n", duration(total, rounds->total_s));
}

void pyro_rounds_print_estimate(const pyro_rounds *rounds, double side_s)
{
    pyro_rounds_estimate time = pyro_rounds_estimate_time(rounds, side_s);
    char least[PYRO_UNIT_TEXT], most[PYRO_UNIT_TEXT];

    if (time.most_s > 1.05 * time.least_s)
        fprintf(stderr, "Comparing: this takes about %s to %s\n", duration(least, time.least_s),
                duration(most, time.most_s));
    else
        fprintf(stderr, "Comparing: this takes about %s\n", duration(least, time.least_s));
}
