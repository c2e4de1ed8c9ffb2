/* Walks the graph: turns every node into a call, computes its cost, and records it. */
#include "base/containers/buf.h"
#include "base/checked.h"
#include "base/error.h"
#include "graph/cost/cost.h"
#include "graph/exported.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct walker {
    pyro_cost *cost;
    const pyro_model *model;
    pyro_error *error;
    pyro_op_index index;
    pyro_map op_of_target; /* address of an interned target -> row + 1; 0: none */
    /* scratch of the current node, reused */
    pyro_arena arena;
    pyro_call_arg *args;
    size_t arg_capacity;
    pyro_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    int64_t *integers;
    size_t integer_count, integer_capacity;
    const char *open_size; /* text of a size that depends on data */
    const char *shapeless; /* name of a value whose shape is unknown */
    uint32_t origin;       /* node of the main graph that is being walked */
    bool noted_cond, noted_vmap, noted_exported;
    bool measuring;        /* only summing, to compare branches */
    int64_t measured_flops;
    pyro_map measured_of_graph; /* graphs that were measured -> index into `measured` */
    int64_t *measured;
    size_t measured_count, measured_capacity;
} walker;

enum { MAX_VMAP_DEPTH = 16 };

/* Facts about the values of one graph during the walk. */
typedef struct frame {
    const pyro_graph *graph;
    bool *strided;
    uint32_t *orders; /* of axes in memory, of strided values (rules/views.c) */
    pyro_exported exported;
    int64_t times;
    int64_t vmap_batches[MAX_VMAP_DEPTH];
    size_t vmap_depth;
} frame;

static int walk_graph(walker *w, const pyro_graph *graph, int64_t times);

static const pyro_op *find_op(walker *w, const char *target)
{
    uint64_t key = (uint64_t)(uintptr_t)target;
    uint32_t found = pyro_map_get(&w->op_of_target, key);
    if (found == PYRO_MAP_NONE) {
        const pyro_op *op = pyro_op_find(&w->index, target);
        found = op ? (uint32_t)(op - pyro_ops) + 1 : 0;
        pyro_map_put(&w->op_of_target, key, found);
    }
    return found ? &pyro_ops[found - 1] : NULL;
}

static int too_large(walker *w, const pyro_node *node)
{
    return pyro_fail_at(w->error, PYRO_ERROR_LIMIT, node->offset,
                        "'%.100s' (%.80s) is too large: its numbers do not fit in 64 bits",
                        node->name, node->target);
}

/* Appends a value to the scratch. */
static int push_tensor(walker *w, const frame *frame, const pyro_node *node, uint32_t index)
{
    if (!pyro_grow(&w->tensors, &w->tensor_capacity, w->tensor_count + 1, sizeof *w->tensors))
        return pyro_fail_memory(w->error);
    pyro_tensor *tensor = &w->tensors[w->tensor_count++];
    memset(tensor, 0, sizeof *tensor);
    if (index != PYRO_NO_VALUE && frame->graph->values[index].kind == PYRO_GRAPH_VALUE_UNDESCRIBED)
        w->shapeless = frame->graph->values[index].name;
    if (index == PYRO_NO_VALUE || frame->graph->values[index].kind != PYRO_GRAPH_VALUE_TENSOR)
        return PYRO_OK;
    const pyro_value *value = &frame->graph->values[index];
    int64_t *dims = pyro_arena_array(&w->arena, value->rank + 1u, sizeof *dims);
    if (!dims)
        return pyro_fail_memory(w->error);
    tensor->elements = 1;
    for (size_t d = 0; d < value->rank; d++) {
        if (!pyro_size_value(w->model, value->sizes[d], &dims[d])) {
            const pyro_symbol *symbol = pyro_expr_as_symbol((pyro_exprs *)&w->model->exprs,
                                                            (size_t)~value->sizes[d]);
            w->open_size = symbol ? symbol->name : pyro_size_expr(w->model, value->sizes[d])->text;
            dims[d] = 0;
        }
        if (!pyro_mul_i64(tensor->elements, dims[d], &tensor->elements))
            return too_large(w, node);
    }
    tensor->dims = dims;
    tensor->rank = value->rank;
    tensor->dtype = (uint8_t)pyro_cost_price_dtype(w->cost, value->dtype);
    tensor->id = index;
    tensor->is_weight = value->role >= PYRO_ROLE_PARAMETER;
    tensor->is_strided = frame->strided[index];
    tensor->order = frame->orders[index];
    if (frame->exported.skipped) {
        tensor->is_skipped = frame->exported.skipped[index];
        tensor->repeats = frame->exported.repeats[index];
    }
    int axis = value->role == PYRO_ROLE_INPUT ? pyro_cache_axis(w->model, value) : -1;
    tensor->grows_along = (uint8_t)(axis + 1);
    return PYRO_OK;
}

