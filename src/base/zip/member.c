/* Reads a member of a zip archive (stored, deflate or zstd) and checks length and CRC. */
#include "base/zip/zip.h"

#include "base/bytes.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define LOCAL_HEADER_BYTES 30
#define INPUT_BYTES ((size_t)64 << 10)
#define FLAG_ENCRYPTED 0x0001
#define FLAG_MASKED 0x2000
#define METHOD_STORED 0
#define METHOD_DEFLATED 8
#define METHOD_ZSTD 93
/* 128 MiB: larger windows could exhaust the memory. */
#define LARGEST_WINDOW_LOG 27

typedef struct member_source {
    pyro_source head;
    pyro_source *archive;
    const pyro_zip_entry *entry;
    int64_t position;        /* in the archive: the next compressed byte */
    int64_t compressed_left; /* not yet read from the archive */
    int64_t produced;
    uLong crc;
    int failure; /* status of an earlier failure */
    bool inflating, stream_ended;
    z_stream inflater;
    ZSTD_DStream *zstd; /* NULL: not such a member */
    const unsigned char *next; /* compressed bytes that were read but not used yet */
    size_t available;
    unsigned char input[];
} member_source;

static int fail_damaged(const member_source *member, pyro_error *error, const char *what)
{
    return pyro_fail_at(error, PYRO_ERROR_FORMAT, member->position, "%s: %s", member->entry->name,
                        what);
}

static int64_t read_stored(member_source *member, void *bytes, size_t size, pyro_error *error)
{
    if ((uint64_t)member->compressed_left < size)
        size = (size_t)member->compressed_left;
    int status = pyro_source_read_at(member->archive, member->position, bytes, size, error);
    if (status != PYRO_OK)
        return status;
    member->position += (int64_t)size;
    member->compressed_left -= (int64_t)size;
    return (int64_t)size;
}

static int refill_input(member_source *member, pyro_error *error)
{
    if (member->available > 0 || member->compressed_left == 0)
        return PYRO_OK;
    int64_t got = read_stored(member, member->input, INPUT_BYTES, error);
    if (got < 0)
        return (int)got;
    member->next = member->input;
    member->available = (size_t)got;
    return PYRO_OK;
}

/* Inflates up to `size` bytes; fewer only at the end of the deflate stream. */
static int64_t inflate_some(member_source *member, void *bytes, size_t size, pyro_error *error)
{
    z_stream *inflater = &member->inflater;
    inflater->next_out = bytes;
    inflater->avail_out = (uInt)size;
    while (inflater->avail_out > 0 && !member->stream_ended) {
        int status = refill_input(member, error);
        if (status != PYRO_OK)
            return status;
        inflater->next_in = (unsigned char *)member->next;
        inflater->avail_in = (uInt)member->available;
        int outcome = inflate(inflater, Z_NO_FLUSH);
        member->next = inflater->next_in;
        member->available = inflater->avail_in;
        switch (outcome) {
        case Z_OK:
            break;
        case Z_STREAM_END:
            member->stream_ended = true;
            break;
        case Z_MEM_ERROR:
            return pyro_fail_memory(error);
        case Z_BUF_ERROR:
            return fail_damaged(member, error, "its compressed data ends early");
        default:
            return fail_damaged(member, error, "its compressed data is damaged");
        }
    }
    return (int64_t)(size - inflater->avail_out);
}

/* The same for a zstd frame. */
static int64_t unpack_some(member_source *member, void *bytes, size_t size, pyro_error *error)
{
    ZSTD_outBuffer output = {bytes, size, 0};
    while (output.pos < size && !member->stream_ended) {
        int status = refill_input(member, error);
        if (status != PYRO_OK)
            return status;
        ZSTD_inBuffer input = {member->next, member->available, 0};
        size_t before = output.pos, left = ZSTD_decompressStream(member->zstd, &output, &input);
        if (ZSTD_isError(left))
            return fail_damaged(member, error, "its compressed data is damaged");
        member->next += input.pos;
        member->available -= input.pos;
        member->stream_ended = left == 0;
        if (left > 0 && input.size == 0 && output.pos == before)
            return fail_damaged(member, error, "its compressed data ends early");
    }
    return (int64_t)output.pos;
}

