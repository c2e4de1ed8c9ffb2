/*
 * Edges: which node gives which tensor to which. What runs between nodes is looked through: its
 * results come from the nodes that it took from.
 */
#include "dataflow/dataflow.h"

#include "base/buf.h"
#include "base/checked.h"
#include "base/error.h"
#include <stdlib.h>

/* What runs between nodes and joins everything with everything is not worth any memory. */
enum { MOST_SOURCES = 1 << 26 };

typedef struct link {
    uint32_t to, from, value;
} link;

typedef struct connector {
    pyro_dataflow *graph;
    link *links;
    size_t link_count, link_capacity;
    uint32_t
        *sources; /* nodes that results of steps between nodes come from, one after the other */
    size_t source_count, source_capacity;
    size_t *first_source; /* by step; the next step's is the end */
    uint32_t *mark;       /* by node: the last step between nodes that has it */
} connector;

static bool add_link(connector *c, uint32_t from, uint32_t to, uint32_t value)
{
    if (from == to)
        return true;
    if (!pyro_grow(&c->links, &c->link_capacity, c->link_count + 1, sizeof *c->links))
        return false;
    c->links[c->link_count++] = (link){to, from, value};
    return true;
}

/* Another node for a step between nodes, each once. */
static bool add_source(connector *c, uint32_t node, uint32_t step)
{
    if (c->mark[node] == step)
        return true;
    c->mark[node] = step;
    if (c->source_count >= MOST_SOURCES ||
        !pyro_grow(&c->sources, &c->source_capacity, c->source_count + 1, sizeof *c->sources))
        return false;
    c->sources[c->source_count++] = node;
    return true;
}

/* Passes where a value comes from on to the step that uses it. */
static bool follow(connector *c, uint32_t from, uint32_t step, uint32_t value)
{
    uint32_t to = c->graph->node_of_step[step];
    return to == PYRO_NONE ? add_source(c, from, step) : add_link(c, from, to, value);
}

static bool use(connector *c, uint32_t step, uint32_t value)
{
    const pyro_flow_value *source = &c->graph->program->values[value];
    if (source->maker == PYRO_NONE)
        return source->weight != PYRO_NONE ||
               follow(c, c->graph->node_of_value[value], step, value);
    uint32_t from = c->graph->node_of_step[source->maker];
    if (from != PYRO_NONE)
        return follow(c, from, step, value);
    for (size_t i = c->first_source[source->maker]; i < c->first_source[source->maker + 1]; i++)
        if (!follow(c, c->sources[i], step, value))
            return false;
    return true;
}

static bool find_links(connector *c)
{
    const pyro_program *program = c->graph->program;
    for (size_t n = 0; n < c->graph->node_count; n++)
        c->mark[n] = PYRO_NONE;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const pyro_flow_step *step = &program->steps[s];
        c->first_source[s] = c->source_count;
        for (uint32_t u = 0; u < step->use_count; u++)
            if (!use(c, s, program->uses[step->first_use + u]))
                return false;
        c->first_source[s + 1] = c->source_count;
    }
    return true;
}

static int by_place(const void *left, const void *right)
{
    const link *a = left, *b = right;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

static bool add_edge(pyro_dataflow *graph, const link *link)
{
    const pyro_graph_tensor *tensor = &graph->program->values[link->value].tensor;
    pyro_graph_edge *last = graph->edge_count ? &graph->edges[graph->edge_count - 1] : NULL;
    if (!last || last->from != link->from || last->to != link->to) {
        if (!pyro_grow(&graph->edges, &graph->edge_capacity, graph->edge_count + 1,
                       sizeof *graph->edges))
            return false;
        last = &graph->edges[graph->edge_count++];
        *last = (pyro_graph_edge){link->from, link->to, (uint32_t)graph->tensor_count, 0, 0};
    }
    if (!pyro_grow(&graph->tensors, &graph->tensor_capacity, graph->tensor_count + 1,
                   sizeof *graph->tensors))
        return false;
    graph->tensors[graph->tensor_count++] = *tensor;
    last->tensor_count++;
    if (tensor->bytes < 0 || last->bytes < 0 ||
        !pyro_add_i64(last->bytes, tensor->bytes, &last->bytes))
        last->bytes = -1;
    return true;
}

int pyro_dataflow_connect(pyro_dataflow *graph, pyro_error *error)
{
    connector c = {.graph = graph};
    c.first_source = calloc(graph->program->step_count + 2, sizeof *c.first_source);
    c.mark = malloc((graph->node_count + 1) * sizeof *c.mark);
    bool good = c.first_source && c.mark && find_links(&c);
    bool too_many = c.source_count >= MOST_SOURCES;
    if (good && c.link_count)
        qsort(c.links, c.link_count, sizeof *c.links, by_place);
    for (size_t i = 0; good && i < c.link_count; i++)
        if (!i || by_place(&c.links[i - 1], &c.links[i]))
            good = add_edge(graph, &c.links[i]);
    free(c.links);
    free(c.sources);
    free(c.first_source);
    free(c.mark);
    if (!good && too_many)
        return pyro_fail(error, PYRO_ERROR_LIMIT,
                         "what runs between modules joins too many of them; "
                         "try --granularity layer");
    return good ? PYRO_OK : pyro_fail_memory(error);
}
