/* pyrometer history list, show, export and gc. */
#include "cli/history/history.h"

#include "base/error.h"
#include "cli/options/options.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_ROWS = 20 };

int pyro_history_verb_list(const pyro_history_values *values, const char *const *operands,
                           size_t count)
{
    pyro_history_report report = {.view = PYRO_HISTORY_LIST};
    size_t most = values->top < 0 ? LIST_ROWS : (size_t)values->top;
    pyro_history_list *list = NULL;
    pyro_history *history = NULL;
    pyro_history_query query;
    pyro_error error;
    int exit_code;

    (void)operands;
    if (count > 0)
        return pyro_common_complain("history list takes options only; --benchmark filters");
    pyro_error_clear(&error);
    int status = pyro_history_settle(&query, values, &error);
    if (status == PYRO_OK)
        status = pyro_history_open(&history, values->database, true, &error);
    if (status == PYRO_OK)
        status = pyro_history_list_runs(&list, history, &query, most, &error);
    report.list = list;
    exit_code = status == PYRO_OK ? pyro_history_write(values, &report)
                                  : pyro_common_fail(NULL, &error);
    pyro_history_list_free(list);
    pyro_history_close(history);
    return exit_code;
}

int pyro_history_write_lines(const pyro_history_values *values, const pyro_history_query *query,
                             pyro_history_view view)
{
    pyro_history_report report = {.view = view};
    pyro_history_lines *lines = NULL;
    pyro_history *history = NULL;
    pyro_error error;
    int exit_code;

    pyro_error_clear(&error);
    int status = pyro_history_open(&history, values->database, true, &error);
    if (status == PYRO_OK)
        status = pyro_history_read(&lines, history, query, &error);
    report.lines = lines;
    exit_code = status == PYRO_OK ? pyro_history_write(values, &report)
                                  : pyro_common_fail(NULL, &error);
    pyro_history_lines_free(lines);
    pyro_history_close(history);
    return exit_code;
}

int pyro_history_verb_show(const pyro_history_values *values, const char *const *operands,
                           size_t count)
{
    pyro_history_query query;
    pyro_error error;
    int64_t run;

    pyro_error_clear(&error);
    if (count != 1)
        return pyro_common_complain("history show needs the number of a result, or a commit "
                                    "(pyrometer history list shows them)");
    if (pyro_history_settle(&query, values, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    /* A commit may consist of digits only, but then it has seven of them at least. */
    if (pyro_parse_integer(operands[0], &run) && run > 0 && strlen(operands[0]) < 7)
        query.run = run;
    else
        query.commit = operands[0];
    return pyro_history_write_lines(values, &query, PYRO_HISTORY_SHOW);
}

int pyro_history_verb_collect(const pyro_history_values *values, const char *const *operands,
                              size_t count)
{
    pyro_retention_result collected = {0};
    pyro_history_report report = {
        .view = PYRO_HISTORY_COLLECT, .collected = &collected, .only_counted = values->dry_run};
    pyro_history *history = NULL;
    pyro_retention retention;
    pyro_error error;

    (void)operands;
    if (count > 0)
        return pyro_common_complain("history gc takes options only");
    pyro_error_clear(&error);
    int status = pyro_retention_parse(&retention, values->keep_samples, values->keep_all,
                                      values->keep_weekly, &error);
    retention.only_count = values->dry_run;
    if (status == PYRO_OK)
        status = pyro_history_open(&history, values->database, false, &error);
    if (status == PYRO_OK)
        status = pyro_history_collect(history, &retention, &collected, &error);
    pyro_history_close(history);
    return status == PYRO_OK ? pyro_history_write(values, &report) : pyro_common_fail(NULL, &error);
}
