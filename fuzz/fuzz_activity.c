/* Fuzzes the reader of CUPTI's activity records: a buffer of records of one size. */
#include "device/cupti_records.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_work(const pyro_device_work *work)
{
    char text[64];
    if (work->end < work->start || work->kind < PYRO_WORK_KERNEL || work->kind > PYRO_WORK_OVERHEAD)
        abort();
    /* The name of a kernel is an address in the record, which means nothing here. */
    pyro_cupti_name_work(work, text, sizeof text);
    if (strlen(text) == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t step = data[0] % 64 * 8 + 8;
    for (size_t at = 1; at < size; at += step) {
        /* A copy of its own size shows every read beyond the record. */
        uint8_t *copy = malloc(size - at);
        pyro_device_work work;
        if (!copy)
            return 0;
        memcpy(copy, data + at, size - at);
        if (pyro_cupti_read_record(copy, size - at, &work) == PYRO_READING_WORK)
            check_work(&work);
        free(copy);
    }
    return 0;
}
