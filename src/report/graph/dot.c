/*
 * Writes a graph for Graphviz: groups for modules, one block for repeated ones, colours by cost.
 */
#include "base/error.h"
#include "base/text/units.h"
#include "dataflow/picture.h"
#include "report/graph/writers.h"
#include "report/text.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* By share of the total cost, starting at white; dark colours get light text. */
static const struct {
    double from;
    const char *fill, *text;
} colours[] = {
    {0, "#ffffff", "#222222"},    {0.01, "#fff3d1", "#222222"}, {0.03, "#fee0a1", "#222222"},
    {0.08, "#fdbb63", "#222222"}, {0.2, "#ee7b30", "#222222"},  {0.5, "#b9400f", "#ffffff"},
};

typedef struct artist {
    pyro_buf *buf;
    const pyro_dataflow *graph;
    const pyro_graph_report *report;
    const pyro_picture *picture;
    uint32_t *times; /* by group: repeats, including those of the groups around it */
} artist;

/* Text in dot quotes: only quotes and backslashes need escaping. */
static void add_text(pyro_buf *buf, const char *text)
{
    pyro_buf clean = PYRO_BUF_INIT;
    pyro_text_clean(&clean, text);
    for (const char *at = clean.data; at && *at; at++) {
        if (*at == '"' || *at == '\\')
            pyro_buf_addc(buf, '\\');
        pyro_buf_addc(buf, *at);
    }
    buf->failed |= clean.failed;
    pyro_buf_free(&clean);
}

static const char *share_text(const artist *a, char *text, int64_t cost)
{
    return pyro_format_share(text, (double)cost, (double)a->picture->total);
}

static void add_cost(artist *a, const pyro_drawn_node *drawn)
{
    const pyro_graph_node *node = &pyro_dataflow_nodes(a->graph, &(size_t){0})[drawn->node];
    int64_t each = drawn->cost / drawn->times;
    char text[PYRO_UNIT_TEXT];

    if (a->picture->timed ? node->median_ns < 0 : node->flops <= 0)
        return;
    if (a->picture->timed)
        pyro_buf_addf(a->buf, "\\n%s", pyro_format_duration(text, each));
    else
        pyro_buf_addf(a->buf, "\\n%s FLOPs", pyro_format_count(text, each));
    if (drawn->cost > 0 && (double)drawn->cost >= 0.001 * (double)a->picture->total)
        pyro_buf_addf(a->buf, ", %s", share_text(a, text, drawn->cost));
}

/* "layers.0 ... layers.31, 32 times" */
static void add_range(artist *a, const char *first, const char *last, uint32_t times)
{
    add_text(a->buf, first);
    if (times > 1 && strcmp(first, last)) {
        pyro_buf_adds(a->buf, " ... ");
        add_text(a->buf, last);
    }
    if (times > 1)
        pyro_buf_addf(a->buf, " (x%" PRIu32 ")", times);
}

static void add_node(artist *a, size_t id, int indent)
{
    static const char *const shapes[] = {"ellipse", "box", "box"};
    const pyro_drawn_node *drawn = &a->picture->nodes[id];
    const pyro_graph_node *nodes = pyro_dataflow_nodes(a->graph, &(size_t){0});
    const pyro_graph_node *node = &nodes[drawn->node];
    uint32_t around = drawn->group == PYRO_NONE ? 1 : a->times[drawn->group];
    double share = a->picture->total > 0 ? (double)drawn->cost / (double)a->picture->total : 0;
    char text[PYRO_UNIT_TEXT];
    size_t colour = 0;

    while (colour + 1 < sizeof colours / sizeof *colours && share >= colours[colour + 1].from)
        colour++;
    pyro_buf_addf(a->buf, "%*sn%zu [shape=%s label=\"", indent, "", id, shapes[node->kind]);
    add_range(a, node->name, nodes[drawn->last].name, around ? drawn->times / around : 1);
    if (strcmp(node->type, "input") && node->type[0]) {
        pyro_buf_adds(a->buf, "\\n");
        add_text(a->buf, node->type);
    }
    if (node->parameters > 0)
        pyro_buf_addf(a->buf, "\\n%s params", pyro_format_count(text, node->parameters));
    add_cost(a, drawn);
    pyro_buf_adds(a->buf, "\"");
    if (colour > 0)
        pyro_buf_addf(a->buf, " fillcolor=\"%s\" fontcolor=\"%s\"", colours[colour].fill,
                      colours[colour].text);
    if (node->kind == PYRO_GRAPH_NODE_OP)
        pyro_buf_adds(a->buf, " style=filled");
    pyro_buf_adds(a->buf, "]\n");
}

static void begin_group(artist *a, size_t id, int indent)
{
    const pyro_drawn_group *group = &a->picture->groups[id];
    char text[PYRO_UNIT_TEXT];

    pyro_buf_addf(a->buf, "%*ssubgraph cluster_%zu {\n%*slabel=\"", indent, "", id, indent + 2, "");
    add_range(a, group->path, group->last_path, group->times);
    if (group->class_name[0]) {
        pyro_buf_adds(a->buf, "\\n");
        add_text(a->buf, group->class_name);
    }
    if (group->cost > 0)
        pyro_buf_addf(a->buf, ", %s of %s", share_text(a, text, group->cost),
                      a->picture->timed ? "the time" : "FLOPs");
    pyro_buf_addf(a->buf, "\" penwidth=%d\n", group->times > 1 ? 2 : 1);
}

