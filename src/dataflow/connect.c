/*
 * Connects nodes by edges: which node passes which tensor to which. A step between nodes is not a
 * node: its results count as made by the nodes whose tensors it uses.
 */
#include "dataflow/dataflow.h"

#include "base/containers/buf.h"
#include "base/checked.h"
#include "base/error.h"
#include <stdlib.h>

/* Limit for steps between nodes that connect everything with everything. */
enum { MOST_SOURCES = 1 << 26 };

typedef struct link {
    uint32_t to, from, value;
    bool assumed;
} link;

/* A node that contributes to the result of a step between nodes. */
typedef struct source {
    uint32_t node;
    bool assumed;
} source;

typedef struct source_list {
    size_t first, count; /* in `sources` */
} source_list;

typedef struct connector {
    pyro_dataflow *graph;
    link *links;
    size_t link_count, link_capacity;
    source *sources;
    size_t source_count, source_capacity;
    source_list *list_of_value; /* of values that steps between nodes make */
    size_t *place; /* by node: its place in the current list, if at or after the list's start */
    size_t list_begin;
    bool *is_read; /* by value, of views: its bytes are read, or go to another node */
} connector;

static bool add_link(connector *c, source from, uint32_t to, uint32_t value)
{
    if (from.node == to)
        return true;
    if (!pyro_grow(&c->links, &c->link_capacity, c->link_count + 1, sizeof *c->links))
        return false;
    c->links[c->link_count++] = (link){to, from.node, value, from.assumed};
    return true;
}

/* Adds a node to the current list, once. */
static bool add_source(connector *c, source from)
{
    size_t place = c->place[from.node];
    if (place >= c->list_begin && place < c->source_count && c->sources[place].node == from.node) {
        c->sources[place].assumed &= from.assumed;
        return true;
    }
    if (c->source_count >= MOST_SOURCES ||
        !pyro_grow(&c->sources, &c->source_capacity, c->source_count + 1, sizeof *c->sources))
        return false;
    c->place[from.node] = c->source_count;
    c->sources[c->source_count++] = from;
    return true;
}

/* Follows a value to its origin: adds an edge to node `to`, or to the current list (PYRO_NONE). */
static bool follow(connector *c, const pyro_flow_use *use, uint32_t to)
{
    const pyro_dataflow *graph = c->graph;
    const pyro_flow_value *value = &graph->program->values[use->value];
    if (value->maker == PYRO_NONE && value->weight != PYRO_NONE)
        return true;
    uint32_t node = value->maker == PYRO_NONE ? graph->node_of_value[use->value]
                                              : graph->node_of_step[value->maker];
    source_list one = {0, 1}, *list = node == PYRO_NONE ? &c->list_of_value[use->value] : &one;
    for (size_t i = 0; i < list->count; i++) {
        source from = {node, use->assumed};
        if (node == PYRO_NONE)
            from = (source){c->sources[list->first + i].node,
                            c->sources[list->first + i].assumed || use->assumed};
        if (to == PYRO_NONE ? !add_source(c, from) : !add_link(c, from, to, use->value))
            return false;
    }
    return true;
}

/* There may be no uses at all: without one the array is NULL. */
static bool make_list(connector *c, const pyro_flow_use *uses, uint32_t first, uint32_t count,
                      source_list *list)
{
    c->list_begin = c->source_count;
    for (uint32_t u = 0; u < count; u++)
        if (!follow(c, &uses[first + u], PYRO_NONE))
            return false;
    *list = (source_list){c->list_begin, c->source_count - c->list_begin};
    return true;
}

static uint32_t node_of_maker(const connector *c, uint32_t value)
{
    uint32_t maker = c->graph->program->values[value].maker;
    return maker == PYRO_NONE ? PYRO_NONE : c->graph->node_of_step[maker];
}

/*
 * The tensor through which the bytes of a view are seen: the first that is not a view, or one that
 * another node made. Views inside the same node and between nodes are looked through.
 */
static const pyro_flow_level *level_of(const connector *c, uint32_t view)
{
    const pyro_program *program = c->graph->program;
    const pyro_flow_value *value = &program->values[view];
    const pyro_flow_level *level = NULL;
    for (uint32_t i = 0; i < value->level_count; i++) {
        level = &program->levels[value->first_level + i];
        uint32_t node = node_of_maker(c, level->value);
        if (!program->values[level->value].level_count ||
            (node != PYRO_NONE && node != node_of_maker(c, view)))
            break;
    }
    return level;
}

