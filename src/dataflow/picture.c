/*
 * Folds a graph for drawing: calls of modules form a tree, and successive children of one parent
 * that are alike (in class, names below, work and shapes) are drawn once. Finds runs of several
 * alternating blocks too.
 */
#include "dataflow/picture.h"

#include "base/containers/buf.h"
#include "base/checked.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_PERIOD = 16 };

/* A call that contains nodes, or a node. Parents come first. */
typedef struct item {
    const char *path, *class_name;
    uint32_t node; /* PYRO_NONE: a call */
    uint32_t parent, first_child, last_child, next;
    uint64_t likeness, bare; /* equal for items that are alike; bare: without parameters */
    uint32_t stands_in; /* the item drawn in its place; itself if it is drawn */
    uint32_t times;     /* that it is drawn for */
    uint32_t last;      /* item that it is drawn for */
    uint32_t run;       /* its run of several items; PYRO_NONE none */
    bool is_call;       /* of a module, whether it is a node or contains some */
} item;

/* A repeated run of items; if `length` is one, the item itself has the count. */
typedef struct repeated_run {
    uint32_t first, last; /* items: the first one, and the last one it is drawn for */
    uint32_t times, group;
} repeated_run;

typedef struct folder {
    const pyro_dataflow *graph;
    item *items;
    size_t item_count, item_capacity;
    repeated_run *runs;
    size_t run_count, run_capacity;
    uint32_t *item_of_call, *item_of_node, *call_of_node;
    uint32_t *children; /* scratch */
    size_t child_capacity;
    int64_t depth;
} folder;

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    while (*text)
        hash = mix(hash, (unsigned char)*text++);
    return mix(hash, 256);
}

static uint32_t add_item(folder *f, item one)
{
    if (!pyro_grow(&f->items, &f->item_capacity, f->item_count + 1, sizeof *f->items))
        return PYRO_NONE;
    uint32_t number = (uint32_t)f->item_count++;
    one.first_child = one.last_child = one.next = one.run = PYRO_NONE;
    one.stands_in = one.last = number;
    one.times = 1;
    f->items[number] = one;
    if (one.parent != PYRO_NONE) {
        item *parent = &f->items[one.parent];
        if (parent->first_child == PYRO_NONE)
            parent->first_child = number;
        else
            f->items[parent->last_child].next = number;
        parent->last_child = number;
    }
    return number;
}

/* The item of a call that contains nodes, with those around it; functions are not shown. */
static uint32_t enter_call(folder *f, uint32_t call)
{
    const pyro_flow_call *calls = f->graph->program->calls;
    uint32_t missing[64];
    size_t count = 0;
    uint32_t at = call, parent = PYRO_NONE;
    for (; at != PYRO_NONE && count < 64; at = calls[at].parent) {
        if (f->item_of_call[at] != PYRO_NONE) {
            parent = f->item_of_call[at];
            break;
        }
        if (!calls[at].is_function)
            missing[count++] = at;
    }
    while (count > 0) {
        at = missing[--count];
        parent = add_item(f, (item){.path = calls[at].path,
                                    .class_name = calls[at].class_name,
                                    .node = PYRO_NONE,
                                    .parent = parent,
                                    .is_call = true});
        if (parent == PYRO_NONE)
            return PYRO_NONE;
        f->item_of_call[at] = parent;
    }
    return parent;
}

static bool place_nodes(folder *f)
{
    const pyro_dataflow *graph = f->graph;
    const pyro_program *program = graph->program;
    for (size_t c = 0; c < program->call_count; c++) {
        f->item_of_call[c] = PYRO_NONE;
        if (graph->owner[c] == c)
            f->call_of_node[graph->node_of_call[c]] = program->calls[c].parent;
    }
    for (size_t s = program->step_count; s-- > 0;)
        if (graph->node_of_step[s] != PYRO_NONE &&
            graph->owner[program->steps[s].call] == PYRO_NONE)
            f->call_of_node[graph->node_of_step[s]] = program->steps[s].call;
    for (size_t n = 0; n < graph->node_count; n++) {
        const pyro_graph_node *node = &graph->nodes[n];
        uint32_t call = f->call_of_node[n], parent = PYRO_NONE;
        bool has_parent = n >= graph->input_count && call != PYRO_NONE;
        if (has_parent && (parent = enter_call(f, call)) == PYRO_NONE)
            return false;
        f->item_of_node[n] = add_item(f, (item){.path = node->path,
                                                .class_name = node->type,
                                                .node = (uint32_t)n,
                                                .parent = parent,
                                                .is_call = node->kind == PYRO_GRAPH_NODE_MODULE});
        if (f->item_of_node[n] == PYRO_NONE)
            return false;
    }
    return true;
}

