/* NVTX ranges of layers and steps, which other tools record while a session runs. */
#include "capture/session.h"

#include "device/nvtx.h"

bool pyro_ranges_load(void)
{
    return pyro_nvtx_load();
}

/* The path of a module, or the class of a root; NULL if it is unknown. Lives as long as the session. */
static const char *name_of(pyro_session *session, uint32_t module)
{
    const pyro_intern *modules = &session->data[PYRO_DATA_MODULE];
    const char *path = NULL;
    pthread_mutex_lock(&session->lock);
    if (module > 0 && module <= modules->count)
        path = modules->entries[module - 1].text + sizeof(pyro_module_data);
    pthread_mutex_unlock(&session->lock);
    return path && !path[0] ? path + 1 : path;
}

void pyro_range_begin_layer(uint32_t module)
{
    pyro_recorder_thread *thread = pyro_recorder_enter(&pyro_the_recorder_api);
    const char *name = thread ? name_of(&pyro_the_session, module) : NULL;
    pyro_nvtx_push(name ? name : "layer");
    if (thread)
        pyro_recorder_leave(thread);
}

void pyro_range_begin(const char *name)
{
    pyro_nvtx_push(name);
}

void pyro_range_end(void)
{
    pyro_nvtx_pop();
}
