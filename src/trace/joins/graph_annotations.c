/*
 * Attributes kernels of CUDA graphs by annotations of their nodes: an object, as JSON or as a pickle of
 * plain data, from node ids to lists of {"layer": path, "name": label, ...}, which torch writes as kernel_annotations_rank*.json
 * beside the folder of the traces. Of nested annotations the last with a path counts.
 */
#include "trace/joins/graphs.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/pickle/pickle.h"
#include "base/source/source.h"
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "kernel_annotations_rank"
#define MOST_NODES 10000000
#define READ_BYTES ((size_t)1 << 16)
#define LARGEST_PICKLE ((size_t)256 << 20)

/* What is known of a node. */
typedef struct node {
    uint32_t layer;
    uint8_t phase;
    uint32_t call; /* PYRO_NO_LAYER: not made yet */
} node;

typedef struct annotations {
    pyro_graphs *graphs;
    pyro_json *json;
    pyro_map by_id; /* to nodes */
    node *nodes;
    size_t count, capacity;
    pyro_map call_of_layer;
    pyro_buf path; /* of the node that is read */
    uint8_t phase;
    bool has_layer; /* the path is from "layer", not from "name" */
} annotations;

/* "layers.0.attention", or the path in a label ("attention::layers.0.attention"). */
static void take_path(annotations *all, const char *text, bool is_layer)
{
    bool is_indexed;
    const char *path = pyro_path_of_label(text, &is_indexed);
    if (!path && !is_layer && !strchr(text, '.'))
        return;
    if (all->has_layer && !is_layer)
        return;
    path = path ? path : text;
    pyro_buf_reset(&all->path);
    pyro_buf_add(&all->path, path, strlen(path));
    all->has_layer = is_layer;
}

/* "backward", "bwd" and "B" are the backward. */
static void take_phase(annotations *all, const char *text)
{
    int first = tolower((unsigned char)text[0]);
    if (first == 'b')
        all->phase = PYRO_PHASE_BACKWARD;
    else if (first == 'o')
        all->phase = PYRO_PHASE_OPTIMIZER;
    else if (first == 'f')
        all->phase = PYRO_PHASE_FORWARD;
}

static void read_annotation(annotations *all)
{
    pyro_json *json = all->json;
    while (pyro_json_next(json) == PYRO_JSON_KEY) {
        bool is_layer = PYRO_JSON_IS(json, "layer") || PYRO_JSON_IS(json, "fqn") ||
                        PYRO_JSON_IS(json, "module");
        bool is_name = PYRO_JSON_IS(json, "name") || PYRO_JSON_IS(json, "annotation");
        bool is_phase = PYRO_JSON_IS(json, "phase") || PYRO_JSON_IS(json, "pass") ||
                        PYRO_JSON_IS(json, "direction");
        pyro_json_kind kind = pyro_json_next(json);
        if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
            pyro_json_skip(json);
        else if (kind == PYRO_JSON_STRING && (is_layer || is_name))
            take_path(all, pyro_json_text(json, NULL), is_layer);
        else if (kind == PYRO_JSON_STRING && is_phase)
            take_phase(all, pyro_json_text(json, NULL));
    }
}

static bool keep_node(annotations *all, uint64_t id)
{
    pyro_join_state *state = all->graphs->state;
    if (!all->path.length || all->count >= MOST_NODES)
        return !all->path.failed;
    uint32_t layer = pyro_layers_of_path(state, all->path.data, all->path.length);
    if (layer == PYRO_NO_LAYER ||
        !pyro_grow(&all->nodes, &all->capacity, all->count + 1, sizeof *all->nodes) ||
        !pyro_map_put(&all->by_id, id, (uint32_t)all->count))
        return false;
    all->nodes[all->count++] = (node){layer, all->phase, PYRO_NO_LAYER};
    return true;
}

/* The list of one node; a single annotation need not be in a list. */
static int read_node(annotations *all, uint64_t id)
{
    pyro_json_kind kind = pyro_json_next(all->json);
    bool is_list = kind == PYRO_JSON_ARRAY;
    pyro_buf_reset(&all->path);
    all->has_layer = false;
    all->phase = PYRO_PHASE_FORWARD;
    if (is_list)
        kind = pyro_json_next(all->json);
    while (kind != PYRO_JSON_ARRAY_END && kind != PYRO_JSON_ERROR && kind != PYRO_JSON_END) {
        if (kind == PYRO_JSON_OBJECT)
            read_annotation(all);
        else if (kind == PYRO_JSON_STRING)
            take_path(all, pyro_json_text(all->json, NULL), false);
        else if (kind == PYRO_JSON_ARRAY)
            pyro_json_skip(all->json);
        if (!is_list)
            break;
        kind = pyro_json_next(all->json);
    }
    return keep_node(all, id) ? PYRO_OK : PYRO_ERROR_MEMORY;
}

