/* The kinds of records that CUPTI is asked for. */
#ifndef PYRO_DEVICE_ACTIVITY_KINDS_H
#define PYRO_DEVICE_ACTIVITY_KINDS_H

#include "device/cupti_subscription.h"

/* Asks for kernels and copies, and for what the bits PYRO_COLLECT_* say. Returns CUPTI's result for
 * kernels, which must work; other kinds are collected where CUPTI has them. */
int pyro_activity_kinds_enable(const pyro_cupti_subscription *use, const pyro_cupti *cupti,
                               uint32_t more);
void pyro_activity_kinds_disable(const pyro_cupti_subscription *use);

#endif
