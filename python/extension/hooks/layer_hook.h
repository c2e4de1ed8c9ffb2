/* The hook of layers: what every call of a module reads, and what switches it off. */
#ifndef PYROMETER_EXTENSION_LAYER_HOOK_H
#define PYROMETER_EXTENSION_LAYER_HOOK_H

#include "module.h"

#define NONE_PLAIN 2u /* no session: those are odd. Nor 0, which is outside of layers. */

/* One hook per process, because there is one Module class. Guarded by the GIL. In one cache line. */
typedef struct layer_hook {
    _Alignas(64) vectorcallfunc original;
    pyro_recorder_api *api;
    uint32_t
        plain_generation; /* of a session whose calls need nothing but a record; or NONE_PLAIN */
    bool wants_inputs; /* in that session */
    bool is_wrapped; /* another hook replaced the slot after us and keeps calling us */
    PyObject *function, *module_class;
} layer_hook;

/* Hidden, so that access needs no global offset table. */
extern layer_hook core_hook __attribute__((visibility("hidden")));

/* Calls of modules may have to do more than a record, or no longer: the next one finds out. */
static inline void layers_reconsider(void)
{
    core_hook.plain_generation = NONE_PLAIN;
}

#endif
