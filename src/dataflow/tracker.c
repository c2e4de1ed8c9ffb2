/* Tracks tensors, the storages under them, and what was written into those. */
#include "dataflow/tracker.h"

#include "base/containers/buf.h"
#include <stdlib.h>

/* More writes than this into parts of what is read are not resolved exactly. */
#define MOST_STACKED 1024

void pyro_tracker_free(pyro_tracker *tracker)
{
    pyro_map_free(&tracker->number_of_tensor);
    pyro_map_free(&tracker->number_of_storage);
    free(tracker->tensors);
    free(tracker->storages);
    free(tracker->writes);
    free(tracker->found);
    free(tracker->met);
    *tracker = (pyro_tracker)PYRO_TRACKER_INIT;
}

static pyro_tracked_storage *find_storage(const pyro_tracker *tracker, uint64_t storage)
{
    uint32_t number = pyro_map_get(&tracker->number_of_storage, storage);
    return number == PYRO_MAP_NONE ? NULL : &tracker->storages[number];
}

/* The tensor, if it is unchanged since it was made. */
static const pyro_tracked_tensor *find_tensor(const pyro_tracker *tracker,
                                              const pyro_tensor_use *seen)
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

static bool add_found(pyro_tracker *tracker, uint32_t value, bool assumed)
{
    for (size_t i = 0; i < tracker->found_count; i++)
        if (tracker->found[i].value == value) {
            tracker->found[i].assumed &= assumed;
            return true;
        }
    if (!pyro_grow(&tracker->found, &tracker->found_capacity, tracker->found_count + 1,
                   sizeof *tracker->found))
        return false;
    tracker->found[tracker->found_count++] = (pyro_found_value){value, assumed};
    return true;
}

/* Collects the writes since `since` that overlap; sets `covered` when the last hides the rest. */
static bool meet_writes(pyro_tracker *tracker, const pyro_tracked_storage *storage,
                        const pyro_region *bytes, uint64_t since, bool *covered)
{
    tracker->met_count = 0;
    *covered = false;
    for (uint32_t at = storage->last_write; at != PYRO_MAP_NONE && !*covered;) {
        const pyro_tracked_write *write = &tracker->writes[at];
        if (write->clock <= since)
            break;
        if (pyro_regions_meet(&write->bytes, bytes) != PYRO_APART) {
            if (!pyro_grow(&tracker->met, &tracker->met_capacity, tracker->met_count + 1,
                           sizeof *tracker->met))
                return false;
            tracker->met[tracker->met_count++] = at;
            *covered = pyro_region_covers(&write->bytes, bytes);
        }
        at = write->earlier;
    }
    return true;
}

/* Lays the writes over what is read, the latest on top. False if that is undecided. */
static bool stack_writes(pyro_tracker *tracker, const pyro_region *bytes, bool *visible)
{
    const pyro_region *above[MOST_STACKED];
    if (tracker->met_count > MOST_STACKED)
        return false;
    for (size_t i = 0; i < tracker->met_count; i++)
        above[i] = &tracker->writes[tracker->met[i]].bytes;
    return pyro_regions_stack(bytes, above, tracker->met_count, &tracker->budget, visible);
}

/* Without an exact result: a write is certainly visible if it overlaps and no later one does. */
static bool is_seen_alone(const pyro_tracker *tracker, const pyro_region *bytes, size_t index)
{
    enum { MOST_COMPARED = 16 };
    const pyro_region *own = &tracker->writes[tracker->met[index]].bytes;
    if (pyro_regions_meet(own, bytes) != PYRO_MEET || index > MOST_COMPARED)
        return false;
    for (size_t i = 0; i < index; i++)
        if (pyro_regions_meet(own, &tracker->writes[tracker->met[i]].bytes) != PYRO_APART)
            return false;
    return true;
}

