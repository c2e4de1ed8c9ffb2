/* Device work that torch.profiler saw, put beside what the recorder saw of the same time. */
#ifndef PYRO_TRACE_RECORDING_DEVICES_H
#define PYRO_TRACE_RECORDING_DEVICES_H

#include "trace/trace.h"

/* What a recording's device work is kept under: its path with this behind it. */
#define PYRO_DEVICES_SUFFIX ".devices.json"

/*
 * Takes kernels, copies, the calls that launched them and device memory out of `from`, on the clock
 * of `trace`: ops that both have seen say how the clocks differ. Without such an op the clocks are
 * taken as they are, with a warning. A trace without ops of its own, because there was no observer,
 * gets those of `from` too, with labels and all memory, each in the layer whose marks it lies
 * between.
 */
int pyro_trace_add_devices(pyro_trace *trace, const pyro_trace *from, pyro_error *error);

#endif
