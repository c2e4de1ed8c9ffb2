/* Writes files atomically: to a temporary file beside the target, which is then renamed. */
#ifndef PYRO_BASE_FILE_H
#define PYRO_BASE_FILE_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Creates a file beside `target`; the caller frees *temporary, its name. -1 and errno: failed. */
int pyro_file_open_temporary(const char *target, char **temporary);
/* Writes all bytes. Returns false with errno on failure. */
bool pyro_file_write(int fd, const void *bytes, size_t size);

/*
 * Writes a whole file. Without `replace`, an existing file is PYRO_ERROR_ARGUMENT, even if another
 * process has just created it.
 */
int pyro_file_write_whole(const char *path, const void *bytes, size_t size, bool replace,
                          pyro_error *error);
/* The identity of a regular file: two paths, links included, name one file if these are equal. */
typedef struct pyro_file_identity {
    uint64_t device, inode;
} pyro_file_identity;
/* Follows symbolic links. Returns false if `path` is not a regular file. */
bool pyro_file_identify(const char *path, pyro_file_identity *out);
bool pyro_file_equal(pyro_file_identity left, pyro_file_identity right);

/* Creates a folder of its own, "pyrometer-...", in $TMPDIR or /tmp; the caller frees its path. */
int pyro_file_make_temporary_folder(char **out, pyro_error *error);
/* Creates a folder and its parents. */
int pyro_file_make_folder(const char *path, pyro_error *error);

#endif
