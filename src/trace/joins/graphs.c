/*
 * Gives kernels of a replayed CUDA or HIP graph their layers. Sources, the best first: annotations
 * of graph nodes (graph_annotations.c); the graphs of compiled code (compiled.c); what our recorder
 * noted when each node was captured; the launches of the capture, in their order; traces of captures
 * (graph_capture_files.c); an eager run of the same kernels in the trace, by order and name. Replays
 * with the same kernels are one graph and are attributed alike.
 */
#include "trace/joins/graphs.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "trace/joins/compiled.h"
#include <stdlib.h>
#include <string.h>

/* Share of a graph's kernels whose kind (kernel, copy, memset) must be that of the launch. */
#define LEAST_AGREEING 0.95

static bool is_call(uint8_t category)
{
    return category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER;
}

/* A driver call inside a runtime call that does the same. */
static bool is_inside(pyro_graphs *graphs, uint32_t event, uint8_t kind)
{
    uint32_t parent = graphs->state->joins->parent[event];
    return parent != PYRO_NO_EVENT && is_call(graphs->state->trace->category[parent]) &&
           pyro_graph_call_kind(graphs, parent) == kind;
}

static bool add_capture(pyro_graphs *graphs, uint32_t event)
{
    if (!pyro_grow(&graphs->captures, &graphs->capture_capacity, graphs->capture_count + 1,
                   sizeof *graphs->captures))
        return false;
    graphs->captures[graphs->capture_count++] = (pyro_graph_capture){
        .begin = event, .first = graphs->captured_count};
    graphs->is_capturing = true;
    return true;
}

/* Notes calls that begin and end captures, and the launches between them. */
static bool add_host_call(pyro_graphs *graphs, uint32_t event)
{
    uint8_t kind = pyro_graph_call_kind(graphs, event);
    if (kind == PYRO_CALL_BEGIN_CAPTURE)
        return add_capture(graphs, event);
    if (!graphs->is_capturing)
        return true;
    if (kind == PYRO_CALL_END_CAPTURE) {
        graphs->is_capturing = false;
        return true;
    }
    if ((kind != PYRO_CALL_LAUNCH && kind != PYRO_CALL_COPY && kind != PYRO_CALL_SET) ||
        is_inside(graphs, event, kind))
        return true;
    if (!pyro_grow(&graphs->captured, &graphs->captured_capacity, graphs->captured_count + 1,
                   sizeof *graphs->captured))
        return false;
    graphs->captured[graphs->captured_count++] = event;
    graphs->captures[graphs->capture_count - 1].count++;
    return true;
}

static pyro_graph_replay *replay_of(pyro_graphs *graphs, uint32_t launch)
{
    uint32_t index = pyro_map_get(&graphs->by_launch, launch);
    if (index != PYRO_MAP_NONE)
        return &graphs->replays[index];
    index = (uint32_t)graphs->replay_count;
    if (!pyro_grow(&graphs->replays, &graphs->replay_capacity, graphs->replay_count + 1,
                   sizeof *graphs->replays) ||
        !pyro_map_put(&graphs->by_launch, launch, index))
        return NULL;
    graphs->replays[graphs->replay_count++] = (pyro_graph_replay){
        .launch = launch, .signature = UINT64_C(0xcbf29ce484222325)};
    return &graphs->replays[index];
}

static bool add_work(pyro_graphs *graphs, uint32_t event)
{
    const pyro_trace *trace = graphs->state->trace;
    pyro_graph_replay *replay = replay_of(graphs, graphs->state->joins->launch[event]);
    if (!replay || !pyro_grow(&graphs->works, &graphs->work_capacity, graphs->work_count + 1,
                              sizeof *graphs->works))
        return false;
    uint32_t index = (uint32_t)(replay - graphs->replays);
    graphs->works[graphs->work_count++] = (pyro_graph_work){index, event};
    replay->count++;
    replay->signature = (replay->signature ^ trace->name[event]) * UINT64_C(0x100000001b3);
    return true;
}

static int by_replay(const void *left, const void *right)
{
    const pyro_graph_work *a = left, *b = right;
    return (a->replay > b->replay) - (a->replay < b->replay);
}

/* Collects captures and replays in order of time; works of a replay are then together. */
static bool gather(pyro_graphs *graphs)
{
    const pyro_trace *trace = graphs->state->trace;
    bool ok = true;
    for (size_t i = 0; ok && i < trace->count; i++) {
        uint32_t event = graphs->state->joins->by_time[i];
        if (is_call(trace->category[event]))
            ok = add_host_call(graphs, event);
        else if (pyro_event_is_device_work(trace->category[event]) &&
                 pyro_graph_launched(graphs, event))
            ok = add_work(graphs, event);
    }
    /* qsort need not be stable: the order of time is put back by the position in the list. */
    for (size_t i = 0; ok && i < graphs->work_count; i++)
        graphs->works[i].replay = graphs->works[i].replay << 32 | i;
    if (ok && graphs->work_count)
        qsort(graphs->works, graphs->work_count, sizeof *graphs->works, by_replay);
    for (size_t i = 0; ok && i < graphs->work_count;) {
        pyro_graph_replay *replay = &graphs->replays[graphs->works[i].replay >> 32];
        replay->first = i;
        i += replay->count;
    }
    return ok;
}