/* A path relative to the module around it: "self_attn" in "layers.0". */
static const char *relative(const folder *f, const item *one)
{
    const char *around = one->parent == PYRO_NONE ? "" : f->items[one->parent].path;
    size_t length = strlen(around);
    if (!length || strncmp(one->path, around, length))
        return one->path;
    return one->path[length] == '.' ? one->path + length + 1 : one->path + length;
}

static uint64_t shape_of(const pyro_graph_tensor *tensor)
{
    uint64_t shape = mix_text(7, tensor->dtype);
    for (size_t d = 0; d < tensor->rank; d++)
        shape = mix(shape, (uint64_t)tensor->dims[d]);
    return shape;
}

/* The incoming shapes, in any order and each once: the first block may get a sum in parts. */
static uint64_t shapes_into(const pyro_dataflow *graph, size_t first, size_t end)
{
    enum { MOST = 16 };
    uint64_t shapes[MOST], sum = 0;
    size_t count = 0;
    for (size_t e = first; e < end; e++)
        for (uint32_t t = 0; t < graph->edges[e].tensor_count && count < MOST; t++) {
            uint64_t shape = shape_of(&graph->tensors[graph->edges[e].first_tensor + t]);
            size_t i = 0;
            while (i < count && shapes[i] != shape)
                i++;
            if (i < count)
                continue;
            shapes[count++] = shape;
            sum += shape;
        }
    return sum;
}

/* Hashes what makes nodes alike: class, work, and incoming tensors. */
static void describe_nodes(folder *f)
{
    const pyro_dataflow *graph = f->graph;
    size_t edge = 0; /* edges are in the order of their target nodes */
    for (size_t i = 0; i < f->item_count; i++) {
        item *one = &f->items[i];
        one->likeness = one->bare = mix_text(one->node == PYRO_NONE, one->class_name);
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        item *one = &f->items[f->item_of_node[n]];
        const pyro_graph_node *node = &graph->nodes[n];
        size_t first = edge;
        while (edge < graph->edge_count && graph->edges[edge].to == n)
            edge++;
        one->bare = mix(mix(one->bare, (uint64_t)node->kind), (uint64_t)node->operators);
        one->bare = mix(mix(one->bare, (uint64_t)node->flops), shapes_into(graph, first, edge));
        one->likeness = mix(one->bare, (uint64_t)node->parameters);
    }
}

/* Children come after their parents, so this goes from the last parent to the first. */
static void describe_calls(folder *f)
{
    for (size_t i = f->item_count; i-- > 0;) {
        item *one = &f->items[i];
        for (uint32_t c = one->first_child; c != PYRO_NONE; c = f->items[c].next) {
            const item *child = &f->items[c];
            one->likeness = mix_text(mix(one->likeness, child->likeness), relative(f, child));
            one->bare = mix_text(mix(one->bare, child->bare), relative(f, child));
        }
    }
}

/* Number of names in a path. */
static int64_t level(const char *path)
{
    int64_t names = path[0] != 0;
    for (; *path; path++)
        names += *path == '.';
    return names;
}

/* Where the number at the end of a path begins. */
static size_t before_number(const char *path)
{
    size_t length = strlen(path);
    while (length && isdigit((unsigned char)path[length - 1]))
        length--;
    return length;
}

/* Members of one container, "layers.0" and "layers.1", or blocks with a number in their names. */
static bool are_numbered(const item *a, const item *b)
{
    size_t length = before_number(a->path);
    bool is_member = length == 0 || a->path[length - 1] == '.';
    return a->path[length] && b->path[before_number(b->path)] && before_number(b->path) == length &&
           !strncmp(a->path, b->path, length) && (is_member || a->node == PYRO_NONE);
}

static bool are_alike(const folder *f, uint32_t left, uint32_t right)
{
    const item *a = &f->items[left], *b = &f->items[right];
    if (a->is_call != b->is_call || (a->node == PYRO_NONE) != (b->node == PYRO_NONE))
        return false;
    if (!a->is_call)
        return a->likeness == b->likeness;
    if (level(a->path) <= f->depth || level(b->path) <= f->depth)
        return false;
    if (!strcmp(a->path, b->path))
        return a->bare == b->bare; /* called again: its parameters counted the first time */
    return a->likeness == b->likeness && are_numbered(a, b);
}

/* The item after `at` in the tree below `top`, parents first. */
static uint32_t next_below(const folder *f, uint32_t at, uint32_t top)
{
    if (f->items[at].first_child != PYRO_NONE)
        return f->items[at].first_child;
    while (at != top && f->items[at].next == PYRO_NONE)
        at = f->items[at].parent;
    return at == top ? PYRO_NONE : f->items[at].next;
}

