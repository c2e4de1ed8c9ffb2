/*
 * Makes rows for replayed graphs whose kernels have no layers of their own: the graph is a layer, with
 * one below it per category of kernels (kernels.def).
 */
#include "analyze/device/graph_rows.h"

#include "analyze/device/kernel_category.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* Engines that capture piece by piece have hundreds of graphs, which are one row. */
#define MOST_GRAPHS 16

typedef struct graph_rows {
    pyro_analysis_context *context;
    pyro_joins *joins;
    pyro_kernel_sorter sorter;
    pyro_map layer_of; /* (parent, name) -> layer */
    pyro_map call_of;  /* layer -> call */
} graph_rows;

/* The layer of this name below another one; PYRO_NO_LAYER when memory is out. */
static uint32_t layer_below(graph_rows *rows, uint32_t parent, const char *name, uint32_t number)
{
    pyro_joins *joins = rows->joins;
    uint64_t key = (uint64_t)parent << 32 | number;
    uint32_t layer = pyro_map_get(&rows->layer_of, key);
    if (layer != PYRO_MAP_NONE)
        return layer;
    const char *prefix = parent == PYRO_NO_LAYER ? "" : joins->layers[parent].path;
    layer = (uint32_t)joins->layer_count;
    const char *path = pyro_arena_format(&joins->arena, "%s%s%s", prefix, prefix[0] ? "." : "",
                                         name);
    if (!path ||
        !pyro_grow(&joins->layers, &joins->layer_capacity, joins->layer_count + 1,
                   sizeof *joins->layers) ||
        !pyro_map_put(&rows->layer_of, key, layer))
        return PYRO_NO_LAYER;
    joins->layers[joins->layer_count++] = (pyro_layer){
        .path = path,
        .class_name = "",
        .parent = parent,
        .depth = parent == PYRO_NO_LAYER ? 0 : joins->layers[parent].depth + 1,
        .has_path = true,
        .is_graph = true,
    };
    return layer;
}

static uint32_t call_of(graph_rows *rows, uint32_t layer, uint32_t event)
{
    pyro_joins *joins = rows->joins;
    uint32_t call = pyro_map_get(&rows->call_of, layer);
    if (call != PYRO_MAP_NONE)
        return call;
    call = (uint32_t)joins->call_count;
    if (!pyro_grow(&joins->calls, &joins->call_capacity, joins->call_count + 1,
                   sizeof *joins->calls) ||
        !pyro_map_put(&rows->call_of, layer, call))
        return PYRO_NO_LAYER;
    joins->calls[joins->call_count++] = (pyro_layer_call){layer, event, PYRO_NO_LAYER};
    return call;
}

static bool place(graph_rows *rows, const pyro_graph_rest *rest, bool is_merged)
{
    enum { FIRST_CATEGORY = 1u << 30 }; /* behind all numbers of graphs */
    pyro_joins *joins = rows->joins;
    char name[64];
    uint32_t around = joins->call[rest->event];
    uint32_t parent = around == PYRO_NO_LAYER ? PYRO_NO_LAYER : joins->calls[around].layer;
    uint32_t number = is_merged ? FIRST_CATEGORY - 1 : rest->graph;
    const char *launch = pyro_event_name(rows->context->trace, joins->launch[rest->event]);
    const char *kind = strncmp(launch, "hip", 3) == 0 ? "HIP" : "CUDA";
    if (is_merged)
        snprintf(name, sizeof name, "%s graphs", kind);
    else
        snprintf(name, sizeof name, "%s graph %u", kind, rest->graph + 1);
    pyro_kernel_category category = pyro_kernel_sorter_find(&rows->sorter, rest->event);
    uint32_t graph = layer_below(rows, parent, name, number);
    uint32_t layer = graph == PYRO_NO_LAYER
                         ? PYRO_NO_LAYER
                         : layer_below(rows, graph, pyro_kernel_category_name(category),
                                       FIRST_CATEGORY + (uint32_t)category);
    uint32_t call = layer == PYRO_NO_LAYER ? PYRO_NO_LAYER : call_of(rows, layer, rest->event);
    if (call == PYRO_NO_LAYER)
        return false;
    joins->call[rest->event] = call;
    if (joins->bucket[rest->event] != PYRO_BUCKET_COLLECTIVE)
        joins->bucket[rest->event] = PYRO_BUCKET_LAYER;
    return true;
}

int pyro_make_graph_rows(pyro_analysis_context *context, pyro_joins *joins)
{
    graph_rows rows = {.context = context, .joins = joins};
    const pyro_graph_attribution *graphs = &joins->graphs;
    bool ok = true;
    if (!graphs->rest_count)
        return PYRO_OK;
    ok = pyro_kernel_sorter_init(&rows.sorter, context);
    for (size_t i = 0; ok && i < graphs->rest_count; i++)
        ok = place(&rows, &graphs->rest[i], graphs->graphs > MOST_GRAPHS);
    joins->has_layers = joins->call_count > 0;
    pyro_kernel_sorter_free(&rows.sorter);
    pyro_map_free(&rows.layer_of);
    pyro_map_free(&rows.call_of);
    return ok ? PYRO_OK : pyro_fail_memory(context->error);
}
