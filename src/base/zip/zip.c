/* Reads and checks the directory of a zip archive. */
#include "base/zip/zip.h"

#include "base/bytes.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

#define END_RECORD_BYTES 22
#define END64_LOCATOR_BYTES 20
#define END64_RECORD_BYTES 56
#define ENTRY_BYTES 46
#define LOCAL_HEADER_BYTES 30
#define LARGEST_COMMENT 65535
#define LARGEST_DIRECTORY ((int64_t)256 << 20)
#define ZIP64_EXTRA_ID 1

typedef struct directory_place {
    uint64_t offset, size, count;
    int64_t end_offset; /* of the record that follows the directory */
} directory_place;

bool pyro_zip_is(const void *bytes, size_t size)
{
    return size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

/* Offset of the last end record in the file's tail, or -1. */
static int64_t find_end_record(const unsigned char *tail, size_t size)
{
    for (size_t at = size - END_RECORD_BYTES + 1; at-- > 0;) {
        if (memcmp(tail + at, "PK\5\6", 4) != 0)
            continue;
        size_t comment = pyro_le16(tail + at + 20);
        if (comment <= size - at - END_RECORD_BYTES)
            return (int64_t)at;
    }
    return -1;
}

/* Large archives repeat the end record with wider numbers; a locator before it has the offset. */
static int read_zip64_record(directory_place *place, pyro_source *source, pyro_error *error)
{
    unsigned char bytes[END64_RECORD_BYTES];
    int64_t locator = place->end_offset - END64_LOCATOR_BYTES;
    if (locator < 0)
        return PYRO_OK;
    int status = pyro_source_read_at(source, locator, bytes, END64_LOCATOR_BYTES, error);
    if (status != PYRO_OK || memcmp(bytes, "PK\6\7", 4) != 0)
        return status;
    uint64_t record = pyro_le64(bytes + 8);
    if (locator < END64_RECORD_BYTES || record > (uint64_t)(locator - END64_RECORD_BYTES))
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, locator,
                            "the zip64 end record lies outside the file");
    status = pyro_source_read_at(source, (int64_t)record, bytes, END64_RECORD_BYTES, error);
    if (status != PYRO_OK)
        return status;
    if (memcmp(bytes, "PK\6\6", 4) != 0)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, (int64_t)record, "no zip64 end record here");
    if (pyro_le32(bytes + 16) != 0 || pyro_le32(bytes + 20) != 0)
        return pyro_fail_at(error, PYRO_ERROR_UNSUPPORTED, (int64_t)record,
                            "the archive spans several disks");
    place->count = pyro_le64(bytes + 32);
    place->size = pyro_le64(bytes + 40);
    place->offset = pyro_le64(bytes + 48);
    place->end_offset = (int64_t)record;
    return PYRO_OK;
}

static int check_place(const directory_place *place, pyro_error *error)
{
    uint64_t end = (uint64_t)place->end_offset;
    if (place->offset > end || place->size > end - place->offset)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, place->end_offset,
                            "the directory lies outside the file: the archive is damaged");
    if (place->count > place->size / ENTRY_BYTES)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, place->end_offset,
                            "%llu entries do not fit into a directory of %llu bytes",
                            (unsigned long long)place->count, (unsigned long long)place->size);
    if (place->size > (uint64_t)LARGEST_DIRECTORY)
        return pyro_fail_at(error, PYRO_ERROR_LIMIT, place->end_offset,
                            "the directory has %llu bytes; the limit is %lld",
                            (unsigned long long)place->size, (long long)LARGEST_DIRECTORY);
    return PYRO_OK;
}

static int find_directory(directory_place *place, pyro_source *source, pyro_error *error)
{
    static const char no_end_record[] =
        "no end-of-archive record: the file is truncated or not a zip archive";
    if (source->size < END_RECORD_BYTES)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, source->size, no_end_record);
    size_t tail_size = END_RECORD_BYTES + LARGEST_COMMENT;
    if ((uint64_t)source->size < tail_size)
        tail_size = (size_t)source->size;
    int64_t tail_offset = source->size - (int64_t)tail_size;
    unsigned char *tail = malloc(tail_size);
    if (!tail)
        return pyro_fail_memory(error);
    int status = pyro_source_read_at(source, tail_offset, tail, tail_size, error);
    if (status != PYRO_OK)
        goto done;
    int64_t at = find_end_record(tail, tail_size);
    if (at < 0) {
        status = pyro_fail_at(error, PYRO_ERROR_FORMAT, source->size, no_end_record);
        goto done;
    }
    const unsigned char *record = tail + at;
    *place = (directory_place){pyro_le32(record + 16), pyro_le32(record + 12),
                               pyro_le16(record + 10), tail_offset + at};
    bool several_disks = (pyro_le16(record + 4) != 0 && pyro_le16(record + 4) != UINT16_MAX) ||
                         (pyro_le16(record + 6) != 0 && pyro_le16(record + 6) != UINT16_MAX);
    if (several_disks)
        status = pyro_fail_at(error, PYRO_ERROR_UNSUPPORTED, place->end_offset,
                              "the archive spans several disks");
    else
        status = read_zip64_record(place, source, error);
    if (status == PYRO_OK)
        status = check_place(place, error);
done:
    free(tail);
    return status;
}

/* Reads the next 64-bit number of a zip64 field if the 32-bit field is too small. */
static bool widen(uint64_t *value, const unsigned char **field, size_t *field_size)
{
    if (*value != UINT32_MAX)
        return true;
    if (*field_size < 8)
        return false;
    *value = pyro_le64(*field);
    *field += 8;
    *field_size -= 8;
    return true;
}

