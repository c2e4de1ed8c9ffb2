/* Reads the measured peaks of this machine: a flat JSON object in the user's data folder. One file
 * per host, because machines may share a home folder. */
#include <pyrometer/trace.h>

#include "base/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static const struct {
    const char *key;
    size_t offset;
} members[] = {
    {"float64_flops_per_s", offsetof(pyro_peaks, float64_flops_per_s)},
    {"float32_flops_per_s", offsetof(pyro_peaks, float32_flops_per_s)},
    {"float16_flops_per_s", offsetof(pyro_peaks, float16_flops_per_s)},
    {"bfloat16_flops_per_s", offsetof(pyro_peaks, bfloat16_flops_per_s)},
    {"int8_ops_per_s", offsetof(pyro_peaks, int8_ops_per_s)},
    {"bytes_per_s", offsetof(pyro_peaks, bytes_per_s)},
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

/* $XDG_DATA_HOME/pyrometer/peaks-HOST.json, as _capture/doctor.py writes it; free() it. */
static char *peaks_path(void)
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

static bool read_member(pyro_json *json, pyro_peaks *peaks)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        double value;

        if (strcmp(pyro_json_text(json, NULL), members[i].key) != 0)
            continue;
        if (pyro_json_next(json) != PYRO_JSON_NUMBER || !pyro_json_double(json, &value))
            return false;
        *(double *)((char *)peaks + members[i].offset) = value > 0 ? value : 0;
        return true;
    }
    return pyro_json_skip(json);
}

bool pyro_peaks_load(pyro_peaks *peaks)
{
    char *path = peaks_path();
    pyro_source *source = NULL;
    pyro_json *json = NULL;
    pyro_error error;
    bool sound = false;

    *peaks = (pyro_peaks){0};
    pyro_error_clear(&error);
    if (path && pyro_source_open_regular(&source, path, &error) == PYRO_OK &&
        pyro_json_open(&json, source, NULL, &error) == PYRO_OK &&
        pyro_json_next(json) == PYRO_JSON_OBJECT) {
        sound = true;
        while (sound && pyro_json_next(json) == PYRO_JSON_KEY)
            sound = read_member(json, peaks);
        sound = sound && pyro_json_current(json) == PYRO_JSON_OBJECT_END;
    }
    pyro_json_close(json);
    pyro_source_close(source);
    free(path);
    return sound;
}
