/* Parts of a page that is one file without references to others: text, tables, drawings. */
#ifndef PYRO_REPORT_HTML_H
#define PYRO_REPORT_HTML_H

#include "base/containers/buf.h"

#include <stdbool.h>

/* Text as HTML and XML show it: markup is escaped, what no document may hold becomes '?'. */
void pyro_html_text(pyro_buf *buf, const char *text);

void pyro_html_begin(pyro_buf *buf, const char *title);
void pyro_html_end(pyro_buf *buf);

/* <tag>text</tag>, for headings, paragraphs and cells. */
void pyro_html_element(pyro_buf *buf, const char *tag, const char *text);
void pyro_html_begin_table(pyro_buf *buf, const char *const *titles, size_t count);
/* A "td" or "th": numbers stand to the right, words to the left. */
void pyro_html_cell(pyro_buf *buf, const char *tag, const char *text, bool words);
void pyro_html_end_table(pyro_buf *buf);

/* Numbers as bars of how often they occur, with a line at `marked` (NaN: none). */
void pyro_html_histogram(pyro_buf *buf, const double *values, size_t count, double marked,
                         const char *unit);
/* Numbers in their order, as points. */
void pyro_html_sequence(pyro_buf *buf, const double *values, size_t count, const char *unit);

/* A box from the lower to the upper quartile, whiskers to the ends. */
typedef struct pyro_html_box {
    const char *name;
    double min, q1, median, q3, max;
} pyro_html_box;
void pyro_html_boxes(pyro_buf *buf, const pyro_html_box *boxes, size_t count, const char *unit);

#endif
