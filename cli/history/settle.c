/* Reads the options of pyrometer history: durations, moments and filters. */
#include "cli/history/history.h"

#include "base/error.h"
#include "history/history.h"
#include "history/import/import.h"

#include <stdlib.h>
#include <string.h>

int pyro_history_duration(int64_t *out, const char *option, const char *text, pyro_error *error)
{
    if (pyro_duration_parse(out, text))
        return PYRO_OK;
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "--%s %.40s: expected a duration such as 90d, 12h or 2w", option, text);
}

int pyro_history_moment(int64_t *out, const char *option, const char *text, pyro_error *error)
{
    int64_t duration_ns;

    *out = text ? pyro_parse_time(text) : 0;
    if (!text || *out != 0)
        return PYRO_OK;
    if (pyro_history_duration(&duration_ns, option, text, NULL) == PYRO_OK) {
        *out = pyro_history_now_ns() - duration_ns;
        return PYRO_OK;
    }
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "--%s %.40s: expected a date such as 2026-11-17, a time such as "
                     "2026-11-17T18:00:00Z, or a duration such as 30d",
                     option, text);
}

int pyro_history_settle(pyro_history_query *query, const pyro_history_values *values,
                        pyro_error *error)
{
    *query = (pyro_history_query){
        .project = values->project,
        .benchmark = values->benchmark,
        .model = values->model,
        .metric = values->metric,
        .machine = values->machine,
        .branch = values->branch,
        .commit = values->commit,
        .tags = (const char *const *)values->tags.items,
        .tag_count = values->tags.count,
    };
    int status = pyro_history_moment(&query->since_ns, "since", values->since, error);
    return status == PYRO_OK ? pyro_history_moment(&query->until_ns, "until", values->until, error)
                             : status;
}

int pyro_history_write(const pyro_history_values *values, const pyro_history_report *report)
{
    pyro_report_options options = pyro_common_report(&values->common);
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    pyro_error_clear(&error);
    if (pyro_report_history(&text, &size, report, &options, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    int exit_code = pyro_common_write(&values->common, text, size);
    pyro_free(text);
    return exit_code;
}
