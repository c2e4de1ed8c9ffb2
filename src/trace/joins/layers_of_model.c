/*
 * Matches the instances of a trace with the modules of a model. Both are trees in order of their
 * calls. Children are aligned by class; a level that only one side has (a wrapper such as DDP in
 * the trace, a list that is never called in the model) is skipped.
 */
#include "trace/joins/internal.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/model.h"
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
/* Bounds the work on unrealistically large trees. */
#define LARGEST_TABLE ((size_t)4 << 20)
#define MOST_COMPARISONS ((int64_t)1 << 28)

/* Children of each node in order; node `count` stands for the parent of the roots. */
typedef struct tree {
    uint32_t *first_child, *last_child, *next;
    uint32_t *class_id; /* the same in both trees; 0: no class */
    bool *has_peer;     /* by class id: the other tree has it too */
    uint32_t *match;    /* node of the other tree; NONE */
    size_t count;
} tree;

typedef struct list {
    uint32_t *items;
    size_t count, capacity;
} list;

typedef struct layer_matcher {
    tree layers, modules;
    pyro_intern classes;
    pyro_arena arena;
    list pairs; /* matched layers whose children are not yet aligned */
    int64_t comparisons;
} layer_matcher;

static bool push(list *all, uint32_t item)
{
    if (!pyro_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        return false;
    all->items[all->count++] = item;
    return true;
}

static bool make_tree(layer_matcher *match, tree *made, size_t count)
{
    made->count = count;
    made->first_child = pyro_arena_array(&match->arena, count + 1, sizeof *made->first_child);
    made->last_child = pyro_arena_array(&match->arena, count + 1, sizeof *made->last_child);
    made->next = pyro_arena_array(&match->arena, count + 1, sizeof *made->next);
    made->class_id = pyro_arena_array(&match->arena, count + 1, sizeof *made->class_id);
    made->match = pyro_arena_array(&match->arena, count + 1, sizeof *made->match);
    if (!made->first_child || !made->last_child || !made->next || !made->class_id || !made->match)
        return false;
    memset(made->first_child, 0xff, (count + 1) * sizeof *made->first_child);
    memset(made->last_child, 0xff, (count + 1) * sizeof *made->last_child);
    memset(made->next, 0xff, (count + 1) * sizeof *made->next);
    memset(made->match, 0xff, (count + 1) * sizeof *made->match);
    return true;
}

static void add_child(tree *in, uint32_t parent, uint32_t child)
{
    if (in->last_child[parent] == NONE)
        in->first_child[parent] = child;
    else
        in->next[in->last_child[parent]] = child;
    in->last_child[parent] = child;
}

/* Some wrappers make a new class with a longer name. */
static uint32_t class_of(layer_matcher *match, const char *name, bool known_only)
{
    static const char *const prefixes[] = {"", "FSDP", "Parametrized", "Quantized"};
    for (size_t i = 0; known_only && i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], length))
            continue;
        uint32_t id = pyro_intern_find(&match->classes, name + length, strlen(name + length));
        if (id != PYRO_INTERN_NONE)
            return id;
    }
    return pyro_intern_add(&match->classes, name, strlen(name));
}

/* Modules in the order in which the graph calls them, then those that it does not call. */
static bool read_modules(layer_matcher *match, const pyro_model *model)
{
    tree *modules = &match->modules;
    if (!make_tree(match, modules, model->module_count))
        return false;
    bool *placed = pyro_arena_array(&match->arena, model->module_count + 1, sizeof *placed);
    if (!placed)
        return false;
    size_t node_count = model->graph ? model->graph->node_count : 0;
    for (size_t i = 0; i < node_count + model->module_count; i++) {
        uint32_t at = i < node_count ? model->graph->nodes[i].module : (uint32_t)(i - node_count);
        while (at < model->module_count && !placed[at]) {
            placed[at] = true;
            add_child(modules, at ? model->modules[at].parent : (uint32_t)modules->count, at);
            at = at ? model->modules[at].parent : NONE;
        }
    }
    for (size_t i = 0; i < model->module_count; i++) {
        modules->class_id[i] = class_of(match, model->modules[i].class_name, false);
        if (modules->class_id[i] == PYRO_INTERN_NONE)
            return false;
    }
    return true;
}

