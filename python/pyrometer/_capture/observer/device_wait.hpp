/*
 * Waiting for devices around the ops that a program calls, so that the time of each has what it
 * left to the device. A callback of its own, which comes before the one that takes the times: who
 * does not wait pays nothing.
 */
#ifndef PYROMETER_OBSERVER_DEVICE_WAIT_HPP
#define PYROMETER_OBSERVER_DEVICE_WAIT_HPP

#include "recorder.hpp"

#include <ATen/detail/CUDAHooksInterface.h>

namespace
{

uint64_t waited_for;            // devices, a bit each
void (*wait_for)(int32_t);      // what waits for one; NULL: as torch.cuda.synchronize
at::CallbackHandle wait_handle;
thread_local uint32_t wait_depth; // ops that are open on this thread

void wait_for_devices()
{
    for (int32_t device = 0; device < 64; device++) {
        if (!(waited_for >> device & 1))
            continue;
        try {
            if (wait_for)
                wait_for(device);
            else
                at::detail::getCUDAHooks().deviceSynchronize(static_cast<c10::DeviceIndex>(device));
        } catch (...) {
            // A stream that is captured cannot be waited for; what failed before says so itself.
        }
    }
}

// What ran outside of ops is not theirs.
std::unique_ptr<at::ObserverContext> before_op(const at::RecordFunction &)
{
    if (wait_depth++ == 0)
        wait_for_devices();
    return nullptr;
}

void after_op(const at::RecordFunction &, at::ObserverContext *)
{
    if (--wait_depth == 0)
        wait_for_devices();
}

void stop_waiting()
{
    if (wait_handle)
        at::removeCallback(wait_handle);
    wait_handle = 0;
}

// Before the callback that takes the times is added: callbacks run in the order of their adding.
void start_waiting()
{
    if (waited_for)
        wait_handle = at::addGlobalCallback(
            at::RecordFunctionCallback(&before_op, &after_op).scopes({at::RecordScope::FUNCTION}));
}

} // namespace

#endif
