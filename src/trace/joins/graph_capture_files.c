/*
 * Attributes replays of graphs by traces of their captures, which serving engines write beside their
 * traces: capture_traces/bs_8_rank0.json.gz. Such a file holds the launches of the capture, and often an
 * eager run of the same kernels before it. They are aligned by order, and by name if kernels ran.
 */
#include "trace/joins/graphs.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "capture_traces"
#define MOST_FILES 128
#define LEAST_AGREEING 0.95
/* A capture of few launches fits too many graphs by their number alone. */
#define LEAST_LAUNCHES 8

/* Work of a capture's trace, by its place in a run. */
typedef struct captured_work {
    uint32_t layer; /* of the trace with the replays; PYRO_NO_LAYER */
    uint8_t phase, kind; /* kind: PYRO_CALL_LAUNCH, PYRO_CALL_COPY or PYRO_CALL_SET */
} captured_work;

/* One run: kernels with names, or launches of a capture without. */
typedef struct captured_run {
    pyro_graph_run run;
    captured_work *works;
    size_t capacity;
    bool has_names;
} captured_run;

struct pyro_capture_files {
    captured_run *runs;
    size_t count, capacity;
    pyro_map call_of_layer;
};

static captured_run *add_run(pyro_capture_files *files, bool has_names)
{
    if (!pyro_grow(&files->runs, &files->capacity, files->count + 1, sizeof *files->runs))
        return NULL;
    files->runs[files->count] = (captured_run){.has_names = has_names};
    return &files->runs[files->count++];
}

/* The same layer in the trace with the replays: by its path. */
static uint32_t layer_in(pyro_join_state *state, const pyro_joins *from, uint32_t event,
                         bool *failed)
{
    uint32_t call = from->call[event];
    if (call == PYRO_NO_LAYER)
        return PYRO_NO_LAYER;
    const pyro_layer *layer = &from->layers[from->calls[call].layer];
    uint32_t same = pyro_layers_below(state, PYRO_NO_LAYER, layer->path, layer->class_name);
    *failed |= same == PYRO_NO_LAYER;
    return same;
}

static bool add_work(pyro_graphs *graphs, captured_run *run, const pyro_trace *trace,
                     const pyro_joins *joins, uint32_t event, uint8_t kind)
{
    pyro_join_state *state = graphs->state;
    const char *name = pyro_event_name(trace, event);
    uint32_t id = run->has_names ? pyro_intern_find(&state->trace->names, name, strlen(name))
                                 : PYRO_NO_ID;
    bool failed = false;
    captured_work work = {layer_in(state, joins, event, &failed), joins->phase[event], kind};
    if (failed || !pyro_grow(&run->works, &run->capacity, run->run.count + 1, sizeof *run->works) ||
        !pyro_graph_run_add(&run->run, id, state->trace->names.count))
        return false;
    run->works[run->run.count - 1] = work;
    return true;
}

static uint8_t kind_of(pyro_graphs *own, uint32_t event)
{
    uint8_t kind = pyro_graph_call_kind(own, event);
    uint32_t parent = own->state->joins->parent[event];
    uint8_t category = parent == PYRO_NO_EVENT ? PYRO_EVENT_OTHER
                                               : own->state->trace->category[parent];
    bool is_inside = (category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER) &&
                     pyro_graph_call_kind(own, parent) == kind;
    return is_inside ? PYRO_CALL_OTHER : kind;
}

/* The launches between the begin and end of each capture are a run; so is all that ran eagerly. */
static bool take_runs(pyro_graphs *graphs, pyro_capture_files *files, pyro_trace *trace,
                      pyro_joins *joins)
{
    pyro_join_state inner = {.trace = trace, .joins = joins};
    pyro_graphs own = {.state = &inner, .name_kinds = calloc(trace->names.count + 1, 1)};
    bool ok = own.name_kinds && add_run(files, true), is_capturing = false;
    size_t eager = files->count - 1;
    for (size_t i = 0; ok && i < trace->count; i++) {
        uint32_t event = joins->by_time[i];
        uint8_t category = trace->category[event];
        bool is_call = category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER;
        uint8_t kind = is_call ? kind_of(&own, event) : PYRO_CALL_OTHER;
        if (pyro_event_is_device_work(category) && !pyro_graph_launched(&own, event))
            ok = add_work(graphs, &files->runs[eager], trace, joins, event, PYRO_CALL_LAUNCH);
        else if (kind == PYRO_CALL_BEGIN_CAPTURE)
            ok = is_capturing = add_run(files, false) != NULL;
        else if (kind == PYRO_CALL_END_CAPTURE)
            is_capturing = false;
        else if (is_capturing &&
                 (kind == PYRO_CALL_LAUNCH || kind == PYRO_CALL_COPY || kind == PYRO_CALL_SET))
            ok = add_work(graphs, &files->runs[files->count - 1], trace, joins, event, kind);
    }
    free(own.name_kinds);
    return ok;
}

