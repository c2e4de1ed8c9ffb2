/* Files that appear whole or not at all: a temporary one beside the target, then renamed. */
#ifndef PYRO_BASE_FILE_H
#define PYRO_BASE_FILE_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>

/* A new file beside `target`, whose name *temporary the caller frees; -1 with errno set. */
int pyro_file_open_temporary(const char *target, char **temporary);
/* True when everything was written; errno says why not. */
bool pyro_file_write(int fd, const void *bytes, size_t size);

/*
 * Writes a whole file. Without `replace`, PYRO_ERROR_ARGUMENT where there is one of that name
 * already, also when another process was quicker.
 */
int pyro_file_write_whole(const char *path, const void *bytes, size_t size, bool replace,
                          pyro_error *error);
/* Makes a folder and those it lies in. */
int pyro_file_make_folder(const char *path, pyro_error *error);

#endif
