/* Chooses between CUPTI's two sets of functions, call by call. */
#include "device/cupti_subscription.h"

#include <stdio.h>
#include <string.h>

/* Like CUpti_SubscriberParams. */
typedef struct subscriber_parameters {
    size_t size;
    const char *name;
    char *old_name; /* of the subscriber that is in the way */
    size_t old_name_bytes;
    uint8_t allows_others;
    uint8_t padding[7];
} subscriber_parameters;

static pyro_cupti_request request_buffer;
static pyro_cupti_complete complete_buffer;

static void request_shared(uint8_t **buffer, size_t *size, size_t *most_records, void *about)
{
    (void)about;
    request_buffer(buffer, size, most_records);
}

static void complete_shared(uint8_t *buffer, size_t size, size_t valid, void *about)
{
    (void)about;
    complete_buffer(NULL, 0, buffer, size, valid);
}

static void ignore(void *user, int domain, uint32_t id, const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

static int subscribe_shared(pyro_cupti_subscription *subscription, pyro_cupti_callback callback,
                            void *user)
{
    const pyro_cupti *cupti = subscription->cupti;
    subscriber_parameters parameters = {
        .size = sizeof parameters, .name = "Pyrometer", .allows_others = 1};
    uint64_t time;
    if (!cupti->has_shared)
        return PYRO_CUPTI_NOT_SUPPORTED;
    int result = cupti->subscribe_shared(&subscription->subscriber, callback, user, &parameters);
    if (result != PYRO_CUPTI_SUCCESS) {
        subscription->subscriber = NULL;
        return result;
    }
    /* Previews have the functions, but not all of them work. */
    result = cupti->timestamp_shared(subscription->subscriber, &time);
    if (result != PYRO_CUPTI_SUCCESS)
        pyro_cupti_unsubscribe(subscription);
    return result;
}

int pyro_cupti_subscribe(pyro_cupti_subscription *subscription, const pyro_cupti *cupti,
                         bool shares, pyro_cupti_callback callback, void *user)
{
    *subscription = (pyro_cupti_subscription){.cupti = cupti, .is_shared = shares};
    if (shares)
        return subscribe_shared(subscription, callback, user);
    int result = cupti->subscribe(&subscription->subscriber, callback, user);
    if (result != PYRO_CUPTI_SUCCESS)
        subscription->subscriber = NULL;
    return result;
}

void pyro_cupti_unsubscribe(pyro_cupti_subscription *subscription)
{
    if (subscription->subscriber)
        subscription->cupti->unsubscribe(subscription->subscriber);
    subscription->subscriber = NULL;
}

void pyro_cupti_find_holder(const pyro_cupti *cupti, char *name, size_t size)
{
    void *subscriber = NULL;
    subscriber_parameters parameters = {.size = offsetof(subscriber_parameters, allows_others),
                                        .old_name = name,
                                        .old_name_bytes = size};
    memset(name, 0, size);
    if (!cupti->subscribe_shared)
        return;
    int result = cupti->subscribe_shared(&subscriber, ignore, NULL, &parameters);
    name[size - 1] = '\0';
    if (result == PYRO_CUPTI_SUCCESS) /* it has just ended */
        cupti->unsubscribe(subscriber);
}

int pyro_cupti_enable_callback(const pyro_cupti_subscription *subscription, bool enable, int domain,
                               uint32_t id)
{
    return subscription->cupti->enable_callback(enable, subscription->subscriber, domain, id);
}

int pyro_cupti_read_clock(const pyro_cupti_subscription *subscription, uint64_t *time)
{
    const pyro_cupti *cupti = subscription->cupti;
    return subscription->is_shared ? cupti->timestamp_shared(subscription->subscriber, time)
                                   : cupti->timestamp(time);
}

int pyro_cupti_register_buffers(const pyro_cupti_subscription *subscription,
                                pyro_cupti_request request, pyro_cupti_complete complete)
{
    const pyro_cupti *cupti = subscription->cupti;
    request_buffer = request;
    complete_buffer = complete;
    return subscription->is_shared ? cupti->register_buffers_shared(subscription->subscriber,
                                                                    request_shared, complete_shared)
                                   : cupti->register_buffers(request, complete);
}

int pyro_cupti_enable(const pyro_cupti_subscription *subscription, int kind)
{
    const pyro_cupti *cupti = subscription->cupti;
    return subscription->is_shared ? cupti->enable_shared(subscription->subscriber, kind, NULL)
                                   : cupti->enable(kind);
}

int pyro_cupti_disable(const pyro_cupti_subscription *subscription, int kind)
{
    const pyro_cupti *cupti = subscription->cupti;
    return subscription->is_shared ? cupti->disable_shared(subscription->subscriber, kind, NULL)
                                   : cupti->disable(kind);
}

int pyro_cupti_set_attribute(const pyro_cupti_subscription *subscription, int attribute,
                             uint8_t value)
{
    const pyro_cupti *cupti = subscription->cupti;
    size_t size = sizeof value;
    if (subscription->is_shared)
        return cupti->set_attribute_shared(subscription->subscriber, attribute, &size, &value);
    return cupti->set_attribute ? cupti->set_attribute(attribute, &size, &value)
                                : PYRO_CUPTI_NOT_SUPPORTED;
}

int pyro_cupti_next_record(const pyro_cupti_subscription *subscription, uint8_t *buffer,
                           size_t valid, void **record)
{
    const pyro_cupti *cupti = subscription->cupti;
    return subscription->is_shared
               ? cupti->next_record_shared(subscription->subscriber, buffer, valid, record)
               : cupti->next_record(buffer, valid, record);
}

size_t pyro_cupti_dropped(const pyro_cupti_subscription *subscription)
{
    const pyro_cupti *cupti = subscription->cupti;
    size_t count = 0;
    int result = subscription->is_shared
                     ? cupti->dropped_shared(subscription->subscriber, NULL, 0, &count)
                     : cupti->dropped(NULL, 0, &count);
    return result == PYRO_CUPTI_SUCCESS ? count : 0;
}

/* A kind of records, and the bit that asks for it; 0: always collected. */
static const struct {
    int kind;
    uint32_t bit;
} kinds[] = {{PYRO_CUPTI_CONCURRENT_KERNEL, 0},
             {PYRO_CUPTI_MEMCPY, 0},
             {PYRO_CUPTI_PEER_MEMCPY, 0},
             {PYRO_CUPTI_MEMSET, PYRO_COLLECT_SETS},
             {PYRO_CUPTI_SYNCHRONIZATION, PYRO_COLLECT_SYNCS},
             {PYRO_CUPTI_OVERHEAD, PYRO_COLLECT_OVERHEAD}};

int pyro_cupti_enable_kinds(const pyro_cupti_subscription *use, const pyro_cupti *cupti,
                            uint32_t more)
{
    /* Queries of events, which allocators and NCCL repeat until the work has ended, would be most of
     * the synchronizations. */
    if (cupti->record_queries)
        cupti->record_queries(0);
    int result = pyro_cupti_enable(use, kinds[0].kind);
    for (size_t i = 1; result == PYRO_CUPTI_SUCCESS && i < sizeof kinds / sizeof *kinds; i++)
        if (!kinds[i].bit || kinds[i].bit & more)
            pyro_cupti_enable(use, kinds[i].kind);
    return result;
}

void pyro_cupti_disable_kinds(const pyro_cupti_subscription *use)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        pyro_cupti_disable(use, kinds[i].kind);
}

