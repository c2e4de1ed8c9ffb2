/*
 * Records what torch's CUDA allocator allocates and frees, by functions that the allocator calls
 * instead of torch's. The observer of ops does the same for the CPU's allocator.
 */
#include "capture/session.h"

#include "base/every_event.h"
#include "device/torch_memory.h"

/* What every allocation reads: one cache line. */
static struct {
    _Alignas(64) pyro_torch_reports torch; /* the functions that ours replace */
    bool is_recorded;
} reports PYRO_EVERY_EVENT;

static inline void write_memory(pyro_recorder_thread *thread, pyro_record *room,
                                const pyro_memory_record *memory)
{
    pyro_memory_record *record = (pyro_memory_record *)(void *)room;
    record->start_raw = memory->start_raw;
    record->address = memory->address;
    record->bytes = memory->bytes;
    record->total_allocated = memory->total_allocated;
    record->total_reserved = memory->total_reserved;
    record->device_type = memory->device_type;
    record->device_index = memory->device_index;
    pyro_record_is(room, PYRO_RECORD_ALLOCATION, memory->out_of_memory);
    pyro_record_commit(thread, room);
    pyro_record_prefetch(room + 2);
}

static inline bool is_wanted(const pyro_recorder_api *api)
{
    return __atomic_load_n(&reports.is_recorded, __ATOMIC_ACQUIRE) && pyro_is_recording(api) &&
           api->flags & PYRO_RECORD_MEMORY;
}

/* Sets the time. */
static void record_memory(pyro_memory_record *memory)
{
    pyro_recorder_api *api = &pyro_the_recorder_api;
    pyro_recorder_thread *thread = api->is_resting ? NULL : pyro_recorder_enter(api);
    if (!thread)
        return;
    pyro_record *room = pyro_record_room(api, thread);
    memory->start_raw = pyro_raw_time(api);
    if (room)
        write_memory(thread, room, memory);
    pyro_recorder_leave(thread);
}

/* What on_usage() leaves: the first record of a thread or chunk, and unusual sessions. */
static __attribute__((noinline, cold)) void report_usage(void *address, int64_t bytes,
                                                         size_t allocated, size_t reserved,
                                                         pyro_torch_device device)
{
    record_memory(&(pyro_memory_record){.address = (uint64_t)(uintptr_t)address,
                                        .bytes = bytes,
                                        .total_allocated = (int64_t)allocated,
                                        .total_reserved = (int64_t)reserved,
                                        .device_type = device.type,
                                        .device_index = device.index});
    reports.torch.usage(address, bytes, allocated, reserved, device);
}

/* Enters if this thread can write a record at once. */
static inline bool enter(const pyro_recorder_api *api, pyro_recorder_thread *thread, uint32_t *busy)
{
    if (!thread || thread->next == thread->end ||
        (api->uses_clock | api->needs_fence | api->is_resting))
        return false;
    return pyro_recorder_enter_quickly(api, thread, thread->generation, busy);
}

/* Calls torch's function last, so that no argument must be kept in memory. */
static __attribute__((hot, aligned(64))) void
on_usage(void *address, int64_t bytes, size_t allocated, size_t reserved, pyro_torch_device device)
{
    const pyro_recorder_api *api = &pyro_the_recorder_api;
    pyro_recorder_thread *thread = pyro_this_thread;
    uint32_t busy;
    if (is_wanted(api)) {
        if (__builtin_expect(!enter(api, thread, &busy), 0)) {
            report_usage(address, bytes, allocated, reserved, device);
            return;
        }
        write_memory(thread, thread->next,
                     &(pyro_memory_record){.start_raw = pyro_counter(),
                                           .address = (uint64_t)(uintptr_t)address,
                                           .bytes = bytes,
                                           .total_allocated = (int64_t)allocated,
                                           .total_reserved = (int64_t)reserved,
                                           .device_type = device.type,
                                           .device_index = device.index});
        pyro_recorder_leave_quickly(thread, busy);
    }
    reports.torch.usage(address, bytes, allocated, reserved, device);
}

/* A failure may be a trigger, also where memory is not recorded. */
static void on_failure(int64_t bytes, size_t allocated, size_t reserved, pyro_torch_device device)
{
    const pyro_recorder_api *api = &pyro_the_recorder_api;
    if (is_wanted(api))
        record_memory(&(pyro_memory_record){.bytes = bytes,
                                            .total_allocated = (int64_t)allocated,
                                            .total_reserved = (int64_t)reserved,
                                            .device_type = device.type,
                                            .device_index = device.index,
                                            .out_of_memory = true});
    if (api->out_of_memory)
        api->out_of_memory(bytes, device.type, device.index);
    reports.torch.failure(bytes, allocated, reserved, device);
}

/* The allocator may not be loaded yet, so that the next start tries again. */
bool pyro_device_memory_start(bool is_recorded)
{
    static const pyro_torch_reports ours = {on_usage, on_failure};
    static bool is_installed;
    if (!is_installed)
        is_installed = pyro_torch_memory_replace(&ours, &reports.torch);
    __atomic_store_n(&reports.is_recorded, is_installed && is_recorded, __ATOMIC_RELEASE);
    return is_installed;
}

void pyro_device_memory_stop(void)
{
    __atomic_store_n(&reports.is_recorded, false, __ATOMIC_RELEASE);
}