static int64_t decompress_some(member_source *member, void *bytes, size_t size, pyro_error *error)
{
    return member->zstd ? unpack_some(member, bytes, size, error)
                        : inflate_some(member, bytes, size, error);
}

/* All bytes were produced: nothing may follow, and the checksum must match. */
static int check_end(member_source *member, pyro_error *error)
{
    if ((member->inflating || member->zstd) && !member->stream_ended) {
        char more;
        int64_t got = decompress_some(member, &more, 1, error);
        if (got < 0)
            return (int)got;
        if (got > 0)
            return fail_damaged(member, error, "it is longer than the directory says");
    }
    if (member->compressed_left > 0 || member->available > 0)
        return fail_damaged(member, error, "its compressed data continues after its end");
    if (member->crc != member->entry->crc32)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, member->position,
                            "%s: wrong checksum (%08lx, the directory says %08lx)",
                            member->entry->name, (unsigned long)member->crc,
                            (unsigned long)member->entry->crc32);
    return PYRO_OK;
}

static int64_t read_checked(member_source *member, void *bytes, size_t size, pyro_error *error)
{
    int64_t left = member->entry->size - member->produced;
    if (left == 0)
        return check_end(member, error);
    if ((uint64_t)left < size)
        size = (size_t)left;
    if (size > (size_t)1 << 30)
        size = (size_t)1 << 30;
    int64_t got = member->inflating || member->zstd ? decompress_some(member, bytes, size, error)
                                                    : read_stored(member, bytes, size, error);
    if (got < 0)
        return got;
    if (got == 0)
        return fail_damaged(member, error, "it is shorter than the directory says");
    member->crc = crc32(member->crc, bytes, (uInt)got);
    member->produced += got;
    return got;
}

static int64_t member_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    member_source *member = (member_source *)source;
    if (member->failure != PYRO_OK)
        return pyro_fail(error, (pyro_status)member->failure, "%s: could not be read",
                         member->entry->name);
    int64_t got = read_checked(member, bytes, size, error);
    if (got < 0)
        member->failure = (int)got;
    return got;
}

static void member_close(pyro_source *source)
{
    member_source *member = (member_source *)source;
    if (member->inflating)
        inflateEnd(&member->inflater);
    ZSTD_freeDStream(member->zstd);
    free(member);
}

static const pyro_source_kind member_kind = {member_read, NULL, member_close};

static int check_readable(const pyro_zip_entry *entry, pyro_error *error)
{
    if (entry->flags & (FLAG_ENCRYPTED | FLAG_MASKED))
        return pyro_fail_at(error, PYRO_ERROR_UNSUPPORTED, entry->header_offset, "%s: is encrypted",
                            entry->name);
    if (entry->method != METHOD_STORED && entry->method != METHOD_DEFLATED &&
        entry->method != METHOD_ZSTD)
        return pyro_fail_at(
            error, PYRO_ERROR_UNSUPPORTED, entry->header_offset,
            "%s: unsupported compression method %d (supported: stored, deflate, zstd)", entry->name,
            entry->method);
    if (entry->method == METHOD_STORED && entry->size != entry->compressed_size)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, entry->header_offset,
                            "%s: is stored, but its two sizes differ", entry->name);
    return PYRO_OK;
}

/* The local header repeats the name; another name means that the data is another member's. */
static int check_local_name(const pyro_zip *zip, const pyro_zip_entry *entry, size_t length,
                            pyro_error *error)
{
    const char *name = entry->name;
    size_t left = strlen(name);
    int64_t at = entry->header_offset + LOCAL_HEADER_BYTES;
    bool same = left == length;
    while (same && left > 0) {
        char chunk[256];
        size_t size = left < sizeof chunk ? left : sizeof chunk;
        int status = pyro_source_read_at(zip->source, at, chunk, size, error);
        if (status != PYRO_OK)
            return status;
        same = memcmp(chunk, name, size) == 0;
        name += size;
        at += (int64_t)size;
        left -= size;
    }
    if (!same)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, entry->header_offset,
                            "%s: its local header has another name", entry->name);
    return PYRO_OK;
}

