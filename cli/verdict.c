/* Options and exit codes of verdicts. */
#include "verdict.h"

#include "base/error.h"
#include "command.h"
#include "share.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FAIL_ON_REGRESSION, FAIL_ON_CANNOT_TELL };

static const char *const fail_choices[] = {"regression", "cannot-tell", NULL};

const pyro_option pyro_verdict_option_table[] = {
    {.long_name = "delta",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_verdict_values, delta),
     .metavar = "SHARE",
     .help = "Changes up to this do not matter: 2%, or 0.02.",
     .default_text = "2%"},
    {.long_name = "floor",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_verdict_values, floor),
     .metavar = "TIME",
     .help = "Nor do changes of times by less than this (0.1ms), however many percent they are.",
     .default_text = "none"},
    {.long_name = "noise",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_verdict_values, noise),
     .metavar = "SHARE",
     .help = "Nor what this machine shows between two runs of the same.",
     .default_text = "what the results say"},
    {.long_name = "fail-on",
     .kind = PYRO_OPTION_CHOICE,
     .offset = offsetof(pyro_verdict_values, fail_on),
     .metavar = "WHAT",
     .help = "Exit with 1 on a regression, or also (cannot-tell) where none can be excluded.",
     .default_text = "never 1; 3 where it cannot be told",
     .choices = fail_choices},
    {.long_name = "any-machine",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_verdict_values, any_machine),
     .help = "Judge although the results come from machines that differ."},
    {.long_name = NULL},
};

int pyro_verdict_settle(pyro_verdict_options *out, const pyro_verdict_values *values,
                        pyro_error *error)
{
    pyro_threshold floor;
    char text[64];

    *out = (pyro_verdict_options){.any_machine = values->any_machine};
    int status = pyro_share_option(&out->delta, "delta", values->delta, true, error);
    if (status == PYRO_OK)
        status = pyro_share_option(&out->noise, "noise", values->noise, true, error);
    if (status != PYRO_OK || values->floor == NULL)
        return status;
    /* The same times as thresholds have. */
    if (strlen(values->floor) > 40)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--floor: not a time such as 0.1ms");
    strcpy(text, "latency:");
    strcat(text, values->floor);
    if (pyro_threshold_parse(&floor, text, NULL) != PYRO_OK)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--floor %.40s: not a time such as 0.1ms",
                         values->floor);
    out->floor_ms = floor.limit;
    return PYRO_OK;
}

int pyro_verdict_exit_code(const pyro_comparison *comparison, const pyro_verdict_values *values)
{
    if (comparison->regressed && values->fail_on >= 0)
        return PYRO_EXIT_POLICY;
    if (comparison->cannot_tell)
        return values->fail_on == FAIL_ON_CANNOT_TELL ? PYRO_EXIT_POLICY : PYRO_EXIT_CANNOT_TELL;
    return PYRO_EXIT_FINE;
}
