/*
 * Aligns the kernels of a replay with eager work in the same trace, by order and name: a greedy scan
 * that skips what only one side has. Tries several places of the eager run and takes the best.
 */
#include "trace/joins/graphs.h"

#include "base/containers/buf.h"
#include <stdlib.h>
#include <string.h>

/* How far ahead the scan looks for the same kernel. */
#define FAR_AHEAD 96
#define NEAR_AHEAD 16
#define MOST_STARTS 64
/* Share of a replay's time that must be found. */
#define LEAST_FOUND 0.8

static bool gather(pyro_graphs *graphs)
{
    const pyro_joins *joins = graphs->state->joins;
    const pyro_trace *trace = graphs->state->trace;
    if (graphs->has_eager)
        return true;
    graphs->has_eager = true;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = joins->by_time[i];
        if (!pyro_event_is_device_work(trace->category[event]) ||
            joins->launch[event] == PYRO_NO_EVENT || pyro_graph_launched(graphs, event))
            continue;
        if (!pyro_grow(&graphs->eager, &graphs->eager_capacity, graphs->eager_count + 1,
                       sizeof *graphs->eager) ||
            !pyro_graph_run_add(&graphs->eager_run, trace->name[event], trace->names.count))
            return false;
        graphs->eager[graphs->eager_count++] = event;
    }
    return true;
}

static uint32_t name_at(const pyro_graphs *graphs, const pyro_graph_replay *replay, size_t i)
{
    if (i >= replay->count)
        return PYRO_NO_ID;
    return graphs->state->trace->name[graphs->works[replay->first + i].event];
}

static uint32_t run_name(const pyro_graph_run *run, size_t i)
{
    return i < run->count ? run->names[i] : PYRO_NO_ID;
}

/* From `at` on: the same kernel with the same one behind it, else the same kernel nearby. */
static size_t find_next(const pyro_graph_run *run, size_t at, uint32_t name, uint32_t next)
{
    for (size_t i = at; i < run->count && i < at + FAR_AHEAD; i++)
        if (run->names[i] == name && run_name(run, i + 1) == next)
            return i;
    for (size_t i = at; i < run->count && i < at + NEAR_AHEAD; i++)
        if (run->names[i] == name)
            return i;
    return run->count;
}

/* Scans from one place; returns the time of the work that was found. */
static int64_t scan(const pyro_graphs *graphs, const pyro_graph_replay *replay,
                    const pyro_graph_run *run, size_t start, uint32_t *sources)
{
    int64_t found_ns = 0;
    for (size_t i = 0; i < replay->count; i++) {
        size_t at = find_next(run, start, name_at(graphs, replay, i),
                              name_at(graphs, replay, i + 1));
        sources[i] = PYRO_NO_EVENT;
        if (at == run->count)
            continue;
        sources[i] = (uint32_t)at;
        pyro_join_add_ns(&found_ns,
                         graphs->state->trace->duration_ns[graphs->works[replay->first + i].event]);
        start = at + 1;
    }
    return found_ns;
}

/* The name of the first kernel of the replay that the run has at all. */
static uint32_t find_anchor(const pyro_graphs *graphs, const pyro_graph_replay *replay,
                            const pyro_graph_run *run)
{
    if (!run->has_name)
        return PYRO_NO_ID;
    for (size_t i = 0; i < replay->count; i++) {
        uint32_t name = name_at(graphs, replay, i);
        if (name < graphs->state->trace->names.count && run->has_name[name])
            return name;
    }
    return PYRO_NO_ID;
}

static bool try_starts(const pyro_graphs *graphs, const pyro_graph_replay *replay,
                       const pyro_graph_run *run, uint32_t *sources, int64_t *best_ns)
{
    uint32_t anchor = find_anchor(graphs, replay, run);
    uint32_t *tried = malloc((replay->count + 1) * sizeof *tried);
    size_t starts = 0;
    *best_ns = 0;
    if (!tried)
        return false;
    for (size_t j = 0; anchor != PYRO_NO_ID && j < run->count && starts < MOST_STARTS; j++) {
        if (run->names[j] != anchor)
            continue;
        starts++;
        int64_t found_ns = scan(graphs, replay, run, j, tried);
        if (found_ns <= *best_ns)
            continue;
        *best_ns = found_ns;
        memcpy(sources, tried, replay->count * sizeof *sources);
    }
    free(tried);
    return true;
}

bool pyro_graph_align_run(const pyro_graphs *graphs, const pyro_graph_replay *replay,
                          const pyro_graph_run *run, uint32_t *sources, bool *is_found)
{
    const pyro_trace *trace = graphs->state->trace;
    int64_t total_ns = 0, found_ns = 0;
    bool ok = try_starts(graphs, replay, run, sources, &found_ns);
    for (size_t i = 0; i < replay->count; i++)
        pyro_join_add_ns(&total_ns, trace->duration_ns[graphs->works[replay->first + i].event]);
    *is_found = ok && found_ns > 0 && (double)found_ns >= LEAST_FOUND * (double)total_ns;
    return ok;
}

bool pyro_graph_run_add(pyro_graph_run *run, uint32_t name, size_t name_count)
{
    if (!run->has_name)
        run->has_name = calloc(name_count + 1, sizeof *run->has_name);
    if (!run->has_name ||
        !pyro_grow(&run->names, &run->capacity, run->count + 1, sizeof *run->names))
        return false;
    run->names[run->count++] = name;
    if (name < name_count)
        run->has_name[name] = true;
    return true;
}

void pyro_graph_run_free(pyro_graph_run *run)
{
    free(run->names);
    free(run->has_name);
    *run = (pyro_graph_run){0};
}

bool pyro_graph_align(pyro_graphs *graphs, const pyro_graph_replay *replay, uint32_t *sources,
                      bool *is_found)
{
    bool ok = gather(graphs);
    *is_found = false;
    ok = ok && pyro_graph_align_run(graphs, replay, &graphs->eager_run, sources, is_found);
    for (size_t i = 0; ok && *is_found && i < replay->count; i++)
        if (sources[i] != PYRO_NO_EVENT)
            sources[i] = graphs->eager[sources[i]];
    return ok;
}
