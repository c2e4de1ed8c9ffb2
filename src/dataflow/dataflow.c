/* Turns a program into the nodes of its graph, with their amounts and the totals. */
#include "dataflow/dataflow.h"

#include "base/containers/buf.h"
#include "base/checked.h"
#include "base/error.h"
#include "dataflow/granularity.h"
#include <stdlib.h>
#include <string.h>

static const char *const granularity_names[] = {"module", "layer", "op"};

const char *pyro_granularity_name(pyro_granularity granularity)
{
    return granularity_names[granularity];
}

/* "aten.add.Tensor" and "aten::add" are both "aten.add". */
static const char *op_type(pyro_dataflow *graph, const char *op)
{
    const char *colons = strstr(op, "::");
    if (colons)
        return pyro_arena_format(&graph->arena, "%.*s.%s", (int)(colons - op), op, colons + 2);
    const char *first = strchr(op, '.'), *last = first ? strchr(first + 1, '.') : NULL;
    if (!last || strchr(last + 1, '.'))
        return op;
    return pyro_arena_text(&graph->arena, op, (size_t)(last - op));
}

static const char *short_name(const char *type)
{
    const char *dot = strrchr(type, '.');
    return dot && dot[1] ? dot + 1 : type;
}

/* A unique name: further nodes with the same name get "@1", "@2". */
static const char *unique_name(pyro_dataflow *graph, pyro_map *times, const char *base)
{
    uint32_t id = pyro_intern_add(&graph->names, base, strlen(base));
    if (id == PYRO_INTERN_NONE)
        return NULL;
    uint32_t seen = pyro_map_get(times, id);
    seen = seen == PYRO_MAP_NONE ? 0 : seen;
    if (!pyro_map_put(times, id, seen + 1))
        return NULL;
    if (!seen)
        return pyro_intern_text(&graph->names, id);
    return pyro_arena_format(&graph->arena, "%s@%u", base, seen);
}

static uint32_t add_node(pyro_dataflow *graph, const pyro_graph_node *node)
{
    if (!node->name || !node->type || graph->node_count >= PYRO_NONE ||
        !pyro_grow(&graph->nodes, &graph->node_capacity, graph->node_count + 1,
                   sizeof *graph->nodes))
        return PYRO_NONE;
    graph->nodes[graph->node_count] = *node;
    return (uint32_t)graph->node_count++;
}

static const pyro_graph_node empty_node = {.path = "",
                                           .median_ns = -1,
                                           .p95_ns = -1,
                                           .total_ns = -1,
                                           .flops = -1,
                                           .moved_bytes = -1,
                                           .device_ns = -1};

static bool add_inputs(pyro_dataflow *graph, pyro_map *times)
{
    const pyro_program *program = graph->program;
    for (size_t v = 0; v < program->value_count; v++) {
        const pyro_flow_value *value = &program->values[v];
        graph->node_of_value[v] = PYRO_NONE;
        if (value->maker != PYRO_NONE || value->weight != PYRO_NONE)
            continue;
        pyro_graph_node node = empty_node;
        node.kind = PYRO_GRAPH_NODE_INPUT;
        node.name = unique_name(graph, times, value->name[0] ? value->name : "input");
        node.type = "input";
        node.output_bytes = value->tensor.bytes;
        graph->node_of_value[v] = add_node(graph, &node);
        if (graph->node_of_value[v] == PYRO_NONE)
            return false;
    }
    graph->input_count = graph->node_count;
    return true;
}

static void take_time(pyro_graph_node *node, const pyro_samples *time)
{
    node->passes = (int64_t)time->count;
    node->median_ns = time->median_ns;
    node->p95_ns = time->p95_ns;
    node->total_ns = time->total_ns;
    node->device_ns = time->count ? time->device_ns : -1;
}

/* "layer1.0/add": an operator, or a function, in a module. */
static const char *name_in(pyro_dataflow *graph, pyro_map *times, const char *path,
                           const char *name)
{
    const char *base = path[0] ? pyro_arena_format(&graph->arena, "%s/%s", path, name) : name;
    return base ? unique_name(graph, times, base) : NULL;
}

