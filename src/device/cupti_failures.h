/* Why the collector cannot start, for users. */
#ifndef PYRO_DEVICE_CUPTI_FAILURES_H
#define PYRO_DEVICE_CUPTI_FAILURES_H

#include "device/collector.h"
#include "device/cupti.h"

/* The state that a result of CUPTI leads to; writes the reason as one line. `what` failed; `result` 0:
 * not in CUPTI. */
pyro_collector_state pyro_cupti_explain(const pyro_cupti *cupti, const char *what, int result,
                                        char *reason, size_t size);

#endif