static bool has_kind(uint8_t category, uint8_t kind)
{
    return (category == PYRO_EVENT_KERNEL && kind == PYRO_CALL_LAUNCH) ||
           (category == PYRO_EVENT_MEMCPY && kind == PYRO_CALL_COPY) ||
           (category == PYRO_EVENT_MEMSET && kind == PYRO_CALL_SET);
}

/* Fills `sources` with the launches of a capture, if they can be those of the replay. */
static bool match_capture(pyro_graphs *graphs, const pyro_graph_replay *replay,
                          const pyro_graph_capture *capture, uint32_t *sources)
{
    const pyro_trace *trace = graphs->state->trace;
    size_t agreeing = 0;
    if (capture->count != replay->count ||
        trace->start_ns[capture->begin] > trace->start_ns[replay->launch])
        return false;
    for (size_t i = 0; i < replay->count; i++) {
        uint32_t launch = graphs->captured[capture->first + i];
        uint32_t work = graphs->works[replay->first + i].event;
        agreeing += has_kind(trace->category[work], pyro_graph_call_kind(graphs, launch));
        sources[i] = launch;
    }
    return (double)agreeing >= LEAST_AGREEING * (double)replay->count;
}

/* The latest capture before the replay that fits. */
static bool find_capture(pyro_graphs *graphs, const pyro_graph_replay *replay, uint32_t *sources)
{
    for (size_t i = graphs->capture_count; i-- > 0;)
        if (match_capture(graphs, replay, &graphs->captures[i], sources))
            return true;
    return false;
}

/* Gives a replay the layers of its graph's sources. */
static void apply(pyro_graphs *graphs, const pyro_graph_replay *replay, const uint32_t *sources,
                  pyro_graph_source source)
{
    pyro_joins *joins = graphs->state->joins;
    for (size_t i = 0; i < replay->count; i++) {
        uint32_t work = graphs->works[replay->first + i].event, from = sources[i];
        if (from == PYRO_NO_EVENT || graphs->is_done[replay->first + i])
            continue;
        pyro_graph_attribute(joins, work, joins->call[from], joins->phase[from]);
        graphs->is_done[replay->first + i] = true;
        joins->graphs.kernels[source]++;
        pyro_join_add_ns(&joins->graphs.time_ns[source], graphs->state->trace->duration_ns[work]);
    }
}