static bool add_call_node(pyro_dataflow *graph, pyro_map *times, size_t index)
{
    const pyro_flow_call *call = &graph->program->calls[index];
    pyro_graph_node node = empty_node;
    node.path = call->path;
    node.type = call->class_name;
    if (call->is_function) {
        node.kind = PYRO_GRAPH_NODE_OP;
        node.name = name_in(graph, times, call->path, short_name(call->class_name));
    } else {
        node.kind = PYRO_GRAPH_NODE_MODULE;
        node.name = unique_name(graph, times, call->path[0] ? call->path : "(model)");
    }
    take_time(&node, &call->time);
    graph->node_of_call[index] = add_node(graph, &node);
    return graph->node_of_call[index] != PYRO_NONE;
}

static bool add_step_node(pyro_dataflow *graph, pyro_map *times, size_t index)
{
    const pyro_flow_step *step = &graph->program->steps[index];
    const pyro_flow_call *call = &graph->program->calls[step->call];
    pyro_graph_node node = empty_node;
    node.kind = PYRO_GRAPH_NODE_OP;
    node.path = call->path;
    node.type = op_type(graph, step->op);
    node.name = node.type ? name_in(graph, times, call->path, short_name(node.type)) : NULL;
    take_time(&node, &step->time);
    graph->node_of_step[index] = add_node(graph, &node);
    return graph->node_of_step[index] != PYRO_NONE;
}

/* Merges calls and steps by their order. */
static bool add_nodes(pyro_dataflow *graph, pyro_map *times)
{
    const pyro_program *program = graph->program;
    bool glue = graph->options.granularity == PYRO_GRANULARITY_MODULE;
    size_t c = 0, s = 0;
    while (c < program->call_count || s < program->step_count) {
        if (s == program->step_count ||
            (c < program->call_count && program->calls[c].order < program->steps[s].order)) {
            graph->node_of_call[c] = PYRO_NONE;
            if (graph->owner[c] == c && !add_call_node(graph, times, c))
                return false;
            if (graph->owner[c] != c && graph->owner[c] != PYRO_NONE)
                graph->node_of_call[c] = graph->node_of_call[graph->owner[c]];
            c++;
            continue;
        }
        graph->node_of_step[s] = graph->node_of_call[program->steps[s].call];
        if (graph->node_of_step[s] == PYRO_NONE && !glue && !add_step_node(graph, times, s))
            return false;
        s++;
    }
    return true;
}

static void add_known(int64_t *sum, int64_t amount)
{
    if (amount < 0)
        return;
    if (!pyro_add_i64(*sum < 0 ? 0 : *sum, amount, sum))
        *sum = INT64_MAX;
}

static void add_work(pyro_dataflow *graph)
{
    const pyro_program *program = graph->program;
    for (size_t s = 0; s < program->step_count; s++) {
        const pyro_flow_step *step = &program->steps[s];
        add_known(&graph->totals.flops, step->flops);
        add_known(&graph->totals.moved_bytes, step->moved_bytes);
        if (graph->node_of_step[s] == PYRO_NONE)
            continue;
        pyro_graph_node *node = &graph->nodes[graph->node_of_step[s]];
        node->operators++;
        add_known(&node->flops, step->flops);
        add_known(&node->moved_bytes, step->moved_bytes);
    }
}

/* A weight counts at its first use. */
static bool add_weights(pyro_dataflow *graph)
{
    const pyro_program *program = graph->program;
    bool *seen = calloc(program->weight_count + 1, sizeof *seen);
    if (!seen)
        return false;
    for (size_t s = 0; s < program->step_count; s++) {
        const pyro_flow_step *step = &program->steps[s];
        for (uint32_t u = 0; u < step->use_count; u++) {
            uint32_t weight = program->values[program->uses[step->first_use + u].value].weight;
            if (weight == PYRO_NONE || seen[weight] ||
                program->weights[weight].role != PYRO_WEIGHT_PARAMETER)
                continue;
            seen[weight] = true;
            add_known(&graph->totals.parameters, program->weights[weight].values);
            add_known(&graph->totals.parameter_bytes, program->weights[weight].bytes);
            if (graph->node_of_step[s] == PYRO_NONE)
                continue;
            pyro_graph_node *node = &graph->nodes[graph->node_of_step[s]];
            add_known(&node->parameters, program->weights[weight].values);
            add_known(&node->parameter_bytes, program->weights[weight].bytes);
        }
    }
    free(seen);
    return true;
}