static bool read_layers(layer_matcher *match, const pyro_joins *joins)
{
    tree *layers = &match->layers;
    if (!make_tree(match, layers, joins->layer_count))
        return false;
    for (uint32_t i = 0; i < joins->layer_count; i++) {
        uint32_t parent = joins->layers[i].parent;
        add_child(layers, parent < i ? parent : (uint32_t)layers->count, i);
        /* Layers in compiled code have paths, which say more (layers.c). */
        bool is_inlined = joins->layers[i].is_inlined;
        layers->class_id[i] = class_of(match, is_inlined ? "" : joins->layers[i].class_name, true);
        if (layers->class_id[i] == PYRO_INTERN_NONE)
            return false;
    }
    return true;
}

static bool note_peers(layer_matcher *match)
{
    tree *trees[2] = {&match->layers, &match->modules};
    for (size_t side = 0; side < 2; side++) {
        tree *other = trees[!side];
        other->has_peer = pyro_arena_array(&match->arena, match->classes.count + 1,
                                           sizeof *other->has_peer);
        if (!other->has_peer)
            return false;
        for (size_t i = 0; i < trees[side]->count; i++)
            other->has_peer[trees[side]->class_id[i]] = true;
    }
    return true;
}

static bool same_class(layer_matcher *match, uint32_t layer, uint32_t module)
{
    match->comparisons++;
    return match->layers.class_id[layer] == match->modules.class_id[module] &&
           match->layers.class_id[layer] != 0;
}

static bool pair(layer_matcher *match, uint32_t layer, uint32_t module)
{
    match->layers.match[layer] = module;
    match->modules.match[module] = layer;
    return push(&match->pairs, layer);
}

/*
 * The longest common subsequence of classes between layers[0..rows) and modules[0..columns):
 * lengths[i][j] is that of the rest from i and j on.
 */
static bool align_by_table(layer_matcher *match, const uint32_t *layers, size_t rows,
                           const uint32_t *modules, size_t columns)
{
    size_t width = columns + 1;
    uint32_t *lengths = calloc((rows + 1) * width, sizeof *lengths);
    bool ok = lengths != NULL;
    for (size_t i = rows; ok && i-- > 0;)
        for (size_t j = columns; j-- > 0;) {
            uint32_t down = lengths[(i + 1) * width + j], right = lengths[i * width + j + 1];
            lengths[i * width + j] = same_class(match, layers[i], modules[j])
                                         ? lengths[(i + 1) * width + j + 1] + 1
                                         : (down > right ? down : right);
        }
    for (size_t i = 0, j = 0; ok && i < rows && j < columns;) {
        if (same_class(match, layers[i], modules[j])) {
            ok = pair(match, layers[i++], modules[j++]);
        } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
            i++;
        } else {
            j++;
        }
    }
    free(lengths);
    return ok;
}

/* Pairs equal classes at both ends, then aligns the middle by table. */
static bool align_in_order(layer_matcher *match, const list *layers, const list *modules)
{
    size_t begin = 0, layer_end = layers->count, module_end = modules->count;
    while (begin < layer_end && begin < module_end &&
           same_class(match, layers->items[begin], modules->items[begin])) {
        if (!pair(match, layers->items[begin], modules->items[begin]))
            return false;
        begin++;
    }
    while (layer_end > begin && module_end > begin &&
           same_class(match, layers->items[layer_end - 1], modules->items[module_end - 1])) {
        if (!pair(match, layers->items[--layer_end], modules->items[--module_end]))
            return false;
    }
    size_t rows = layer_end - begin, columns = module_end - begin;
    if (!rows || !columns || columns + 1 > LARGEST_TABLE / (rows + 1))
        return true;
    return align_by_table(match, layers->items + begin, rows, modules->items + begin, columns);
}

/* Aligns the rest by class, for layers called in another order than the model's. */
static bool align_by_class(layer_matcher *match, const list *layers, const list *modules)
{
    for (size_t i = 0; i < layers->count; i++)
        for (size_t j = 0; j < modules->count && match->comparisons < MOST_COMPARISONS; j++) {
            uint32_t layer = layers->items[i], module = modules->items[j];
            if (match->modules.match[module] != NONE || !same_class(match, layer, module))
                continue;
            if (match->layers.match[layer] == NONE && !pair(match, layer, module))
                return false;
        }
    return true;
}

/*
 * Drops matched items from a list. Replaces the others by their children if their class does not
 * occur on the other side, or if `all`. *changed: something was replaced.
 */
