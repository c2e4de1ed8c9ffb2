/*
 * Saves CUPTI's activity records as they are, for the unit test of their reader: the version, then
 * per record its size and its bytes. Built and run by dump_records.py.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
enum { MOST_OF_A_KIND = 12, BUFFER_BYTES = 8 << 20 };

static int (*enable)(int), (*disable)(int), (*flush)(uint32_t);
static int (*register_buffers)(void *, void *), (*get_version)(uint32_t *);
static int (*next_record)(uint8_t *, size_t, void **);
static FILE *file;
static int counts[256];

static void request(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = BUFFER_BYTES;
    *buffer = calloc(1, *size);
    *most = 0;
}

static void save(const uint8_t *record, uint32_t size)
{
    uint32_t kind = *(const uint32_t *)record;
    if (size == 0 || kind >= 256 || counts[kind]++ >= MOST_OF_A_KIND)
        return;
    fwrite(&size, sizeof size, 1, file);
    fwrite(record, 1, size, file);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)size;
    void *record = NULL, *before = NULL;
    while (next_record(buffer, valid, &record) == 0) {
        if (before)
            save(before, (uint32_t)((uint8_t *)record - (uint8_t *)before));
        before = record;
    }
    if (before)
        save(before, (uint32_t)(buffer + valid - (uint8_t *)before));
    free(buffer);
}

EXPORT int dump_start(const char *library_path, const char *path)
{
    static const int kinds[] = {10, 1, 22, 2, 38, 17};
    void *library = dlopen(library_path, RTLD_LAZY);
    uint32_t version = 0;
    file = fopen(path, "wb");
    if (!library || !file)
        return 1;
    *(void **)&enable = dlsym(library, "cuptiActivityEnable");
    *(void **)&disable = dlsym(library, "cuptiActivityDisable");
    *(void **)&flush = dlsym(library, "cuptiActivityFlushAll");
    *(void **)&register_buffers = dlsym(library, "cuptiActivityRegisterCallbacks");
    *(void **)&get_version = dlsym(library, "cuptiGetVersion");
    *(void **)&next_record = dlsym(library, "cuptiActivityGetNextRecord");
    get_version(&version);
    fwrite(&version, sizeof version, 1, file);
    int result = register_buffers((void *)request, (void *)complete);
    for (int i = 0; i < 6; i++)
        result |= enable(kinds[i]);
    return result;
}

EXPORT void dump_stop(void)
{
    flush(0);
    disable(10);
    fclose(file);
}
