/* Files that appear whole or not at all: a temporary one beside the target, then renamed. */
#ifndef PYRO_BASE_FILE_H
#define PYRO_BASE_FILE_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* A regular file apart from its names: two names, links included, are one file when these agree. */
typedef struct pyro_file_identity {
    uint64_t device, inode;
} pyro_file_identity;
/* False where `path` names no regular file. Symbolic links are followed. */
bool pyro_file_identify(const char *path, pyro_file_identity *out);
bool pyro_file_equal(pyro_file_identity left, pyro_file_identity right);

/* Makes a folder and those it lies in. */
int pyro_file_make_folder(const char *path, pyro_error *error);

#endif