/* Views whose bytes nobody reads take nothing; in a chain of views the last one counts. */
static bool find_read_views(connector *c)
{
    const pyro_program *program = c->graph->program;
    bool *is_used = calloc(program->value_count + 1, sizeof *is_used);
    for (uint32_t s = 0; is_used && s < program->step_count; s++)
        for (uint32_t u = 0; u < program->steps[s].use_count; u++) {
            const pyro_flow_use *use = &program->uses[program->steps[s].first_use + u];
            is_used[use->value] = true;
            c->is_read[use->value] |= !use->is_viewed ||
                                      c->graph->node_of_step[s] != node_of_maker(c, use->value);
        }
    for (uint32_t v = (uint32_t)program->value_count; is_used && v-- > 0;) {
        c->is_read[v] |= !is_used[v];
        const pyro_flow_level *level = c->is_read[v] ? level_of(c, v) : NULL;
        if (level) /* longer chains of views than are looked through end in another view */
            c->is_read[level->value] = true;
    }
    bool good = is_used != NULL;
    free(is_used);
    return good;
}

/* Makes the lists for the results of a step between nodes. */
static bool look_through(connector *c, const pyro_flow_step *step)
{
    const pyro_program *program = c->graph->program;
    source_list all;
    if (!make_list(c, program->uses, step->first_use, step->use_count, &all))
        return false;
    for (uint32_t m = 0; m < step->made_count; m++) {
        uint32_t made = program->made[step->first_made + m];
        const pyro_flow_level *level = level_of(c, made);
        c->list_of_value[made] = all;
        if (level && !make_list(c, program->shown, level->first_shown, level->shown_count,
                                &c->list_of_value[made]))
            return false;
    }
    return true;
}

/* Connects what a node reads in one of its steps, and what the views made there show. */
static bool connect_step(connector *c, const pyro_flow_step *step, uint32_t node)
{
    const pyro_program *program = c->graph->program;
    for (uint32_t u = 0; u < step->use_count; u++) {
        const pyro_flow_use *use = &program->uses[step->first_use + u];
        if (!use->is_viewed && !follow(c, use, node))
            return false;
    }
    for (uint32_t m = 0; m < step->made_count; m++) {
        uint32_t made = program->made[step->first_made + m];
        const pyro_flow_level *level = c->is_read[made] ? level_of(c, made) : NULL;
        for (uint32_t i = 0; level && i < level->shown_count; i++)
            if (!follow(c, &program->shown[level->first_shown + i], node))
                return false;
    }
    return true;
}

static bool find_links(connector *c)
{
    const pyro_program *program = c->graph->program;
    for (uint32_t s = 0; s < program->step_count; s++) {
        uint32_t node = c->graph->node_of_step[s];
        if (node == PYRO_NONE ? !look_through(c, &program->steps[s])
                              : !connect_step(c, &program->steps[s], node))
            return false;
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
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->assumed - b->assumed;
}

static bool is_again(const link *before, const link *at)
{
    return before->to == at->to && before->from == at->from && before->value == at->value;
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
        *last = (pyro_graph_edge){.from = link->from,
                                  .to = link->to,
                                  .first_tensor = (uint32_t)graph->tensor_count,
                                  .assumed = true};
    }
    if (!pyro_grow(&graph->tensors, &graph->tensor_capacity, graph->tensor_count + 1,
                   sizeof *graph->tensors))
        return false;
    graph->tensors[graph->tensor_count] = *tensor;
    graph->tensors[graph->tensor_count++].assumed = link->assumed;
    last->tensor_count++;
    last->assumed &= link->assumed;
    if (tensor->bytes < 0 || last->bytes < 0 ||
        !pyro_add_i64(last->bytes, tensor->bytes, &last->bytes))
        last->bytes = -1;
    return true;
}

int pyro_dataflow_connect(pyro_dataflow *graph, pyro_error *error)
{
    connector c = {.graph = graph};
    c.list_of_value = calloc(graph->program->value_count + 1, sizeof *c.list_of_value);
    c.place = calloc(graph->node_count + 1, sizeof *c.place);
    c.is_read = calloc(graph->program->value_count + 1, sizeof *c.is_read);
    bool good = c.list_of_value && c.place && c.is_read && find_read_views(&c) && find_links(&c);
    bool too_many = c.source_count >= MOST_SOURCES;
    if (good && c.link_count)
        qsort(c.links, c.link_count, sizeof *c.links, by_place);
    for (size_t i = 0; good && i < c.link_count; i++)
        if (!i || !is_again(&c.links[i - 1], &c.links[i]))
            good = add_edge(graph, &c.links[i]);
    free(c.links);
    free(c.sources);
    free(c.list_of_value);
    free(c.place);
    free(c.is_read);
    if (!good && too_many)
        return pyro_fail(error, PYRO_ERROR_LIMIT,
                         "operators between modules connect too many of them; "
                         "try --granularity layer");
    return good ? PYRO_OK : pyro_fail_memory(error);
}
