/*
 * The program's side of NVTX 3: the tool's library gets tables of pointers to function pointers, and
 * fills in those that it implements. Only ranges of the default domain are used; the other slots
 * exist because tools write to them.
 */
#include "device/nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { EXPORTS_CALLBACKS = 1, EXPORTS_VERSION = 3 };
enum { MODULE_CORE = 1, MODULE_COUNT = 7 };
enum { RANGE_PUSH = 9, RANGE_POP = 11, SLOTS = 16 };
#define NVTX_VERSION 3

typedef void (*any_function)(void);

static any_function slots[MODULE_COUNT][SLOTS];
static any_function *tables[MODULE_COUNT][SLOTS + 1]; /* entry 0 and the last are empty */

static int get_table(int module, any_function ***table, unsigned *size)
{
    if (module < MODULE_CORE || module >= MODULE_COUNT)
        return 0;
    if (table)
        *table = tables[module];
    if (size)
        *size = SLOTS;
    return 1;
}

static void set_version(uint32_t version)
{
    (void)version; /* all versions have ranges */
}

static const struct {
    size_t size;
    int (*get_table)(int module, any_function ***table, unsigned *size);
} callback_exports = {sizeof callback_exports, get_table};

static const struct {
    size_t size;
    uint32_t version, reserved;
    void (*set_version)(uint32_t version);
} version_exports = {sizeof version_exports, NVTX_VERSION, 0, set_version};

static const void *get_exports(uint32_t id)
{
    if (id == EXPORTS_CALLBACKS)
        return &callback_exports;
    return id == EXPORTS_VERSION ? &version_exports : NULL;
}

static int (*push_range)(const char *name);
static int (*pop_range)(void);

static void load(void)
{
    typedef int (*initialize_fn)(const void *(*exports)(uint32_t id));
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path && path[0] ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    void *symbol = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    initialize_fn initialize;
    memcpy(&initialize, &symbol, sizeof symbol);
    for (int module = MODULE_CORE; module < MODULE_COUNT; module++)
        for (int i = 1; i < SLOTS; i++)
            tables[module][i] = &slots[module][i];
    if (!symbol || !initialize(get_exports))
        return;
    any_function push = slots[MODULE_CORE][RANGE_PUSH], pop = slots[MODULE_CORE][RANGE_POP];
    if (!push || !pop)
        return;
    memcpy(&push_range, &push, sizeof push);
    memcpy(&pop_range, &pop, sizeof pop);
}

bool pyro_nvtx_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return push_range != NULL;
}

void pyro_nvtx_push(const char *name)
{
    if (push_range)
        push_range(name);
}

void pyro_nvtx_pop(void)
{
    if (pop_range)
        pop_range();
}
