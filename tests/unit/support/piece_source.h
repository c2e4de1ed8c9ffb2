/* A byte source for tests: returns its bytes in pieces, and may fail at their end. */
#ifndef PYRO_TESTS_PIECE_SOURCE_H
#define PYRO_TESTS_PIECE_SOURCE_H

#include "base/error.h"
#include "base/source/source.h"
#include <string.h>

typedef struct piece_source {
    pyro_source head;
    const char *bytes;
    size_t size, position, piece;
    int failure;   /* status of a read after the last byte; 0: end of data */
    int closed;    /* number of times it was closed */
} piece_source;

static inline int64_t piece_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    piece_source *pieces = (piece_source *)source;
    size_t left = pieces->size - pieces->position;
    if (left == 0 && pieces->failure)
        return pyro_fail(error, (pyro_status)pieces->failure, "the source failed");
    if (size > left)
        size = left;
    if (size > pieces->piece)
        size = pieces->piece;
    if (size > 0)
        memcpy(bytes, pieces->bytes + pieces->position, size);
    pieces->position += size;
    return (int64_t)size;
}

static inline int64_t piece_read_at(pyro_source *source, int64_t offset, void *bytes, size_t size,
                                    pyro_error *error)
{
    piece_source *pieces = (piece_source *)source;
    if ((size_t)offset == pieces->size)
        return pieces->failure ? pyro_fail(error, (pyro_status)pieces->failure, "the source failed")
                               : 0;
    if (size > pieces->piece)
        size = pieces->piece;
    if (size > pieces->size - (size_t)offset)
        size = pieces->size - (size_t)offset;
    memcpy(bytes, pieces->bytes + offset, size);
    return (int64_t)size;
}

static inline void piece_close(pyro_source *source)
{
    ((piece_source *)source)->closed++;
}

/* A stream; `piece` is the most that one read returns. */
static inline piece_source pieces_of(const char *bytes, size_t size, size_t piece)
{
    static const pyro_source_kind kind = {piece_read, NULL, piece_close};
    return (piece_source){{&kind, -1, false}, bytes, size, 0, piece, 0, 0};
}

/* The same, seekable; it may report a wrong size. */
static inline piece_source seekable_pieces_of(const char *bytes, size_t size, size_t promised,
                                              size_t piece)
{
    static const pyro_source_kind kind = {piece_read, piece_read_at, piece_close};
    return (piece_source){{&kind, (int64_t)promised, false}, bytes, size, 0, piece, 0, 0};
}

#endif
