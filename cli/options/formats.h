/* The formats that a command offers, from the rows of report/writers.def. */
#ifndef PYRO_CLI_OPTIONS_FORMATS_H
#define PYRO_CLI_OPTIONS_FORMATS_H

#include "report/writers.h"

/* Names, NULL at the end: the choices of --format. */
const char *const *pyro_format_names(pyro_report_kind kind);
/* The writer of that name, and NULL for others. */
const pyro_writer *pyro_format_named(pyro_report_kind kind, const char *name);
/* The first, which is text. */
const pyro_writer *pyro_format_default(pyro_report_kind kind);
/* The writer that the extension of a file stands for, and NULL for others. */
const pyro_writer *pyro_format_of_file(pyro_report_kind kind, const char *path);

/* "text for people, json for programs or csv for spreadsheets" */
void pyro_format_list(pyro_buf *buf, pyro_report_kind kind);
/* ".json, .csv or .txt": what is for programs first. */
void pyro_format_list_extensions(pyro_buf *buf, pyro_report_kind kind);

#endif
