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
    std::atomic<uint32_t> wanted; // PYRO_RECORD_*
};

Settings settings;
pyro_recorder_door *&door = settings.door;
std::atomic<uint32_t> &wanted = settings.wanted;

// Where the recorder keeps what this thread writes with; finding that is then no call.
__thread pyro_recorder_thread *const *place __attribute__((tls_model("initial-exec")));

RARELY pyro_recorder_thread *enter_first()
{
    if (door->place)
        place = door->place();
    return pyro_recorder_enter(door);
}

// As pyro_recorder_enter.
inline pyro_recorder_thread *enter()
{
    pyro_recorder_thread *thread = place ? *place : nullptr;
    if (__builtin_expect(!thread || thread->generation != door->generation, 0))
        return pyro_is_recording(door) ? enter_first() : nullptr;
    return pyro_recorder_enter_with(door, thread);
}

} // namespace

#endif