/* Draws `shown` and what is below it in place of `hidden` and what is below that. */
static void hide(folder *f, uint32_t hidden, uint32_t shown)
{
    uint32_t a = hidden, b = shown;
    while (a != PYRO_NONE && b != PYRO_NONE) {
        f->items[a].stands_in = b;
        a = next_below(f, a, hidden);
        b = next_below(f, b, shown);
    }
}

/* How many consecutive items from `at` on are like those `period` later. */
static size_t alike_from(const folder *f, const uint32_t *children, size_t count, size_t at,
                         size_t period)
{
    size_t length = 0;
    bool has_call = false;
    while (at + period + length < count &&
           are_alike(f, children[at + length], children[at + period + length])) {
        has_call |= length < period && f->items[children[at + length]].is_call;
        length++;
    }
    return has_call && length >= period ? length : 0;
}

static bool fold_run(folder *f, const uint32_t *children, size_t at, size_t period, size_t times)
{
    for (size_t i = period; i < period * times; i++)
        hide(f, children[at + i], children[at + i % period]);
    for (size_t i = 0; i < period; i++) {
        item *one = &f->items[children[at + i]];
        one->times = (uint32_t)times;
        one->last = children[at + (times - 1) * period + i];
        if (period > 1)
            one->run = (uint32_t)f->run_count;
    }
    if (period == 1)
        return true;
    if (!pyro_grow(&f->runs, &f->run_capacity, f->run_count + 1, sizeof *f->runs))
        return false;
    f->runs[f->run_count++] = (repeated_run){.first = children[at],
                                             .last = children[at + period * times - 1],
                                             .times = (uint32_t)times,
                                             .group = PYRO_NONE};
    return true;
}

/* Folds repetitions among the children of an item; the longest run first, from left to right. */
static bool fold_children(folder *f, uint32_t first)
{
    size_t count = 0;
    for (uint32_t c = first; c != PYRO_NONE; c = f->items[c].next) {
        if (!pyro_grow(&f->children, &f->child_capacity, count + 1, sizeof *f->children))
            return false;
        f->children[count++] = c;
    }
    for (size_t at = 0; at < count;) {
        size_t best = 0, best_period = 1;
        for (size_t period = 1; period <= LONGEST_PERIOD && at + period < count; period++) {
            size_t length = alike_from(f, f->children, count, at, period);
            size_t covered = length ? (length / period + 1) * period : 0;
            if (covered > best) {
                best = covered;
                best_period = period;
            }
        }
        if (best && !fold_run(f, f->children, at, best_period, best / best_period))
            return false;
        at += best ? best : 1;
    }
    return true;
}

static bool fold(folder *f)
{
    for (uint32_t i = 0; i < f->item_count; i++)
        if (f->items[i].stands_in == i && !fold_children(f, f->items[i].first_child))
            return false;
    return true;
}

static uint32_t drawn_item(const folder *f, uint32_t number)
{
    while (f->items[number].stands_in != number)
        number = f->items[number].stands_in;
    return number;
}

static int64_t cost_of(const pyro_picture *p, const pyro_graph_node *node)
{
    int64_t cost = p->timed ? node->median_ns : node->flops;
    return cost < 0 ? 0 : cost;
}

static void add_cost(int64_t *sum, int64_t cost)
{
    if (!pyro_add_i64(*sum, cost, sum))
        *sum = INT64_MAX;
}

static uint32_t add_group(pyro_picture *p, pyro_drawn_group group)
{
    p->groups[p->group_count] = group;
    return (uint32_t)p->group_count++;
}

/* The group in which an item's children are drawn: its own if it has several. */
static void make_groups(folder *f, pyro_picture *p, uint32_t *group_in, uint32_t *group_of)
{
    for (uint32_t i = 0; i < f->item_count; i++) {
        item *one = &f->items[i];
        group_of[i] = group_in[i] = one->parent == PYRO_NONE ? PYRO_NONE : group_in[one->parent];
        if (one->stands_in != i)
            continue;
        if (one->run != PYRO_NONE) {
            repeated_run *its = &f->runs[one->run];
            if (its->group == PYRO_NONE)
                its->group = add_group(p, (pyro_drawn_group){.path = f->items[its->first].path,
                                                             .last_path = f->items[its->last].path,
                                                             .class_name = "",
                                                             .times = its->times,
                                                             .parent = group_of[i]});
            group_of[i] = group_in[i] = its->group;
        }
        bool is_several = one->first_child != PYRO_NONE && one->first_child != one->last_child;
        if (one->node != PYRO_NONE || one->parent == PYRO_NONE ||
            !(is_several || (one->times > 1 && one->run == PYRO_NONE)))
            continue;
        group_in[i] = add_group(p,
                                (pyro_drawn_group){.path = one->path,
                                                   .last_path = f->items[one->last].path,
                                                   .class_name = one->class_name,
                                                   .times = one->run == PYRO_NONE ? one->times : 1,
                                                   .parent = group_of[i]});
    }
}

