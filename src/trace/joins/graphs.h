/* Replays of CUDA and HIP graphs while their kernels are attributed to layers. */
#ifndef PYRO_TRACE_JOINS_GRAPHS_H
#define PYRO_TRACE_JOINS_GRAPHS_H

#include "trace/joins/internal.h"

/* The launches between the begin and end of a capture, in order of time. */
typedef struct pyro_graph_capture {
    uint32_t begin; /* event */
    size_t first, count; /* in captured */
} pyro_graph_capture;

typedef struct pyro_graph_replay {
    uint32_t launch;     /* event */
    uint64_t signature;  /* hash of the names of its work, in order */
    size_t first, count; /* in works */
} pyro_graph_replay;

typedef struct pyro_graph_work {
    uint64_t replay; /* above its place among all */
    uint32_t event;
} pyro_graph_work;

/* Names of device work in the order in which it ran. */
typedef struct pyro_graph_run {
    uint32_t *names; /* of the trace with the replays; PYRO_NO_ID: it has no such name */
    size_t count, capacity;
    bool *has_name; /* by interned name */
} pyro_graph_run;

bool pyro_graph_run_add(pyro_graph_run *run, uint32_t name, size_t name_count);
void pyro_graph_run_free(pyro_graph_run *run);

typedef struct pyro_capture_files pyro_capture_files;

typedef struct pyro_graphs {
    pyro_join_state *state;
    uint8_t *name_kinds; /* by interned name */
    pyro_graph_capture *captures;
    size_t capture_count, capture_capacity;
    uint32_t *captured; /* events */
    size_t captured_count, captured_capacity;
    bool is_capturing;
    pyro_graph_replay *replays; /* in order of time */
    size_t replay_count, replay_capacity;
    pyro_map by_launch;
    pyro_graph_work *works; /* by replay, then time */
    size_t work_count, work_capacity;
    bool *is_done; /* by work */
    uint32_t *eager; /* device work that no graph launched, in order of time; gathered if needed */
    size_t eager_count, eager_capacity;
    pyro_graph_run eager_run; /* their names */
    bool has_eager; /* they were gathered */
    pyro_capture_files *files; /* traces of captures beside the trace; NULL: not looked for yet */
} pyro_graphs;

/* What a call of the runtime does, by its name. */
enum {
    PYRO_CALL_UNSEEN,
    PYRO_CALL_OTHER,
    PYRO_CALL_GRAPH_LAUNCH,
    PYRO_CALL_LAUNCH,
    PYRO_CALL_COPY,
    PYRO_CALL_SET,
    PYRO_CALL_BEGIN_CAPTURE,
    PYRO_CALL_END_CAPTURE
};

uint8_t pyro_graph_call_kind(pyro_graphs *graphs, uint32_t event);
/* Whether device work belongs to a replay. */
bool pyro_graph_launched(pyro_graphs *graphs, uint32_t work);
/* Sets layer call, phase and bucket of device work. */
void pyro_graph_attribute(pyro_joins *joins, uint32_t work, uint32_t call, uint8_t phase);
/* graph_annotations.c: attributes kernels by the ids of their nodes. */
int pyro_graph_annotate(pyro_graphs *graphs);
/*
 * graph_align.c: fills sources[i] with eager work like the i-th of the replay, or PYRO_NO_EVENT;
 * `is_found` if most of the replay was found. False when memory is out.
 */
bool pyro_graph_align(pyro_graphs *graphs, const pyro_graph_replay *replay, uint32_t *sources,
                      bool *is_found);
/* The same with any run: sources[i] is a place in it, or PYRO_NO_EVENT. */
bool pyro_graph_align_run(const pyro_graphs *graphs, const pyro_graph_replay *replay,
                          const pyro_graph_run *run, uint32_t *sources, bool *is_found);
/*
 * graph_capture_files.c: attributes all replays of a graph by a trace of its capture in a folder
 * capture_traces beside the trace; `is_found` if one fits.
 */
int pyro_graph_use_files(pyro_graphs *graphs, const pyro_graph_replay *replays, size_t count,
                         uint32_t *sources, bool *is_found);
void pyro_capture_files_free(pyro_capture_files *files);

#endif