static int by_graph(const void *left, const void *right)
{
    const pyro_graph_replay *a = left, *b = right;
    if (a->signature != b->signature)
        return a->signature < b->signature ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* Whether a graph of compiled code tells the layers; then all replays get them. */
static bool use_provenance(pyro_graphs *graphs, const pyro_graph_replay *replays, size_t count,
                           uint32_t *room, bool *is_found)
{
    pyro_compiled *compiled = graphs->state->compiled;
    pyro_graph_attribution *result = &graphs->state->joins->graphs;
    for (size_t i = 0; i < replays->count; i++)
        room[i] = graphs->works[replays->first + i].event;
    if (!pyro_compiled_match_replay(compiled, replays->launch, room, replays->count, is_found))
        return false;
    for (size_t r = 0; *is_found && r < count; r++)
        for (size_t i = 0; i < replays[r].count; i++) {
            size_t at = replays[r].first + i;
            uint32_t work = graphs->works[at].event;
            if (graphs->is_done[at] || !compiled->matches[i].count)
                continue;
            if (!pyro_compiled_attribute(compiled, work, &compiled->matches[i]))
                return false;
            graphs->is_done[at] = true;
            result->kernels[PYRO_GRAPH_BY_PROVENANCE]++;
            pyro_join_add_ns(&result->time_ns[PYRO_GRAPH_BY_PROVENANCE],
                             graphs->state->trace->duration_ns[work]);
        }
    return true;
}

/* What was open when the nodes were captured has been joined already; true if that is all work. */
static bool use_nodes(pyro_graphs *graphs, const pyro_graph_replay *replays, size_t count)
{
    const pyro_trace *trace = graphs->state->trace;
    pyro_graph_attribution *result = &graphs->state->joins->graphs;
    bool is_all = true;
    for (size_t r = 0; r < count; r++)
        for (size_t i = replays[r].first; i < replays[r].first + replays[r].count; i++) {
            uint32_t work = graphs->works[i].event;
            if (graphs->is_done[i])
                continue;
            if (pyro_map_get(&trace->origins, work) == PYRO_MAP_NONE) {
                is_all = false;
                continue;
            }
            graphs->is_done[i] = true;
            result->kernels[PYRO_GRAPH_BY_NODE]++;
            pyro_join_add_ns(&result->time_ns[PYRO_GRAPH_BY_NODE], trace->duration_ns[work]);
        }
    return is_all;
}

/* Replays of one graph are next to each other. */
static int attribute_graph(pyro_graphs *graphs, const pyro_graph_replay *replays, size_t count)
{
    pyro_graph_source source = PYRO_GRAPH_UNKNOWN;
    uint32_t *sources = malloc((replays->count + 1) * sizeof *sources);
    bool ok = sources != NULL, is_found = false;
    int status = PYRO_OK;
    ok = ok && use_provenance(graphs, replays, count, sources, &is_found);
    if (!ok || use_nodes(graphs, replays, count) || is_found)
        goto done;
    if (graphs->state->joins->call_count && find_capture(graphs, replays, sources)) {
        source = PYRO_GRAPH_BY_CAPTURE;
    } else {
        status = pyro_graph_use_files(graphs, replays, count, sources, &is_found);
        if (status || is_found)
            goto done;
        ok = pyro_graph_align(graphs, replays, sources, &is_found);
        source = is_found && graphs->state->joins->call_count ? PYRO_GRAPH_BY_EAGER : source;
    }
    for (size_t i = 0; ok && source != PYRO_GRAPH_UNKNOWN && i < count; i++)
        apply(graphs, &replays[i], sources, source);
done:
    free(sources);
    return ok ? status : pyro_fail_memory(graphs->state->error);
}

static int attribute_graphs(pyro_graphs *graphs)
{
    pyro_graph_replay *replays = graphs->replays;
    int status = PYRO_OK;
    if (graphs->replay_count)
        qsort(replays, graphs->replay_count, sizeof *replays, by_graph);
    for (size_t first = 0, end; !status && first < graphs->replay_count; first = end) {
        for (end = first + 1; end < graphs->replay_count &&
                              replays[end].signature == replays[first].signature &&
                              replays[end].count == replays[first].count;)
            end++;
        status = attribute_graph(graphs, &replays[first], end - first);
    }
    return status;
}

static int by_first(const void *left, const void *right)
{
    const pyro_graph_replay *a = left, *b = right;
    return (a->first > b->first) - (a->first < b->first);
}

/* Numbers graphs in order of time, and lists the work that has no layers. */
static bool list_rest(pyro_graphs *graphs)
{
    pyro_graph_attribution *result = &graphs->state->joins->graphs;
    pyro_map number_of = PYRO_MAP_INIT;
    bool ok = true;
    uint32_t next = 0;
    result->replays = graphs->replay_count;
    result->rest = pyro_arena_array(&graphs->state->joins->arena, graphs->work_count + 1,
                                    sizeof *result->rest);
    if (graphs->replay_count)
        qsort(graphs->replays, graphs->replay_count, sizeof *graphs->replays, by_first);
    for (size_t r = 0; ok && result->rest && r < graphs->replay_count; r++) {
        const pyro_graph_replay *replay = &graphs->replays[r];
        uint32_t number = pyro_map_get(&number_of, replay->signature);
        if (number == PYRO_MAP_NONE)
            ok = pyro_map_put(&number_of, replay->signature, number = next++);
        for (size_t i = replay->first; i < replay->first + replay->count; i++) {
            uint32_t event = graphs->works[i].event;
            if (graphs->is_done[i])
                continue;
            result->rest[result->rest_count++] = (pyro_graph_rest){event, number};
            result->kernels[PYRO_GRAPH_UNKNOWN]++;
            pyro_join_add_ns(&result->time_ns[PYRO_GRAPH_UNKNOWN],
                             graphs->state->trace->duration_ns[event]);
        }
    }
    result->graphs = next;
    pyro_map_free(&number_of);
    return ok && result->rest;
}

static bool has_graphs(pyro_graphs *graphs)
{
    const pyro_trace *trace = graphs->state->trace;
    for (size_t i = 0; i < trace->kernel_count; i++)
        if (trace->kernels[i].graph_node)
            return true;
    for (size_t event = pyro_trace_next_call(trace, 0); event < trace->count;
         event = pyro_trace_next_call(trace, event + 1))
        if (pyro_graph_call_kind(graphs, (uint32_t)event) == PYRO_CALL_GRAPH_LAUNCH)
            return true;
    return false;
}

int pyro_join_graphs(pyro_join_state *state)
{
    pyro_graphs graphs = {.state = state, .name_kinds = calloc(state->trace->names.count + 1, 1)};
    int status = PYRO_OK;
    bool ok = graphs.name_kinds != NULL;
    if (!ok || !has_graphs(&graphs))
        goto done;
    ok = gather(&graphs);
    if (ok) {
        graphs.is_done = calloc(graphs.work_count + 1, sizeof *graphs.is_done);
        ok = graphs.is_done != NULL;
    }
    if (ok)
        status = pyro_graph_annotate(&graphs);
    if (ok && !status)
        status = attribute_graphs(&graphs);
    if (ok && !status)
        ok = list_rest(&graphs);
done:
    free(graphs.name_kinds);
    free(graphs.captures);
    free(graphs.captured);
    free(graphs.replays);
    free(graphs.works);
    free(graphs.is_done);
    free(graphs.eager);
    pyro_graph_run_free(&graphs.eager_run);
    pyro_capture_files_free(graphs.files);
    pyro_map_free(&graphs.by_launch);
    return ok ? status : pyro_fail_memory(state->error);
}
