/* Writes results to standard output or to a file. A file is written completely or not at all. */
#ifndef PYRO_CLI_OUTPUT_H
#define PYRO_CLI_OUTPUT_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>

/* True when standard output is a terminal with colour and NO_COLOR is not set. */
bool pyro_output_wants_color(void);

/* Columns available for a table. A pipe or file has no limit, so that names are not cut. */
int pyro_output_width(bool to_stdout);

/* Exits silently when the reader has closed the pipe, even where SIGPIPE is ignored. */
int pyro_output_stdout(const char *text, size_t size, pyro_error *error);

/*
 * Writes a temporary file beside `path` and renames it. Writes directly to anything but a regular
 * file (a device, a pipe). Keeps a symbolic link and replaces its target.
 */
int pyro_output_file(const char *path, const char *text, size_t size, pyro_error *error);

/* The same, piece by piece; "-" is standard output. */
typedef struct pyro_output_stream {
    int fd;
    char *temporary; /* NULL when writing directly to the target */
    char *target;
} pyro_output_stream;

int pyro_output_begin(pyro_output_stream *stream, const char *path, pyro_error *error);
int pyro_output_add(pyro_output_stream *stream, const char *bytes, size_t size, pyro_error *error);
/* With `keep` the file gets its name; otherwise the temporary file is removed. */
int pyro_output_end(pyro_output_stream *stream, bool keep, pyro_error *error);

#endif
