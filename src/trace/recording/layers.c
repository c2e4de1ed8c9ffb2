/*
 * Names the layers of a recording, whose dotted paths are known. A single root keeps its own path
 * "", so that paths are those of named_modules(). Several roots are distinguished by class, and by
 * a number if that is equal.
 */
#include "trace/recording/recording.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

typedef struct module {
    uint32_t root, instance;
    const char *path, *class_name;
} module;

typedef struct namer {
    pyro_recording *recording;
    const char **prefixes; /* of roots, by id; NULL: not a root */
    pyro_map details;      /* module and text of its input -> row of trace->ops */
    uint32_t *paths, *names; /* of modules, by id: texts; PYRO_NO_ID */
    size_t root_count;
    module own; /* of a pass: the model; path NULL without one */
} namer;

/* False where the entry is damaged. */
static bool look_up(const pyro_recording *recording, uint32_t id, module *out)
{
    const pyro_recorded_data *data = pyro_recorded_get(recording->tables, PYRO_DATA_MODULE, id);
    pyro_module_data fixed;
    if (!data->bytes || data->length < sizeof fixed + 2 || data->bytes[data->length - 1] != '\0')
        return false;
    memcpy(&fixed, data->bytes, sizeof fixed);
    const char *path = data->bytes + sizeof fixed, *end = data->bytes + data->length;
    const char *class_name = path + strlen(path) + 1;
    if (class_name >= end)
        return false;
    *out = (module){fixed.root ? fixed.root : id, fixed.instance, path, class_name};
    return true;
}

static bool is_taken(const namer *namer, size_t count, const char *prefix)
{
    for (size_t i = 0; i < count; i++)
        if (namer->prefixes[i] && strcmp(namer->prefixes[i], prefix) == 0)
            return true;
    return false;
}

/* Names roots in the order in which they were registered; "MLP", then "MLP#2". */
static bool name_roots(namer *namer, size_t count)
{
    pyro_recording *recording = namer->recording;
    for (uint32_t id = 0; id < count; id++) {
        module root;
        if (!namer->prefixes[id])
            continue;
        namer->prefixes[id] = NULL;
        const char *class_name = look_up(recording, id, &root) && root.class_name[0]
                                     ? root.class_name
                                     : "Module";
        const char *prefix = class_name;
        for (int number = 2; prefix && is_taken(namer, id, prefix); number++)
            prefix = pyro_arena_format(&recording->trace->arena, "%s#%d", class_name, number);
        if (!prefix)
            return false;
        namer->prefixes[id] = prefix;
    }
    return true;
}

/* The model of a pass is the layer that its thread called first. */
static void find_own(namer *namer)
{
    const pyro_recording *recording = namer->recording;
    const pyro_trace *trace = recording->trace;
    uint32_t index = recording->pass_thread
                         ? pyro_map_get(&recording->thread_index, recording->pass_thread)
                         : PYRO_MAP_NONE;
    const pyro_recorded_call *first = NULL;
    if (index == PYRO_MAP_NONE)
        return;
    for (size_t i = 0; i < recording->call_count; i++) {
        const pyro_recorded_call *call = &recording->calls[i];
        if (trace->track[call->row] == recording->threads[index].track &&
            (!first || trace->start_ns[call->row] < trace->start_ns[first->row]))
            first = call;
    }
    if (!first || !look_up(recording, first->module, &namer->own))
        namer->own.path = NULL;
}

/* The path relative to the model of the pass, for modules below it. */
static const char *own_path(const namer *namer, const module *called)
{
    size_t length = namer->own.path ? strlen(namer->own.path) : 0;
    if (!length || called->root != namer->own.root ||
        strncmp(called->path, namer->own.path, length) != 0)
        return called->path;
    if (called->path[length] == '.')
        return called->path + length + 1;
    return called->path[length] == '\0' ? called->path + length : called->path;
}

static bool find_roots(namer *namer, size_t count)
{
    const pyro_recording *recording = namer->recording;
    for (size_t i = 0; i < recording->call_count; i++) {
        module called;
        if (!look_up(recording, recording->calls[i].module, &called) || called.root >= count ||
            namer->prefixes[called.root])
            continue;
        namer->prefixes[called.root] = "";
        namer->root_count++;
    }
    if (namer->root_count > 1 && !name_roots(namer, count))
        return false;
    if (namer->own.path && namer->own.root < count)
        namer->prefixes[namer->own.root] = "";
    return true;
}

static uint32_t keep(pyro_trace *trace, const char *text)
{
    return text ? pyro_intern_add(&trace->names, text, strlen(text)) : PYRO_INTERN_NONE;
}

