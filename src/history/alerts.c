/* Rules of alerts: parses them, and applies them to lines and their changes. */
#include "history/history.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool pyro_duration_parse(int64_t *out, const char *text)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}, {"y", 31557600}};
    char *end = NULL;
    double number = strtod(text, &end);

    for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0 && number > 0 && number * units[i].seconds < 9e9) {
            *out = (int64_t)(number * units[i].seconds * 1e9);
            return true;
        }
    return false;
}

/* Statistics of a point; the last one is that of the line. */
static const struct {
    const char *name;
    size_t offset;
    double probability; /* of a percentile that needs many samples; else 0 */
} statistics[] = {
    {"median", offsetof(pyro_history_point, median), 0},
    {"p50", offsetof(pyro_history_point, median), 0},
    {"mean", offsetof(pyro_history_point, mean), 0},
    {"min", offsetof(pyro_history_point, lowest), 0},
    {"max", offsetof(pyro_history_point, highest), 0},
    {"p95", offsetof(pyro_history_point, p95), 0.95},
    {"p99", offsetof(pyro_history_point, p99), 0.99},
    {"", offsetof(pyro_history_point, value), 0},
};
enum { STATISTICS = sizeof statistics / sizeof *statistics };

static const struct {
    const char *text, *unit;
    double factor;
} units[] = {
    {"ns", "ms", 1e-6},        {"us", "ms", 1e-3},
    {"ms", "ms", 1},           {"s", "ms", 1e3},
    {"min", "ms", 6e4},        {"B", "bytes", 1},
    {"KB", "bytes", 1e3},      {"MB", "bytes", 1e6},
    {"GB", "bytes", 1e9},      {"KiB", "bytes", 1024},
    {"MiB", "bytes", 1048576}, {"GiB", "bytes", 1073741824},
    {"%", "share", 0.01},      {"", "", 1},
};

static int fail_rule(const char *text, const char *why, pyro_error *error)
{
    return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                     "rule '%.80s': %s; such as 'p99 > 120ms', 'memory > 2GiB', 'regression > 3%%' "
                     "or 'no data for 7d'",
                     text, why);
}

static const char *skip_spaces(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* "latency", "p99" (of latency) or "memory.p95". */
static bool parse_name(pyro_alert_rule *rule, const char *name, size_t length)
{
    const char *dot = memchr(name, '.', length);
    const char *statistic = dot ? dot + 1 : name;
    size_t statistic_length = (size_t)(name + length - statistic);

    rule->statistic = STATISTICS - 1;
    for (int i = 0; i < STATISTICS - 1; i++)
        if (strlen(statistics[i].name) == statistic_length &&
            strncmp(statistics[i].name, statistic, statistic_length) == 0)
            rule->statistic = i;
    if (dot && rule->statistic == STATISTICS - 1)
        return false;
    size_t metric_length = dot ? (size_t)(dot - name) : length;
    if (!dot && rule->statistic != STATISTICS - 1) {
        strcpy(rule->metric, "latency");
        return true;
    }
    if (metric_length == 0 || metric_length >= sizeof rule->metric)
        return false;
    memcpy(rule->metric, name, metric_length);
    rule->metric[metric_length] = '\0';
    return true;
}

static bool parse_limit(pyro_alert_rule *rule, const char *at)
{
    char *end = NULL, unit[16];

    rule->limit = strtod(at, &end);
    if (end == at || !isfinite(rule->limit))
        return false;
    at = skip_spaces(end);
    size_t length = strcspn(at, " \t");
    if (length >= sizeof unit || *skip_spaces(at + length) != '\0')
        return false;
    memcpy(unit, at, length);
    unit[length] = '\0';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].text, unit) == 0) {
            rule->limit *= units[i].factor;
            strcpy(rule->unit, units[i].unit);
            return true;
        }
    /* Rates: "100/s", "1000samples/s". */
    rule->unit[0] = '\0';
    return length >= 2 && strcmp(unit + length - 2, "/s") == 0;
}

int pyro_alert_parse(pyro_alert_rule *out, const char *text, pyro_error *error)
{
    static const char no_data[] = "no data for ";
    const char *name = skip_spaces(text);
    size_t length = strcspn(name, " \t<>");
    const char *at = skip_spaces(name + length);

    *out = (pyro_alert_rule){.kind = PYRO_ALERT_LIMIT};
    if (strlen(text) >= sizeof out->text)
        return fail_rule(text, "too long", error);
    strcpy(out->text, text);
    if (strncmp(name, no_data, sizeof no_data - 1) == 0) {
        out->kind = PYRO_ALERT_NO_DATA;
        return pyro_duration_parse(&out->duration_ns, skip_spaces(name + sizeof no_data - 1))
                   ? PYRO_OK
                   : fail_rule(text, "expected a duration such as 7d", error);
    }
    if (*at != '<' && *at != '>')
        return fail_rule(text, "expected a name, < or >, and a limit", error);
    out->above = *at == '>';
    if (!parse_limit(out, skip_spaces(at + 1)))
        return fail_rule(text, "invalid limit or unit", error);
    if (length == 10 && strncmp(name, "regression", length) == 0) {
        out->kind = PYRO_ALERT_REGRESSION;
        return out->above && strcmp(out->unit, "share") == 0
                   ? PYRO_OK
                   : fail_rule(text, "a regression needs > and a percentage", error);
    }
    return parse_name(out, name, length) ? PYRO_OK
                                         : fail_rule(text, "invalid metric or statistic", error);
}

