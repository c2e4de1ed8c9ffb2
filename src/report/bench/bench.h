/* What the writers of benchmark results share. */
#ifndef PYRO_REPORT_BENCH_BENCH_H
#define PYRO_REPORT_BENCH_BENCH_H

#include "base/containers/buf.h"
#include "base/json/write.h"
#include "base/text/units.h"

#include <pyrometer/report.h>

/* An amount in its unit, for people: "12.3 ms", "1.50 MiB", "81.2 runs/s"; "-" where it is NaN. */
/* "memory_average" as "Memory average". */
void pyro_add_metric_name(pyro_buf *buf, const char *name);
char *pyro_format_amount(char text[PYRO_UNIT_TEXT], double value, const char *unit);
/* "+4.9%". */
char *pyro_format_change(char text[PYRO_UNIT_TEXT], double change);

/* The middle and spread of a metric, from its samples or the one value it has. */
double pyro_metric_middle(const pyro_metric *metric);

/* "1.23 +- 0.05 times faster than ...": the fastest result first. */
typedef struct pyro_ranking {
    const pyro_bench_result *result;
    pyro_speed_ratio ratio; /* of the fastest to this one */
} pyro_ranking;
/* Sorted by mean latency; results without one are left out. The caller frees *out. */
int pyro_rank_results(pyro_ranking **out, size_t *count, const pyro_bench *bench,
                      pyro_error *error);

const char *pyro_gate_name(pyro_gate gate);

int pyro_write_bench_text(pyro_buf *buf, const pyro_bench_report *report,
                          const pyro_report_options *options, pyro_error *error);
void pyro_write_bench_json(pyro_buf *buf, const pyro_bench_report *report);
void pyro_write_bench_csv(pyro_buf *buf, const pyro_bench_report *report);
int pyro_write_bench_markdown(pyro_buf *buf, const pyro_bench_report *report, pyro_error *error);
int pyro_write_bench_html(pyro_buf *buf, const pyro_bench_report *report, pyro_error *error);
void pyro_write_bench_junit(pyro_buf *buf, const pyro_bench_report *report);
void pyro_write_bench_github(pyro_buf *buf, const pyro_bench_report *report);

void pyro_write_verdict_text(pyro_buf *buf, const pyro_comparison *comparison,
                             const pyro_report_options *options);
void pyro_write_verdict_rows(pyro_json_writer *writer, const pyro_comparison *comparison);
void pyro_write_verdict_markdown(pyro_buf *buf, const pyro_comparison *comparison);
void pyro_write_verdict_csv(pyro_buf *buf, const pyro_comparison *comparison);

/* Clocks and power, throttling, and samples that were left out for it: a line of words each. */
void pyro_add_gpu_clocks(pyro_buf *buf, const pyro_bench_result *result);
void pyro_add_gpu_throttling(pyro_buf *buf, const pyro_bench_result *result);
void pyro_add_gpu_discarded(pyro_buf *buf, const pyro_bench_result *result);

#endif
