/* Helpers that the writers of the history share. */
#ifndef PYRO_REPORT_HISTORY_HISTORY_H
#define PYRO_REPORT_HISTORY_HISTORY_H

#include "base/containers/buf.h"
#include "base/text/units.h"
#include "report/writers.h"

enum { PYRO_TIME_TEXT = 32, PYRO_COMMIT_TEXT = 13 };

/* "2026-11-17 18:05" and "2026-11-17T18:05:00Z", UTC. */
char *pyro_format_time(char text[PYRO_TIME_TEXT], int64_t time_ns);
char *pyro_format_time_exact(char text[PYRO_TIME_TEXT], int64_t time_ns);
/* The first digits of a commit; "-" without one. */
char *pyro_format_commit(char text[PYRO_COMMIT_TEXT], const char *commit);

/* "regression: +12.3% (+10.8% to +13.9%), 100 ms -> 112 ms" */
void pyro_add_change_size(pyro_buf *buf, const pyro_history_change *change);
/* "between a1b2 and c3d4, most likely c3d4 (2026-11-17 18:05)" */
void pyro_add_change_place(pyro_buf *buf, const pyro_history_change *change);
/* Of the changes that nobody has acknowledged: of all lines, or of one (NULL: all). */
size_t pyro_count_new_changes(const pyro_history_changes *changes, const pyro_history_line *line);
/* "resnet50 latency on CLASS" */
void pyro_add_line_name(pyro_buf *buf, const pyro_history_line *line);

int pyro_write_trend_text(pyro_buf *buf, const pyro_report_request *request);
int pyro_write_changes_text(pyro_buf *buf, const pyro_report_request *request);
void pyro_write_trend_json(pyro_json_writer *w, const pyro_history_report *report);
void pyro_write_changes_json(pyro_json_writer *w, const pyro_history_changes *changes);
int pyro_write_alerts_text(pyro_buf *buf, const pyro_report_request *request);
void pyro_write_alerts_json(pyro_json_writer *w, const pyro_alerts *alerts);
void pyro_write_alerts_csv(pyro_buf *buf, const pyro_alerts *alerts);
int pyro_write_plan_text(pyro_buf *buf, const pyro_report_request *request);
void pyro_write_plan_json(pyro_json_writer *w, const pyro_history_report *report);
void pyro_write_plan_csv(pyro_buf *buf, const pyro_history_report *report);
/* The predictions for other chips, if there are any. */
void pyro_write_plan_chips_text(pyro_buf *buf, const pyro_report_request *request);
void pyro_write_plan_chips_json(pyro_json_writer *w, const pyro_history_report *report);
/* "3 replicas with p99 40.1 ms", "too slow" */
void pyro_add_replicas(pyro_buf *text, const pyro_capacity *capacity);
void pyro_write_changes_csv(pyro_buf *buf, const pyro_history_changes *changes);

/* pyro_format_amount() for units from files. */
char *pyro_format_safe_amount(char text[PYRO_UNIT_TEXT], double value, const char *unit);

/* A run and its metrics: the points with the same number. */
typedef struct pyro_history_entry {
    const pyro_history_line *line;
    const pyro_history_point *point;
} pyro_history_entry;
/* All points of the lines, by run; free() it. NULL if memory runs out. */
pyro_history_entry *pyro_history_entries(const pyro_history_lines *lines, size_t *count);

#endif