/* Makes the texts of a module once; false when memory is out. */
static bool describe(namer *namer, uint32_t id, size_t count)
{
    pyro_trace *trace = namer->recording->trace;
    module called;
    if (namer->names[id] != PYRO_NO_ID)
        return true;
    if (!look_up(namer->recording, id, &called))
        called = (module){.path = "(unknown)", .class_name = "Module"};
    const char *prefix = called.root < count ? namer->prefixes[called.root] : NULL;
    const char *path = prefix && prefix[0]
                           ? pyro_arena_format(&trace->arena, "%s%s%s", prefix,
                                               called.path[0] ? "." : "", called.path)
                           : own_path(namer, &called);
    uint32_t path_id = keep(trace, path);
    uint32_t name_id = keep(trace, pyro_arena_format(&trace->arena, "nn.Module: %s_%u",
                                                     called.class_name, called.instance));
    if (path_id == PYRO_INTERN_NONE || name_id == PYRO_INTERN_NONE)
        return false;
    namer->names[id] = name_id;
    namer->paths[id] = path_id;
    return true;
}

/* The detail that calls of a module with inputs of one shape share; PYRO_NO_ID: memory is out. */
static uint32_t detail_of(namer *namer, uint32_t id, uint32_t dims)
{
    pyro_trace *trace = namer->recording->trace;
    uint64_t key = (uint64_t)id << 32 | dims;
    uint32_t known = pyro_map_get(&namer->details, key);
    if (known != PYRO_MAP_NONE)
        return known;
    pyro_op_extra extra = {.outputs = PYRO_NO_ID, .path = namer->paths[id]};
    uint32_t extra_index;
    known = (uint32_t)trace->op_count;
    if (!pyro_trace_add_op_extra(trace, &extra, &extra_index) ||
        !pyro_grow(&trace->ops, &trace->op_capacity, trace->op_count + 1, sizeof *trace->ops) ||
        !pyro_map_put(&namer->details, key, known))
        return PYRO_NO_ID;
    trace->has_paths = true;
    trace->ops[trace->op_count++] = (pyro_op_detail){.sequence = PYRO_NO_SEQUENCE,
                                                     .dims = dims,
                                                     .types = PYRO_NO_ID,
                                                     .concrete = PYRO_NO_ID,
                                                     .strides = PYRO_NO_ID,
                                                     .stack = PYRO_NO_ID,
                                                     .collective = PYRO_NO_ID,
                                                     .extra = extra_index};
    return known;
}

/* Names the layers that allocated blocks before the first record; they may not be called after. */
static bool name_holders(namer *namer, size_t count)
{
    const pyro_recording *recording = namer->recording;
    for (size_t i = 0; i < recording->block_count; i++) {
        uint32_t id = recording->blocks[i].module;
        if (id == 0 || id >= count)
            continue;
        if (!describe(namer, id, count))
            return false;
        recording->trace->memory[recording->blocks[i].detail].holder_layer = namer->paths[id];
    }
    return true;
}

int pyro_recording_name_layers(pyro_recording *recording)
{
    size_t count = recording->tables->counts[PYRO_DATA_MODULE] + 1;
    namer namer = {.recording = recording};
    bool ok = true;
    if (recording->call_count == 0 && recording->block_count == 0)
        return PYRO_OK;
    namer.prefixes = calloc(count, sizeof *namer.prefixes);
    namer.paths = malloc(count * sizeof *namer.paths);
    namer.names = malloc(count * sizeof *namer.names);
    find_own(&namer);
    ok = namer.prefixes && namer.paths && namer.names && find_roots(&namer, count);
    for (size_t i = 0; ok && i < count; i++)
        namer.paths[i] = namer.names[i] = PYRO_NO_ID;
    for (size_t i = 0; ok && i < recording->call_count; i++) {
        const pyro_recorded_call *call = &recording->calls[i];
        uint32_t id = call->module < count ? call->module : 0;
        uint32_t detail = describe(&namer, id, count) ? detail_of(&namer, id, call->dims)
                                                      : PYRO_NO_ID;
        ok = detail != PYRO_NO_ID;
        if (ok) {
            recording->trace->name[call->row] = namer.names[id];
            recording->trace->detail[call->row] = detail;
        }
    }
    ok = ok && name_holders(&namer, count);
    free(namer.prefixes);
    pyro_map_free(&namer.details);
    free(namer.paths);
    free(namer.names);
    return ok ? PYRO_OK : pyro_fail_memory(recording->error);
}
