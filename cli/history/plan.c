/* pyrometer history plan: how many replicas a rate and a limit of p99 need. */
#include "cli/history/history.h"

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

static int settle(pyro_capacity_request *request, const pyro_history_values *values,
                  pyro_error *error)
{
    pyro_alert_rule limit;
    char rule[64];

    *request = (pyro_capacity_request){
        .price_per_hour = values->price, .utilisation = values->utilisation, .seed = SEED};
    if (!values->rate || !values->p99)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "history plan needs --rate, such as 500/s, and --p99, such as 120ms");
    if (!parse_rate(values->rate, &request->rate_per_s))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--rate %.40s: expected a rate such as 500/s",
                         values->rate);
    snprintf(rule, sizeof rule, "p99 > %.40s", values->p99);
    if (pyro_alert_parse(&limit, rule, NULL) != PYRO_OK || strcmp(limit.unit, "ms") != 0 ||
        !(limit.limit > 0))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "--p99 %.40s: expected a time such as 120ms",
                         values->p99);
    request->p99_ms = limit.limit;
    return PYRO_OK;
}

/* The model with any parameters, unless it is a pattern already. */
static char *pattern_of(const char *model)
{
    char *pattern = NULL;

    if (!model)
        return NULL;
    return asprintf(&pattern, "%s%s", model, strpbrk(model, "*?[") ? "" : "*") < 0 ? NULL : pattern;
}

static int write_plan(const pyro_history_values *values, const pyro_capacity_request *request,
                      const pyro_history_reading *reading)
{
    pyro_history_report report = {.view = PYRO_HISTORY_PLAN, .capacity = request};
    pyro_capacity_rows plan;
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    if (pyro_history_plan(&plan, reading->lines, reading->changes, request, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    report.plan = &plan;
    if (plan.row_count > 0)
        exit_code = pyro_history_write(values, &report);
    else
        exit_code = pyro_common_complain("%s: no stored latency with samples; pyrometer bench "
                                         "--history measures and stores one",
                                         values->model ? values->model : "history plan");
    pyro_capacity_rows_free(&plan);
    return exit_code;
}

int pyro_history_verb_plan(const pyro_history_values *values, const char *const *operands,
                           size_t count)
{
    pyro_history_values chosen = *values;
    pyro_history_reading reading = {0};
    pyro_capacity_request request;
    char *pattern = pattern_of(values->model);
    pyro_error error;
    int exit_code;

    (void)operands;
    pyro_error_clear(&error);
    chosen.benchmark = pattern ? pattern : values->benchmark;
    chosen.metric = "latency";
    chosen.with_samples = true;
    int status = count > 0 ? pyro_fail(&error, PYRO_ERROR_ARGUMENT,
                                       "history plan takes options only; --model names the model")
                           : settle(&request, values, &error);
    if (status == PYRO_OK)
        status = pyro_history_lines_open(&reading, &chosen, false, &error);
    exit_code = status == PYRO_OK ? write_plan(values, &request, &reading)
                                  : pyro_common_fail(NULL, &error);
    pyro_history_lines_close(&reading);
    free(pattern);
    return exit_code;
}
