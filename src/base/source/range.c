/* A stream over a borrowed seekable source, from any offset. Several ranges can share a source. */
#include "base/source/source.h"

#include "base/error.h"
#include <stdlib.h>

typedef struct range_source {
    pyro_source head;
    pyro_source *inner; /* borrowed */
    int64_t position;
} range_source;

static int64_t range_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    range_source *range = (range_source *)source;
    int64_t left = source->size - range->position;
    if (left <= 0)
        return 0;
    if ((uint64_t)left < size)
        size = (size_t)left;
    int64_t got = range->inner->kind->read_at(range->inner, range->position, bytes, size, error);
    if (got > 0)
        range->position += got;
    return got;
}

static void range_close(pyro_source *source)
{
    free(source);
}

static const pyro_source_kind range_kind = {range_read, NULL, range_close};

int pyro_source_open_range(pyro_source **out, pyro_source *inner, pyro_error *error)
{
    range_source *range = calloc(1, sizeof *range);
    *out = NULL;
    if (!range)
        return pyro_fail_memory(error);
    range->head = (pyro_source){&range_kind, inner->size, inner->checked};
    range->inner = inner;
    *out = &range->head;
    return PYRO_OK;
}

void pyro_source_seek_range(pyro_source *range, int64_t offset)
{
    ((range_source *)range)->position = offset;
}