static int read_nodes(annotations *all)
{
    int status = PYRO_OK;
    if (pyro_json_next(all->json) != PYRO_JSON_OBJECT)
        return pyro_json_fail(all->json, "expected an object of graph nodes");
    while (status == PYRO_OK && pyro_json_next(all->json) == PYRO_JSON_KEY) {
        char *end;
        const char *key = pyro_json_text(all->json, NULL);
        unsigned long long id = strtoull(key, &end, 10);
        if (end == key || *end)
            pyro_json_skip(all->json);
        else
            status = read_node(all, id);
    }
    return status == PYRO_OK ? pyro_json_status(all->json) : status;
}

static int read_json(annotations *all, pyro_source *source, pyro_error *error)
{
    pyro_json_options options = {.any_utf8 = true, .nonfinite = true};
    int status = pyro_json_open(&all->json, source, &options, error);
    if (status == PYRO_OK)
        status = read_nodes(all);
    pyro_json_close(all->json);
    return status;
}

/* A pickle of plain data holds the same as the JSON. */
static int read_pickle(annotations *all, pyro_source *source, pyro_error *error)
{
    pyro_buf bytes = PYRO_BUF_INIT, json = PYRO_BUF_INIT;
    pyro_source *converted = NULL;
    int64_t size = 1;
    int status = PYRO_OK;
    while (status == PYRO_OK && size > 0) {
        char *room = pyro_buf_reserve(&bytes, READ_BYTES);
        size = room ? pyro_source_read(source, room, READ_BYTES, error) : 0;
        bytes.length += size > 0 ? (size_t)size : 0;
        status = !room ? pyro_fail_memory(error) : size < 0 ? (int)size : PYRO_OK;
        if (bytes.length > LARGEST_PICKLE)
            status = pyro_fail(error, PYRO_ERROR_LIMIT, "the pickle has more than %zu MB",
                               LARGEST_PICKLE >> 20);
    }
    if (status == PYRO_OK)
        status = pyro_pickle_to_json(&json, bytes.data, bytes.length, error);
    if (status == PYRO_OK)
        status = pyro_source_open_memory(&converted, json.data, json.length, error);
    if (status == PYRO_OK)
        status = read_json(all, converted, error);
    pyro_source_close(converted);
    pyro_buf_free(&bytes);
    pyro_buf_free(&json);
    return status;
}

static int read_file(annotations *all, const char *path, pyro_error *error)
{
    pyro_source *file = NULL, *source = NULL;
    unsigned char head[PYRO_PEEKED_BYTES];
    size_t size = 0;
    int status = pyro_source_open_regular(&file, path, error);
    if (status == PYRO_OK)
        status = pyro_source_open_content(&source, file, error);
    if (status == PYRO_OK)
        status = pyro_source_peek(&source, head, &size, error);
    if (status == PYRO_OK)
        status = pyro_is_pickle(head, size) ? read_pickle(all, source, error)
                                            : read_json(all, source, error);
    pyro_source_close(source);
    return status;
}

/* The rank in the name of an annotations file or trace: digits at its start; -1: none. */
static int64_t leading_number(const char *text)
{
    char *end;
    long long number = strtoll(text, &end, 10);
    return end == text ? -1 : number;
}

static bool is_for_rank(const char *name, int64_t rank)
{
    const char *dot = strrchr(name, '.');
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 || !dot ||
        (strcmp(dot, ".json") != 0 && strcmp(dot, ".pkl") != 0 && strcmp(dot, ".pickle") != 0))
        return false;
    return rank < 0 || leading_number(name + sizeof PREFIX - 1) == rank;
}

/* The first such file of a folder by name; without a known rank only if it is the only one. */
static bool find_in(pyro_buf *found, const char *folder, int64_t rank)
{
    DIR *opened = opendir(folder);
    struct dirent *entry;
    size_t count = 0;
    pyro_buf best = PYRO_BUF_INIT;
    while (opened && (entry = readdir(opened))) {
        if (!is_for_rank(entry->d_name, rank))
            continue;
        if (count++ && strcmp(entry->d_name, best.data) > 0)
            continue;
        pyro_buf_reset(&best);
        pyro_buf_adds(&best, entry->d_name);
    }
    if (opened)
        closedir(opened);
    bool is_found = count && (rank >= 0 || count == 1) && !best.failed;
    if (is_found)
        pyro_buf_addf(found, "%s/%s", folder, best.data);
    pyro_buf_free(&best);
    return is_found && !found->failed;
}

