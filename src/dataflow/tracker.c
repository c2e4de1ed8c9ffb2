/* Tensors, the storages under them, and what was written into those. */
#include "dataflow/tracker.h"

#include "base/buf.h"
#include <stdlib.h>

void pyro_tracker_free(pyro_tracker *tracker)
{
    pyro_map_free(&tracker->number_of_tensor);
    pyro_map_free(&tracker->number_of_storage);
    free(tracker->tensors);
    free(tracker->storages);
    free(tracker->writes);
    free(tracker->found);
    *tracker = (pyro_tracker)PYRO_TRACKER_INIT;
}

static pyro_tracked_storage *find_storage(const pyro_tracker *tracker, uint64_t storage)
{
    uint32_t number = pyro_map_get(&tracker->number_of_storage, storage);
    return number == PYRO_MAP_NONE ? NULL : &tracker->storages[number];
}

/* The tensor, where it still is what it was when it was made. */
static const pyro_tracked_tensor *find_tensor(const pyro_tracker *tracker,
                                              const pyro_sighting *seen)
{
    uint32_t number = pyro_map_get(&tracker->number_of_tensor, seen->tensor);
    const pyro_tracked_storage *storage = find_storage(tracker, seen->storage);
    if (number == PYRO_MAP_NONE || !storage)
        return NULL;
    const pyro_tracked_tensor *tensor = &tracker->tensors[number];
    if (&tracker->storages[tensor->storage] != storage || tensor->generation != storage->generation)
        return NULL;
    return tensor;
}

static bool add_found(pyro_tracker *tracker, uint32_t value)
{
    for (size_t i = 0; i < tracker->found_count; i++)
        if (tracker->found[i] == value)
            return true;
    if (!pyro_grow(&tracker->found, &tracker->found_capacity, tracker->found_count + 1,
                   sizeof *tracker->found))
        return false;
    tracker->found[tracker->found_count++] = value;
    return true;
}

static bool overlaps(const pyro_tracked_write *write, const pyro_sighting *seen)
{
    return write->end < 0 || seen->end < 0 ||
           (write->begin < seen->end && seen->begin < write->end);
}

static bool covers(const pyro_tracked_write *write, const pyro_sighting *seen)
{
    return write->dense && write->end >= 0 && seen->end >= 0 && write->begin <= seen->begin &&
           write->end >= seen->end;
}

bool pyro_tracker_read(pyro_tracker *tracker, const pyro_sighting *seen)
{
    tracker->found_count = 0;
    const pyro_tracked_storage *storage = find_storage(tracker, seen->storage);
    if (!storage)
        return true;
    const pyro_tracked_tensor *tensor = find_tensor(tracker, seen);
    uint64_t since = tensor ? tensor->clock : 0;
    for (uint32_t at = storage->last_write; at != PYRO_MAP_NONE;) {
        const pyro_tracked_write *write = &tracker->writes[at];
        if (write->clock <= since)
            break;
        if (overlaps(write, seen) && !add_found(tracker, write->value))
            return false;
        if (covers(write, seen))
            return true;
        at = write->earlier;
    }
    /* A tensor that nobody was seen to make, over memory that somebody made: `x.data`. */
    return add_found(tracker, tensor ? tensor->value : storage->last_value);
}

bool pyro_tracker_knows(const pyro_tracker *tracker, const pyro_sighting *seen)
{
    return find_storage(tracker, seen->storage) != NULL;
}

uint32_t pyro_tracker_memory(const pyro_tracker *tracker, uint64_t storage)
{
    const pyro_tracked_storage *known = find_storage(tracker, storage);
    return known ? known->memory : 0;
}

/* The storage as it is now; with `anew` its address got other memory. NULL when memory is out. */
static pyro_tracked_storage *enter_storage(pyro_tracker *tracker, uint64_t address, bool anew)
{
    pyro_tracked_storage *storage = find_storage(tracker, address);
    if (storage && !anew)
        return storage;
    if (!storage) {
        if (!pyro_grow(&tracker->storages, &tracker->storage_capacity, tracker->storage_count + 1,
                       sizeof *tracker->storages) ||
            !pyro_map_put(&tracker->number_of_storage, address, (uint32_t)tracker->storage_count))
            return NULL;
        storage = &tracker->storages[tracker->storage_count++];
        storage->generation = 0;
    }
    storage->generation++;
    storage->memory = ++tracker->memories;
    storage->last_write = PYRO_MAP_NONE;
    return storage;
}

static bool enter_tensor(pyro_tracker *tracker, const pyro_sighting *seen,
                         const pyro_tracked_storage *storage, uint32_t value)
{
    uint32_t number = pyro_map_get(&tracker->number_of_tensor, seen->tensor);
    if (number == PYRO_MAP_NONE) {
        number = (uint32_t)tracker->tensor_count;
        if (!pyro_grow(&tracker->tensors, &tracker->tensor_capacity, tracker->tensor_count + 1,
                       sizeof *tracker->tensors) ||
            !pyro_map_put(&tracker->number_of_tensor, seen->tensor, number))
            return false;
        tracker->tensor_count++;
    }
    tracker->tensors[number] = (pyro_tracked_tensor){
        .storage = (uint32_t)(storage - tracker->storages),
        .generation = storage->generation,
        .value = value,
        .clock = tracker->clock,
    };
    return true;
}

bool pyro_tracker_make(pyro_tracker *tracker, const pyro_sighting *seen, pyro_making how,
                       uint32_t value)
{
    pyro_tracked_storage *storage = enter_storage(tracker, seen->storage, how == PYRO_MAKES_FRESH);
    if (!storage)
        return false;
    tracker->clock++;
    storage->last_value = value;
    if (how == PYRO_MAKES_WRITE) {
        if (!pyro_grow(&tracker->writes, &tracker->write_capacity, tracker->write_count + 1,
                       sizeof *tracker->writes))
            return false;
        tracker->writes[tracker->write_count] = (pyro_tracked_write){
            .value = value,
            .earlier = storage->last_write,
            .clock = tracker->clock,
            .begin = seen->begin,
            .end = seen->end,
            .dense = seen->dense,
        };
        storage->last_write = (uint32_t)tracker->write_count++;
    }
    return enter_tensor(tracker, seen, storage, value);
}