static void draw_nodes(folder *f, pyro_picture *p, const uint32_t *group_of, uint32_t *drawn)
{
    const pyro_dataflow *graph = f->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t shown = f->items[drawn_item(f, f->item_of_node[n])].node;
        int64_t cost = cost_of(p, &graph->nodes[n]);
        if (shown == n) {
            drawn[n] = (uint32_t)p->node_count;
            p->nodes[p->node_count++] = (pyro_drawn_node){.node = n,
                                                          .group = group_of[f->item_of_node[n]]};
        }
        drawn[n] = drawn[shown];
        pyro_drawn_node *node = &p->nodes[drawn[n]];
        node->times++;
        node->last = n;
        add_cost(&node->cost, cost);
        add_cost(&p->total, cost);
        if (node->group != PYRO_NONE)
            add_cost(&p->groups[node->group].cost, cost);
    }
    for (size_t g = p->group_count; g-- > 0;)
        if (p->groups[g].parent != PYRO_NONE)
            add_cost(&p->groups[p->groups[g].parent].cost, p->groups[g].cost);
}

/* Edges go forwards, except those from one repetition to the next, which folding has reversed. */
static bool draw_edges(const folder *f, pyro_picture *p, const uint32_t *drawn)
{
    const pyro_dataflow *graph = f->graph;
    pyro_map known = PYRO_MAP_INIT;
    bool good = true;
    for (uint32_t e = 0; good && e < graph->edge_count; e++) {
        const pyro_graph_edge *edge = &graph->edges[e];
        uint32_t from = drawn[edge->from], to = drawn[edge->to];
        uint64_t key = (uint64_t)from << 32 | to;
        uint32_t at = pyro_map_get(&known, key);
        if (from == to)
            continue;
        if (at != PYRO_MAP_NONE) {
            p->edges[at].assumed &= edge->assumed;
            continue;
        }
        good = pyro_map_put(&known, key, (uint32_t)p->edge_count);
        p->edges[p->edge_count++] = (pyro_drawn_edge){
            .from = from, .to = to, .edge = e, .is_again = to < from, .assumed = edge->assumed};
    }
    pyro_map_free(&known);
    return good;
}

static bool draw(folder *f, pyro_picture *p)
{
    const pyro_dataflow *graph = f->graph;
    size_t items = f->item_count + 1;
    uint32_t *group_in = malloc(items * sizeof *group_in);
    uint32_t *group_of = malloc(items * sizeof *group_of);
    uint32_t *drawn = malloc((graph->node_count + 1) * sizeof *drawn);
    p->nodes = calloc(graph->node_count + 1, sizeof *p->nodes);
    p->groups = calloc(items + f->run_count, sizeof *p->groups);
    p->edges = calloc(graph->edge_count + 1, sizeof *p->edges);
    bool good = group_in && group_of && drawn && p->nodes && p->groups && p->edges;
    if (good) {
        make_groups(f, p, group_in, group_of);
        draw_nodes(f, p, group_of, drawn);
        good = draw_edges(f, p, drawn);
    }
    free(group_in);
    free(group_of);
    free(drawn);
    return good;
}

bool pyro_picture_make(pyro_picture *out, const pyro_dataflow *graph, int64_t depth)
{
    folder f = {.graph = graph, .depth = depth};
    memset(out, 0, sizeof *out);
    for (size_t n = 0; n < graph->node_count; n++)
        out->timed |= graph->nodes[n].median_ns >= 0;
    f.item_of_call = malloc((graph->program->call_count + 1) * sizeof *f.item_of_call);
    f.item_of_node = malloc((graph->node_count + 1) * sizeof *f.item_of_node);
    f.call_of_node = calloc(graph->node_count + 1, sizeof *f.call_of_node);
    bool good = f.item_of_call && f.item_of_node && f.call_of_node && place_nodes(&f);
    if (good) {
        describe_nodes(&f);
        describe_calls(&f);
    }
    good = good && fold(&f) && draw(&f, out);
    free(f.items);
    free(f.runs);
    free(f.item_of_call);
    free(f.item_of_node);
    free(f.call_of_node);
    free(f.children);
    if (!good)
        pyro_picture_free(out);
    return good;
}

void pyro_picture_free(pyro_picture *picture)
{
    free(picture->nodes);
    free(picture->groups);
    free(picture->edges);
    memset(picture, 0, sizeof *picture);
}