/* By value: whether a step outside of its maker's node uses it, or no step at all. */
static bool *find_leaving(const pyro_dataflow *graph)
{
    const pyro_program *program = graph->program;
    bool *leaves = malloc(program->value_count + 1), *used = calloc(program->value_count + 1, 1);
    for (size_t v = 0; leaves && v < program->value_count; v++)
        leaves[v] = false;
    for (size_t s = 0; leaves && used && s < program->step_count; s++)
        for (uint32_t u = 0; u < program->steps[s].use_count; u++) {
            uint32_t value = program->uses[program->steps[s].first_use + u].value;
            uint32_t maker = program->values[value].maker;
            used[value] = true;
            leaves[value] |= maker != PYRO_NONE &&
                             (graph->node_of_step[s] != graph->node_of_step[maker] ||
                              graph->node_of_step[s] == PYRO_NONE);
        }
    for (size_t v = 0; leaves && used && v < program->value_count; v++)
        leaves[v] |= !used[v];
    if (!used) {
        free(leaves);
        leaves = NULL;
    }
    free(used);
    return leaves;
}

/* Values that share memory count with their part of it, together at most its size. */
static bool add_outputs(pyro_dataflow *graph)
{
    const pyro_program *program = graph->program;
    bool *leaves = find_leaving(graph);
    size_t memory_count = 0, counted_count = 0;
    for (size_t v = 0; v < program->value_count; v++)
        if (program->values[v].memory >= memory_count)
            memory_count = program->values[v].memory + 1u;
    int64_t *largest = calloc(memory_count + 1, sizeof *largest);
    int64_t *counted = calloc(program->value_count + 1, sizeof *counted);
    pyro_map index = PYRO_MAP_INIT; /* of a node and a memory */
    bool good = leaves && largest && counted;
    for (size_t v = 0; good && v < program->value_count; v++)
        if (program->values[v].tensor.bytes > largest[program->values[v].memory])
            largest[program->values[v].memory] = program->values[v].tensor.bytes;
    for (size_t v = 0; good && v < program->value_count; v++) {
        const pyro_flow_value *value = &program->values[v];
        uint32_t node = value->maker == PYRO_NONE ? PYRO_NONE : graph->node_of_step[value->maker];
        if (node == PYRO_NONE || !leaves[v] || value->tensor.bytes < 0)
            continue;
        uint64_t key = (uint64_t)node << 32 | value->memory;
        uint32_t at = pyro_map_get(&index, key);
        if (at == PYRO_MAP_NONE) {
            at = (uint32_t)counted_count++;
            good = pyro_map_put(&index, key, at);
        }
        int64_t room = largest[value->memory] - counted[at];
        int64_t bytes = value->tensor.bytes < room ? value->tensor.bytes : room;
        counted[at] += bytes;
        add_known(&graph->nodes[node].output_bytes, bytes);
    }
    free(leaves);
    free(largest);
    free(counted);
    pyro_map_free(&index);
    return good;
}

static void add_totals(pyro_dataflow *graph)
{
    const pyro_program *program = graph->program;
    pyro_graph_totals *totals = &graph->totals;
    int64_t timed = 0;
    totals->nodes = (int64_t)graph->node_count;
    totals->edges = (int64_t)graph->edge_count;
    totals->inputs = (int64_t)graph->input_count;
    totals->passes = program->passes;
    totals->pass_median_ns = program->call_count ? program->calls[0].time.median_ns : -1;
    totals->pass_p95_ns = program->call_count ? program->calls[0].time.p95_ns : -1;
    totals->node_total_ns = totals->node_mean_ns = totals->node_max_ns = -1;
    totals->slowest = PYRO_NONE;
    for (size_t n = 0; n < graph->node_count; n++) {
        int64_t median = graph->nodes[n].median_ns;
        if (median < 0)
            continue;
        timed++;
        add_known(&totals->node_total_ns, median);
        if (median > totals->node_max_ns) {
            totals->node_max_ns = median;
            totals->slowest = (uint32_t)n;
        }
    }
    if (timed)
        totals->node_mean_ns = totals->node_total_ns / timed;
}

static bool add_note(pyro_dataflow *graph, const char *note)
{
    if (!note || !pyro_grow(&graph->notes, &graph->note_capacity, graph->note_count + 1,
                            sizeof *graph->notes))
        return false;
    graph->notes[graph->note_count++] = note;
    return true;
}

