/* pyrometer history alert: applies rules, and says so by its exit code; quiet if none fires. */
#include "cli/history/history.h"

#include "base/error.h"

#include <stdlib.h>

static int parse_rules(pyro_alert_rule **out, const pyro_words *words, pyro_error *error)
{
    int status = PYRO_OK;

    *out = calloc(words->count + 1, sizeof **out);
    if (!*out)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < words->count && status == PYRO_OK; i++)
        status = pyro_alert_parse(&(*out)[i], words->items[i], error);
    return status;
}

static int write_file(const char *path, const pyro_alerts *alerts, pyro_alerts_format format)
{
    char *text = NULL;
    size_t size = 0;
    pyro_error error;

    if (!path)
        return PYRO_EXIT_FINE;
    pyro_error_clear(&error);
    int status = pyro_report_alerts(&text, &size, alerts, format, &error);
    return pyro_common_write_file(path, status, text, size, &error);
}

/* Writes all outputs; the exit code is that of the alerts unless writing fails. */
static int conclude(const pyro_history_values *values, const pyro_alerts *alerts)
{
    pyro_history_report report = {.view = PYRO_HISTORY_ALERTS, .alerts = alerts};
    const struct {
        const char *path;
        pyro_alerts_format format;
    } files[] = {{values->junit, PYRO_ALERTS_JUNIT},
                 {values->markdown, PYRO_ALERTS_MARKDOWN},
                 {values->webhook, PYRO_ALERTS_WEBHOOK}};
    int exit_code = pyro_history_write(values, &report);

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int written = write_file(files[i].path, alerts, files[i].format);

        exit_code = exit_code == PYRO_EXIT_FINE ? written : exit_code;
    }
    if (exit_code != PYRO_EXIT_FINE)
        return exit_code;
    if (alerts->fired)
        return PYRO_EXIT_POLICY;
    return alerts->cannot_tell ? PYRO_EXIT_CANNOT_TELL : PYRO_EXIT_FINE;
}

int pyro_history_verb_alert(const pyro_history_values *values, const char *const *operands,
                            size_t count)
{
    pyro_history_reading reading = {0};
    pyro_alert_rule *rules = NULL;
    pyro_alerts alerts = {0};
    pyro_error error;
    int exit_code;

    (void)operands;
    if (count > 0 || values->rules.count == 0)
        return pyro_common_complain(
            "history alert needs --rule, such as --rule 'regression > 3%%'");
    pyro_error_clear(&error);
    int status = parse_rules(&rules, &values->rules, &error);
    if (status == PYRO_OK)
        status = pyro_history_lines_open(&reading, values, false, &error);
    if (status == PYRO_OK)
        status = pyro_alerts_check(&alerts, rules, values->rules.count, reading.lines,
                                   reading.changes, 0, &error);
    exit_code = status == PYRO_OK ? conclude(values, &alerts) : pyro_common_fail(NULL, &error);
    pyro_alerts_free(&alerts);
    pyro_history_lines_close(&reading);
    free(rules);
    return exit_code;
}