static int find_data(int64_t *data_offset, const pyro_zip *zip, const pyro_zip_entry *entry,
                     pyro_error *error)
{
    unsigned char header[LOCAL_HEADER_BYTES];
    int status = pyro_source_read_at(zip->source, entry->header_offset, header, sizeof header,
                                     error);
    if (status != PYRO_OK)
        return status;
    if (memcmp(header, "PK\3\4", 4) != 0)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, entry->header_offset,
                            "%s: no local header here: the archive is damaged", entry->name);
    if (pyro_le16(header + 8) != entry->method)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, entry->header_offset,
                            "%s: its local header has another compression method", entry->name);
    size_t name_length = pyro_le16(header + 26);
    int64_t before_data = LOCAL_HEADER_BYTES + (int64_t)name_length + pyro_le16(header + 28);
    /* The directory was checked to lie in the file, so none of this can overflow. */
    if (before_data > zip->directory_offset - entry->header_offset - entry->compressed_size)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, entry->header_offset,
                            "%s: reaches into the directory: the archive is damaged", entry->name);
    *data_offset = entry->header_offset + before_data;
    return check_local_name(zip, entry, name_length, error);
}

/* Sets up the decompressor of the member; returns false if memory runs out. */
static bool start_decompressing(member_source *member)
{
    if (member->entry->method == METHOD_DEFLATED)
        member->inflating = inflateInit2(&member->inflater, -MAX_WBITS) == Z_OK;
    if (member->entry->method != METHOD_ZSTD)
        return member->entry->method == METHOD_STORED || member->inflating;
    member->zstd = ZSTD_createDStream();
    return member->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(member->zstd, ZSTD_d_windowLogMax,
                                                                LARGEST_WINDOW_LOG));
}

int pyro_zip_open_member(pyro_source **out, const pyro_zip *zip, const pyro_zip_entry *entry,
                         pyro_error *error)
{
    *out = NULL;
    int64_t data_offset;
    int status = check_readable(entry, error);
    if (status == PYRO_OK)
        status = find_data(&data_offset, zip, entry, error);
    if (status != PYRO_OK)
        return status;
    bool packed = entry->method != METHOD_STORED;
    member_source *member = calloc(1, sizeof *member + (packed ? INPUT_BYTES : 0));
    if (!member)
        return pyro_fail_memory(error);
    member->head = (pyro_source){&member_kind, entry->size, true};
    member->archive = zip->source;
    member->entry = entry;
    member->position = data_offset;
    member->compressed_left = entry->compressed_size;
    member->crc = crc32(0, NULL, 0);
    if (!start_decompressing(member)) {
        member_close(&member->head);
        return pyro_fail_memory(error);
    }
    *out = &member->head;
    return PYRO_OK;
}

int pyro_zip_read_member(char **out, size_t *size, const pyro_zip *zip, const pyro_zip_entry *entry,
                         int64_t most, pyro_error *error)
{
    pyro_source *source = NULL;
    *out = NULL;
    if (entry->size > most)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "%.150s: %lld bytes are more than the limit",
                         entry->name, (long long)entry->size);
    int status = pyro_zip_open_member(&source, zip, entry, error);
    *size = (size_t)entry->size;
    *out = status == PYRO_OK ? malloc(*size + 1) : NULL;
    if (status == PYRO_OK && !*out)
        status = pyro_fail_memory(error);
    size_t taken = 0;
    while (status == PYRO_OK && taken <= *size) {
        /* One byte more than expected, so that the end and its checksum are reached. */
        int64_t got = pyro_source_read(source, *out + taken, *size + 1 - taken, error);
        if (got <= 0) {
            status = got < 0 ? (int)got : PYRO_OK;
            break;
        }
        taken += (size_t)got;
    }
    pyro_source_close(source);
    if (status == PYRO_OK)
        (*out)[*size] = '\0';
    return status;
}
