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

namespace
{

pyro_recorder_door *door;
std::atomic<uint32_t> wanted; // PYRO_RECORD_*

} // namespace

#endif
