/*
 * Reads CUPTI's activity records. Newer versions of CUPTI append members, so a record is read by the
 * oldest prefix that has every member in use.
 */
#ifndef PYRO_DEVICE_CUPTI_RECORDS_H
#define PYRO_DEVICE_CUPTI_RECORDS_H

#include "device/collector.h"

typedef enum pyro_record_reading {
    PYRO_READING_WORK,    /* `work` is set */
    PYRO_READING_IGNORED, /* a kind of record that is not in use */
    PYRO_READING_BAD      /* too short, or its values are impossible */
} pyro_record_reading;

/*
 * Reads the record at `bytes`, of which `room` bytes are in its buffer. The name of a kernel is the
 * pointer in the record: it is not followed, and is mangled. Other names stay NULL.
 */
pyro_record_reading pyro_cupti_read_record(const void *bytes, size_t room, pyro_device_work *work);

/* Names work other than kernels as torch.profiler does: "Memcpy HtoD (Pageable -> Device)". */
void pyro_cupti_name_work(const pyro_device_work *work, char *text, size_t size);

#endif
