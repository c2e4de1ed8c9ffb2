/*
 * Writes TensorBoard's event files: records (length, checksum, data, checksum) that hold one
 * protocol buffer each, with only the fields that a scalar needs.
 */
#include <pyrometer/scalars.h>

#include "base/containers/buf.h"
#include "base/crc32c.h"
#include "base/error.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct pyro_scalars {
    int fd;
    char *path;
    int64_t whole_bytes; /* end of the last complete record */
    bool failed;
    pyro_buf value, summary, event, record;
};

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* Field numbers of TensorFlow's Event, Summary and Summary.Value. */
enum {
    EVENT_WALL_TIME = 1,
    EVENT_STEP = 2,
    EVENT_FILE_VERSION = 3,
    EVENT_SUMMARY = 5,
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_SIMPLE = 2,
};

static void add_varint(pyro_buf *buf, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        pyro_buf_addc(buf, (char)(value | 0x80));
    pyro_buf_addc(buf, (char)value);
}

static void add_key(pyro_buf *buf, unsigned field, unsigned wire)
{
    add_varint(buf, field << 3 | wire);
}

static void add_little_endian(pyro_buf *buf, uint64_t value, int size)
{
    for (int i = 0; i < size; i++)
        pyro_buf_addc(buf, (char)(value >> (8 * i)));
}

static void add_double(pyro_buf *buf, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_key(buf, field, WIRE_64);
    add_little_endian(buf, bits, 8);
}

static void add_float(pyro_buf *buf, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_key(buf, field, WIRE_32);
    add_little_endian(buf, bits, 4);
}

static void add_bytes(pyro_buf *buf, unsigned field, const void *bytes, size_t size)
{
    add_key(buf, field, WIRE_BYTES);
    add_varint(buf, size);
    pyro_buf_add(buf, bytes, size);
}

/* Checksums of checksums are weak, so the format masks them. */
static uint32_t masked_checksum(const void *data, size_t size)
{
    uint32_t crc = pyro_crc32c(data, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Writes everything, or leaves the file as it was. */
static int write_whole(pyro_scalars *scalars, pyro_error *error)
{
    const pyro_buf *record = &scalars->record;
    size_t written = 0;
    while (written < record->length) {
        ssize_t count = pwrite(scalars->fd, record->data + written, record->length - written,
                               scalars->whole_bytes + (int64_t)written);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            int reason = count ? errno : ENOSPC;
            scalars->failed = true;
            if (ftruncate(scalars->fd, scalars->whole_bytes))
                return pyro_fail(error, PYRO_ERROR_IO, "%s: %s, and its end is damaged",
                                 scalars->path, strerror(reason));
            return pyro_fail(error, PYRO_ERROR_IO, "%s: %s", scalars->path, strerror(reason));
        }
        written += (size_t)count;
    }
    scalars->whole_bytes += (int64_t)record->length;
    return PYRO_OK;
}

/* Frames the event and writes it. */
static int write_event(pyro_scalars *scalars, pyro_error *error)
{
    pyro_buf *record = &scalars->record;
    const pyro_buf *event = &scalars->event;
    pyro_buf_reset(record);
    add_little_endian(record, event->length, 8);
    if (record->failed || event->failed)
        return pyro_fail_memory(error);
    add_little_endian(record, masked_checksum(record->data, 8), 4);
    pyro_buf_add(record, event->data, event->length);
    add_little_endian(record, masked_checksum(event->data, event->length), 4);
    if (record->failed)
        return pyro_fail_memory(error);
    return write_whole(scalars, error);
}

/* File names are unique by host, process and suffix; one from the same second gets a number. */
static int create_file(pyro_scalars *scalars, const char *folder, const char *suffix,
                       pyro_error *error)
{
    char host[256] = "host";
    gethostname(host, sizeof host - 1);
    for (int again = 0; again < 1000; again++) {
        pyro_buf path = PYRO_BUF_INIT;
        pyro_buf_addf(&path, "%s/events.out.tfevents.%lld.%s.%ld.%d%s%s", folder,
                      (long long)time(NULL), host, (long)getpid(), again, suffix ? "." : "",
                      suffix ? suffix : "");
        free(scalars->path);
        scalars->path = pyro_buf_detach(&path, NULL);
        if (!scalars->path)
            return pyro_fail_memory(error);
        scalars->fd = open(scalars->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (scalars->fd >= 0)
            return PYRO_OK;
        if (errno != EEXIST)
            break;
    }
    return pyro_fail(error, PYRO_ERROR_IO, "%s: %s", scalars->path, strerror(errno));
}

int pyro_scalars_open(pyro_scalars **out, const char *folder, const char *suffix, pyro_error *error)
{
    static const char version[] = "brain.Event:2";
    *out = NULL;
    pyro_scalars *scalars = calloc(1, sizeof *scalars);
    if (!scalars)
        return pyro_fail_memory(error);
    scalars->fd = -1;
    int status = create_file(scalars, folder, suffix, error);
    if (!status) {
        add_double(&scalars->event, EVENT_WALL_TIME, (double)time(NULL));
        add_bytes(&scalars->event, EVENT_FILE_VERSION, version, sizeof version - 1);
        status = write_event(scalars, error);
    }
    if (status) {
        pyro_scalars_close(scalars);
        return status;
    }
    *out = scalars;
    return PYRO_OK;
}

int pyro_scalars_add(pyro_scalars *scalars, int64_t step, double time_s, const pyro_scalar *values,
                     size_t count, pyro_error *error)
{
    if (scalars->failed)
        return pyro_fail(error, PYRO_ERROR_IO, "%s: an earlier step could not be written",
                         scalars->path);
    pyro_buf *value = &scalars->value, *summary = &scalars->summary, *event = &scalars->event;
    pyro_buf_reset(summary);
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i].value))
            continue; /* unknown in this step: a gap in the curve */
        pyro_buf_reset(value);
        add_bytes(value, VALUE_TAG, values[i].tag, strlen(values[i].tag));
        add_float(value, VALUE_SIMPLE, values[i].value);
        if (value->failed)
            return pyro_fail_memory(error);
        add_bytes(summary, SUMMARY_VALUE, value->data, value->length);
    }
    pyro_buf_reset(event);
    add_double(event, EVENT_WALL_TIME, time_s);
    add_key(event, EVENT_STEP, WIRE_VARINT);
    add_varint(event, (uint64_t)step);
    if (summary->failed)
        return pyro_fail_memory(error);
    add_bytes(event, EVENT_SUMMARY, summary->data ? summary->data : "", summary->length);
    return write_event(scalars, error);
}

const char *pyro_scalars_path(const pyro_scalars *scalars)
{
    return scalars->path;
}

void pyro_scalars_close(pyro_scalars *scalars)
{
    if (!scalars)
        return;
    if (scalars->fd >= 0)
        close(scalars->fd);
    pyro_buf_free(&scalars->value);
    pyro_buf_free(&scalars->summary);
    pyro_buf_free(&scalars->event);
    pyro_buf_free(&scalars->record);
    free(scalars->path);
    free(scalars);
}
