/*
 * One use of CUPTI: callbacks and records of this process, by the functions for several subscribers
 * (version 2, complete from CUDA 13.3 on) or by those for one. The second set must not be called
 * while a subscriber of the first lives, so all calls after the start go through here.
 */
#ifndef PYRO_DEVICE_CUPTI_SUBSCRIPTION_H
#define PYRO_DEVICE_CUPTI_SUBSCRIPTION_H

#include "device/collector.h"
#include "device/cupti.h"

typedef struct pyro_cupti_subscription {
    const pyro_cupti *cupti;
    void *subscriber; /* NULL: not subscribed */
    bool is_shared;   /* by the functions for several subscribers */
} pyro_cupti_subscription;

/*
 * Subscribes; a CUPTI result. `shares`: with the functions for several subscribers, which fails with
 * PYRO_CUPTI_NOT_SUPPORTED where the library lacks one of them. `user` is passed to the callback.
 */
int pyro_cupti_subscribe(pyro_cupti_subscription *subscription, const pyro_cupti *cupti,
                         bool shares, pyro_cupti_callback callback, void *user);
/* Buffers must have been read before. Does nothing if not subscribed. */
void pyro_cupti_unsubscribe(pyro_cupti_subscription *subscription);

/* The name of the profiler that keeps us from subscribing; "" if CUPTI does not say. */
void pyro_cupti_find_holder(const pyro_cupti *cupti, char *name, size_t size);
/* The state that a result leads to; writes the reason for users as one line. `what` failed; `result` 0:
 * not in CUPTI. */
pyro_collector_state pyro_cupti_explain(const pyro_cupti *cupti, const char *what, int result,
                                        char *reason, size_t size);

int pyro_cupti_enable_callback(const pyro_cupti_subscription *subscription, bool enable, int domain,
                               uint32_t id);
int pyro_cupti_read_clock(const pyro_cupti_subscription *subscription, uint64_t *time);
/* One pair of functions per process, of the latest subscription. */
int pyro_cupti_register_buffers(const pyro_cupti_subscription *subscription,
                                pyro_cupti_request request, pyro_cupti_complete complete);
int pyro_cupti_enable(const pyro_cupti_subscription *subscription, int kind);
int pyro_cupti_disable(const pyro_cupti_subscription *subscription, int kind);
/* Asks for records of kernels and copies, and for what the bits PYRO_COLLECT_* say. Returns the result
 * for kernels, which must work; other kinds are collected where CUPTI has them. */
int pyro_cupti_enable_kinds(const pyro_cupti_subscription *subscription, const pyro_cupti *cupti,
                            uint32_t more);
void pyro_cupti_disable_kinds(const pyro_cupti_subscription *subscription);
int pyro_cupti_set_attribute(const pyro_cupti_subscription *subscription, int attribute,
                             uint8_t value);
int pyro_cupti_next_record(const pyro_cupti_subscription *subscription, uint8_t *buffer,
                           size_t valid, void **record);
/* Records that CUPTI dropped since the last call. */
size_t pyro_cupti_dropped(const pyro_cupti_subscription *subscription);

#endif
