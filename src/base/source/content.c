/* Recognises compressed sources by their first bytes and decompresses gzip and zstd. */
#include "base/source/source.h"

#include "base/error.h"
#include <stdlib.h>
#include <string.h>

#define MAGIC_BYTES PYRO_PEEKED_BYTES

/* A stream whose first bytes were already read. */
typedef struct peeked_source {
    pyro_source head;
    pyro_source *inner;
    size_t position, count;
    unsigned char bytes[MAGIC_BYTES];
} peeked_source;

static int64_t peeked_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    peeked_source *peeked = (peeked_source *)source;
    size_t left = peeked->count - peeked->position;
    if (left == 0)
        return pyro_source_read(peeked->inner, bytes, size, error);
    if (size > left)
        size = left;
    memcpy(bytes, peeked->bytes + peeked->position, size);
    peeked->position += size;
    return (int64_t)size;
}

static void peeked_close(pyro_source *source)
{
    pyro_source_close(((peeked_source *)source)->inner);
    free(source);
}

static const pyro_source_kind peeked_kind = {peeked_read, NULL, peeked_close};

/* Replaces `inner` by a source that returns its first bytes again. */
static int peek_stream(pyro_source **inner, unsigned char *magic, size_t *count, pyro_error *error)
{
    peeked_source *peeked = calloc(1, sizeof *peeked);
    if (!peeked)
        return pyro_fail_memory(error);
    peeked->head = (pyro_source){&peeked_kind, (*inner)->size, (*inner)->checked};
    peeked->inner = *inner;
    *inner = &peeked->head;
    while (peeked->count < MAGIC_BYTES) {
        int64_t got = pyro_source_read(peeked->inner, peeked->bytes + peeked->count,
                                       MAGIC_BYTES - peeked->count, error);
        if (got < 0)
            return (int)got;
        if (got == 0)
            break;
        peeked->count += (size_t)got;
    }
    *count = peeked->count;
    memcpy(magic, peeked->bytes, sizeof peeked->bytes);
    return PYRO_OK;
}

int pyro_source_peek(pyro_source **source, unsigned char *bytes, size_t *count, pyro_error *error)
{
    memset(bytes, 0, MAGIC_BYTES);
    *count = 0;
    if (!pyro_source_is_seekable(*source))
        return peek_stream(source, bytes, count, error);
    *count = (*source)->size < MAGIC_BYTES ? (size_t)(*source)->size : MAGIC_BYTES;
    return pyro_source_read_at(*source, 0, bytes, *count, error);
}

int pyro_source_open_content(pyro_source **out, pyro_source *inner, pyro_error *error)
{
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    unsigned char magic[MAGIC_BYTES];
    size_t count;
    int status = pyro_source_peek(&inner, magic, &count, error);
    *out = inner;
    if (status != PYRO_OK)
        return status;
    if (count >= 2 && magic[0] == 0x1f && magic[1] == 0x8b)
        return pyro_source_open_gzip(out, inner, error);
    if (count >= sizeof zstd && memcmp(magic, zstd, sizeof zstd) == 0)
        return pyro_source_open_zstd(out, inner, error);
    return PYRO_OK;
}
