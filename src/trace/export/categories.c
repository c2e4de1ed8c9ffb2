/* Names the categories of events as Kineto does. */
#include "trace/export/categories.h"

static const char *const category_names[PYRO_EVENT_CATEGORY_COUNT] = {
    [PYRO_EVENT_OP] = "cpu_op",
    [PYRO_EVENT_ANNOTATION] = "user_annotation",
    [PYRO_EVENT_PYTHON] = "python_function",
    [PYRO_EVENT_RUNTIME] = "cuda_runtime",
    [PYRO_EVENT_DRIVER] = "cuda_driver",
    [PYRO_EVENT_KERNEL] = "kernel",
    [PYRO_EVENT_MEMCPY] = "gpu_memcpy",
    [PYRO_EVENT_MEMSET] = "gpu_memset",
    [PYRO_EVENT_SYNC] = "cuda_sync",
    [PYRO_EVENT_DEVICE_ANNOTATION] = "gpu_user_annotation",
    [PYRO_EVENT_MEMORY] = "cpu_instant_event",
    [PYRO_EVENT_OVERHEAD] = "overhead",
    [PYRO_EVENT_OTHER] = "other",
};

const char *pyro_event_category_name(const pyro_trace *trace, uint32_t event)
{
    uint8_t category = trace->category[event];
    uint32_t detail = trace->detail[event];
    bool is_layer = category == PYRO_EVENT_PYTHON && detail != PYRO_NO_ID &&
                    pyro_trace_op_extra(trace, &trace->ops[detail]).path != PYRO_NO_ID;
    return is_layer ? "layer" : category_names[category];
}
