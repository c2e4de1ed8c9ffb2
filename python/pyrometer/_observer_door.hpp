/* What all of the observer writes to, and what it is asked for. */
#ifndef PYROMETER_OBSERVER_DOOR_HPP
#define PYROMETER_OBSERVER_DOOR_HPP

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>

#include <pyrometer/capture.h>

// What every op runs lies together, and what few do is out of its way.
#define OFTEN __attribute__((hot))
#define RARELY __attribute__((noinline, cold))

namespace
{

// Read at every op, so in one line of the cache.
struct alignas(64) Settings {
    pyro_recorder_door *door;
    std::atomic<uint32_t> wanted;   // PYRO_RECORD_*
    std::atomic<bool> has_lost_ops; // that were registered: an address may be another's
};

Settings settings;
pyro_recorder_door *&door = settings.door;
std::atomic<uint32_t> &wanted = settings.wanted;

struct Order;
struct Known;

// What belongs to this thread, in one line of the cache; finding it is no call.
struct alignas(64) Here {
    pyro_recorder_thread *thread;       // what it writes with ...
    pyro_recorder_thread *const *place; // ... and where the recorder keeps that; gone at its end
    Known *last, *expected; // ops, as _observer_order.hpp has them
    Order *order;
    uint32_t generation; // of the session that the order belongs to
};

__thread Here here __attribute__((tls_model("initial-exec")));

RARELY pyro_recorder_thread *enter_first()
{
    pyro_recorder_thread *thread = pyro_is_recording(door) ? pyro_recorder_enter(door) : nullptr;
    here.thread = nullptr;
    if (thread && door->place) {
        here.place = door->place();
        here.thread = *here.place;
    }
    return thread;
}

// A line that will be written soon: it is fetched as the writer's own.
inline void prefetch_for_write(const void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*static_cast<const char *>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
}

// As pyro_recorder_enter.
inline pyro_recorder_thread *enter()
{
    pyro_recorder_thread *thread = here.thread;
    if (__builtin_expect(!thread || *here.place != thread ||
                             thread->generation != door->generation, 0))
        return enter_first();
    return pyro_recorder_enter_with(door, thread);
}

} // namespace

#endif
