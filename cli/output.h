/* Where text goes: standard output, or a file that appears whole or not at all. */
#ifndef PYRO_CLI_OUTPUT_H
#define PYRO_CLI_OUTPUT_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>

/* Standard output is a terminal that shows colour, and nobody asked for none (NO_COLOR). */
bool pyro_output_wants_color(void);

/* Columns that a table may take. In a pipe or a file there is no edge, so no name need be cut. */
int pyro_output_width(bool to_stdout);

/* A reader that went away ends the process quietly, as SIGPIPE does where it is not ignored. */
int pyro_output_stdout(const char *text, size_t size, pyro_error *error);

/*
 * Writes a temporary file beside `path` and renames it. What is no regular file (a device, a pipe)
 * is written directly; a symbolic link stays one.
 */
int pyro_output_file(const char *path, const char *text, size_t size, pyro_error *error);

/* The same for what is written piece by piece; "-" is standard output. */
typedef struct pyro_output_stream {
    int fd;
    char *temporary; /* NULL where the target is written directly */
    char *target;
} pyro_output_stream;

int pyro_output_begin(pyro_output_stream *stream, const char *path, pyro_error *error);
int pyro_output_add(pyro_output_stream *stream, const char *bytes, size_t size, pyro_error *error);
/* With `keep` the file appears under its name; otherwise it is as if nothing had been begun. */
int pyro_output_end(pyro_output_stream *stream, bool keep, pyro_error *error);

#endif