/* Whether the writes are too few to hide everything. */
static bool leave_a_part(const pyro_tracker *tracker, const pyro_region *bytes)
{
    double hidden = 0;
    for (size_t i = 0; i < tracker->met_count; i++) {
        const pyro_region *write = &tracker->writes[tracker->met[i]].bytes;
        if (write->end < 0)
            return false;
        hidden += pyro_region_most_bytes(write);
    }
    return bytes->end >= 0 && hidden < pyro_region_least_bytes(bytes);
}

bool pyro_tracker_held(const pyro_tracker *tracker, const pyro_tensor_use *seen,
                       pyro_held_value *out)
{
    const pyro_tracked_storage *storage = find_storage(tracker, seen->storage);
    const pyro_tracked_tensor *tensor = storage ? find_tensor(tracker, seen) : NULL;
    if (!storage)
        return false;
    /* A tensor without a known maker, over memory with a known one: `x.data`. */
    *out = tensor ? (pyro_held_value){tensor->value, tensor->clock}
                  : (pyro_held_value){storage->first_value, 0};
    return true;
}

bool pyro_tracker_look(pyro_tracker *tracker, uint64_t storage, const pyro_region *bytes,
                       pyro_held_value held)
{
    bool visible[MOST_STACKED + 1], covered;
    tracker->found_count = 0;
    if (!meet_writes(tracker, find_storage(tracker, storage), bytes, held.clock, &covered))
        return false;
    size_t count = tracker->met_count;
    if (count == 0 || (count == 1 && covered))
        return add_found(tracker, count ? tracker->writes[tracker->met[0]].value : held.value,
                         false);
    bool decided = stack_writes(tracker, bytes, visible);
    for (size_t i = 0; i < count; i++) {
        bool certain = decided || is_seen_alone(tracker, bytes, i);
        if ((!decided || visible[i]) &&
            !add_found(tracker, tracker->writes[tracker->met[i]].value, !certain))
            return false;
    }
    return covered || (decided && !visible[count]) ||
           add_found(tracker, held.value, !decided && !leave_a_part(tracker, bytes));
}

bool pyro_tracker_read(pyro_tracker *tracker, const pyro_tensor_use *seen)
{
    pyro_held_value held;
    tracker->found_count = 0;
    return !pyro_tracker_held(tracker, seen, &held) ||
           pyro_tracker_look(tracker, seen->storage, &seen->bytes, held);
}

bool pyro_tracker_knows(const pyro_tracker *tracker, const pyro_tensor_use *seen)
{
    return find_storage(tracker, seen->storage) != NULL;
}

uint32_t pyro_tracker_memory(const pyro_tracker *tracker, uint64_t storage)
{
    const pyro_tracked_storage *known = find_storage(tracker, storage);
    return known ? known->memory : 0;
}

/*
 * The storage as it is now; with `anew` its address was reused for other memory, which holds
 * `value`. NULL when memory is out.
 */
static pyro_tracked_storage *enter_storage(pyro_tracker *tracker, uint64_t address, bool anew,
                                           uint32_t value)
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
    storage->first_value = value;
    storage->last_write = PYRO_MAP_NONE;
    return storage;
}

static bool enter_tensor(pyro_tracker *tracker, const pyro_tensor_use *seen,
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

bool pyro_tracker_make(pyro_tracker *tracker, const pyro_tensor_use *seen, pyro_making how,
                       uint32_t value)
{
    pyro_tracked_storage *storage = enter_storage(tracker, seen->storage, how == PYRO_MAKES_FRESH,
                                                  value);
    if (!storage)
        return false;
    tracker->clock++;
    if (how == PYRO_MAKES_WRITE) {
        if (!pyro_grow(&tracker->writes, &tracker->write_capacity, tracker->write_count + 1,
                       sizeof *tracker->writes))
            return false;
        tracker->writes[tracker->write_count] = (pyro_tracked_write){
            .value = value,
            .earlier = storage->last_write,
            .clock = tracker->clock,
            .bytes = seen->bytes,
        };
        storage->last_write = (uint32_t)tracker->write_count++;
    }
    return enter_tensor(tracker, seen, storage, value);
}
