/*
 * The data of a page: a header in JSON and sections of bytes, deflated and in base64. A section is
 * JSON, or a column of numbers. web/src/data/container.ts reads it.
 */
#ifndef PYRO_REPORT_PAGE_PAGE_H
#define PYRO_REPORT_PAGE_PAGE_H

#include "analyze/timeline/timeline.h"
#include "base/containers/buf.h"
#include "base/json/write.h"

#include <pyrometer/graph.h>
#include <pyrometer/page.h>

/* Raised when a page of the version before cannot show the data. */
#define PYRO_PAGE_SCHEMA "pyrometer.page/1"

struct pyro_page {
    pyro_page_options options;
    char *title;
    pyro_buf header;   /* the array of parts, without its end */
    pyro_json_writer json; /* into `header` */
    pyro_buf sections;
    size_t part_count;
    size_t packed_bytes; /* of the timelines so far */
    bool next_has_sides; /* the next part compares the two that follow it */
    bool next_is_plain,
        next_is_short; /* the next part is shown without drawings, without details */
};

/* How the numbers of a column are stored. */
typedef enum pyro_column_code {
    PYRO_CODE_VARINT, /* unsigned, 7 bits a byte, low ones first */
    PYRO_CODE_DELTA,  /* the same, of zigzag differences to the number before */
    PYRO_CODE_BYTE
} pyro_column_code;

/* Between these two calls, sections are added. */
void pyro_page_begin_part(pyro_page *page, const char *kind, const char *name);
void pyro_page_end_part(pyro_page *page);
void pyro_page_add_text(pyro_page *page, const char *name, const char *text, size_t size);

/* A place to return to: what is added after it is removed again. */
typedef struct pyro_page_mark {
    size_t header_length, sections_length;
    pyro_json_writer json;
} pyro_page_mark;
pyro_page_mark pyro_page_mark_here(const pyro_page *page);
void pyro_page_return_to(pyro_page *page, pyro_page_mark mark);
/* Whether the page stays below its limit with what was added since the mark. Counts it if so. */
bool pyro_page_fits(pyro_page *page, pyro_page_mark mark);

/* The i-th number of a column. */
typedef int64_t pyro_number_at(const void *data, size_t index);
void pyro_page_add_column(pyro_page *page, const char *name, pyro_column_code code, size_t count,
                          pyro_number_at *at, const void *data);

/* The graph of a program by layers, as section "graph". */
int pyro_page_add_graph(pyro_page *page, const pyro_program *program, pyro_error *error);
/* The names, tracks, rows and slices of a timeline, as sections of the current part. */
void pyro_page_add_timeline(pyro_page *page, const pyro_timeline *timeline, const pyro_trace *trace,
                            const pyro_joins *joins);

/* The counters over time, where the trace has any. */
void pyro_page_add_counters(pyro_page *page, const pyro_timeline *timeline,
                            const pyro_trace *trace);
/* What a part about a trace is made from. */
typedef struct pyro_page_sources {
    const pyro_trace *trace;
    const pyro_joins *joins;
    const pyro_analysis *analysis;
} pyro_page_sources;
/* The blocks of memory with their lifetimes and owners, where the trace has any. */
int pyro_page_add_memory(pyro_page *page, const pyro_timeline *timeline, pyro_page_sources sources,
                         pyro_error *error);

/* The page without data; its size is 0 in a build without Node. The build generates both. */
extern const unsigned char pyro_page_template[];
extern const size_t pyro_page_template_size;

#endif
