/* Writes parts of a self-contained HTML page: text, tables, plots. */
#ifndef PYRO_REPORT_HTML_H
#define PYRO_REPORT_HTML_H

#include "base/containers/buf.h"

#include <stdbool.h>

/* Text for HTML and XML: escapes markup, and replaces characters that are not allowed by '?'. */
void pyro_html_text(pyro_buf *buf, const char *text);

void pyro_html_begin(pyro_buf *buf, const char *title);
void pyro_html_end(pyro_buf *buf);

/* <tag>text</tag>, for headings, paragraphs and cells. */
void pyro_html_element(pyro_buf *buf, const char *tag, const char *text);
void pyro_html_begin_table(pyro_buf *buf, const char *const *titles, size_t count);
/* A "td" or "th": numbers are aligned right, words left. */
void pyro_html_cell(pyro_buf *buf, const char *tag, const char *text, bool words);
void pyro_html_end_table(pyro_buf *buf);

/* A histogram of the numbers, with a line at `marked` (NaN: no line). */
void pyro_html_histogram(pyro_buf *buf, const double *values, size_t count, double marked,
                         const char *unit);
/* A scatter plot of the numbers in their order. */
void pyro_html_sequence(pyro_buf *buf, const double *values, size_t count, const char *unit);

/* A box plot: quartiles and median, whiskers to the extremes. */
typedef struct pyro_html_box {
    const char *name;
    double min, q1, median, q3, max;
} pyro_html_box;
void pyro_html_boxes(pyro_buf *buf, const pyro_html_box *boxes, size_t count, const char *unit);

#endif