/* Returns false if a size needs more than 32 bits and its zip64 field is missing or truncated. */
static bool read_wide_sizes(const unsigned char *extra, size_t extra_size, uint64_t *size,
                            uint64_t *compressed_size, uint64_t *header_offset)
{
    while (extra_size >= 4) {
        uint16_t id = pyro_le16(extra);
        size_t field_size = pyro_le16(extra + 2);
        extra += 4;
        extra_size -= 4;
        if (field_size > extra_size)
            break;
        if (id == ZIP64_EXTRA_ID)
            return widen(size, &extra, &field_size) &&
                   widen(compressed_size, &extra, &field_size) &&
                   widen(header_offset, &extra, &field_size);
        extra += field_size;
        extra_size -= field_size;
    }
    return *size != UINT32_MAX && *compressed_size != UINT32_MAX && *header_offset != UINT32_MAX;
}

static int add_entry(pyro_zip *zip, const unsigned char *bytes, size_t name_length,
                     size_t extra_length, int64_t at, pyro_error *error)
{
    const char *name = (const char *)bytes + ENTRY_BYTES;
    uint64_t compressed_size = pyro_le32(bytes + 20), size = pyro_le32(bytes + 24);
    uint64_t header_offset = pyro_le32(bytes + 42);
    if (memchr(name, '\0', name_length))
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, at, "an entry's name contains a NUL");
    if (!read_wide_sizes(bytes + ENTRY_BYTES + name_length, extra_length, &size, &compressed_size,
                         &header_offset))
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, at, "%.*s: its zip64 sizes are missing",
                            (int)name_length, name);
    uint64_t end = (uint64_t)zip->directory_offset;
    if (size > INT64_MAX || header_offset > end || end - header_offset < LOCAL_HEADER_BYTES ||
        compressed_size > end - header_offset - LOCAL_HEADER_BYTES)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, at, "%.*s: lies outside the file",
                            (int)name_length, name);
    uint32_t id = pyro_intern_add(&zip->names, name, name_length);
    if (id == PYRO_INTERN_NONE)
        return pyro_fail_memory(error);
    if (id != zip->count)
        return pyro_fail_at(error, PYRO_ERROR_FORMAT, at, "%.*s: duplicate entry", (int)name_length,
                            name);
    zip->entries[zip->count++] = (pyro_zip_entry){
        .name = pyro_intern_text(&zip->names, id),
        .size = (int64_t)size,
        .compressed_size = (int64_t)compressed_size,
        .header_offset = (int64_t)header_offset,
        .crc32 = pyro_le32(bytes + 16),
        .method = pyro_le16(bytes + 10),
        .flags = pyro_le16(bytes + 8),
    };
    return PYRO_OK;
}

static int parse_directory(pyro_zip *zip, const unsigned char *bytes, const directory_place *place,
                           pyro_error *error)
{
    size_t left = (size_t)place->size;
    for (uint64_t i = 0; i < place->count; i++) {
        int64_t at = (int64_t)(place->offset + place->size - left);
        if (left < ENTRY_BYTES || memcmp(bytes, "PK\1\2", 4) != 0)
            return pyro_fail_at(error, PYRO_ERROR_FORMAT, at,
                                "no directory entry here: the archive is damaged");
        size_t name_length = pyro_le16(bytes + 28), extra_length = pyro_le16(bytes + 30);
        size_t length = ENTRY_BYTES + name_length + extra_length + pyro_le16(bytes + 32);
        if (length > left)
            return pyro_fail_at(error, PYRO_ERROR_FORMAT, at, "a directory entry is truncated");
        int status = add_entry(zip, bytes, name_length, extra_length, at, error);
        if (status != PYRO_OK)
            return status;
        bytes += length;
        left -= length;
    }
    return PYRO_OK;
}

static int read_directory(pyro_zip *zip, const directory_place *place, pyro_error *error)
{
    if (place->count == 0)
        return PYRO_OK;
    zip->entries = pyro_arena_array(&zip->arena, (size_t)place->count, sizeof *zip->entries);
    unsigned char *bytes = malloc((size_t)place->size);
    int status = zip->entries && bytes ? PYRO_OK : pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = pyro_source_read_at(zip->source, (int64_t)place->offset, bytes,
                                     (size_t)place->size, error);
    if (status == PYRO_OK)
        status = parse_directory(zip, bytes, place, error);
    free(bytes);
    return status;
}

int pyro_zip_open(pyro_zip *zip, pyro_source *source, pyro_error *error)
{
    *zip = (pyro_zip){.source = source};
    pyro_arena_init(&zip->arena);
    pyro_intern_init(&zip->names, &zip->arena);
    if (!pyro_source_is_seekable(source))
        return pyro_fail(error, PYRO_ERROR_UNSUPPORTED,
                         "a zip archive cannot be read from a stream: save it to a file first");
    directory_place place = {0};
    int status = find_directory(&place, source, error);
    if (status == PYRO_OK) {
        zip->directory_offset = (int64_t)place.offset;
        status = read_directory(zip, &place, error);
    }
    if (status != PYRO_OK)
        pyro_zip_close(zip);
    return status;
}

void pyro_zip_close(pyro_zip *zip)
{
    pyro_intern_free(&zip->names);
    pyro_arena_free(&zip->arena);
    zip->entries = NULL;
    zip->count = 0;
}

const pyro_zip_entry *pyro_zip_find(const pyro_zip *zip, const char *name)
{
    uint32_t id = pyro_intern_find(&zip->names, name, strlen(name));
    return id == PYRO_INTERN_NONE ? NULL : &zip->entries[id];
}
