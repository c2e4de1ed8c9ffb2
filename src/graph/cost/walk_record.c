/* The walk over a graph: records the cost of nodes, and operators without one. */
#include "base/checked.h"
#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/cost/walk.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t type_of(pyro_walker *w, const char *label)
{
    return pyro_intern_add(&w->cost->types, label, strlen(label));
}

const char *pyro_walk_base_name(pyro_walker *w, const char *target)
{
    const char *first = strchr(target, '.'), *last = first ? strchr(first + 1, '.') : NULL;
    if (!last || strchr(last + 1, '.')) /* "torch.a.b.c" has no overload */
        return target;
    return pyro_arena_text(&w->cost->arena, target, (size_t)(last - target));
}

int pyro_walk_count_uncounted(pyro_walker *w, const char *target, const char *reason)
{
    pyro_cost *cost = w->cost;
    char key_text[512];
    int length = snprintf(key_text, sizeof key_text, "%.250s|%.250s", target, reason);
    uint32_t key = pyro_intern_add(&cost->reasons, key_text, (size_t)length);
    if (key == PYRO_INTERN_NONE)
        return pyro_fail_memory(w->error);
    uint32_t found = pyro_map_get(&cost->uncounted_of_key, key);
    if (found == PYRO_MAP_NONE) {
        found = (uint32_t)cost->uncounted_count;
        const char *op = pyro_walk_base_name(w, target);
        const char *text = pyro_arena_text(&cost->arena, reason, strlen(reason));
        if (!op || !text || !pyro_map_put(&cost->uncounted_of_key, key, found) ||
            !pyro_grow(&cost->uncounted, &cost->uncounted_capacity, cost->uncounted_count + 1,
                       sizeof *cost->uncounted))
            return pyro_fail_memory(w->error);
        cost->uncounted[cost->uncounted_count++] = (pyro_uncounted){op, text, 0};
    }
    cost->uncounted[found].count++;
    cost->uncounted_nodes++;
    return PYRO_OK;
}

/* Writes a size in decimal; returns its length. printf takes a fifth of the time of pricing. */
static size_t write_size(char *out, int64_t size)
{
    char digits[20];
    size_t count = 0;
    uint64_t rest = size < 0 ? 0 - (uint64_t)size : (uint64_t)size;
    do
        digits[count++] = (char)('0' + rest % 10);
    while (rest /= 10);
    size_t length = 0;
    if (size < 0)
        out[length++] = '-';
    while (count)
        out[length++] = digits[--count];
    return length;
}

/* The text of a shape; NULL if memory runs out. */
static const char *write_shape(pyro_walker *w, const pyro_tensor *tensor)
{
    char text[PYRO_MAX_RANK * 22];
    size_t length = 0;
    for (size_t d = 0; d < tensor->rank; d++) {
        if (d)
            text[length++] = 'x';
        length += write_size(text + length, tensor->dims[d]);
    }
    uint32_t id = pyro_intern_add(&w->cost->reasons, text, length);
    return id == PYRO_INTERN_NONE ? NULL : pyro_intern_text(&w->cost->reasons, id);
}

/* The shape of the first output as text. Most nodes have that of the node before. */
static const char *shape_text(pyro_walker *w, const pyro_call *call)
{
    const pyro_tensor *tensor = call->outputs;
    if (!call->output_count || !tensor->dims)
        return "";
    if (tensor->rank > PYRO_LAST_RANK)
        return write_shape(w, tensor);
    size_t bytes = tensor->rank * sizeof *tensor->dims;
    if (!w->last_shape || tensor->rank != w->last_rank ||
        memcmp(tensor->dims, w->last_dims, bytes)) {
        w->last_shape = write_shape(w, tensor);
        w->last_rank = tensor->rank;
        memcpy(w->last_dims, tensor->dims, bytes);
    }
    return w->last_shape;
}