static int push_integer(walker *w, const frame *frame, const pyro_arg_integer *integer)
{
    if (!pyro_grow(&w->integers, &w->integer_capacity, w->integer_count + 1, sizeof *w->integers))
        return pyro_fail_memory(w->error);
    int64_t value = integer->literal;
    if (integer->value != PYRO_NO_VALUE) {
        const pyro_value *symbolic = &frame->graph->values[integer->value];
        if (symbolic->kind != PYRO_GRAPH_VALUE_SYMBOLIC ||
            !pyro_size_value(w->model, symbolic->sizes[0], &value))
            value = 0;
    }
    w->integers[w->integer_count++] = value;
    return PYRO_OK;
}

/* Pushes everything before taking pointers: the scratch may move while it grows. */
static int push_args(walker *w, const frame *frame, const pyro_node *node)
{
    int status = PYRO_OK;
    w->tensor_count = w->integer_count = 0;
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        for (uint32_t i = 0; status == PYRO_OK && i < arg->count; i++) {
            if (arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS)
                status = push_tensor(w, frame, node, arg->items.values[i]);
            else if (arg->kind != PYRO_ARG_NUMBERS)
                status = push_integer(w, frame, &arg->items.integers[i]);
        }
    }
    for (uint32_t o = 0; status == PYRO_OK && o < node->output_count; o++)
        status = push_tensor(w, frame, node, node->outputs[o]);
    return status;
}

static int make_call(walker *w, const frame *frame, const pyro_node *node, pyro_call *call)
{
    int status = push_args(w, frame, node);
    if (status < 0)
        return status;
    /* Space for at least one: even a node without arguments or outputs points into the scratch. */
    if (!pyro_grow(&w->args, &w->arg_capacity, node->arg_count + 1u, sizeof *w->args) ||
        !pyro_grow(&w->tensors, &w->tensor_capacity, w->tensor_count + 1u, sizeof *w->tensors))
        return pyro_fail_memory(w->error);
    size_t tensor = 0, integer = 0;
    for (uint32_t a = 0; a < node->arg_count; a++) {
        const pyro_arg *arg = &node->args[a];
        pyro_call_arg *out = &w->args[a];
        *out = (pyro_call_arg){.name = arg->name, .kind = arg->kind, .count = arg->count};
        if (arg->kind == PYRO_ARG_TENSOR || arg->kind == PYRO_ARG_TENSORS) {
            out->tensors = w->tensors + tensor;
            tensor += arg->count;
        } else if (arg->count && arg->kind != PYRO_ARG_NUMBERS) {
            out->integers = w->integers + integer;
            integer += arg->count;
        } else if (arg->kind == PYRO_ARG_TEXT) {
            out->text = arg->items.text;
        }
    }
    *call = (pyro_call){.op = find_op(w, node->target),
                        .args = w->args,
                        .arg_count = node->arg_count,
                        .outputs = w->tensors + tensor,
                        .output_count = node->output_count};
    return PYRO_OK;
}

static void view_tensor(pyro_op_tensor *out, const pyro_tensor *tensor, const char *name)
{
    *out = (pyro_op_tensor){name, pyro_dtype_name(tensor->dtype), tensor->rank, tensor->dims,
                            tensor->is_weight};
}

