/* Reads zip archives (zip64 too): the directory, and members as byte sources with checked CRCs. */
#ifndef PYRO_BASE_ZIP_ZIP_H
#define PYRO_BASE_ZIP_ZIP_H

#include "base/containers/arena.h"
#include "base/containers/intern.h"
#include "base/source/source.h"

typedef struct pyro_zip_entry {
    const char *name; /* NUL-terminated; names that contain a NUL are rejected */
    int64_t size, compressed_size, header_offset;
    uint32_t crc32;
    uint16_t method; /* 0 stored, 8 deflated, 93 zstd */
    uint16_t flags;
} pyro_zip_entry;

typedef struct pyro_zip {
    pyro_source *source; /* borrowed, seekable */
    pyro_arena arena;
    pyro_zip_entry *entries;
    size_t count;
    pyro_intern names;        /* a name's id is the index of its entry */
    int64_t directory_offset; /* every member lies before it */
} pyro_zip;

/* Reads the directory. Rejects duplicate names, and entries outside the file. */
int pyro_zip_open(pyro_zip *zip, pyro_source *source, pyro_error *error);
void pyro_zip_close(pyro_zip *zip);
/* Finds an entry by name, or returns NULL. */
const pyro_zip_entry *pyro_zip_find(const pyro_zip *zip, const char *name);
/*
 * Opens a member as a stream. It reports the end only after checking length and CRC; a mismatch is
 * PYRO_ERROR_FORMAT. It never produces more bytes than the directory states. The archive must
 * outlive it.
 */
int pyro_zip_open_member(pyro_source **out, const pyro_zip *zip, const pyro_zip_entry *entry,
                         pyro_error *error);
/* Reads a whole member of at most `most` bytes, NUL-terminated, to be freed. */
int pyro_zip_read_member(char **out, size_t *size, const pyro_zip *zip, const pyro_zip_entry *entry,
                         int64_t most, pyro_error *error);
/* True when the bytes begin like a zip archive ("PK\3\4" or an empty one). */
bool pyro_zip_is(const void *bytes, size_t size);

#endif