static bool grow_nodes(pyro_cost *cost, size_t count)
{
    return pyro_grow(&cost->nodes, &cost->node_capacity, count, sizeof *cost->nodes) &&
           pyro_grow(&cost->node_modules, &cost->module_capacity, count,
                     sizeof *cost->node_modules) &&
           pyro_grow(&cost->node_types, &cost->type_capacity, count, sizeof *cost->node_types) &&
           pyro_grow(&cost->node_origins, &cost->origin_capacity, count,
                     sizeof *cost->node_origins);
}

bool pyro_walk_make_room(pyro_cost *cost, size_t count, pyro_populator *populator)
{
    if (!grow_nodes(cost, count))
        return false;
    pyro_populator_add(populator, cost->nodes, count * sizeof *cost->nodes);
    pyro_populator_add(populator, cost->node_modules, count * sizeof *cost->node_modules);
    pyro_populator_add(populator, cost->node_types, count * sizeof *cost->node_types);
    pyro_populator_add(populator, cost->node_origins, count * sizeof *cost->node_origins);
    return true;
}

int pyro_walk_record(pyro_walker *w, const pyro_frame *frame, const pyro_node *node,
                     const pyro_call *call, const char *label, pyro_category category,
                     pyro_work work)
{
    pyro_cost *cost = w->cost;
    int64_t *amounts[] = {&work.macs, &work.flops, &work.activation_read_bytes,
                          &work.weight_read_bytes, &work.written_bytes};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        if (!pyro_mul_i64(*amounts[i], frame->times, amounts[i]))
            return pyro_walk_too_large(w, node);
    if (w->measuring)
        return pyro_add_i64(w->measured_flops, work.flops, &w->measured_flops)
                   ? PYRO_OK
                   : pyro_walk_too_large(w, node);
    uint32_t type = type_of(w, label);
    const char *shape = shape_text(w, call);
    if (type == PYRO_INTERN_NONE || !shape || !grow_nodes(cost, cost->node_count + 1))
        return pyro_fail_memory(w->error);
    cost->node_origins[cost->node_count] = w->origin;
    cost->node_modules[cost->node_count] = node->module;
    cost->node_types[cost->node_count] = type;
    cost->nodes[cost->node_count++] = (pyro_cost_node){
        .name = node->name,
        .op = node->target,
        .type = pyro_intern_text(&cost->types, type),
        .category = pyro_category_name(category),
        .layer = w->model->modules[node->module].path,
        .shape = shape,
        .times = frame->times,
        .work = work,
    };
    return PYRO_OK;
}

int pyro_walk_record_uncounted(pyro_walker *w, const pyro_frame *frame, const pyro_node *node,
                               const pyro_call *call, const pyro_price *price, const char *reason)
{
    if (!w->measuring) {
        int status = pyro_walk_count_uncounted(w, node->target, reason);
        if (status < 0)
            return status;
    }
    const char *label = pyro_walk_base_name(w, node->target);
    pyro_work work = {0};
    if (price) {
        work.activation_read_bytes = price->activation_read_bytes;
        work.weight_read_bytes = price->weight_read_bytes;
        work.written_bytes = price->written_bytes;
    }
    return label ? pyro_walk_record(w, frame, node, call, label, PYRO_CATEGORY_UNCOUNTED, work)
                 : pyro_fail_memory(w->error);
}

int pyro_walk_visit(pyro_walker *w, const pyro_frame *frame, const pyro_node *node, bool is_control)
{
    const pyro_cost_hooks *hooks = w->cost->hooks;
    if (!hooks || !hooks->visit || w->measuring)
        return PYRO_OK;
    pyro_visit visit = {.cost = w->cost,
                        .graph = frame->graph,
                        .node = node,
                        .origin = w->origin,
                        .index = w->cost->node_count - 1,
                        .times = frame->times,
                        .is_control = is_control,
                        .is_priced = w->priced,
                        .call = &w->call,
                        .tensors = w->tensors,
                        .tensor_count = w->tensor_count,
                        .price = &w->price};
    int status = hooks->visit(hooks->user, &visit, w->error);
    return status == PYRO_OK && w->call.overflow ? pyro_walk_too_large(w, node) : status;
}
