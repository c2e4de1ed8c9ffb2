/* Helpers that the writers of benchmark results share. */
#ifndef PYRO_REPORT_BENCH_BENCH_H
#define PYRO_REPORT_BENCH_BENCH_H

#include "base/containers/buf.h"
#include "base/json/write.h"
#include "base/text/units.h"

#include "bench/ranking.h"
#include "report/writers.h"

#include <pyrometer/report.h>

/* An amount in its unit, for people: "12.3 ms", "1.50 MiB", "81.2 runs/s"; "-" where it is NaN. */
/* "memory_average" as "Memory average". */
void pyro_add_metric_name(pyro_buf *buf, const char *name);
char *pyro_format_amount(char text[PYRO_UNIT_TEXT], double value, const char *unit);
/* "+4.9%". */
char *pyro_format_change(char text[PYRO_UNIT_TEXT], double change);

/* The middle and spread of a metric, from its samples or the one value it has. */
double pyro_metric_middle(const pyro_metric *metric);

const char *pyro_gate_name(pyro_gate gate);

/* Adds a verdict to another report. */
void pyro_add_verdict_text(pyro_buf *buf, const pyro_comparison *comparison,
                           const pyro_report_options *options);
void pyro_add_verdict_markdown(pyro_buf *buf, const pyro_comparison *comparison);

/* Each adds one line: clocks and power, throttling, samples discarded because of throttling. */
void pyro_add_gpu_clocks(pyro_buf *buf, const pyro_bench_result *result);
void pyro_add_gpu_throttling(pyro_buf *buf, const pyro_bench_result *result);
void pyro_add_gpu_discarded(pyro_buf *buf, const pyro_bench_result *result);

#endif
