/*
 * Writes the newest result of every line for Prometheus, in the text format that node_exporter's
 * textfile collector and OpenMetrics parsers read: base units, one family after the other.
 */
#include "report/history/history.h"

#include "base/text/exposition.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a line's unit becomes. */
static const struct {
    const char *unit; /* NULL: any other, which is a label */
    const char *family, *suffix, *help;
    double divisor;
} families[] = {
    {"ms", "pyrometer_result_seconds", "seconds", "Newest result of a line, in seconds.", 1000},
    {"bytes", "pyrometer_result_bytes", "bytes", "Newest result of a line, in bytes.", 1},
    {"share", "pyrometer_result_ratio", "ratio", "Newest result of a line, a share.", 1},
    {NULL, "pyrometer_result", "", "Newest result of a line, in the unit of its label.", 1},
};
enum { FAMILIES = sizeof families / sizeof *families };

static size_t family_of(const pyro_history_line *line)
{
    size_t i = 0;

    while (families[i].unit && strcmp(families[i].unit, line->unit) != 0)
        i++;
    return i;
}

static void begin_family(pyro_buf *buf, const char *name, const char *unit, const char *help)
{
    pyro_exposition_family(buf, PYRO_EXPOSITION_OPENMETRICS, name, PYRO_METRIC_GAUGE, unit, help);
}

static void add_sample(pyro_buf *buf, const char *name, const pyro_history_line *line,
                       const char *label, const char *text, double value)
{
    if (!isfinite(value))
        return;
    pyro_buf_addf(buf, "%s{", name);
    pyro_exposition_label(buf, "project", line->project);
    pyro_buf_addc(buf, ',');
    pyro_exposition_label(buf, "benchmark", line->benchmark);
    pyro_buf_addc(buf, ',');
    pyro_exposition_label(buf, "metric", line->metric);
    pyro_buf_addc(buf, ',');
    pyro_exposition_label(buf, "machine", line->machine_class);
    if (label) {
        pyro_buf_addc(buf, ',');
        pyro_exposition_label(buf, label, text);
    }
    if (strcmp(name, "pyrometer_result") == 0) {
        pyro_buf_addc(buf, ',');
        pyro_exposition_label(buf, "unit", line->unit);
    }
    pyro_buf_adds(buf, "} ");
    pyro_exposition_number(buf, value);
    pyro_buf_addc(buf, '\n');
}

static const pyro_history_point *newest(const pyro_history_line *line)
{
    return &line->points[line->point_count - 1];
}

static void write_values(pyro_buf *buf, const pyro_history_lines *lines, size_t family)
{
    bool begun = false;

    for (size_t i = 0; i < lines->line_count; i++) {
        const pyro_history_line *line = &lines->lines[i];

        if (line->point_count == 0 || family_of(line) != family)
            continue;
        const pyro_history_point *point = newest(line);
        const struct {
            const char *name;
            double value;
        } statistics[] = {{"median", point->median},
                          {"mean", point->mean},
                          {"p95", point->p95},
                          {"p99", point->p99}};
        if (!begun)
            begin_family(buf, families[family].family, families[family].suffix,
                         families[family].help);
        begun = true;
        for (size_t j = 0; j < sizeof statistics / sizeof *statistics; j++)
            add_sample(buf, families[family].family, line, "statistic", statistics[j].name,
                       statistics[j].value / families[family].divisor);
    }
}

static void write_times(pyro_buf *buf, const pyro_history_lines *lines)
{
    begin_family(buf, "pyrometer_result_time_seconds", "seconds",
                 "Time of the newest result of a line, since 1970.");
    for (size_t i = 0; i < lines->line_count; i++)
        if (lines->lines[i].point_count > 0)
            add_sample(buf, "pyrometer_result_time_seconds", &lines->lines[i], NULL, NULL,
                       (double)newest(&lines->lines[i])->time_ns / 1e9);
}

static void write_changes(pyro_buf *buf, const pyro_history_lines *lines,
                          const pyro_history_changes *changes)
{
    begin_family(buf, "pyrometer_changes", "",
                 "Changes of a line that nobody has acknowledged, by class.");
    for (size_t i = 0; i < lines->line_count; i++) {
        size_t counts[PYRO_CHANGE_NOISE + 1] = {0};

        for (size_t j = 0; j < changes->change_count; j++)
            if (changes->changes[j].line == &lines->lines[i] && !changes->changes[j].acknowledged)
                counts[changes->changes[j].kind]++;
        for (int kind = 0; kind <= PYRO_CHANGE_NOISE; kind++)
            if (lines->lines[i].point_count > 0)
                add_sample(buf, "pyrometer_changes", &lines->lines[i], "class",
                           pyro_change_class_name((pyro_change_class)kind), (double)counts[kind]);
    }
}

int pyro_report_prometheus(char **out, size_t *size, const pyro_history_lines *lines,
                           const pyro_history_changes *changes, pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;

    for (size_t family = 0; family < FAMILIES; family++)
        write_values(&buf, lines, family);
    write_times(&buf, lines);
    write_changes(&buf, lines, changes);
    pyro_exposition_end(&buf);
    return pyro_report_hand_over(&buf, out, size, error);
}

int pyro_report_github_entries(char **out, size_t *size, const pyro_history_lines *lines,
                               pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT, name = PYRO_BUF_INIT;
    pyro_json_writer w;

    pyro_json_writer_init(&w, &buf, 2);
    pyro_json_begin_array(&w);
    for (size_t i = 0; i < lines->line_count; i++) {
        const pyro_history_line *line = &lines->lines[i];

        /* The action knows one direction only. */
        if (line->point_count == 0 || line->higher_is_better)
            continue;
        pyro_buf_reset(&name);
        pyro_buf_addf(&name, "%s: %s", line->benchmark, line->metric);
        pyro_json_begin_object(&w);
        pyro_json_member_string(&w, "name", name.data);
        pyro_json_member_string(&w, "unit", line->unit);
        pyro_json_member_number(&w, "value", newest(line)->value);
        pyro_json_end_object(&w);
    }
    pyro_json_end_array(&w);
    pyro_buf_addc(&buf, '\n');
    buf.failed = buf.failed || name.failed;
    pyro_buf_free(&name);
    return pyro_report_hand_over(&buf, out, size, error);
}
