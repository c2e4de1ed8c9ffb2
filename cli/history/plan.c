/* pyrometer history plan: how many replicas a rate and a limit of p99 need. */
#include "cli/history/chips.h"
#include "cli/history/history.h"

#include "base/error.h"

static int settle(pyro_capacity_request *request, const pyro_history_values *values,
                  pyro_error *error)
{
    *request = (pyro_capacity_request){0};
    if (!values->rate || !values->p99)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "history plan needs --rate, such as 500/s, and --p99, such as 120ms");
    int status = pyro_capacity_parse(request, values->rate, values->p99, error);
    request->price_per_hour = values->price;
    request->utilisation = values->utilisation;
    return status;
}

/* Adds what other chips would need, and writes the plan. */
static int write_rows(const pyro_history_values *values, const pyro_capacity_request *request,
                      const pyro_history_reading *reading, const pyro_capacity_rows *plan)
{
    pyro_history_chips chips;
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    if (pyro_history_chips_open(&chips, values, reading, plan, request, &error) == PYRO_OK)
        exit_code = pyro_history_write(values, &(pyro_history_report){.view = PYRO_HISTORY_PLAN,
                                                                      .capacity = request,
                                                                      .plan = plan,
                                                                      .chips = chips.items,
                                                                      .chip_count = chips.count});
    else
        exit_code = pyro_common_fail(NULL, &error);
    pyro_history_chips_close(&chips);
    return exit_code;
}

static int write_plan(const pyro_history_values *values, const pyro_capacity_request *request,
                      const pyro_history_reading *reading)
{
    pyro_capacity_rows plan;
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    if (pyro_history_plan(&plan, reading->lines, reading->changes, request, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    if (plan.row_count > 0)
        exit_code = write_rows(values, request, reading, &plan);
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
    pyro_error error;
    int exit_code;

    (void)operands;
    pyro_error_clear(&error);
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
    return exit_code;
}