/* Beside the trace, or one folder above. */
static bool find_file(pyro_buf *found, const pyro_trace *trace)
{
    const char *slash = strrchr(trace->file, '/');
    const char *base = slash ? slash + 1 : trace->file;
    int64_t rank = trace->rank >= 0 ? trace->rank : leading_number(base);
    pyro_buf folder = PYRO_BUF_INIT;
    pyro_buf_add(&folder, slash ? trace->file : ".", slash ? (size_t)(slash - trace->file) : 1);
    if (slash == trace->file)
        pyro_buf_adds(&folder, "/");
    bool is_found = !folder.failed && find_in(found, folder.data, rank);
    if (!is_found) {
        pyro_buf_adds(&folder, "/..");
        is_found = !folder.failed && find_in(found, folder.data, rank);
    }
    pyro_buf_free(&folder);
    return is_found;
}

/* The call that stands for a layer's work in graphs; it has no time of its own. */
static bool make_call(annotations *all, node *node, uint32_t event)
{
    pyro_joins *joins = all->graphs->state->joins;
    uint32_t call = pyro_map_get(&all->call_of_layer, node->layer);
    if (call == PYRO_MAP_NONE) {
        call = (uint32_t)joins->call_count;
        if (!pyro_grow(&joins->calls, &joins->call_capacity, joins->call_count + 1,
                       sizeof *joins->calls) ||
            !pyro_map_put(&all->call_of_layer, node->layer, call))
            return false;
        joins->calls[joins->call_count++] = (pyro_layer_call){node->layer, event, PYRO_NO_LAYER};
    }
    node->call = call;
    return true;
}

static bool attribute(annotations *all, uint32_t event, const pyro_kernel_detail *kernel)
{
    pyro_joins *joins = all->graphs->state->joins;
    uint32_t index = pyro_map_get(&all->by_id, kernel->graph_node);
    if (index == PYRO_MAP_NONE)
        return true;
    node *node = &all->nodes[index];
    if (node->call == PYRO_NO_LAYER && !make_call(all, node, event))
        return false;
    pyro_graph_attribute(joins, event, node->call, node->phase);
    joins->graphs.kernels[PYRO_GRAPH_BY_ANNOTATION]++;
    pyro_join_add_ns(&joins->graphs.time_ns[PYRO_GRAPH_BY_ANNOTATION],
                     all->graphs->state->trace->duration_ns[event]);
    return true;
}

static bool attribute_all(annotations *all)
{
    const pyro_trace *trace = all->graphs->state->trace;
    for (uint32_t event = 0; event < trace->count; event++) {
        uint32_t detail = trace->detail[event];
        if (trace->category[event] == PYRO_EVENT_KERNEL && detail != PYRO_NO_ID &&
            trace->kernels[detail].graph_node && !attribute(all, event, &trace->kernels[detail]))
            return false;
    }
    for (size_t i = 0; i < all->graphs->work_count; i++) {
        uint32_t event = all->graphs->works[i].event, detail = trace->detail[event];
        all->graphs->is_done[i] = trace->category[event] == PYRO_EVENT_KERNEL &&
                                  detail != PYRO_NO_ID &&
                                  pyro_map_get(&all->by_id, trace->kernels[detail].graph_node) !=
                                      PYRO_MAP_NONE;
    }
    return true;
}

static bool has_nodes(const pyro_trace *trace)
{
    for (size_t i = 0; i < trace->kernel_count; i++)
        if (trace->kernels[i].graph_node)
            return true;
    return false;
}

int pyro_graph_annotate(pyro_graphs *graphs)
{
    pyro_join_state *state = graphs->state;
    const char *given = state->options ? state->options->annotations : NULL;
    annotations all = {.graphs = graphs};
    pyro_buf found = PYRO_BUF_INIT;
    pyro_error error;
    int status = PYRO_OK;
    pyro_error_clear(&error);
    if (!given &&
        (state->trace->is_alone || !has_nodes(state->trace) || !find_file(&found, state->trace)))
        goto done;
    status = read_file(&all, given ? given : found.data, &error);
    /* A file that was only found need not be what its name says. */
    if (status != PYRO_OK && status != PYRO_ERROR_MEMORY && !given) {
        status = PYRO_OK;
        goto done;
    }
    if (status == PYRO_OK && !attribute_all(&all))
        status = PYRO_ERROR_MEMORY;
    if (status == PYRO_OK)
        state->joins->graphs.annotations = pyro_arena_format(&state->joins->arena, "%s",
                                                             given ? given : found.data);
    else if (status == PYRO_ERROR_MEMORY)
        status = pyro_fail_memory(state->error);
    else if (state->error)
        *state->error = error;
done:
    pyro_map_free(&all.by_id);
    pyro_map_free(&all.call_of_layer);
    pyro_buf_free(&all.path);
    pyro_buf_free(&found);
    free(all.nodes);
    return status;
}
