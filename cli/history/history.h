/* The options of pyrometer history, and one function per verb. */
#ifndef PYRO_CLI_HISTORY_HISTORY_H
#define PYRO_CLI_HISTORY_HISTORY_H

#include "cli/common.h"

#include <pyrometer/history.h>

typedef struct pyro_history_values {
    const char *database;
    /* Labels of results that are added, and filters of those that are read. */
    const char *project, *benchmark, *metric, *machine, *branch, *commit, *time, *since, *until;
    pyro_words tags;
    bool pending, dry_run;
    int64_t top;
    int statistic; /* a pyro_statistic_kind */
    bool across_machines, by_time;
    const char *min_change, *acknowledged, *note;
    pyro_words rules;
    const char *junit, *markdown, *webhook;
    const char *model, *rate, *p99;
    pyro_words on; /* chips to predict */
    const char *measured_on, *graph;
    const char *prometheus, *github;
    const char *good, *bad, *change, *setup;
    double utilisation, price;
    bool with_samples; /* not an option: what the verb needs */
    const char *keep_samples, *keep_all, *keep_weekly;
    pyro_common common;
} pyro_history_values;

extern const pyro_option_group pyro_history_groups[];

/* Each takes the operands after the verb, and returns the exit code of the process. */
typedef int pyro_history_verb(const pyro_history_values *values, const char *const *operands,
                              size_t count);
pyro_history_verb pyro_history_verb_add, pyro_history_verb_list, pyro_history_verb_show,
    pyro_history_verb_export, pyro_history_verb_collect, pyro_history_verb_trend,
    pyro_history_verb_changes, pyro_history_verb_alert, pyro_history_verb_plan,
    pyro_history_verb_bisect;

/* "90d", "12h", "2w", "30min", "1y" as nanoseconds; PYRO_ERROR_ARGUMENT names the option. */
int pyro_history_duration(int64_t *out, const char *option, const char *text, pyro_error *error);
/* A date, a time, or a duration before now; NULL is 0. */
int pyro_history_moment(int64_t *out, const char *option, const char *text, pyro_error *error);

/* The filters among the options. */
int pyro_history_settle(pyro_history_query *query, const pyro_history_values *values,
                        pyro_error *error);
/* Writes a report to its destination. */
int pyro_history_write(const pyro_history_values *values, const pyro_history_report *report);

/* Reads lines and writes a report of them. */
int pyro_history_write_lines(const pyro_history_values *values, const pyro_history_query *query,
                             pyro_history_view view);

/* The lines that the options select, and their changes. Close it, also after a failure. */
typedef struct pyro_history_reading {
    pyro_history *history;
    pyro_history_lines *lines;
    pyro_history_changes *changes;
    pyro_history_order *order;
    pyro_change_options options;
} pyro_history_reading;
int pyro_history_lines_open(pyro_history_reading *reading, const pyro_history_values *values,
                            bool write, pyro_error *error);
void pyro_history_lines_close(pyro_history_reading *reading);

#endif