static bool expand(const tree *in, list *items, bool all, bool *changed)
{
    list expanded = {0};
    bool ok = true;
    for (size_t i = 0; i < items->count && ok; i++) {
        uint32_t node = items->items[i];
        if (in->match[node] != NONE)
            continue;
        if (!all && in->class_id[node] && in->has_peer[in->class_id[node]]) {
            ok = push(&expanded, node);
            continue;
        }
        *changed |= in->first_child[node] != NONE;
        for (uint32_t child = in->first_child[node]; child != NONE && ok; child = in->next[child])
            if (in->match[child] == NONE)
                ok = push(&expanded, child);
        if (in->first_child[node] == NONE && all)
            ok = push(&expanded, node);
    }
    free(items->items);
    *items = expanded;
    return ok;
}

static bool add_children(const tree *in, uint32_t parent, list *children)
{
    for (uint32_t child = in->first_child[parent]; child != NONE; child = in->next[child])
        if (in->match[child] == NONE && !push(children, child))
            return false;
    return true;
}

/* Aligns the nodes below a pair, skipping levels until nothing more matches. */
static bool align_below(layer_matcher *match, uint32_t layer, uint32_t module)
{
    list layers = {0}, modules = {0};
    bool ok = add_children(&match->layers, layer, &layers) &&
              add_children(&match->modules, module, &modules);
    bool changed = true;
    while (ok && changed && layers.count && modules.count &&
           match->comparisons < MOST_COMPARISONS) {
        changed = false;
        ok = align_in_order(match, &layers, &modules) && align_by_class(match, &layers, &modules) &&
             expand(&match->modules, &modules, false, &changed) &&
             expand(&match->layers, &layers, false, &changed);
        if (ok && !changed)
            ok = expand(&match->modules, &modules, true, &changed);
        if (ok && !changed)
            ok = expand(&match->layers, &layers, true, &changed);
    }
    free(layers.items);
    free(modules.items);
    return ok;
}

/* The nearest module above that can have been called. */
static uint32_t called_parent(const layer_matcher *match, const pyro_model *model, uint32_t module)
{
    while (module) {
        module = model->modules[module].parent;
        if (!module || match->modules.class_id[module])
            return module;
    }
    return NONE;
}

/*
 * If all matched children of an unmatched layer are below one free module, that is its module under
 * another class name: a subclass, or a model whose file does not name its class.
 */
static void match_parents(layer_matcher *match, const pyro_model *model)
{
    for (size_t i = match->layers.count; i-- > 0;) {
        if (match->layers.match[i] != NONE)
            continue;
        uint32_t parent = NONE;
        bool agree = true;
        for (uint32_t child = match->layers.first_child[i]; child != NONE;
             child = match->layers.next[child]) {
            uint32_t module = match->layers.match[child];
            uint32_t above = module == NONE ? NONE : called_parent(match, model, module);
            agree &= parent == NONE || above == NONE || above == parent;
            parent = above == NONE ? parent : above;
        }
        if (parent == NONE || !agree || match->modules.match[parent] != NONE)
            continue;
        match->layers.match[i] = parent;
        match->modules.match[parent] = (uint32_t)i;
    }
}

int pyro_layers_match_model(const pyro_joins *joins, const pyro_model *model, uint32_t *modules,
                            pyro_error *error)
{
    layer_matcher match = {0};
    pyro_arena_init(&match.arena);
    pyro_intern_init(&match.classes, &match.arena);
    /* The empty class comes first, so that its id is 0. */
    bool ok = pyro_intern_add(&match.classes, "", 0) == 0 && read_modules(&match, model) &&
              read_layers(&match, joins) && note_peers(&match) &&
              align_below(&match, (uint32_t)match.layers.count, (uint32_t)match.modules.count);
    while (ok && match.pairs.count) {
        uint32_t layer = match.pairs.items[--match.pairs.count];
        ok = align_below(&match, layer, match.layers.match[layer]);
    }
    if (ok) {
        match_parents(&match, model);
        memcpy(modules, match.layers.match, match.layers.count * sizeof *modules);
    }
    free(match.pairs.items);
    pyro_intern_free(&match.classes);
    pyro_arena_free(&match.arena);
    return ok ? PYRO_OK : pyro_fail_memory(error);
}
