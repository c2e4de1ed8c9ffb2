/* Where the results of pyrometer bench go: files, a folder of them, lines for GitHub. */
#ifndef PYRO_CLI_BENCH_WRITE_H
#define PYRO_CLI_BENCH_WRITE_H

#include "cli/common.h"

#include <pyrometer/report.h>

/* Files that were asked for by name; NULL: not asked for. */
typedef struct pyro_bench_exports {
    const char *json, *csv, *markdown, *html, *folder;
} pyro_bench_exports;

/* Before anything runs: whether a file that would be written there is an input. An exit code. */
int pyro_bench_check_folder(const char *folder);

/* Each returns an exit code; what is wrong was told. */
int pyro_bench_write_exports(const pyro_bench_exports *exports, const pyro_bench_report *report,
                             const pyro_bench *base);
int pyro_bench_write_result(const pyro_common *common, const pyro_bench_report *report);

/* "::error::..." for thresholds that did not pass, where GitHub runs us. */
void pyro_bench_write_annotations(const pyro_bench_report *report);
/* The Markdown report behind what GITHUB_STEP_SUMMARY holds, where that is set. */
void pyro_bench_write_summary(const pyro_bench_report *report);

#endif
