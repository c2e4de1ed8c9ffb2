/*
 * Reads the measured peaks of a machine, pyrometer.peaks/2: an object per device; or /1, a flat
 * object of the host's. One file per host in the user's data folder, because machines may share a
 * home folder.
 */
#include <pyrometer/trace.h>

#include "base/error.h"
#include "base/json/json.h"
#include "hardware/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static const struct {
    const char *key;
    size_t offset;
} rate_members[] = {
    {"float64_flops_per_s", offsetof(pyro_rates, float64_flops_per_s)},
    {"float32_flops_per_s", offsetof(pyro_rates, float32_flops_per_s)},
    {"tf32_flops_per_s", offsetof(pyro_rates, tf32_flops_per_s)},
    {"float16_flops_per_s", offsetof(pyro_rates, float16_flops_per_s)},
    {"bfloat16_flops_per_s", offsetof(pyro_rates, bfloat16_flops_per_s)},
    {"float8_flops_per_s", offsetof(pyro_rates, float8_flops_per_s)},
    {"int8_ops_per_s", offsetof(pyro_rates, int8_ops_per_s)},
    {"attention_flops_per_s", offsetof(pyro_rates, attention_flops_per_s)},
    {"bytes_per_s", offsetof(pyro_rates, bytes_per_s)},
    {"gemv_bytes_per_s", offsetof(pyro_rates, gemv_bytes_per_s)},
    {"elementwise_bytes_per_s", offsetof(pyro_rates, elementwise_bytes_per_s)},
    {"reduction_bytes_per_s", offsetof(pyro_rates, reduction_bytes_per_s)},
    {"launch_ns", offsetof(pyro_rates, launch_ns)},
};

