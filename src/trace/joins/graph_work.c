/* What calls of the runtime do about graphs, and setting the layer of a graph's work. */
#include "trace/joins/graphs.h"

#include <string.h>

static uint8_t kind_of_name(const char *name)
{
    static const struct {
        const char *part;
        uint8_t kind;
    } parts[] = {
        {"GraphLaunch", PYRO_CALL_GRAPH_LAUNCH},
        {"StreamBeginCapture", PYRO_CALL_BEGIN_CAPTURE},
        {"StreamEndCapture", PYRO_CALL_END_CAPTURE},
        {"LaunchKernel", PYRO_CALL_LAUNCH},
        {"LaunchCooperativeKernel", PYRO_CALL_LAUNCH},
        {"Memcpy", PYRO_CALL_COPY},
        {"Memset", PYRO_CALL_SET},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i].part))
            return parts[i].kind;
    return PYRO_CALL_OTHER;
}

uint8_t pyro_graph_call_kind(pyro_graphs *graphs, uint32_t event)
{
    const pyro_trace *trace = graphs->state->trace;
    uint32_t name = trace->name[event];
    if (name >= trace->names.count)
        return PYRO_CALL_OTHER;
    if (graphs->name_kinds[name] == PYRO_CALL_UNSEEN)
        graphs->name_kinds[name] = kind_of_name(pyro_intern_text(&trace->names, name));
    return graphs->name_kinds[name];
}

bool pyro_graph_launched(pyro_graphs *graphs, uint32_t work)
{
    uint32_t launch = graphs->state->joins->launch[work];
    return launch != PYRO_NO_EVENT &&
           pyro_graph_call_kind(graphs, launch) == PYRO_CALL_GRAPH_LAUNCH;
}

void pyro_graph_attribute(pyro_joins *joins, uint32_t work, uint32_t call, uint8_t phase)
{
    joins->call[work] = call;
    joins->phase[work] = phase;
    if (joins->bucket[work] == PYRO_BUCKET_COLLECTIVE)
        return;
    joins->bucket[work] = call != PYRO_NO_LAYER           ? PYRO_BUCKET_LAYER
                          : phase == PYRO_PHASE_OPTIMIZER ? PYRO_BUCKET_OPTIMIZER
                                                          : PYRO_BUCKET_OUTSIDE_LAYER;
}
