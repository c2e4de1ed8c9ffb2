/* Writes results as one self-contained HTML file, which opens offline. */
#ifndef PYROMETER_PAGE_H
#define PYROMETER_PAGE_H

#include <pyrometer/cost.h>
#include <pyrometer/report.h>
#include <pyrometer/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pyro_page pyro_page;

typedef struct pyro_page_options {
    const char *title; /* NULL: the name of the first part */
    int64_t from_ns, to_ns; /* of the timelines, since their start; to_ns 0: the end */
    bool only_steps;
    int64_t first_step, last_step; /* numbers of the steps to show, in place of the times */
    int64_t max_events; /* of a timeline; 0: 1,000,000. Shorter ones are merged. */
    bool strip_paths;   /* file names without their folders */
} pyro_page_options;

/* False in a build without the page, which needs Node: `make web`. */
PYRO_API bool pyro_page_is_available(void);

/* Begins a page. `options` may be NULL. PYRO_ERROR_UNSUPPORTED without the page. */
PYRO_API int pyro_page_new(pyro_page **out, const pyro_page_options *options, pyro_error *error);
PYRO_API void pyro_page_free(pyro_page *page);

/* Adds a result as pyrometer writes it with --format json. */
PYRO_API int pyro_page_add_json(pyro_page *page, const char *name, const char *text, size_t size,
                                pyro_error *error);
/* Adds a comparison as pyrometer diff writes it. The two parts that are added next are its sides. */
PYRO_API int pyro_page_add_diff(pyro_page *page, const char *name, const char *text, size_t size,
                                pyro_error *error);
/* Adds a model's cost and its graph. */
PYRO_API int pyro_page_add_model(pyro_page *page, const char *name, const pyro_cost *cost,
                                 pyro_error *error);
/* Adds an analyzed trace with its timeline, and its graph if it recorded storages.
 * `options` as given to pyro_trace_analyze. */
PYRO_API int pyro_page_add_trace(pyro_page *page, pyro_trace *trace, const pyro_analysis *analysis,
                                 const pyro_analysis_options *options, pyro_error *error);

/* Adds a trace or recording that cannot be read: `reason` is the error of reading it. The page says
 * what is missing and how to get it. */
PYRO_API int pyro_page_add_failure(pyro_page *page, const char *path, const pyro_error *reason,
                                   pyro_error *error);

/* Adds benchmark results with the verdict, if they have one. */
PYRO_API int pyro_page_add_bench(pyro_page *page, const char *name, const pyro_bench_report *report,
                                 pyro_error *error);

/* The HTML, which the caller frees with pyro_free(). The page can take no more parts. */
PYRO_API int pyro_page_finish(char **out, size_t *size, pyro_page *page, pyro_error *error);

/* Benchmark results as a page of their own. A build without the page writes a static file. */
PYRO_API int pyro_report_bench_page(char **out, size_t *size, const pyro_bench_report *report,
                                    const char *title, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
