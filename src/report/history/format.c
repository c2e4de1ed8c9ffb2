/* Formats times and commits, and groups points by run. */
#include "report/history/history.h"

#include "base/text/printable.h"
#include "report/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char *format_with(char text[PYRO_TIME_TEXT], int64_t time_ns, const char *format)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm parts;

    if (!gmtime_r(&seconds, &parts) || strftime(text, PYRO_TIME_TEXT, format, &parts) == 0)
        snprintf(text, PYRO_TIME_TEXT, "-");
    return text;
}

char *pyro_format_time(char text[PYRO_TIME_TEXT], int64_t time_ns)
{
    return format_with(text, time_ns, "%Y-%m-%d %H:%M");
}

char *pyro_format_time_exact(char text[PYRO_TIME_TEXT], int64_t time_ns)
{
    return format_with(text, time_ns, "%Y-%m-%dT%H:%M:%SZ");
}

char *pyro_format_commit(char text[PYRO_COMMIT_TEXT], const char *commit)
{
    snprintf(text, PYRO_COMMIT_TEXT, "%.10s", commit[0] != '\0' ? commit : "-");
    return text;
}

char *pyro_format_safe_amount(char text[PYRO_UNIT_TEXT], double value, const char *unit)
{
    pyro_format_amount(text, value, unit);
    pyro_make_printable(text);
    return text;
}

static int compare_entries(const void *a, const void *b)
{
    const pyro_history_entry *left = a, *right = b;

    if (left->point->run != right->point->run)
        return left->point->run < right->point->run ? -1 : 1;
    if (left->line->series != right->line->series)
        return left->line->series < right->line->series ? -1 : 1;
    return 0;
}

pyro_history_entry *pyro_history_entries(const pyro_history_lines *lines, size_t *count)
{
    size_t total = 0;

    for (size_t i = 0; i < lines->line_count; i++)
        total += lines->lines[i].point_count;
    pyro_history_entry *entries = malloc((total + 1) * sizeof *entries);
    *count = 0;
    for (size_t i = 0; entries && i < lines->line_count; i++)
        for (size_t j = 0; j < lines->lines[i].point_count; j++)
            entries[(*count)++] = (pyro_history_entry){&lines->lines[i],
                                                       &lines->lines[i].points[j]};
    if (entries)
        qsort(entries, *count, sizeof *entries, compare_entries);
    return entries;
}

void pyro_add_replicas(pyro_buf *text, const pyro_capacity *capacity)
{
    char amount[PYRO_UNIT_TEXT];

    if (capacity->replicas > 0)
        pyro_buf_addf(text, "%zu replica%s with p99 %s", capacity->replicas,
                      capacity->replicas == 1 ? "" : "s",
                      pyro_format_safe_amount(amount, capacity->queue.p99_ms, "ms"));
    else
        pyro_buf_adds(text, "too slow");
}
