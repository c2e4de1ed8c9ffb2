/* A part of cupti_stub.c: CUPTI's functions for several subscribers. */

typedef struct subscriber_parameters {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_name_bytes;
    uint8_t allows_others, padding[7];
} subscriber_parameters;

EXPORT int cuptiSubscribe_v2(void **subscriber, callback called, void *user,
                             const subscriber_parameters *parameters)
{
    bool is_right = parameters->size == 40 && parameters->allows_others && parameters->name;
    if (!is_right || the.called || mode_is("refused") || mode_is("taken")) {
        if (parameters->old_name_bytes >= 64)
            strcpy(parameters->old_name, "CUPTI for Others");
        return TAKEN;
    }
    the.called = called;
    the.user = user;
    the.is_shared = true;
    *subscriber = &the;
    note("subscribe");
    return 0;
}

/* Whether a function for several subscribers may be called. */
static bool is_ours(const void *subscriber)
{
    return subscriber == &the && the.is_shared;
}

EXPORT int cuptiGetTimestamp_v2(void *subscriber, uint64_t *time)
{
    *time = device_clock();
    return is_ours(subscriber) && !mode_is("preview") ? 0 : FAILED;
}

EXPORT int cuptiActivityRegisterCallbacks_v2(void *subscriber,
                                             void (*request)(uint8_t **, size_t *, size_t *,
                                                             void *),
                                             void (*complete)(uint8_t *, size_t, size_t, void *))
{
    note("register");
    the.request_shared = request;
    the.complete_shared = complete;
    return is_ours(subscriber) ? 0 : FAILED;
}

EXPORT int cuptiActivityEnable_v2(void *subscriber, int kind, const void *configuration)
{
    note("enable");
    if (!is_ours(subscriber) || configuration || !the.request_shared || mode_is("no kernels"))
        return FAILED;
    the.kinds[kind] = true;
    return mode_is("privileges") ? NO_PRIVILEGES : 0;
}

EXPORT int cuptiActivityDisable_v2(void *subscriber, int kind, const void *configuration)
{
    note("disable");
    the.kinds[kind] = false;
    return is_ours(subscriber) && !configuration ? 0 : FAILED;
}

EXPORT int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid,
                                         void **record)
{
    note("read");
    return is_ours(subscriber) ? step(buffer, valid, record) : FAILED;
}

EXPORT int cuptiActivityGetNumDroppedRecords_v2(void *subscriber, void *context, uint32_t stream,
                                                size_t *count)
{
    (void)context;
    (void)stream;
    *count = the.dropped;
    the.dropped = 0;
    return is_ours(subscriber) ? 0 : FAILED;
}

EXPORT int cuptiActivitySetAttribute_v2(void *subscriber, int attribute, const size_t *size,
                                        const void *value)
{
    note("attribute");
    if (!is_ours(subscriber) || attribute != 5 || *size != 1)
        return FAILED;
    the.zeroed = *(const uint8_t *)value;
    return 0;
}
