/* A reader's view of the names, shapes and stacks that records refer to. */
#include "capture/session.h"

#include <string.h>

bool pyro_tables_extend(pyro_recorded_tables *tables, uint32_t *seen, const pyro_session *session)
{
    for (uint32_t type = 0; type < PYRO_DATA_TYPES; type++) {
        const pyro_intern *data = &session->data[type];
        for (; seen[type] < data->count; seen[type]++) {
            const pyro_intern_entry *entry = &data->entries[seen[type]];
            uint32_t id = seen[type] + 1, skipped = 0;
            if (type == PYRO_DATA_THREAD) {
                memcpy(&id, entry->text, sizeof id);
                skipped = sizeof id;
            }
            if (!pyro_recorded_put(tables, type, id, entry->text + skipped,
                                   entry->length - skipped))
                return false;
        }
    }
    return true;
}
