/* Adds the device work that torch.profiler saw to a recording of the same time. */
#ifndef PYRO_TRACE_RECORDING_DEVICES_H
#define PYRO_TRACE_RECORDING_DEVICES_H

#include "trace/trace.h"

/* A recording's device work is in the file with this suffix after its path. */
#define PYRO_DEVICES_SUFFIX ".devices.json"

/*
 * Copies kernels, copies, the calls that launched them and device memory from `from` into `trace`,
 * on its clock; ops that both saw give the difference of the clocks. Without such an op the clocks
 * count as equal, with a warning. A trace without ops, because there was no observer, also gets the
 * ops of `from`, with labels and all memory, each in the layer between whose marks it lies.
 */
int pyro_trace_add_devices(pyro_trace *trace, const pyro_trace *from, pyro_error *error);

#endif
