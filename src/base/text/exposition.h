/*
 * Writes metrics as Prometheus reads them: its text format 0.0.4, or OpenMetrics 1.0. They differ in
 * the names of counters and in what may follow a family.
 */
#ifndef PYRO_BASE_TEXT_EXPOSITION_H
#define PYRO_BASE_TEXT_EXPOSITION_H

#include "base/containers/buf.h"

typedef enum pyro_exposition {
    PYRO_EXPOSITION_PROMETHEUS,
    PYRO_EXPOSITION_OPENMETRICS
} pyro_exposition;

typedef enum pyro_metric_type {
    PYRO_METRIC_COUNTER, /* its samples end in _total */
    PYRO_METRIC_GAUGE,
    PYRO_METRIC_HISTOGRAM,
    PYRO_METRIC_INFO /* its samples end in _info */
} pyro_metric_type;

/* Announces a family. `name` has no suffix of its type, but ends in the unit; `unit` may be "". */
void pyro_exposition_family(pyro_buf *buf, pyro_exposition format, const char *name,
                            pyro_metric_type type, const char *unit, const char *help);
/* name="text", with backslash, quote and line end escaped. */
void pyro_exposition_label(pyro_buf *buf, const char *name, const char *text);
/* As many digits as reading it back needs, whatever the locale. */
void pyro_exposition_number(pyro_buf *buf, double value);
/* The last line, which OpenMetrics requires; a comment in the other format. */
void pyro_exposition_end(pyro_buf *buf);

#endif