/* Reads one trace of a capture; one that is damaged tells nothing. */
static int read_file(pyro_graphs *graphs, const char *path)
{
    pyro_trace *trace = NULL;
    pyro_joins joins;
    pyro_error reason;
    pyro_trace_options options = {.threads = 1};
    pyro_error_clear(&reason);
    int status = pyro_trace_open(&trace, path, &options, &reason);
    if (status != PYRO_OK)
        return status == PYRO_ERROR_MEMORY ? pyro_fail_memory(graphs->state->error) : PYRO_OK;
    trace->is_alone = true;
    status = pyro_joins_make(&joins, trace, NULL, &reason);
    if (status == PYRO_OK) {
        if (!take_runs(graphs, graphs->files, trace, &joins))
            status = PYRO_ERROR_MEMORY;
        pyro_joins_free(&joins);
    }
    pyro_trace_close(trace);
    return status == PYRO_ERROR_MEMORY ? pyro_fail_memory(graphs->state->error) : PYRO_OK;
}

/* "bs_8_rank0.json.gz": files of other ranks are of other processes. */
static bool is_capture_file(const char *name, int64_t rank)
{
    const char *found = strstr(name, "rank");
    found = found ? found + 4 + (found[4] == '_' || found[4] == '-') : NULL;
    bool has_rank = found && found[0] >= '0' && found[0] <= '9';
    return strstr(name, ".json") && name[0] != '.' &&
           (!has_rank || rank < 0 || strtoll(found, NULL, 10) == rank);
}

