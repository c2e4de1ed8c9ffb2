/* Defines the options of verdicts and computes their exit codes. */
#include "cli/options/verdict.h"

#include "base/error.h"
#include "cli/command.h"
#include "cli/github.h"
#include "report/bench/bench.h"
#include "cli/options/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bits of fail_choices, in their order. */
enum { FAIL_ON_REGRESSION = 1, FAIL_ON_CANNOT_TELL = 2 };

static const char *const fail_choices[] = {"regression", "cannot-tell", NULL};

const pyro_option pyro_verdict_option_table[] = {
    {.long_name = "delta",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_verdict_values, delta),
     .metavar = "SHARE",
     .help = "Relative change that still counts as no change: 2%, or 0.02.",
     .default_text = "2%"},
    {.long_name = "floor",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_verdict_values, floor),
     .metavar = "TIME",
     .help = "Absolute change of a time that still counts as no change, whatever its percentage: "
             "0.1ms.",
     .default_text = "none"},
    {.long_name = "noise",
     .kind = PYRO_OPTION_STRING,
     .offset = offsetof(pyro_verdict_values, noise),
     .metavar = "SHARE",
     .help = "Noise between two identical runs on this machine; smaller changes count as no "
             "change.",
     .default_text = "as measured in the results"},
    {.long_name = "fail-on",
     .kind = PYRO_OPTION_CHOICES,
     .offset = offsetof(pyro_verdict_values, fail_on),
     .metavar = "WHAT",
     .help = "Exit with 1 on a regression; the verdict 'cannot tell' then exits with 0 and a "
             "warning. With cannot-tell, exit with 1 on both.",
     .default_text = "never 1; 3 when there is no verdict",
     .choices = fail_choices},
    {.long_name = "any-machine",
     .kind = PYRO_OPTION_FLAG,
     .offset = offsetof(pyro_verdict_values, any_machine),
     .help = "Compare results even if they come from different machines."},
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
    if (status != PYRO_OK || !values->floor)
        return status;
    /* Accepts the same times as thresholds. */
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

int pyro_verdict_unknown_code(const pyro_verdict_values *values)
{
    if (values->fail_on & FAIL_ON_CANNOT_TELL)
        return PYRO_EXIT_POLICY;
    return values->fail_on & FAIL_ON_REGRESSION ? PYRO_EXIT_FINE : PYRO_EXIT_CANNOT_TELL;
}

int pyro_verdict_exit_code(const pyro_comparison *comparison, const pyro_verdict_values *values)
{
    if (comparison->regressed && values->fail_on != 0)
        return PYRO_EXIT_POLICY;
    return comparison->cannot_tell ? pyro_verdict_unknown_code(values) : PYRO_EXIT_FINE;
}

static void annotate_row(const pyro_verdict_row *row, const pyro_verdict_values *values)
{
    bool regressed = row->verdict == PYRO_VERDICT_REGRESSED;
    bool passes = !regressed && pyro_verdict_unknown_code(values) == PYRO_EXIT_FINE;
    char change[PYRO_UNIT_TEXT];
    pyro_buf line = PYRO_BUF_INIT;

    pyro_buf_addf(&line, "%s: %s %s: %s", row->benchmark, row->metric,
                  pyro_verdict_name(row->verdict), pyro_format_change(change, row->change));
    if (row->reason)
        pyro_buf_addf(&line, ", %s", row->reason);
    pyro_github_annotate(passes ? "warning" : "error",
                         line.failed ? pyro_verdict_name(row->verdict) : line.data);
    pyro_buf_free(&line);
}

void pyro_verdict_annotate(const pyro_comparison *comparison, const pyro_verdict_values *values)
{
    if (comparison->cannot_tell && pyro_verdict_exit_code(comparison, values) == PYRO_EXIT_FINE)
        fputs("pyrometer: warning: cannot tell whether this got worse; --fail-on regression "
              "allows that, --fail-on cannot-tell does not\n",
              stderr);
    if (!getenv("GITHUB_ACTIONS"))
        return;
    for (size_t i = 0; i < comparison->row_count; i++)
        if (comparison->rows[i].verdict == PYRO_VERDICT_REGRESSED ||
            comparison->rows[i].verdict == PYRO_VERDICT_CANNOT_TELL)
            annotate_row(&comparison->rows[i], values);
}
