/* The formats that a command offers. Reads the rows of report/writers.def. */
#ifndef PYRO_CLI_OPTIONS_FORMATS_H
#define PYRO_CLI_OPTIONS_FORMATS_H

#include "report/writers.h"

/* The choices of --format; NULL-terminated. */
const char *const *pyro_format_names(pyro_report_kind kind);
/* The writer of that name, or NULL. */
const pyro_writer *pyro_format_named(pyro_report_kind kind, const char *name);
/* The first writer, which is text. */
const pyro_writer *pyro_format_default(pyro_report_kind kind);
/* The writer for the extension of a file name, or NULL. */
const pyro_writer *pyro_format_of_file(pyro_report_kind kind, const char *path);

/* "text for people, json for programs or csv for spreadsheets" */
void pyro_format_list(pyro_buf *buf, pyro_report_kind kind);
/* ".json, .csv or .txt": formats for programs first. */
void pyro_format_list_extensions(pyro_buf *buf, pyro_report_kind kind);

#endif