typedef struct checking {
    pyro_alerts *alerts;
    size_t capacity;
    const pyro_alert_rule *rule;
    pyro_error *error;
} checking;

static int add_alert(checking *c, pyro_alert alert)
{
    if (!pyro_grow(&c->alerts->alerts, &c->capacity, c->alerts->alert_count + 1,
                   sizeof *c->alerts->alerts))
        return pyro_fail_memory(c->error);
    alert.rule = c->rule;
    c->alerts->fired = c->alerts->fired || alert.state == PYRO_ALERT_FIRED;
    c->alerts->cannot_tell = c->alerts->cannot_tell || alert.state == PYRO_ALERT_CANNOT_TELL;
    c->alerts->alerts[c->alerts->alert_count++] = alert;
    return PYRO_OK;
}

/* Judges the newest point of a line. */
static pyro_alert check_limit(const pyro_alert_rule *rule, const pyro_history_line *line)
{
    const pyro_history_point *point = &line->points[line->point_count - 1];
    pyro_alert alert = {.line = line, .state = PYRO_ALERT_CANNOT_TELL};
    double probability = statistics[rule->statistic].probability;

    memcpy(&alert.value, (const char *)point + statistics[rule->statistic].offset,
           sizeof alert.value);
    if (rule->unit[0] != '\0' && strcmp(rule->unit, line->unit) != 0)
        alert.reason = "the limit has another unit than the metric";
    else if (!isfinite(alert.value))
        alert.reason = "the newest result has no such number";
    else if (probability > 0 && point->count < pyro_quantile_needs(probability, 0.95))
        alert.reason = "the newest result has too few samples for this percentile";
    else
        alert.state = (rule->above ? alert.value > rule->limit : alert.value < rule->limit)
                          ? PYRO_ALERT_FIRED
                          : PYRO_ALERT_QUIET;
    return alert;
}

/* How much worse a change made things, as a share. */
static double badness(const pyro_history_change *change)
{
    return change->line->higher_is_better ? change->before / change->after - 1 : change->change;
}

/* The worst unacknowledged regression of a line after which nothing improved. */
static pyro_alert check_regression(const pyro_alert_rule *rule, const pyro_history_line *line,
                                   const pyro_history_changes *changes)
{
    pyro_alert alert = {.line = line, .value = NAN};

    for (size_t i = 0; i < changes->change_count; i++) {
        const pyro_history_change *change = &changes->changes[i];

        if (change->line != line)
            continue;
        if (change->kind == PYRO_CHANGE_IMPROVEMENT || change->kind == PYRO_CHANGE_MACHINE)
            alert = (pyro_alert){.line = line, .value = NAN};
        else if (change->kind == PYRO_CHANGE_REGRESSION && !change->acknowledged &&
                 badness(change) > rule->limit && !(badness(change) <= alert.value))
            alert = (pyro_alert){.line = line,
                                 .change = change,
                                 .state = PYRO_ALERT_FIRED,
                                 .value = badness(change)};
    }
    return alert;
}

static pyro_alert check_data(const pyro_alert_rule *rule, const pyro_history_line *line,
                             int64_t now_ns)
{
    int64_t newest_ns = 0;

    for (size_t i = 0; i < line->point_count; i++)
        if (line->points[i].time_ns > newest_ns)
            newest_ns = line->points[i].time_ns;
    return (pyro_alert){.line = line,
                        .value = (double)(now_ns - newest_ns) / 1e6,
                        .state = now_ns - newest_ns > rule->duration_ns ? PYRO_ALERT_FIRED
                                                                        : PYRO_ALERT_QUIET};
}

static int check_rule(checking *c, const pyro_history_lines *lines,
                      const pyro_history_changes *changes, int64_t now_ns)
{
    const pyro_alert_rule *rule = c->rule;
    bool any = false;
    int status = PYRO_OK;

    for (size_t i = 0; i < lines->line_count && status == PYRO_OK; i++) {
        const pyro_history_line *line = &lines->lines[i];

        if (line->point_count == 0 ||
            (rule->kind == PYRO_ALERT_LIMIT && strcmp(rule->metric, line->metric) != 0))
            continue;
        any = true;
        if (rule->kind == PYRO_ALERT_LIMIT)
            status = add_alert(c, check_limit(rule, line));
        else if (rule->kind == PYRO_ALERT_REGRESSION)
            status = add_alert(c, check_regression(rule, line, changes));
        else
            status = add_alert(c, check_data(rule, line, now_ns));
    }
    if (!any && status == PYRO_OK)
        status = add_alert(c, (pyro_alert){.value = NAN,
                                           .state = rule->kind == PYRO_ALERT_NO_DATA
                                                        ? PYRO_ALERT_FIRED
                                                        : PYRO_ALERT_CANNOT_TELL,
                                           .reason = "no result matches"});
    return status;
}

int pyro_alerts_check(pyro_alerts *out, const pyro_alert_rule *rules, size_t rule_count,
                      const pyro_history_lines *lines, const pyro_history_changes *changes,
                      int64_t now_ns, pyro_error *error)
{
    checking c = {.alerts = out, .error = error};
    int status = PYRO_OK;

    *out = (pyro_alerts){0};
    for (size_t i = 0; i < rule_count && status == PYRO_OK; i++) {
        c.rule = &rules[i];
        status = check_rule(&c, lines, changes, now_ns != 0 ? now_ns : pyro_history_now_ns());
    }
    if (status != PYRO_OK)
        pyro_alerts_free(out);
    return status;
}

void pyro_alerts_free(pyro_alerts *alerts)
{
    free(alerts->alerts);
    *alerts = (pyro_alerts){0};
}