/* Calls the caller's rule; returns 1 if it set the cost. */
static int ask_custom_rule(walker *w, const pyro_node *node, const pyro_call *call,
                           pyro_price *price)
{
    const pyro_cost_options *options = &w->cost->options;
    pyro_op_tensor *views = pyro_arena_array(&w->arena, w->tensor_count + call->output_count + 1,
                                             sizeof *views);
    if (!views)
        return pyro_fail_memory(w->error);
    size_t inputs = 0;
    for (size_t a = 0; a < call->arg_count; a++)
        for (uint32_t i = 0; call->args[a].tensors && i < call->args[a].count; i++)
            if (call->args[a].tensors[i].dims)
                view_tensor(&views[inputs++], &call->args[a].tensors[i], call->args[a].name);
    pyro_op_view view = {
        .op = node->target, .input_count = inputs, .inputs = views, .outputs = views + inputs};
    for (size_t o = 0; o < call->output_count; o++)
        if (call->outputs[o].dims)
            view_tensor(&views[inputs + view.output_count++], &call->outputs[o], "");
    int64_t macs = 0, other_flops = 0;
    int answer = options->rule(options->rule_user, &view, &macs, &other_flops, w->error);
    if (answer < 0)
        pyro_fail(w->error, PYRO_ERROR_ARGUMENT, "the custom rule failed for '%.100s'",
                  node->target);
    if (answer == 1 && (macs < 0 || other_flops < 0))
        return pyro_fail(w->error, PYRO_ERROR_ARGUMENT,
                         "the custom rule returned a negative amount for '%.100s'", node->target);
    if (answer == 1) {
        price->macs = price->torch_macs = price->fvcore_flops = macs;
        price->other_flops = other_flops;
    }
    return answer;
}

static uint32_t type_of(walker *w, const char *label)
{
    return pyro_intern_add(&w->cost->types, label, strlen(label));
}

/* "aten.foo.default" without its overload. */
static const char *base_name(walker *w, const char *target)
{
    const char *first = strchr(target, '.'), *last = first ? strchr(first + 1, '.') : NULL;
    if (!last || strchr(last + 1, '.')) /* "torch.a.b.c" has no overload */
        return target;
    return pyro_arena_text(&w->cost->arena, target, (size_t)(last - target));
}

static int count_uncounted(walker *w, const char *target, const char *reason)
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
        const char *op = base_name(w, target);
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

/* The shape of the first output as text. */
static const char *shape_text(walker *w, const pyro_call *call)
{
    if (!call->output_count || !call->outputs[0].dims)
        return "";
    char text[PYRO_MAX_RANK * 22];
    size_t length = 0;
    text[0] = 0;
    for (size_t d = 0; d < call->outputs[0].rank; d++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%" PRId64, d ? "x" : "",
                                   call->outputs[0].dims[d]);
    uint32_t id = pyro_intern_add(&w->cost->reasons, text, length);
    return id == PYRO_INTERN_NONE ? NULL : pyro_intern_text(&w->cost->reasons, id);
}

