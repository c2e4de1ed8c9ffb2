/* Fuzzes the zip directory and its members, or a gzip stream if the input begins like one. */
#include "base/zip/zip.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MEMBERS 64
#define MOST_BYTES ((int64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads to the end or the limit; aborts if there is more than the announced size. */
static void drain(pyro_source *source, pyro_error *error)
{
    char bytes[4096];
    int64_t got, total = 0;
    while (total < MOST_BYTES && (got = pyro_source_read(source, bytes, sizeof bytes, error)) > 0)
        total += got;
    if (source->size >= 0 && total > source->size)
        abort();
}

static void read_members(const pyro_zip *zip)
{
    for (size_t i = 0; i < zip->count && i < MOST_MEMBERS; i++) {
        pyro_source *member;
        pyro_error error;
        pyro_error_clear(&error);
        if (pyro_zip_find(zip, zip->entries[i].name) != &zip->entries[i])
            abort();
        if (pyro_zip_open_member(&member, zip, &zip->entries[i], &error) == PYRO_OK) {
            drain(member, &error);
            pyro_source_close(member);
        }
    }
}

static void read_gzip(pyro_source *source, pyro_error *error)
{
    pyro_source *gzip;
    if (pyro_source_open_gzip(&gzip, source, error) == PYRO_OK) {
        drain(gzip, error);
        pyro_source_close(gzip);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pyro_source *source;
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_source_open_memory(&source, data, size, &error) != PYRO_OK)
        return 0;
    if (size >= 2 && memcmp(data, "\x1f\x8b", 2) == 0) {
        read_gzip(source, &error);
        return 0;
    }
    pyro_zip zip;
    if (pyro_zip_open(&zip, source, &error) == PYRO_OK) {
        read_members(&zip);
        pyro_zip_close(&zip);
    } else if (error.message[0] == '\0') {
        abort();
    }
    pyro_source_close(source);
    return 0;
}
