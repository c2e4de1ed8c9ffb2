/* Reads a zstd stream of one or more frames as a byte source, and checks the checksums. */
#include "base/source/source.h"

#include "base/error.h"
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define INPUT_BYTES ((size_t)128 << 10)
/*
 * 2 GiB, the maximum of `zstd --long=31` and --ultra. A file may make us reserve that much, but
 * only what is decompressed is touched, so that a small file costs little.
 */
#define LARGEST_WINDOW_LOG 31

typedef struct zstd_source {
    pyro_source head;
    pyro_source *inner;
    ZSTD_DStream *stream;
    int64_t consumed; /* compressed bytes read from `inner` */
    int failure;      /* status of an earlier failure */
    bool in_frame, ended;
    ZSTD_inBuffer input;
    unsigned char bytes[INPUT_BYTES];
} zstd_source;

static int64_t refill_input(zstd_source *zstd, pyro_error *error)
{
    int64_t got = pyro_source_read(zstd->inner, zstd->bytes, INPUT_BYTES, error);
    if (got > 0) {
        zstd->consumed += got;
        zstd->input = (ZSTD_inBuffer){zstd->bytes, (size_t)got, 0};
    }
    return got;
}

static int fail_stream(const zstd_source *zstd, size_t result, pyro_error *error)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_frameParameter_windowTooLarge:
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "unsupported zstd window of more than 2 GiB; compress the file again with "
                         "--long=31 or less");
    case ZSTD_error_memory_allocation:
        return pyro_fail(error, PYRO_ERROR_LIMIT,
                         "not enough memory for the zstd window; decompress the file first "
                         "(zstd -d --long=31)");
    default:
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, zstd->consumed,
                            "the zstd stream is damaged: %s", ZSTD_getErrorName(result));
    }
}

static int64_t read_some(zstd_source *zstd, void *bytes, size_t size, pyro_error *error)
{
    ZSTD_outBuffer output = {bytes, size, 0};
    while (output.pos == 0 && !zstd->ended) {
        if (zstd->input.pos == zstd->input.size) {
            int64_t got = refill_input(zstd, error);
            if (got < 0)
                return got;
            if (got == 0 && zstd->in_frame)
                return pyro_fail_at(error, PYRO_ERROR_FORMAT, zstd->consumed,
                                    "the zstd stream ends early: the file is truncated");
            zstd->ended = got == 0;
            if (zstd->ended)
                break;
        }
        size_t left = ZSTD_decompressStream(zstd->stream, &output, &zstd->input);
        if (ZSTD_isError(left))
            return fail_stream(zstd, left, error);
        zstd->in_frame = left != 0;
    }
    return (int64_t)output.pos;
}

static int64_t zstd_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    zstd_source *zstd = (zstd_source *)source;
    if (zstd->failure != PYRO_OK)
        return pyro_fail(error, (pyro_status)zstd->failure, "the zstd stream could not be read");
    int64_t got = read_some(zstd, bytes, size, error);
    if (got < 0)
        zstd->failure = (int)got;
    return got;
}

static void zstd_close(pyro_source *source)
{
    zstd_source *zstd = (zstd_source *)source;
    ZSTD_freeDStream(zstd->stream);
    pyro_source_close(zstd->inner);
    free(zstd);
}

static const pyro_source_kind zstd_kind = {zstd_read, NULL, zstd_close};

int pyro_source_open_zstd(pyro_source **out, pyro_source *inner, pyro_error *error)
{
    *out = NULL;
    zstd_source *zstd = calloc(1, sizeof *zstd);
    if (!zstd) {
        pyro_source_close(inner);
        return pyro_fail_memory(error);
    }
    zstd->head = (pyro_source){&zstd_kind, -1, true};
    zstd->inner = inner;
    zstd->stream = ZSTD_createDStream();
    int largest = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;
    if (largest > LARGEST_WINDOW_LOG)
        largest = LARGEST_WINDOW_LOG;
    if (!zstd->stream ||
        ZSTD_isError(ZSTD_DCtx_setParameter(zstd->stream, ZSTD_d_windowLogMax, largest))) {
        zstd_close(&zstd->head);
        return pyro_fail_memory(error);
    }
    *out = &zstd->head;
    return PYRO_OK;
}
