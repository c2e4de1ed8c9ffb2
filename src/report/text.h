/* Lays out text: banners, headings, paragraphs. base/text/table.h lays out tables. */
#ifndef PYRO_REPORT_TEXT_H
#define PYRO_REPORT_TEXT_H

#include "base/containers/buf.h"

enum { PYRO_TEXT_WIDTH = 80 };

/* A title between two lines of = signs, at most 80 wide. */
void pyro_text_banner(pyro_buf *buf, const char *title, int width, bool color);

/* A line, bold if colours are on. */
void pyro_text_heading(pyro_buf *buf, const char *title, bool color);

/*
 * Paragraphs (an empty line between two) broken at spaces: the first line behind `first_indent`
 * spaces, all others behind `indent`. A word longer than a line is not broken.
 */
void pyro_text_wrap(pyro_buf *buf, const char *text, int first_indent, int indent, int width);

/* The text of a part for insertion into `whole`; if the part failed, marks the whole as failed. */
const char *pyro_text_part(pyro_buf *whole, const pyro_buf *part);

/* "  Label:     value", long values are wrapped and aligned. */
void pyro_text_field(pyro_buf *buf, const char *label, const pyro_buf *value, int width);

/* A heading and one wrapped, dashed item per text; nothing when there are no texts. */
void pyro_text_list(pyro_buf *buf, const char *title, const char *const *texts, size_t count,
                    int width, bool color);

/*
 * A dotted path in at most `room` bytes where that can be done by cutting names, from the left, to
 * their first letter: "e.l.11.intermediate.dense". Numbers, also those that end a name ("Block_3"
 * is "B3"), and the last name always stay whole, because they distinguish paths.
 */
void pyro_text_path(pyro_buf *buf, const char *path, size_t room);

/* Text from a file, made printable by pyro_buf_add_printable(). */
void pyro_text_clean(pyro_buf *buf, const char *text);

#endif
