/*
 * Byte sources: one interface for files, memory, gzip and zstd streams and members of zip archives.
 * Files are read with pread, not mapped: a mapped file that shrinks would kill the process.
 */
#ifndef PYRO_BASE_SOURCE_SOURCE_H
#define PYRO_BASE_SOURCE_SOURCE_H

#include <pyrometer/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pyro_source pyro_source;

/* What a kind of source implements; `read_at` is NULL for streams. */
typedef struct pyro_source_kind {
    int64_t (*read)(pyro_source *source, void *bytes, size_t size, pyro_error *error);
    int64_t (*read_at)(pyro_source *source, int64_t offset, void *bytes, size_t size,
                       pyro_error *error);
    void (*close)(pyro_source *source);
} pyro_source_kind;

/* The common first member of every kind of source. */
struct pyro_source {
    const pyro_source_kind *kind;
    int64_t size; /* -1: unknown until it is read */
    bool checked; /* has a checksum, which is verified before the end is reported */
};

/* Opens a regular file or a pipe ("-" is standard input). A directory is PYRO_ERROR_UNSUPPORTED. */
int pyro_source_open_file(pyro_source **out, const char *path, pyro_error *error);
/* Opens a regular file only: a pipe is PYRO_ERROR_UNSUPPORTED, without waiting for its writer. */
int pyro_source_open_regular(pyro_source **out, const char *path, pyro_error *error);
/* Borrows the bytes. */
int pyro_source_open_memory(pyro_source **out, const void *bytes, size_t size, pyro_error *error);
/* Decompresses `inner` (one or more members). Takes ownership of `inner`, even on failure. */
int pyro_source_open_gzip(pyro_source **out, pyro_source *inner, pyro_error *error);
/*
 * Limits the output of a gzip source, against decompression bombs: beyond `free_bytes` at most
 * `expansion` bytes per compressed byte, and `most_bytes` in total; else PYRO_ERROR_LIMIT.
 */
void pyro_gzip_limit(pyro_source *gzip, int64_t free_bytes, int64_t expansion, int64_t most_bytes);
/* As pyro_source_open_gzip, for zstd frames. */
int pyro_source_open_zstd(pyro_source **out, pyro_source *inner, pyro_error *error);
/*
 * Returns the content of `inner`: decompressed if it starts like gzip or zstd, else `inner` itself.
 * The result owns `inner`; close it even on failure (it may be NULL).
 */
int pyro_source_open_content(pyro_source **out, pyro_source *inner, pyro_error *error);
/*
 * Reads the first bytes of a source without consuming them: *source may become another source that
 * owns it.
 */
#define PYRO_PEEKED_BYTES 8
int pyro_source_peek(pyro_source **source, unsigned char *bytes, size_t *count, pyro_error *error);
/* Reads `inner` ahead in a separate thread. Takes ownership of `inner`, even on failure. */
int pyro_source_open_readahead(pyro_source **out, pyro_source *inner, pyro_error *error);
/*
 * A stream over a borrowed seekable source, from the start or the offset that was set. Threads may
 * share `inner` through one range each.
 */
int pyro_source_open_range(pyro_source **out, pyro_source *inner, pyro_error *error);
void pyro_source_seek_range(pyro_source *range, int64_t offset);

/* Reads the next bytes: returns at least 1, 0 at the end, or a negative status. */
int64_t pyro_source_read(pyro_source *source, void *bytes, size_t size, pyro_error *error);
/* Reads exactly `size` bytes at an offset, or fails (PYRO_ERROR_FORMAT past the end). */
int pyro_source_read_at(pyro_source *source, int64_t offset, void *bytes, size_t size,
                        pyro_error *error);
bool pyro_source_is_seekable(const pyro_source *source);
void pyro_source_close(pyro_source *source); /* accepts NULL */

#endif