/* Records a node, with its work multiplied by how often it runs. */
static int record(walker *w, const frame *frame, const pyro_node *node, const pyro_call *call,
                  const char *label, pyro_category category, pyro_work work)
{
    pyro_cost *cost = w->cost;
    int64_t *amounts[] = {&work.macs, &work.flops, &work.activation_read_bytes,
                          &work.weight_read_bytes, &work.written_bytes};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        if (!pyro_mul_i64(*amounts[i], frame->times, amounts[i]))
            return too_large(w, node);
    if (w->measuring)
        return pyro_add_i64(w->measured_flops, work.flops, &w->measured_flops) ? PYRO_OK
                                                                               : too_large(w, node);
    size_t count = cost->node_count + 1;
    uint32_t type = type_of(w, label);
    const char *shape = shape_text(w, call);
    if (type == PYRO_INTERN_NONE || !shape ||
        !pyro_grow(&cost->nodes, &cost->node_capacity, count, sizeof *cost->nodes) ||
        !pyro_grow(&cost->node_modules, &cost->module_capacity, count,
                   sizeof *cost->node_modules) ||
        !pyro_grow(&cost->node_types, &cost->type_capacity, count, sizeof *cost->node_types) ||
        !pyro_grow(&cost->node_origins, &cost->origin_capacity, count, sizeof *cost->node_origins))
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

/* Shapes give the bytes even if the work is unknown; `price` NULL: both are unknown. */
static int record_uncounted(walker *w, const frame *frame, const pyro_node *node,
                            const pyro_call *call, const pyro_price *price, const char *reason)
{
    if (!w->measuring) {
        int status = count_uncounted(w, node->target, reason);
        if (status < 0)
            return status;
    }
    const char *label = base_name(w, node->target);
    pyro_work work = {0};
    if (price) {
        work.activation_read_bytes = price->activation_read_bytes;
        work.weight_read_bytes = price->weight_read_bytes;
        work.written_bytes = price->written_bytes;
    }
    return label ? record(w, frame, node, call, label, PYRO_CATEGORY_UNCOUNTED, work)
                 : pyro_fail_memory(w->error);
}

static int note_exported(walker *w)
{
    if (w->noted_exported || w->measuring)
        return PYRO_OK;
    w->noted_exported = true;
    return pyro_cost_note(w->cost, "transformers: causal masks, and heads repeated for them, that "
                                   "only an export makes are not counted")
               ? PYRO_OK
               : pyro_fail_memory(w->error);
}

static int price_node(walker *w, const frame *frame, const pyro_node *node)
{
    pyro_call call;
    pyro_price price;
    char reason[200];
    w->open_size = w->shapeless = NULL;
    int status = make_call(w, frame, node, &call);
    if (status < 0)
        return status;
    bool priced = pyro_op_price(&call, &price);
    if (w->cost->options.rule && !w->open_size && !price.is_skipped) {
        status = ask_custom_rule(w, node, &call, &price);
        if (status < 0)
            return status;
        priced |= status == 1;
    }
    if (call.overflow)
        return too_large(w, node);
    for (uint32_t o = 0; priced && o < node->output_count; o++)
        if (node->outputs[o] != PYRO_NO_VALUE) {
            frame->strided[node->outputs[o]] = price.is_strided;
            frame->orders[node->outputs[o]] = price.order;
        }
    if (w->open_size && !(priced && price.is_free)) {
        snprintf(reason, sizeof reason,
                 "size depends on data: %.100s (give it with --size %.20s=N)", w->open_size,
                 w->open_size);
        return record_uncounted(w, frame, node, &call, NULL, reason);
    }
    if (w->shapeless && !(priced && price.is_free)) {
        snprintf(reason, sizeof reason,
                 call.op ? "the shape of '%.100s' is not in the file and cannot be derived"
                         : "no rule",
                 w->shapeless);
        return record_uncounted(w, frame, node, &call, NULL, reason);
    }
    if (!priced)
        return record_uncounted(w, frame, node, &call, &price,
                                call.op ? "its arguments are not understood" : "no rule");
    pyro_work work = {.macs = price.macs,
                      .activation_read_bytes = price.activation_read_bytes,
                      .weight_read_bytes = price.weight_read_bytes,
                      .written_bytes = price.written_bytes};
    /* The choice of a cond's branch must not depend on the convention, or the MACs would. */
    pyro_convention convention = w->measuring ? PYRO_CONVENTION_FULL : w->cost->options.convention;
    if (!pyro_convention_flops(convention, &price, &work.flops))
        return too_large(w, node);
    pyro_category category = call.op ? call.op->category : PYRO_CATEGORY_ELEMENTWISE;
    if (price.is_free && category == PYRO_CATEGORY_MEMORY)
        category = PYRO_CATEGORY_VIEW;
    const char *label = call.op ? call.op->label : base_name(w, node->target);
    if (price.is_skipped) {
        category = PYRO_CATEGORY_VIEW;
        label = "Export only";
        status = note_exported(w);
    }
    if (status < 0)
        return status;
    return label ? record(w, frame, node, &call, label, category, work)
                 : pyro_fail_memory(w->error);
}

/* The first dim of the first tensor of a list argument; 1 without one. */
static int64_t leading_size(const walker *w, const frame *frame, const pyro_node *node,
                            uint32_t arg)
{
    int64_t size = 1;
    if (arg >= node->arg_count || node->args[arg].kind != PYRO_ARG_TENSORS ||
        !node->args[arg].count || node->args[arg].items.values[0] == PYRO_NO_VALUE)
        return 1;
    const pyro_value *value = &frame->graph->values[node->args[arg].items.values[0]];
    if (value->kind == PYRO_GRAPH_VALUE_TENSOR && value->rank &&
        pyro_size_value(w->model, value->sizes[0], &size))
        return size;
    return 1;
}

/* The FLOPs of a graph, cached so that nested conds are not measured again at every level. */
static int measure(walker *w, const pyro_graph *graph, int64_t *flops)
{
    uint32_t known = pyro_map_get(&w->measured_of_graph, (uint64_t)(uintptr_t)graph);
    if (known != PYRO_MAP_NONE) {
        *flops = w->measured[known];
        return PYRO_OK;
    }
    bool outer = w->measuring;
    int64_t saved = w->measured_flops;
    w->measuring = true;
    w->measured_flops = 0;
    int status = walk_graph(w, graph, 1);
    *flops = w->measured_flops;
    w->measured_flops = saved;
    w->measuring = outer;
    if (status < 0)
        return status;
    if (!pyro_grow(&w->measured, &w->measured_capacity, w->measured_count + 1,
                   sizeof *w->measured) ||
        !pyro_map_put(&w->measured_of_graph, (uint64_t)(uintptr_t)graph,
                      (uint32_t)w->measured_count))
        return pyro_fail_memory(w->error);
    w->measured[w->measured_count++] = *flops;
    return PYRO_OK;
}

/* The value of a literal argument that only readers set; -1 if it is unknown or missing. */
static int64_t literal_of(const pyro_node *node, const char *name)
{
    for (uint32_t a = 0; a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_INTEGER && !strcmp(node->args[a].name, name))
            return node->args[a].items.integers[0].literal;
    return -1;
}

/* The branch that runs if the reader knows it from the sizes; else NULL. */
static const pyro_graph *known_branch(const pyro_node *node)
{
    int64_t branch = literal_of(node, "branch");
    for (uint32_t a = 0; branch >= 0 && a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_GRAPH &&
            !strcmp(node->args[a].name, branch ? "else_branch" : "then_branch"))
            return node->args[a].items.graph;
    return NULL;
}

/* Counts the more expensive branch of a cond. */
static int walk_cond(walker *w, const frame *frame, const pyro_node *node)
{
    const pyro_graph *costliest = NULL;
    int64_t most = -1;
    if (known_branch(node))
        return walk_graph(w, known_branch(node), frame->times);
    for (uint32_t a = 0; a < node->arg_count; a++) {
        int64_t flops;
        if (node->args[a].kind != PYRO_ARG_GRAPH)
            continue;
        int status = measure(w, node->args[a].items.graph, &flops);
        if (status < 0)
            return status;
        if (flops > most) {
            most = flops;
            costliest = node->args[a].items.graph;
        }
    }
    if (!w->noted_cond &&
        !pyro_cost_note(w->cost, "cond: only the branch with more FLOPs is counted"))
        return pyro_fail_memory(w->error);
    w->noted_cond = true;
    if (!costliest)
        return PYRO_OK;
    if (!w->measuring)
        return walk_graph(w, costliest, frame->times);
    if (!pyro_mul_i64(most, frame->times, &most) ||
        !pyro_add_i64(w->measured_flops, most, &w->measured_flops))
        return too_large(w, node);
    return PYRO_OK;
}

/* A higher-order operator: its subgraphs, as often as they run. */
static int walk_control(walker *w, const frame *frame, const pyro_node *node)
{
    pyro_call call;
    int64_t times = frame->times, trips = 1;
    int status = make_call(w, frame, node, &call);
    if (status == PYRO_OK)
        status = record(w, frame, node, &call, "Control", PYRO_CATEGORY_CONTROL, (pyro_work){0});
    if (status < 0)
        return status;
    if (!strncmp(node->target, "higher_order.cond", 17) || !strcmp(node->target, "onnx.If"))
        return walk_cond(w, frame, node);
    if (!strcmp(node->target, "onnx.Loop") || !strcmp(node->target, "onnx.Scan")) {
        trips = literal_of(node, "trip_count");
        if (trips < 0 && !w->measuring)
            status = count_uncounted(w, node->target,
                                     "how often it runs depends on data: one pass is counted");
        trips = trips < 0 ? 1 : trips;
    }
    if (!strncmp(node->target, "higher_order.scan", 17))
        trips = leading_size(w, frame, node, 2);
    else if (!strncmp(node->target, "higher_order.map", 16))
        trips = leading_size(w, frame, node, 1);
    else if (!strncmp(node->target, "higher_order.while_loop", 23) && !w->measuring)
        status = count_uncounted(w, node->target,
                                 "how often it runs depends on data: one pass is counted");
    else if (!strncmp(node->target, "higher_order.associative_scan", 29) && !w->measuring)
        status = count_uncounted(w, node->target, "its steps are counted once");
    if (!pyro_mul_i64(times, trips, &times))
        return too_large(w, node);
    for (uint32_t a = 0; status == PYRO_OK && a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_GRAPH)
            status = walk_graph(w, node->args[a].items.graph, times);
    return status;
}

static bool has_subgraph(const pyro_node *node)
{
    for (uint32_t a = 0; a < node->arg_count; a++)
        if (node->args[a].kind == PYRO_ARG_GRAPH)
            return true;
    return false;
}

/* Between the two marks of vmap, values are those of one sample of the batch. */
static int enter_or_leave_vmap(walker *w, frame *frame, const pyro_node *node)
{
    static const char mark[] = "torch._functorch.predispatch._vmap_";
    if (strncmp(node->target, mark, sizeof mark - 1))
        return PYRO_OK;
    const char *what = node->target + sizeof mark - 1;
    if (!strncmp(what, "decrement_nesting", 17) && frame->vmap_depth) {
        int64_t batch = frame->vmap_batches[--frame->vmap_depth];
        frame->times /= batch;
    } else if (!strncmp(what, "increment_nesting", 17)) {
        int64_t batch = 0;
        if (node->arg_count && node->args[0].kind == PYRO_ARG_INTEGER &&
            push_integer(w, frame, &node->args[0].items.integers[0]) == PYRO_OK)
            batch = w->integers[--w->integer_count];
        if (batch < 1 || frame->vmap_depth == MAX_VMAP_DEPTH ||
            !pyro_mul_i64(frame->times, batch, &frame->times))
            return too_large(w, node);
        frame->vmap_batches[frame->vmap_depth++] = batch;
        if (!w->noted_vmap &&
            !pyro_cost_note(w->cost,
                            "vmap: operators that run per sample are counted once per sample, "
                            "including their weights"))
            return pyro_fail_memory(w->error);
        w->noted_vmap = true;
    }
    return PYRO_OK;
}

static int walk_graph(walker *w, const pyro_graph *graph, int64_t times)
{
    int status = PYRO_OK;
    frame frame = {.graph = graph,
                   .strided = calloc(graph->value_count + 1, sizeof *frame.strided),
                   .orders = calloc(graph->value_count + 1, sizeof *frame.orders),
                   .times = times};
    if (!frame.strided || !frame.orders || !pyro_exported_find(&frame.exported, w->model, graph))
        status = pyro_fail_memory(w->error);
    for (size_t n = 0; status == PYRO_OK && n < graph->node_count; n++) {
        const pyro_node *node = &graph->nodes[n];
        bool control = has_subgraph(node) && !find_op(w, node->target);
        if (graph == w->model->graph)
            w->origin = (uint32_t)n;
        status = enter_or_leave_vmap(w, &frame, node);
        if (status < 0)
            break;
        status = control ? walk_control(w, &frame, node) : price_node(w, &frame, node);
        if (n % 1024 == 1023) {
            pyro_arena_free(&w->arena);
            pyro_arena_init(&w->arena);
        }
    }
    free(frame.strided);
    free(frame.orders);
    pyro_exported_free(&frame.exported);
    return status;
}

int pyro_cost_walk(pyro_cost *cost, pyro_error *error)
{
    walker w = {.cost = cost, .model = cost->model, .error = error};
    pyro_arena_init(&w.arena);
    int status = pyro_op_index_init(&w.index) ? walk_graph(&w, cost->model->graph, 1)
                                              : pyro_fail_memory(error);
    pyro_op_index_free(&w.index);
    pyro_map_free(&w.op_of_target);
    pyro_map_free(&w.measured_of_graph);
    free(w.measured);
    pyro_arena_free(&w.arena);
    free(w.args);
    free(w.tensors);
    free(w.integers);
    return status;
}
