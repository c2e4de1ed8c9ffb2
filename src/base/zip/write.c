/* Writes zip archives: no zip64, no time stamps, every member deflated. */
#include "base/zip/write.h"

#include <string.h>
#include <zlib.h>

#define EPOCH_DATE 0x0021 /* 1980-01-01, the earliest date in a zip */
#define METHOD_DEFLATED 8
#define FLAG_UTF8 0x0800
#define VERSION_NEEDED 20

static void put(pyro_buf *buf, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        pyro_buf_addc(buf, (char)(value >> 8 * i));
}

/* The fields that the local header and the directory share. */
static void put_shared(pyro_buf *buf, uint32_t crc, size_t compressed, size_t size, size_t name)
{
    put(buf, VERSION_NEEDED, 2);
    put(buf, FLAG_UTF8, 2);
    put(buf, METHOD_DEFLATED, 2);
    put(buf, 0, 2);
    put(buf, EPOCH_DATE, 2);
    put(buf, crc, 4);
    put(buf, compressed, 4);
    put(buf, size, 4);
    put(buf, name, 2);
    put(buf, 0, 2);
}

/* Deflates into `packed`; returns false if memory runs out. */
static bool pack(pyro_buf *packed, const void *bytes, size_t size)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL, 0) != Z_OK)
        return false;
    uLong room = deflateBound(&stream, (uLong)size);
    stream.next_in = (unsigned char *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = (unsigned char *)pyro_buf_reserve(packed, room);
    stream.avail_out = (uInt)room;
    bool good = stream.next_out && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    if (good)
        packed->length = stream.total_out;
    deflateEnd(&stream);
    return good;
}

void pyro_zip_write_begin(pyro_zip_writer *writer, pyro_buf *out)
{
    *writer = (pyro_zip_writer){.out = out, .directory = PYRO_BUF_INIT};
}

void pyro_zip_write_member(pyro_zip_writer *writer, const char *name, const void *bytes,
                           size_t size)
{
    pyro_buf packed = PYRO_BUF_INIT;
    size_t name_length = strlen(name), at = writer->out->length;
    if (size > UINT32_MAX / 2 || at > UINT32_MAX / 2 || name_length > UINT16_MAX ||
        writer->count == UINT16_MAX || !pack(&packed, bytes, size)) {
        writer->failed = true;
        pyro_buf_free(&packed);
        return;
    }
    uint32_t crc = (uint32_t)crc32(crc32(0, NULL, 0), bytes, (uInt)size);
    pyro_buf_add(writer->out, "PK\3\4", 4);
    put_shared(writer->out, crc, packed.length, size, name_length);
    pyro_buf_adds(writer->out, name);
    pyro_buf_add(writer->out, packed.data, packed.length);

    pyro_buf *directory = &writer->directory;
    pyro_buf_add(directory, "PK\1\2", 4);
    put(directory, 3 << 8 | VERSION_NEEDED, 2);
    put_shared(directory, crc, packed.length, size, name_length);
    put(directory, 0, 2 + 2 + 2);
    put(directory, (uint64_t)0100644 << 16, 4);
    put(directory, at, 4);
    pyro_buf_adds(directory, name);
    writer->count++;
    pyro_buf_free(&packed);
}

bool pyro_zip_write_end(pyro_zip_writer *writer)
{
    size_t at = writer->out->length;
    pyro_buf_add(writer->out, writer->directory.data, writer->directory.length);
    pyro_buf_add(writer->out, "PK\5\6\0\0\0\0", 8);
    put(writer->out, writer->count, 2);
    put(writer->out, writer->count, 2);
    put(writer->out, writer->directory.length, 4);
    put(writer->out, at, 4);
    put(writer->out, 0, 2);
    bool good = !writer->failed && !writer->out->failed && !writer->directory.failed &&
                at <= UINT32_MAX;
    pyro_buf_free(&writer->directory);
    return good;
}