/* What recording costs, at the top of the file. */
static const struct {
    const char *key;
    size_t offset;
} cost_members[] = {
#define COSTS(recorder) \
    {#recorder "_op_ns", offsetof(pyro_peaks, recorder.op_ns)}, \
        {#recorder "_shapes_ns", offsetof(pyro_peaks, recorder.shapes_ns)}, \
        {#recorder "_memory_ns", offsetof(pyro_peaks, recorder.memory_ns)}, \
    { \
        #recorder "_frame_ns", offsetof(pyro_peaks, recorder.frame_ns) \
    }
    COSTS(torch_profiler),
    COSTS(pyrometer),
#undef COSTS
};

char *pyro_peaks_path(void)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    struct utsname names;
    char *path = NULL;

    if (uname(&names) != 0)
        return NULL;
    if (data && data[0] == '/') {
        if (asprintf(&path, "%s/pyrometer/peaks-%s.json", data, names.nodename) < 0)
            path = NULL;
    } else if (home && asprintf(&path, "%s/.local/share/pyrometer/peaks-%s.json", home,
                                names.nodename) < 0) {
        path = NULL;
    }
    return path;
}

/* A rate; null is one that was not measured. */
static bool read_rate(pyro_json *json, double *rate)
{
    pyro_json_kind event = pyro_json_next(json);
    double value = 0;

    if (event != PYRO_JSON_NULL && (event != PYRO_JSON_NUMBER || !pyro_json_double(json, &value)))
        return false;
    *rate = value > 0 ? value : 0;
    return true;
}

/* Reads the value of a key that is a rate; *is_rate is false, and nothing is read, for others. */
static bool read_member(pyro_json *json, pyro_rates *rates, bool *is_rate)
{
    *is_rate = false;
    for (size_t i = 0; i < sizeof rate_members / sizeof *rate_members; i++) {
        if (strcmp(pyro_json_text(json, NULL), rate_members[i].key) != 0)
            continue;
        *is_rate = true;
        return read_rate(json, (double *)(void *)((char *)rates + rate_members[i].offset));
    }
    return true;
}

static bool read_cost(pyro_json *json, pyro_peaks *peaks, bool *is_cost)
{
    *is_cost = false;
    for (size_t i = 0; i < sizeof cost_members / sizeof *cost_members; i++) {
        if (strcmp(pyro_json_text(json, NULL), cost_members[i].key) != 0)
            continue;
        *is_cost = true;
        return read_rate(json, (double *)(void *)((char *)peaks + cost_members[i].offset));
    }
    return true;
}

/* A key at the top of the file: a cost, in files of version 1 a rate, or another. */
static bool read_other(pyro_json *json, pyro_peaks *peaks)
{
    bool is_known;
    if (!read_cost(json, peaks, &is_known))
        return false;
    if (!is_known && !read_member(json, &peaks->host, &is_known))
        return false;
    return is_known || pyro_json_skip(json);
}

static bool read_text(pyro_json *json, char *text, size_t size)
{
    if (pyro_json_next(json) != PYRO_JSON_STRING)
        return false;
    snprintf(text, size, "%s", pyro_json_text(json, NULL));
    return true;
}

static void add_device(pyro_peaks *peaks, const char *kind, const char *name,
                       const pyro_rates *rates)
{
    if (strcmp(kind, "cpu") == 0) {
        peaks->host = *rates;
    } else if (peaks->device_count < PYRO_MOST_PEAKS) {
        pyro_device_peaks *device = &peaks->devices[peaks->device_count++];

        snprintf(device->name, sizeof device->name, "%s", name);
        device->rates = *rates;
    }
}

/* An entry of "devices". */
static bool read_device(pyro_json *json, pyro_peaks *peaks)
{
    char kind[PYRO_PEAKS_NAME] = "", name[PYRO_PEAKS_NAME] = "";
    pyro_rates rates = {0};
    bool sound = true, is_rate;

    while (sound && pyro_json_next(json) == PYRO_JSON_KEY) {
        if (PYRO_JSON_IS(json, "device"))
            sound = read_text(json, kind, sizeof kind);
        else if (PYRO_JSON_IS(json, "name"))
            sound = read_text(json, name, sizeof name);
        else
            sound = read_member(json, &rates, &is_rate) && (is_rate || pyro_json_skip(json));
    }
    sound = sound && pyro_json_current(json) == PYRO_JSON_OBJECT_END;
    if (sound)
        add_device(peaks, kind, name, &rates);
    return sound;
}

static bool read_devices(pyro_json *json, pyro_peaks *peaks)
{
    if (pyro_json_next(json) != PYRO_JSON_ARRAY)
        return false;
    while (pyro_json_next(json) == PYRO_JSON_OBJECT)
        if (!read_device(json, peaks))
            return false;
    return pyro_json_current(json) == PYRO_JSON_ARRAY_END;
}

static bool read_peaks(pyro_json *json, pyro_peaks *peaks)
{
    bool sound = pyro_json_next(json) == PYRO_JSON_OBJECT;

    while (sound && pyro_json_next(json) == PYRO_JSON_KEY) {
        if (PYRO_JSON_IS(json, "devices"))
            sound = read_devices(json, peaks);
        else if (PYRO_JSON_IS(json, "measured"))
            sound = read_text(json, peaks->measured, sizeof peaks->measured);
        else
            sound = read_other(json, peaks);
    }
    return sound && pyro_json_current(json) == PYRO_JSON_OBJECT_END;
}

int pyro_peaks_read(pyro_peaks *peaks, const char *path, pyro_error *error)
{
    pyro_source *source = NULL;
    pyro_json *json = NULL;

    *peaks = (pyro_peaks){0};
    int status = pyro_source_open_regular(&source, path, error);
    if (status == PYRO_OK)
        status = pyro_json_open(&json, source, NULL, error);
    if (status == PYRO_OK && !read_peaks(json, peaks)) {
        *peaks = (pyro_peaks){0};
        status = pyro_fail(error, PYRO_ERROR_FORMAT,
                           "not a file of pyrometer doctor --calibrate (pyrometer.peaks/2)");
    }
    pyro_json_close(json);
    pyro_source_close(source);
    return status;
}

bool pyro_peaks_load(pyro_peaks *peaks)
{
    char *path = pyro_peaks_path();
    pyro_error error;

    *peaks = (pyro_peaks){0};
    pyro_error_clear(&error);
    bool sound = path && pyro_peaks_read(peaks, path, &error) == PYRO_OK;
    free(path);
    return sound;
}

const pyro_rates *pyro_peaks_find(const pyro_peaks *peaks, const char *device_name)
{
    for (size_t i = 0; peaks && i < peaks->device_count; i++)
        if (strcmp(peaks->devices[i].name, device_name) == 0)
            return &peaks->devices[i].rates;
    return NULL;
}
