/*
 * Byte sources: a file, memory, a gzip or zstd stream and a member of a zip archive look alike to every
 * reader. Files are read with pread, not mapped: a mapped file that shrinks would kill the process.
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

/* The head that every kind begins with. */
struct pyro_source {
    const pyro_source_kind *kind;
    int64_t size; /* -1: not known before it is read */
    bool checked; /* it carries a checksum, and its end is reported only after that was right */
};

/* A regular file or a pipe ("-" is standard input). A directory is PYRO_ERROR_UNSUPPORTED. */
int pyro_source_open_file(pyro_source **out, const char *path, pyro_error *error);
/* The same for a regular file only: a pipe is PYRO_ERROR_UNSUPPORTED, and never waited for. */
int pyro_source_open_regular(pyro_source **out, const char *path, pyro_error *error);
/* Borrows the bytes. */
int pyro_source_open_memory(pyro_source **out, const void *bytes, size_t size, pyro_error *error);
/* Decompresses `inner` (several members too), which it owns from now on, also when it fails. */
int pyro_source_open_gzip(pyro_source **out, pyro_source *inner, pyro_error *error);
/*
 * Bounds what a gzip source gives, for files that are no streams: beyond `free_bytes` at most
 * `expansion` bytes for each compressed one, and `most_bytes` in all; then PYRO_ERROR_LIMIT.
 */
void pyro_gzip_limit(pyro_source *gzip, int64_t free_bytes, int64_t expansion, int64_t most_bytes);
/* As pyro_source_open_gzip, for zstd frames. */
int pyro_source_open_zstd(pyro_source **out, pyro_source *inner, pyro_error *error);
/*
 * What `inner` holds: unpacked where its first bytes are those of gzip or zstd, else itself. It is
 * owned by the result, which on failure is still to be closed (NULL is fine).
 */
int pyro_source_open_content(pyro_source **out, pyro_source *inner, pyro_error *error);
/*
 * The first bytes of a source, which still gives them when it is read: *source may become another
 * one that owns it.
 */
#define PYRO_PEEKED_BYTES 8
int pyro_source_peek(pyro_source **source, unsigned char *bytes, size_t *count, pyro_error *error);
/* Reads `inner`, which it owns from now on, also when it fails, ahead in a thread of its own. */
int pyro_source_open_readahead(pyro_source **out, pyro_source *inner, pyro_error *error);
/*
 * A stream over a seekable source, which is borrowed: it begins at the start or where it was sent.
 * Threads may share `inner` through a range each.
 */
int pyro_source_open_range(pyro_source **out, pyro_source *inner, pyro_error *error);
void pyro_source_seek_range(pyro_source *range, int64_t offset);

/* Reads on: at least 1 byte, 0 at the end, or a negative status. */
int64_t pyro_source_read(pyro_source *source, void *bytes, size_t size, pyro_error *error);
/* Exactly `size` bytes at an offset, or a negative status (PYRO_ERROR_FORMAT past the end). */
int pyro_source_read_at(pyro_source *source, int64_t offset, void *bytes, size_t size,
                        pyro_error *error);
bool pyro_source_is_seekable(const pyro_source *source);
void pyro_source_close(pyro_source *source); /* NULL is fine */

#endif
