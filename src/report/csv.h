/* Writes CSV fields: RFC 4180 quoting, and no cell that a spreadsheet would run as a formula. */
#ifndef PYRO_REPORT_CSV_H
#define PYRO_REPORT_CSV_H

#include "base/containers/buf.h"
#include <stdint.h>

/* Each adds one field and a comma, or a line end if `last`. */
void pyro_csv_text(pyro_buf *buf, const char *text, bool last);
void pyro_csv_integer(pyro_buf *buf, int64_t value, bool last);
void pyro_csv_number(pyro_buf *buf, double value, bool last);
/* With as many digits as reading it back needs. */
void pyro_csv_exact(pyro_buf *buf, double value, bool last);
/* The first record: names separated by commas. */
void pyro_csv_header(pyro_buf *buf, const char *names);

#endif
