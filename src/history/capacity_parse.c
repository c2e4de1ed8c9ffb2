/* Reads the rate and the limit of a plan as people write them. */
#include <pyrometer/history.h>

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1 };

/* "500/s", "30000/min", "2000/h" or "500" (per second). */
static bool parse_rate(const char *text, double *rate_per_s)
{
    char *end = NULL;
    double number = strtod(text, &end), seconds = 1;

    if (strcmp(end, "/min") == 0)
        seconds = 60;
    else if (strcmp(end, "/h") == 0)
        seconds = 3600;
    else if (strcmp(end, "/s") != 0 && *end != '\0')
        return false;
    *rate_per_s = number / seconds;
    return end != text && number > 0 && number < 1e12;
}

int pyro_capacity_parse(pyro_capacity_request *out, const char *rate, const char *p99,
                        pyro_error *error)
{
    pyro_alert_rule limit;
    char rule[64];

    *out = (pyro_capacity_request){.seed = SEED};
    if (!parse_rate(rate, &out->rate_per_s))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--rate %.40s: expected a rate such as 500/s",
                         rate);
    snprintf(rule, sizeof rule, "p99 > %.40s", p99);
    if (pyro_alert_parse(&limit, rule, NULL) != PYRO_OK || strcmp(limit.unit, "ms") != 0 ||
        !(limit.limit > 0))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--p99 %.40s: expected a time such as 120ms",
                         p99);
    out->p99_ms = limit.limit;
    return PYRO_OK;
}
