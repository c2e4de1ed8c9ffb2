/* pyrometer history trend and changes: lines over commits, in the order of git. */
#include "cli/history/history.h"

#include "base/error.h"
#include "cli/options/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pyro_history_lines_open(pyro_history_reading *reading, const pyro_history_values *values,
                            bool write, pyro_error *error)
{
    pyro_history_query query;
    int status = pyro_history_settle(&query, values, error);

    *reading = (pyro_history_reading){0};
    query.statistic = (pyro_statistic_kind)values->statistic;
    query.across_machines = values->across_machines;
    query.with_samples = values->with_samples;
    if (status == PYRO_OK)
        status = pyro_share_option(&reading->options.min_change, "min-change", values->min_change,
                                   false, error);
    if (status == PYRO_OK && !values->by_time)
        reading->order = pyro_history_order_by_git(&query);
    if (status == PYRO_OK)
        status = pyro_history_open(&reading->history, values->database, !write, error);
    if (status == PYRO_OK)
        status = pyro_history_read(&reading->lines, reading->history, &query, error);
    if (status == PYRO_OK)
        status = pyro_history_find_changes(&reading->changes, reading->history, reading->lines,
                                           &reading->options, error);
    return status;
}

void pyro_history_lines_close(pyro_history_reading *reading)
{
    pyro_history_changes_free(reading->changes);
    pyro_history_lines_free(reading->lines);
    pyro_history_close(reading->history);
    pyro_history_order_free(reading->order);
}

static int write_view(const pyro_history_values *values, pyro_history_view view)
{
    pyro_history_report report = {.view = view};
    pyro_history_reading reading;
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    int status = pyro_history_lines_open(&reading, values, false, &error);
    report.lines = reading.lines;
    report.changes = reading.changes;
    exit_code = status == PYRO_OK ? pyro_history_write(values, &report)
                                  : pyro_common_fail(NULL, &error);
    pyro_history_lines_close(&reading);
    return exit_code;
}

int pyro_history_verb_trend(const pyro_history_values *values, const char *const *operands,
                            size_t count)
{
    pyro_history_values chosen = *values;

    if (count > 1)
        return pyro_common_complain("history trend takes one benchmark, or a pattern");
    if (count == 1)
        chosen.benchmark = operands[0];
    return write_view(&chosen, PYRO_HISTORY_TREND);
}

/* Acknowledges the changes whose id begins with `id`. */
static int acknowledge(const pyro_history_values *values, const char *id)
{
    pyro_history_reading reading;
    size_t found = 0;
    pyro_error error;

    pyro_error_clear(&error);
    int status = pyro_history_lines_open(&reading, values, true, &error);
    for (size_t i = 0; status == PYRO_OK && i < reading.changes->change_count; i++) {
        if (strncmp(reading.changes->changes[i].id, id, strlen(id)) != 0)
            continue;
        found++;
        status = pyro_history_acknowledge(reading.history, &reading.changes->changes[i],
                                          values->note, &error);
    }
    pyro_history_lines_close(&reading);
    if (status != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    if (found == 0)
        return pyro_common_complain("%s: no such change (pyrometer history changes lists them)",
                                    id);
    if (!values->common.quiet)
        fprintf(stderr, "acknowledged %zu change%s\n", found, found == 1 ? "" : "s");
    return PYRO_EXIT_FINE;
}

int pyro_history_verb_changes(const pyro_history_values *values, const char *const *operands,
                              size_t count)
{
    (void)operands;
    if (count > 0)
        return pyro_common_complain("history changes takes options only; --benchmark filters");
    return values->acknowledged ? acknowledge(values, values->acknowledged)
                                : write_view(values, PYRO_HISTORY_CHANGES);
}