static uint32_t parent_of(const artist *a, uint32_t group)
{
    return a->picture->groups[group].parent;
}

/* Whether `outer` is the group or encloses it; PYRO_NONE encloses all. */
static bool is_within(const artist *a, uint32_t group, uint32_t outer)
{
    while (group != PYRO_NONE && group != outer && group > outer)
        group = parent_of(a, group);
    return outer == PYRO_NONE || group == outer;
}

/* Opens the groups from `outer`, which is open, to `group`, the outermost first. */
static void open_groups(artist *a, uint32_t outer, uint32_t group, int *indent)
{
    while (outer != group) {
        uint32_t next = group;
        while (parent_of(a, next) != outer)
            next = parent_of(a, next);
        begin_group(a, next, *indent);
        *indent += 2;
        outer = next;
    }
}

/* Groups are opened and closed as their nodes follow each other; dot joins those opened twice. */
static void add_nodes(artist *a)
{
    uint32_t open = PYRO_NONE;
    int indent = 2;
    for (size_t i = 0; i <= a->picture->node_count; i++) {
        uint32_t group = i == a->picture->node_count ? PYRO_NONE : a->picture->nodes[i].group;
        while (open != PYRO_NONE && !is_within(a, group, open)) {
            indent -= 2;
            pyro_buf_addf(a->buf, "%*s}\n", indent, "");
            open = parent_of(a, open);
        }
        open_groups(a, open, group, &indent);
        open = group;
        if (i < a->picture->node_count)
            add_node(a, i, indent);
    }
}

static void add_edges(artist *a)
{
    const pyro_graph_edge *edges = pyro_dataflow_edges(a->graph, &(size_t){0});
    const pyro_graph_tensor *tensors = pyro_dataflow_tensors(a->graph, &(size_t){0});

    for (size_t i = 0; i < a->picture->edge_count; i++) {
        const pyro_drawn_edge *drawn = &a->picture->edges[i];
        const pyro_graph_edge *edge = &edges[drawn->edge];
        pyro_buf_addf(a->buf, "  n%" PRIu32 " -> n%" PRIu32 " [label=\"", drawn->from, drawn->to);
        pyro_graph_add_shape(a->buf, &tensors[edge->first_tensor]);
        if (edge->tensor_count > 1)
            pyro_buf_addf(a->buf, " +%" PRIu32, edge->tensor_count - 1);
        if (drawn->is_again)
            pyro_buf_adds(a->buf, "\\nnext\" constraint=false style=dashed color=\"#777777");
        if (drawn->assumed)
            pyro_buf_addf(a->buf, "\" style=dotted tooltip=\"assumed");
        pyro_buf_adds(a->buf, "\"]\n");
    }
}

static void write_picture(artist *a)
{
    pyro_buf_adds(a->buf, "digraph \"");
    add_text(a->buf, pyro_dataflow_name(a->graph));
    pyro_buf_addf(
        a->buf,
        "\" {\n  graph [fontname=\"sans-serif\" fontsize=10 style=rounded "
        "color=\"#999999\" labeljust=l\n    label=\"Colour: share of %s, from 1%%, 3%%, 8%%, 20%% "
        "and 50%% on\"]\n"
        "  node [fontname=\"sans-serif\" fontsize=10 style=\"rounded,filled\" "
        "fillcolor=white color=\"#555555\"]\n"
        "  edge [fontname=\"sans-serif\" fontsize=8 color=\"#333333\"]\n",
        a->picture->timed ? "the time" : "FLOPs");
    add_nodes(a);
    if (!a->report->no_edges)
        add_edges(a);
    pyro_buf_adds(a->buf, "}\n");
}

static int too_large(const pyro_picture *picture, pyro_error *error)
{
    return pyro_fail(error, PYRO_ERROR_LIMIT,
                     "the picture would have %zu nodes and %zu edges, more than can be drawn or "
                     "read (%d and %d): choose a coarser granularity (module), leave out depth or "
                     "make it smaller, or write dot, graphml or json for programs that lay out "
                     "large graphs",
                     picture->node_count, picture->edge_count, PYRO_PICTURE_NODES,
                     PYRO_PICTURE_EDGES);
}

int pyro_write_graph_dot(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_graph_report *report = request->graph.report;
    artist a = {.buf = buf,
                .graph = request->graph.graph,
                .report = report,
                .picture = request->graph.picture};
    int status = PYRO_OK;

    if (report->for_picture && (a.picture->node_count > PYRO_PICTURE_NODES ||
                                a.picture->edge_count > PYRO_PICTURE_EDGES)) {
        status = too_large(a.picture, request->error);
    } else if (!(a.times = malloc((a.picture->group_count + 1) * sizeof *a.times))) {
        status = pyro_fail_memory(request->error);
    } else {
        for (size_t g = 0; g < a.picture->group_count; g++)
            a.times[g] = a.picture->groups[g].times * (parent_of(&a, (uint32_t)g) == PYRO_NONE
                                                           ? 1
                                                           : a.times[parent_of(&a, (uint32_t)g)]);
        write_picture(&a);
    }
    free(a.times);
    return status;
}