pyro_collector_state pyro_cupti_explain(const pyro_cupti *cupti, const char *what, int result,
                                        char *reason, size_t size)
{
    char holder[64];
    switch (result) {
    case 0:
        snprintf(reason, size, "%s", what);
        return PYRO_COLLECTOR_FAILED;
    case PYRO_CUPTI_TAKEN:
        pyro_cupti_find_holder(cupti, holder, sizeof holder);
        snprintf(reason, size,
                 "another profiler in this process uses CUPTI (torch.profiler, Nsight, "
                 "compute-sanitizer%s%s)",
                 holder[0] ? "; its name there is " : "", holder);
        return PYRO_COLLECTOR_TAKEN;
    case PYRO_CUPTI_NO_PRIVILEGES:
        snprintf(reason, size,
                 "the driver restricts profiling to administrators "
                 "(NVreg_RestrictProfilingToAdminUsers)");
        return PYRO_COLLECTOR_NOT_ALLOWED;
    case PYRO_CUPTI_NO_DRIVER:
        snprintf(reason, size,
                 "CUPTI %u cannot connect to the NVIDIA driver, which may be too old for it",
                 cupti->version);
        return PYRO_COLLECTOR_OLD_DRIVER;
    default:
        snprintf(reason, size, "%s: %s", what, pyro_cupti_text(cupti, result));
        return PYRO_COLLECTOR_FAILED;
    }
}