static bool add_notes(pyro_dataflow *graph)
{
    size_t assumed = 0;
    for (size_t i = 0; i < graph->program->note_count; i++)
        if (!add_note(graph, graph->program->notes[i]))
            return false;
    for (size_t i = 0; i < graph->edge_count; i++)
        assumed += graph->edges[i].assumed;
    return !assumed ||
           add_note(graph, pyro_arena_format(&graph->arena,
                                             "%zu of %zu edges are assumed: whether their tensors "
                                             "overlap in memory could not be decided",
                                             assumed, graph->edge_count));
}

static int build(pyro_dataflow *graph, pyro_error *error)
{
    const pyro_program *program = graph->program;
    pyro_map times = PYRO_MAP_INIT;
    graph->owner = pyro_choose_calls(program, &graph->options);
    graph->node_of_call = malloc((program->call_count + 1) * sizeof *graph->node_of_call);
    graph->node_of_step = malloc((program->step_count + 1) * sizeof *graph->node_of_step);
    graph->node_of_value = malloc((program->value_count + 1) * sizeof *graph->node_of_value);
    graph->totals.flops = graph->totals.moved_bytes = -1;
    bool good = graph->owner && graph->node_of_call && graph->node_of_step &&
                graph->node_of_value && add_inputs(graph, &times) && add_nodes(graph, &times);
    pyro_map_free(&times);
    if (good)
        add_work(graph);
    good = good && add_weights(graph) && add_outputs(graph);
    if (!good)
        return pyro_fail_memory(error);
    int status = pyro_dataflow_connect(graph, error);
    if (status == PYRO_OK)
        add_totals(graph);
    if (status == PYRO_OK && !add_notes(graph))
        status = pyro_fail_memory(error);
    return status;
}

int pyro_dataflow_build(pyro_dataflow **out, const pyro_program *program,
                        const pyro_dataflow_options *options, pyro_error *error)
{
    static const pyro_dataflow_options defaults = {PYRO_GRANULARITY_MODULE, PYRO_LEVEL_HIGH};
    pyro_dataflow *graph = calloc(1, sizeof *graph);
    if (!graph)
        return pyro_fail_memory(error);
    graph->program = program;
    graph->options = options ? *options : defaults;
    pyro_arena_init(&graph->arena);
    pyro_intern_init(&graph->names, &graph->arena);
    int status = (unsigned)graph->options.granularity < PYRO_GRANULARITY_COUNT
                     ? build(graph, error)
                     : pyro_fail(error, PYRO_ERROR_ARGUMENT, "invalid granularity");
    if (status < 0) {
        pyro_dataflow_free(graph);
        return status;
    }
    *out = graph;
    return PYRO_OK;
}

void pyro_dataflow_free(pyro_dataflow *graph)
{
    if (!graph)
        return;
    free(graph->owner);
    free(graph->node_of_call);
    free(graph->node_of_step);
    free(graph->node_of_value);
    free(graph->nodes);
    free(graph->edges);
    free(graph->tensors);
    free(graph->notes);
    pyro_intern_free(&graph->names);
    pyro_arena_free(&graph->arena);
    free(graph);
}

const char *pyro_dataflow_name(const pyro_dataflow *graph)
{
    return graph->program->name;
}

pyro_granularity pyro_dataflow_granularity(const pyro_dataflow *graph)
{
    return graph->options.granularity;
}

const pyro_graph_node *pyro_dataflow_nodes(const pyro_dataflow *graph, size_t *count)
{
    *count = graph->node_count;
    return graph->nodes;
}

const pyro_graph_edge *pyro_dataflow_edges(const pyro_dataflow *graph, size_t *count)
{
    *count = graph->edge_count;
    return graph->edges;
}

const pyro_graph_tensor *pyro_dataflow_tensors(const pyro_dataflow *graph, size_t *count)
{
    *count = graph->tensor_count;
    return graph->tensors;
}

const pyro_graph_totals *pyro_dataflow_totals(const pyro_dataflow *graph)
{
    return &graph->totals;
}

const char *const *pyro_dataflow_notes(const pyro_dataflow *graph, size_t *count)
{
    *count = graph->note_count;
    return graph->notes;
}
