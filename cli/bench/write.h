/* Writes the results of pyrometer bench: files, a folder of them, annotations for GitHub. */
#ifndef PYRO_CLI_BENCH_WRITE_H
#define PYRO_CLI_BENCH_WRITE_H

#include "cli/common.h"

#include <pyrometer/report.h>

/* Files given by name; NULL: not requested. */
typedef struct pyro_bench_exports {
    const char *json, *csv, *markdown, *html, *folder;
} pyro_bench_exports;

/* Rejects a folder where an output would overwrite an input. Returns an exit code. */
int pyro_bench_check_folder(const char *folder);

/* Both report errors and return an exit code. */
int pyro_bench_write_exports(const pyro_bench_exports *exports, const pyro_bench_report *report,
                             const pyro_bench *base);
int pyro_bench_write_result(const pyro_common *common, const pyro_bench_report *report);

/* Prints "::error::..." for thresholds that did not pass, in GitHub Actions only. */
void pyro_bench_write_annotations(const pyro_bench_report *report);
/* Appends the Markdown report to the file GITHUB_STEP_SUMMARY, if that is set. */
void pyro_bench_write_summary(const pyro_bench_report *report);

#endif
