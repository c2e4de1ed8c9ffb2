/* pyrometer history export: everything, or the newest results for other programs. */
#include "cli/history/history.h"

static int export_newest(const pyro_history_values *values)
{
    pyro_history_reading reading;
    int exit_code = PYRO_EXIT_FINE;
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    pyro_error_clear(&error);
    int status = pyro_history_lines_open(&reading, values, false, &error);
    if (status != PYRO_OK)
        exit_code = pyro_common_fail(NULL, &error);
    if (exit_code == PYRO_EXIT_FINE && values->prometheus) {
        status = pyro_report_prometheus(&text, &size, reading.lines, reading.changes, &error);
        exit_code = pyro_common_write_file(values->prometheus, status, text, size, &error);
    }
    if (exit_code == PYRO_EXIT_FINE && values->github) {
        status = pyro_report_github_entries(&text, &size, reading.lines, &error);
        exit_code = pyro_common_write_file(values->github, status, text, size, &error);
    }
    pyro_history_lines_close(&reading);
    return exit_code;
}

int pyro_history_verb_export(const pyro_history_values *values, const char *const *operands,
                             size_t count)
{
    pyro_history_query query;
    pyro_error error;

    (void)operands;
    pyro_error_clear(&error);
    if (count > 0)
        return pyro_common_complain("history export takes options only; -o names the file");
    if (values->prometheus || values->github)
        return export_newest(values);
    if (pyro_history_settle(&query, values, &error) != PYRO_OK)
        return pyro_common_fail(NULL, &error);
    query.with_samples = true;
    pyro_history_values exported = *values;
    /* Text is no format to read back. */
    if (!values->common.format_name && pyro_common_to_stdout(&values->common))
        exported.common.format = PYRO_FORMAT_JSON;
    return pyro_history_write_lines(&exported, &query, PYRO_HISTORY_EXPORT);
}
