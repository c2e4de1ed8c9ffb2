/* Reads a gzip stream of one or more members as a byte source, and checks each CRC. */
#include "base/source/source.h"

#include "base/error.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define INPUT_BYTES ((size_t)64 << 10)
/* Added to the window's size, this makes zlib expect and check gzip's header and trailer. */
#define GZIP_FORMAT 16

typedef struct gzip_source {
    pyro_source head;
    pyro_source *inner;
    int64_t consumed; /* compressed bytes read from `inner` */
    int64_t produced; /* bytes given so far */
    int64_t free_bytes, expansion, most_bytes; /* see pyro_gzip_limit */
    int failure; /* status of an earlier failure */
    bool inflating, member_ended, ended;
    z_stream inflater;
    unsigned char input[INPUT_BYTES];
} gzip_source;

static int fail_gzip(const gzip_source *gzip, pyro_error *error, const char *what)
{
    int64_t offset = gzip->consumed - (int64_t)gzip->inflater.avail_in;
    return pyro_fail_at(error, PYRO_ERROR_FORMAT, offset, "%s", what);
}

/* Appends bytes to the unused input; returns how many, 0 at the end. */
static int64_t refill_input(gzip_source *gzip, pyro_error *error)
{
    z_stream *inflater = &gzip->inflater;
    if (inflater->avail_in > 0)
        memmove(gzip->input, inflater->next_in, inflater->avail_in);
    inflater->next_in = gzip->input;
    int64_t got = pyro_source_read(gzip->inner, gzip->input + inflater->avail_in,
                                   INPUT_BYTES - inflater->avail_in, error);
    if (got > 0) {
        inflater->avail_in += (uInt)got;
        gzip->consumed += got;
    }
    return got;
}

/* After a member: starts the next one, or ends. Ignores trailing garbage, as gzip(1) does. */
static int begin_next_member(gzip_source *gzip, pyro_error *error)
{
    while (gzip->inflater.avail_in < 2) {
        int64_t got = refill_input(gzip, error);
        if (got < 0)
            return (int)got;
        if (got == 0)
            break;
    }
    const unsigned char *next = gzip->inflater.next_in;
    gzip->ended = gzip->inflater.avail_in < 2 || next[0] != 0x1f || next[1] != 0x8b;
    gzip->member_ended = false;
    if (!gzip->ended && inflateReset(&gzip->inflater) != Z_OK)
        return pyro_fail_memory(error);
    return PYRO_OK;
}

static int inflate_step(gzip_source *gzip, pyro_error *error)
{
    bool at_end = false;
    if (gzip->inflater.avail_in == 0) {
        int64_t got = refill_input(gzip, error);
        if (got < 0)
            return (int)got;
        at_end = got == 0;
    }
    switch (inflate(&gzip->inflater, Z_NO_FLUSH)) {
    case Z_OK:
        return PYRO_OK;
    case Z_STREAM_END:
        gzip->member_ended = true;
        return PYRO_OK;
    case Z_BUF_ERROR:
        return at_end ? fail_gzip(gzip, error, "the gzip stream ends early: the file is truncated")
                      : PYRO_OK;
    case Z_MEM_ERROR:
        return pyro_fail_memory(error);
    default:
        return fail_gzip(gzip, error,
                         gzip->inflater.total_in <= 2 ? "not a gzip stream"
                                                      : "the gzip stream is damaged");
    }
}

static int64_t read_some(gzip_source *gzip, void *bytes, size_t size, pyro_error *error)
{
    if (size > (size_t)1 << 30)
        size = (size_t)1 << 30;
    gzip->inflater.next_out = bytes;
    gzip->inflater.avail_out = (uInt)size;
    while (gzip->inflater.avail_out == size && !gzip->ended) {
        int status = gzip->member_ended ? begin_next_member(gzip, error)
                                        : inflate_step(gzip, error);
        if (status != PYRO_OK)
            return status;
    }
    return (int64_t)(size - gzip->inflater.avail_out);
}

static bool is_beyond_limit(const gzip_source *gzip)
{
    return gzip->produced > gzip->most_bytes ||
           (gzip->produced > gzip->free_bytes && gzip->produced / gzip->expansion > gzip->consumed);
}

static int64_t gzip_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    gzip_source *gzip = (gzip_source *)source;
    if (gzip->failure != PYRO_OK)
        return pyro_fail(error, (pyro_status)gzip->failure, "the gzip stream could not be read");
    int64_t got = read_some(gzip, bytes, size, error);
    gzip->produced += got > 0 ? got : 0;
    if (got > 0 && is_beyond_limit(gzip))
        got = pyro_fail(error, PYRO_ERROR_LIMIT,
                        "%lld bytes decompress to over %lld, more than the limit",
                        (long long)gzip->consumed, (long long)gzip->produced);
    if (got < 0)
        gzip->failure = (int)got;
    return got;
}

static void gzip_close(pyro_source *source)
{
    gzip_source *gzip = (gzip_source *)source;
    if (gzip->inflating)
        inflateEnd(&gzip->inflater);
    pyro_source_close(gzip->inner);
    free(gzip);
}

static const pyro_source_kind gzip_kind = {gzip_read, NULL, gzip_close};

int pyro_source_open_gzip(pyro_source **out, pyro_source *inner, pyro_error *error)
{
    *out = NULL;
    gzip_source *gzip = calloc(1, sizeof *gzip);
    if (!gzip) {
        pyro_source_close(inner);
        return pyro_fail_memory(error);
    }
    gzip->head = (pyro_source){&gzip_kind, -1, true};
    gzip->inner = inner;
    gzip->free_bytes = gzip->most_bytes = INT64_MAX;
    gzip->inflating = inflateInit2(&gzip->inflater, MAX_WBITS + GZIP_FORMAT) == Z_OK;
    if (!gzip->inflating) {
        gzip_close(&gzip->head);
        return pyro_fail_memory(error);
    }
    *out = &gzip->head;
    return PYRO_OK;
}

void pyro_gzip_limit(pyro_source *gzip, int64_t free_bytes, int64_t expansion, int64_t most_bytes)
{
    gzip_source *limited = (gzip_source *)gzip;
    limited->free_bytes = free_bytes;
    limited->expansion = expansion;
    limited->most_bytes = most_bytes;
}
