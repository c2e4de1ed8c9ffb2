/* Writes results as one self-contained HTML file, which opens offline. */
#ifndef PYROMETER_PAGE_H
#define PYROMETER_PAGE_H

#include <pyrometer/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pyro_page pyro_page;

typedef struct pyro_page_options {
    const char *title; /* NULL: the name of the first part */
    int64_t from_ns, to_ns; /* of the timelines, since their start; to_ns 0: the end */
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
/* Adds an analyzed trace with its timeline. `options` as given to pyro_trace_analyze. */
PYRO_API int pyro_page_add_trace(pyro_page *page, pyro_trace *trace, const pyro_analysis *analysis,
                                 const pyro_analysis_options *options, pyro_error *error);

/* The HTML, which the caller frees with pyro_free(). The page can take no more parts. */
PYRO_API int pyro_page_finish(char **out, size_t *size, pyro_page *page, pyro_error *error);

#ifdef __cplusplus
}
#endif
#endif
