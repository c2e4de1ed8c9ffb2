/*
 * Synchronizes devices before and after each outermost op, so that an op's time includes the device
 * work that it launched. A separate callback, so that captures without it have no overhead.
 */
#ifndef PYROMETER_OBSERVER_DEVICE_WAIT_HPP
#define PYROMETER_OBSERVER_DEVICE_WAIT_HPP

#include "recorder.hpp"

#include <ATen/detail/CUDAHooksInterface.h>

namespace
{

uint64_t waited_for;            // devices, one bit each
void (*wait_for)(int32_t);      // synchronizes one device; NULL: torch's own function
at::CallbackHandle wait_handle;
thread_local uint32_t wait_depth; // nesting depth of ops on this thread

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
            // Streams under capture cannot be synchronized; the program sees other failures.
        }
    }
}

// Waits for work that was launched before the op, so that the op's time excludes it.
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

// Call before adding the timing callback: torch runs callbacks in the order of registration.
void start_waiting()
{
    if (waited_for)
        wait_handle = at::addGlobalCallback(
            at::RecordFunctionCallback(&before_op, &after_op).scopes({at::RecordScope::FUNCTION}));
}

} // namespace

#endif
