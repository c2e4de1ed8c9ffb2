/* Readers of results: one function per format recognizes its document and adds its runs. */
#ifndef PYRO_HISTORY_IMPORT_IMPORT_H
#define PYRO_HISTORY_IMPORT_IMPORT_H

#include "base/containers/buf.h"
#include "history/import/document.h"
#include "history/run.h"

/* The file that is being read. */
typedef struct pyro_import {
    pyro_document document;
    pyro_runs *runs;
    pyro_error *error;
} pyro_import;

typedef bool pyro_import_recognise(const pyro_node *root);
typedef int pyro_import_read(pyro_import *import, const pyro_node *root);

pyro_import_recognise pyro_import_is_bench, pyro_import_is_trace, pyro_import_is_cost,
    pyro_import_is_history, pyro_import_is_hyperfine, pyro_import_is_pytest, pyro_import_is_google,
    pyro_import_is_asv, pyro_import_is_github;
pyro_import_read pyro_import_read_bench, pyro_import_read_trace, pyro_import_read_cost,
    pyro_import_read_history, pyro_import_read_hyperfine, pyro_import_read_pytest,
    pyro_import_read_google, pyro_import_read_asv, pyro_import_read_github;

/* Adds an empty run, which the list owns. */
int pyro_import_run(pyro_import *import, pyro_run **out, const char *kind);

/*
 * Adds a metric with the numbers of `samples` times `factor`, or with `value` without any. A
 * metric without any finite number is left out. In milliseconds, lower is better, unless changed.
 */
typedef struct pyro_import_metric {
    const char *benchmark, *metric, *unit, *method;
    bool higher_is_better;
    const pyro_node *samples;
    double factor; /* 0: 1 */
    double value;
    const pyro_run_statistics *statistics; /* of samples that are missing; NULL: none */
} pyro_import_metric;
int pyro_import_add(pyro_import *import, pyro_run *run, const pyro_import_metric *metric);

/* Describes the machine; `machine_class` is what makes results comparable, `all` everything. */
int pyro_import_machine(pyro_import *import, pyro_run *run, const pyro_buf *machine_class,
                        const pyro_buf *all);

/* "2026-11-17T18:00:00.5+01:00" or without a zone (UTC) as nanoseconds; 0 if it is invalid. */
int64_t pyro_parse_time(const char *text);

/* Appends " key=value" per member of an object. */
void pyro_import_parameters(pyro_buf *buf, const pyro_node *object);

#endif
