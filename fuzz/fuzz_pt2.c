/*
 * Fuzzes the .pt2 reader and its users: sizes, costs, roll-ups and reports. The input is an
 * archive, the JSON of a program, or a program, our extra file and the list of weights, separated
 * by NULs. We build the archive of the latter, because a mutated archive never has valid checksums.
 */
#include "base/containers/buf.h"
#include "model.h"
#include <zlib.h>

#define MOST_PARTS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(pyro_buf *buf, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        pyro_buf_addc(buf, (char)(value >> 8 * i));
}

/* Writes the fields that a local header and a directory entry share. */
static void put_member(pyro_buf *out, const char *name, const uint8_t *data, size_t size)
{
    put(out, 20, 2);
    put(out, 0, 2 + 2 + 2 + 2);
    put(out, crc32(crc32(0, NULL, 0), data, (uInt)size), 4);
    put(out, size, 4);
    put(out, size, 4);
    put(out, strlen(name), 2);
    put(out, 0, 2);
}

/* Builds an archive whose members are the parts of the input. */
static void build_archive(pyro_buf *archive, const uint8_t *data, size_t size)
{
    static const char *const names[MOST_PARTS] = {"models/model.json", "extra/pyrometer.json",
                                                  "data/weights/model_weights_config.json"};
    pyro_buf directory = PYRO_BUF_INIT;
    size_t part = 0, begin = 0;
    for (; part < MOST_PARTS && begin <= size; part++) {
        const uint8_t *nul = begin < size ? memchr(data + begin, 0, size - begin) : NULL;
        size_t end = nul && part + 1 < MOST_PARTS ? (size_t)(nul - data) : size;
        size_t offset = archive->length;
        put(archive, 0x04034b50, 4);
        put_member(archive, names[part], data + begin, end - begin);
        pyro_buf_adds(archive, names[part]);
        pyro_buf_add(archive, data + begin, end - begin);
        put(&directory, 0x02014b50, 4);
        put(&directory, 20, 2);
        put_member(&directory, names[part], data + begin, end - begin);
        put(&directory, 0, 2 + 2 + 2);
        put(&directory, 0, 4);
        put(&directory, offset, 4);
        pyro_buf_adds(&directory, names[part]);
        begin = end + 1;
    }
    size_t offset = archive->length;
    pyro_buf_add(archive, directory.data, directory.length);
    put(archive, 0x06054b50, 4);
    put(archive, 0, 4);
    put(archive, part, 2);
    put(archive, part, 2);
    put(archive, directory.length, 4);
    put(archive, offset, 4);
    put(archive, 0, 2);
    pyro_buf_free(&directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pyro_buf archive = PYRO_BUF_INIT;
    if (size && data[0] == '{' && memchr(data, 0, size)) {
        build_archive(&archive, data, size);
        data = (const uint8_t *)archive.data;
        size = archive.length;
    }
    check_model(data, size, "fuzz.pt2");
    pyro_buf_free(&archive);
    return 0;
}
