/* Reads what is beside the events: devices, the distributed run, the clock's origin, our notes. */
#include "trace/kineto/scanner.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include <stdlib.h>

typedef struct metadata_reader {
    pyro_trace *trace;
    pyro_json *json;
    bool no_memory;
} metadata_reader;

static const char *const keys[] = {"deviceProperties",   "distributedInfo", "baseTimeNanoseconds",
                                   "pyrometer",          "host_name",       "cuda_runtime_version",
                                   "hip_runtime_version"};
#define MOST_NOTES 1000

bool pyro_kineto_is_metadata(const char *key, size_t length)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i]) == length && memcmp(keys[i], key, length) == 0)
            return true;
    return false;
}

/* The next value as a number, also if it is quoted; skips any other value and returns `other`. */
static int64_t read_number(pyro_json *json, int64_t other)
{
    pyro_json_kind kind = pyro_json_next(json);
    int64_t number = other;
    double real;
    if (kind == PYRO_JSON_NUMBER) {
        if (!pyro_json_int(json, &number) && pyro_json_double(json, &real) && real > -9e18 &&
            real < 9e18)
            number = (int64_t)real;
    } else if (kind == PYRO_JSON_STRING) {
        char *end;
        const char *text = pyro_json_text(json, NULL);
        long long value = strtoll(text, &end, 10);
        if (end != text && *end == '\0')
            number = value;
    } else if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY) {
        pyro_json_skip(json);
    }
    return number;
}

static uint32_t read_text(metadata_reader *reader)
{
    pyro_json_kind kind = pyro_json_next(reader->json);
    if (kind == PYRO_JSON_STRING) {
        size_t length;
        const char *text = pyro_json_text(reader->json, &length);
        uint32_t id = pyro_intern_add(&reader->trace->names, text, length);
        reader->no_memory |= id == PYRO_INTERN_NONE;
        return id;
    }
    if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
        pyro_json_skip(reader->json);
    return PYRO_NO_ID;
}

static void read_device(metadata_reader *reader)
{
    pyro_trace *trace = reader->trace;
    pyro_json *json = reader->json;
    pyro_device device = {.id = (int64_t)trace->device_count,
                          .name = PYRO_NO_ID,
                          .total_memory_bytes = -1,
                          .multiprocessors = -1,
                          .max_threads_per_multiprocessor = -1,
                          .compute_major = -1,
                          .compute_minor = -1};
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        if (PYRO_JSON_IS(json, "id"))
            device.id = read_number(json, device.id);
        else if (PYRO_JSON_IS(json, "name"))
            device.name = read_text(reader);
        else if (PYRO_JSON_IS(json, "totalGlobalMem"))
            device.total_memory_bytes = read_number(json, -1);
        else if (PYRO_JSON_IS(json, "numSms"))
            device.multiprocessors = read_number(json, -1);
        else if (PYRO_JSON_IS(json, "maxThreadsPerMultiprocessor"))
            device.max_threads_per_multiprocessor = read_number(json, -1);
        else if (PYRO_JSON_IS(json, "computeMajor"))
            device.compute_major = (int)read_number(json, -1);
        else if (PYRO_JSON_IS(json, "computeMinor"))
            device.compute_minor = (int)read_number(json, -1);
        else
            pyro_json_skip(json);
    }
    if (!pyro_grow(&trace->devices, &trace->device_capacity, trace->device_count + 1,
                   sizeof *trace->devices))
        reader->no_memory = true;
    else
        trace->devices[trace->device_count++] = device;
}

static void read_devices(metadata_reader *reader)
{
    if (pyro_json_next(reader->json) != PYRO_JSON_ARRAY)
        return;
    for (;;) {
        pyro_json_kind kind = pyro_json_next(reader->json);
        if (kind == PYRO_JSON_OBJECT)
            read_device(reader);
        else if (kind == PYRO_JSON_ARRAY)
            pyro_json_skip(reader->json);
        else if (kind == PYRO_JSON_ARRAY_END || kind == PYRO_JSON_ERROR)
            return;
    }
}

static void read_distributed(metadata_reader *reader)
{
    pyro_json *json = reader->json;
    if (pyro_json_next(json) != PYRO_JSON_OBJECT)
        return;
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        if (PYRO_JSON_IS(json, "rank"))
            reader->trace->rank = read_number(json, -1);
        else if (PYRO_JSON_IS(json, "world_size"))
            reader->trace->world_size = read_number(json, -1);
        else if (PYRO_JSON_IS(json, "backend"))
            reader->trace->backend = read_text(reader);
        else
            pyro_json_skip(json);
    }
}

/* Notes of a recording that was converted to Chrome JSON. */
static void read_notes(metadata_reader *reader)
{
    pyro_json *json = reader->json;
    if (pyro_json_next(json) != PYRO_JSON_OBJECT)
        return;
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        pyro_buf key = PYRO_BUF_INIT;
        pyro_buf_adds(&key, pyro_json_text(json, NULL));
        uint32_t value = read_text(reader);
        if (key.failed)
            reader->no_memory = true;
        else if (value != PYRO_NO_ID && reader->trace->note_count < MOST_NOTES &&
                 !pyro_trace_property(reader->trace, key.length ? key.data : "",
                                      pyro_trace_text(reader->trace, value)))
            reader->no_memory = true;
        pyro_buf_free(&key);
    }
}

static bool is_key(const char *key, size_t length, size_t wanted)
{
    return length == strlen(keys[wanted]) && memcmp(key, keys[wanted], length) == 0;
}

int pyro_kineto_metadata(pyro_trace *trace, pyro_kineto_defects *defects, const char *key,
                         size_t key_length, const char *value, size_t length, pyro_error *error)
{
    pyro_json_options options = {.any_utf8 = true, .nonfinite = true};
    pyro_source *source = NULL;
    metadata_reader reader = {.trace = trace};
    pyro_error damage;
    pyro_error_clear(&damage);
    int status = pyro_source_open_memory(&source, value, length, error);
    if (status == PYRO_OK)
        status = pyro_json_open(&reader.json, source, &options, &damage);
    if (status == PYRO_OK) {
        if (is_key(key, key_length, 0))
            read_devices(&reader);
        else if (is_key(key, key_length, 1))
            read_distributed(&reader);
        else if (is_key(key, key_length, 3))
            read_notes(&reader);
        else if (is_key(key, key_length, 4))
            trace->host = read_text(&reader);
        else if (is_key(key, key_length, 5))
            trace->cuda_version = read_number(reader.json, 0);
        else if (is_key(key, key_length, 6))
            trace->hip_version = read_number(reader.json, 0);
        else
            trace->base_time_ns = read_number(reader.json, 0);
        if (pyro_json_status(reader.json) != PYRO_OK)
            defects->count[PYRO_DEFECT_METADATA]++;
        if (reader.no_memory || pyro_json_status(reader.json) == PYRO_ERROR_MEMORY)
            status = PYRO_ERROR_MEMORY;
        pyro_json_close(reader.json);
    }
    pyro_source_close(source);
    return status == PYRO_ERROR_MEMORY ? pyro_fail_memory(error) : status;
}
