/* Finds CUPTI in the process or on the disk, and its functions by name. */
#include "device/cupti.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first version whose records have every member that is read: that of CUDA 11.8. */
#define OLDEST_VERSION 18

static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                    "libcupti.so"};

/* A library that the process has loaded, whatever its soname. */
static int find_loaded(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (strncmp(slash ? slash + 1 : info->dlpi_name, "libcupti.so", 11) != 0)
        return 0;
    snprintf(path, sizeof((pyro_cupti *)0)->path, "%s", info->dlpi_name);
    return 1;
}

/* Says in `reason` what is wrong with a library that is there. */
static bool load(pyro_cupti *cupti, const char *name, char *reason, size_t size)
{
    if (name != cupti->path)
        snprintf(cupti->path, sizeof cupti->path, "%s", name);
    cupti->library = dlopen(cupti->path, RTLD_LAZY | RTLD_LOCAL);
    if (cupti->library)
        return true;
    const char *error = dlerror();
    size_t length = strlen(cupti->path);
    bool is_absent = !error || (strncmp(error, cupti->path, length) == 0 &&
                                strstr(error + length, "No such file"));
    if (!is_absent && !reason[0])
        snprintf(reason, size, "libcupti cannot be loaded: %.200s", error);
    return false;
}

static bool load_any(pyro_cupti *cupti, char *reason, size_t size)
{
    const char *chosen = getenv("PYRO_CUPTI");
    if (chosen && chosen[0])
        return load(cupti, chosen, reason, size);
    if (dl_iterate_phdr(find_loaded, cupti->path) && load(cupti, cupti->path, reason, size))
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (load(cupti, names[i], reason, size))
            return true;
    return false;
}

typedef struct wanted_function {
    size_t offset;
    const char *name;
    bool is_optional;
} wanted_function;

static const wanted_function wanted[] = {
    {offsetof(pyro_cupti, get_version), "cuptiGetVersion", false},
    {offsetof(pyro_cupti, result_text), "cuptiGetResultString", false},
    {offsetof(pyro_cupti, timestamp), "cuptiGetTimestamp", false},
    {offsetof(pyro_cupti, subscribe), "cuptiSubscribe", false},
    {offsetof(pyro_cupti, unsubscribe), "cuptiUnsubscribe", false},
    {offsetof(pyro_cupti, enable_callback), "cuptiEnableCallback", false},
    {offsetof(pyro_cupti, callback_name), "cuptiGetCallbackName", false},
    {offsetof(pyro_cupti, register_buffers), "cuptiActivityRegisterCallbacks", false},
    {offsetof(pyro_cupti, enable), "cuptiActivityEnable", false},
    {offsetof(pyro_cupti, disable), "cuptiActivityDisable", false},
    {offsetof(pyro_cupti, flush), "cuptiActivityFlushAll", false},
    {offsetof(pyro_cupti, next_record), "cuptiActivityGetNextRecord", false},
    {offsetof(pyro_cupti, dropped), "cuptiActivityGetNumDroppedRecords", false},
    {offsetof(pyro_cupti, node_id), "cuptiGetGraphNodeId", true},
    {offsetof(pyro_cupti, set_attribute), "cuptiActivitySetAttribute", true},
    {offsetof(pyro_cupti, record_queries), "cuptiActivityEnableAllSyncRecords", true},
};

/* All or none of them are used. */
static const wanted_function shared[] = {
    {offsetof(pyro_cupti, subscribe_shared), "cuptiSubscribe_v2", true},
    {offsetof(pyro_cupti, timestamp_shared), "cuptiGetTimestamp_v2", true},
    {offsetof(pyro_cupti, register_buffers_shared), "cuptiActivityRegisterCallbacks_v2", true},
    {offsetof(pyro_cupti, enable_shared), "cuptiActivityEnable_v2", true},
    {offsetof(pyro_cupti, disable_shared), "cuptiActivityDisable_v2", true},
    {offsetof(pyro_cupti, next_record_shared), "cuptiActivityGetNextRecord_v2", true},
    {offsetof(pyro_cupti, dropped_shared), "cuptiActivityGetNumDroppedRecords_v2", true},
    {offsetof(pyro_cupti, set_attribute_shared), "cuptiActivitySetAttribute_v2", true},
};

static bool find_function(pyro_cupti *cupti, const wanted_function *function)
{
    void *symbol = dlsym(cupti->library, function->name);
    memcpy((char *)cupti + function->offset, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* The first function that is missing, or NULL. */
static const char *find_functions(pyro_cupti *cupti)
{
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!find_function(cupti, &wanted[i]) && !wanted[i].is_optional)
            return wanted[i].name;
    cupti->has_shared = true;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        cupti->has_shared &= find_function(cupti, &shared[i]);
    return NULL;
}

pyro_cupti_load pyro_cupti_open(pyro_cupti *cupti, char *reason, size_t size)
{
    *cupti = (pyro_cupti){0};
    reason[0] = '\0';
    if (!load_any(cupti, reason, size)) {
        if (!reason[0])
            snprintf(reason, size, "libcupti was not found; it comes with torch for CUDA");
        return PYRO_CUPTI_MISSING;
    }
    const char *missing = find_functions(cupti);
    if (missing) {
        snprintf(reason, size, "%.100s has no function %s", cupti->path, missing);
        return PYRO_CUPTI_INCOMPLETE;
    }
    if (cupti->get_version(&cupti->version) != PYRO_CUPTI_SUCCESS ||
        cupti->version < OLDEST_VERSION) {
        snprintf(reason, size, "%.100s has version %u; CUDA 11.8 or later is required", cupti->path,
                 cupti->version);
        return PYRO_CUPTI_INCOMPLETE;
    }
    return PYRO_CUPTI_LOADED;
}

const char *pyro_cupti_text(const pyro_cupti *cupti, int result)
{
    const char *text = NULL;
    if (cupti->result_text(result, &text) != PYRO_CUPTI_SUCCESS || !text)
        return "unknown error";
    return text;
}