static int read_folder(pyro_graphs *graphs, const char *folder, bool *is_there)
{
    const pyro_trace *trace = graphs->state->trace;
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort), status = PYRO_OK, files = 0;
    *is_there = count > 0;
    for (int i = 0; i < count; i++) {
        pyro_buf path = PYRO_BUF_INIT;
        if (!status && files < MOST_FILES && is_capture_file(entries[i]->d_name, trace->rank)) {
            files++;
            pyro_buf_addf(&path, "%s/%s", folder, entries[i]->d_name);
            status = path.failed ? pyro_fail_memory(graphs->state->error)
                                 : read_file(graphs, path.data);
        }
        pyro_buf_free(&path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* Beside the trace, or one folder above. */
static int read_files(pyro_graphs *graphs)
{
    const char *file = graphs->state->trace->file, *slash = strrchr(file, '/');
    pyro_buf folder = PYRO_BUF_INIT;
    bool is_there = false;
    int status = PYRO_OK;
    graphs->files = calloc(1, sizeof *graphs->files);
    if (!graphs->files)
        return pyro_fail_memory(graphs->state->error);
    for (int level = 0; !status && !is_there && level < 2; level++) {
        pyro_buf_reset(&folder);
        pyro_buf_addf(&folder, "%.*s%s" FOLDER, slash ? (int)(slash - file + 1) : 2,
                      slash ? file : "./", level ? "../" : "");
        status = folder.failed ? pyro_fail_memory(graphs->state->error)
                               : read_folder(graphs, folder.data, &is_there);
    }
    pyro_buf_free(&folder);
    return status;
}

static uint8_t kind_of_work(uint8_t category)
{
    return category == PYRO_EVENT_KERNEL   ? PYRO_CALL_LAUNCH
           : category == PYRO_EVENT_MEMCPY ? PYRO_CALL_COPY
                                           : PYRO_CALL_SET;
}

/* Launches of a capture, if there are as many of each kind as the replay has. */
static bool fits(const pyro_graphs *graphs, const pyro_graph_replay *replay,
                 const captured_run *run, uint32_t *sources)
{
    const pyro_trace *trace = graphs->state->trace;
    size_t agreeing = 0;
    if (run->run.count != replay->count || replay->count < LEAST_LAUNCHES)
        return false;
    for (size_t i = 0; i < replay->count; i++) {
        uint8_t category = trace->category[graphs->works[replay->first + i].event];
        agreeing += run->works[i].kind == kind_of_work(category);
        sources[i] = (uint32_t)i;
    }
    return (double)agreeing >= LEAST_AGREEING * (double)replay->count;
}

/* A call that stands for the layer's work; it has no time of its own. */
static bool call_of(pyro_graphs *graphs, uint32_t layer, uint32_t event, uint32_t *call)
{
    pyro_joins *joins = graphs->state->joins;
    *call = layer == PYRO_NO_LAYER ? PYRO_NO_LAYER
                                   : pyro_map_get(&graphs->files->call_of_layer, layer);
    if (layer == PYRO_NO_LAYER || *call != PYRO_MAP_NONE)
        return true;
    *call = (uint32_t)joins->call_count;
    if (!pyro_grow(&joins->calls, &joins->call_capacity, joins->call_count + 1,
                   sizeof *joins->calls) ||
        !pyro_map_put(&graphs->files->call_of_layer, layer, *call))
        return false;
    joins->calls[joins->call_count++] = (pyro_layer_call){layer, event, PYRO_NO_LAYER};
    return true;
}

static bool apply(pyro_graphs *graphs, const pyro_graph_replay *replay, const captured_run *run,
                  const uint32_t *sources)
{
    pyro_joins *joins = graphs->state->joins;
    for (size_t i = 0; i < replay->count; i++) {
        uint32_t event = graphs->works[replay->first + i].event, call;
        if (sources[i] == PYRO_NO_EVENT || graphs->is_done[replay->first + i])
            continue;
        const captured_work *work = &run->works[sources[i]];
        if (work->layer == PYRO_NO_LAYER)
            continue;
        if (!call_of(graphs, work->layer, event, &call))
            return false;
        pyro_graph_attribute(joins, event, call,
                             work->phase == PYRO_PHASE_BACKWARD ? PYRO_PHASE_BACKWARD
                                                                : PYRO_PHASE_FORWARD);
        graphs->is_done[replay->first + i] = true;
        joins->graphs.kernels[PYRO_GRAPH_BY_FILE]++;
        pyro_join_add_ns(&joins->graphs.time_ns[PYRO_GRAPH_BY_FILE],
                         graphs->state->trace->duration_ns[event]);
    }
    return true;
}

int pyro_graph_use_files(pyro_graphs *graphs, const pyro_graph_replay *replays, size_t count,
                         uint32_t *sources, bool *is_found)
{
    bool ok = true;
    *is_found = false;
    const pyro_trace *trace = graphs->state->trace;
    if (trace->is_alone || trace->is_recording || !trace->file)
        return PYRO_OK;
    int status = graphs->files ? PYRO_OK : read_files(graphs);
    /* Names tell more than numbers: runs with names come first. */
    for (int names = 1; !status && ok && !*is_found && names >= 0; names--)
        for (size_t i = 0; ok && !*is_found && i < graphs->files->count; i++) {
            const captured_run *run = &graphs->files->runs[i];
            if (run->has_names != (names == 1) || !run->run.count)
                continue;
            if (names)
                ok = pyro_graph_align_run(graphs, replays, &run->run, sources, is_found);
            else
                *is_found = fits(graphs, replays, run, sources);
            for (size_t r = 0; ok && *is_found && r < count; r++)
                ok = apply(graphs, &replays[r], run, sources);
        }
    return ok ? status : pyro_fail_memory(graphs->state->error);
}

void pyro_capture_files_free(pyro_capture_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->count; i++) {
        pyro_graph_run_free(&files->runs[i].run);
        free(files->runs[i].works);
    }
    free(files->runs);
    pyro_map_free(&files->call_of_layer);
    free(files);
}
