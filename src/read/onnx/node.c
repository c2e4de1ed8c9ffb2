/* Reads NodeProto: a node with its inputs and attributes, or a call of a function. */
#include "read/onnx/onnx.h"

#include "base/bytes.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/ops.h"
#include <stdio.h>
#include <string.h>

/* Numbers of onnx.proto. */
enum node_field {
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_NAME = 3,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    NODE_OVERLOAD = 8,
    NODE_METADATA = 9,
};
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

static bool push_id(onnx_reader *reader, uint32_t id)
{
    if (!pyro_grow(&reader->ids, &reader->id_capacity, reader->id_count + 1, sizeof *reader->ids))
        return onnx_out_of_memory(reader);
    reader->ids[reader->id_count++] = id;
    return true;
}

static bool read_input(onnx_reader *reader, const onnx_scope *scope, const pyro_wire_field *field,
                       onnx_node *node)
{
    size_t length;
    const char *name = pyro_wire_bytes(&reader->wire, field, &length);
    uint32_t id = name && length ? onnx_use(reader, scope, name, length, field->offset)
                                 : PYRO_NO_VALUE;
    node->input_count++;
    return !reader->wire.failed && push_id(reader, id);
}

/* Keeps the two texts of torch's exporter that name the layer. */
static bool read_metadata(onnx_reader *reader, const pyro_wire_field *entry, onnx_node *node)
{
    static const char scopes[] = "pkg.torch.onnx.name_scopes";
    static const char classes[] = "pkg.torch.onnx.class_hierarchy";
    pyro_wire_field field;
    const char **kept = NULL;
    for (int64_t at = entry->begin; pyro_wire_next(&reader->wire, &at, entry->end, &field);) {
        size_t length;
        if (field.number == ENTRY_KEY) {
            const char *key = pyro_wire_bytes(&reader->wire, &field, &length);
            if (!key)
                return false;
            kept = length == sizeof scopes - 1 && !memcmp(key, scopes, length)     ? &node->scopes
                   : length == sizeof classes - 1 && !memcmp(key, classes, length) ? &node->classes
                                                                                   : NULL;
        } else if (field.number == ENTRY_VALUE && kept && !(*kept = onnx_text(reader, &field))) {
            return false;
        }
    }
    return !reader->wire.failed;
}

/* Everything but attributes and outputs: these depend on the operator. */
static bool read_head(onnx_reader *reader, const onnx_scope *scope, onnx_node *node)
{
    pyro_wire_field field;
    for (int64_t at = node->begin; pyro_wire_next(&reader->wire, &at, node->end, &field);) {
        bool good = true;
        if (field.number == NODE_INPUT)
            good = read_input(reader, scope, &field, node);
        else if (field.number == NODE_NAME)
            good = (node->name = onnx_text(reader, &field)) != NULL;
        else if (field.number == NODE_OP)
            good = (node->op = onnx_text(reader, &field)) != NULL;
        else if (field.number == NODE_DOMAIN)
            good = (node->domain = onnx_text(reader, &field)) != NULL;
        else if (field.number == NODE_OVERLOAD)
            good = (node->overload = onnx_text(reader, &field)) != NULL;
        else if (field.number == NODE_METADATA && field.type == PYRO_WIRE_BYTES)
            good = read_metadata(reader, &field, node);
        if (!good)
            return false;
    }
    if (!reader->wire.failed && !*node->op)
        return pyro_wire_fail(&reader->wire, node->begin, "a node without an operator");
    return !reader->wire.failed;
}

static bool push_arg(onnx_reader *reader, pyro_arg arg)
{
    if (!pyro_grow(&reader->args, &reader->arg_capacity, reader->arg_count + 1,
                   sizeof *reader->args))
        return onnx_out_of_memory(reader);
    reader->args[reader->arg_count++] = arg;
    return true;
}

/* How often a body runs, or which branch: inference sets it, -1 while it is unknown. */
static bool push_unknown(onnx_reader *reader, const char *name)
{
    pyro_arg_integer *count = pyro_arena_alloc(&reader->model->arena, sizeof *count);
    if (!count)
        return onnx_out_of_memory(reader);
    *count = (pyro_arg_integer){-1, PYRO_NO_VALUE};
    return push_arg(
        reader,
        (pyro_arg){.name = name, .kind = PYRO_ARG_INTEGER, .count = 1, .items.integers = count});
}

static bool read_attributes(onnx_reader *reader, const onnx_scope *scope, const onnx_node *node)
{
    pyro_wire_field field;
    for (int64_t at = node->begin; pyro_wire_next(&reader->wire, &at, node->end, &field);) {
        pyro_arg arg;
        if (field.number != NODE_ATTRIBUTE || field.type != PYRO_WIRE_BYTES)
            continue;
        if (!onnx_read_attribute(reader, scope, field.begin, field.end, &arg) ||
            (*arg.name && !push_arg(reader, arg)))
            return false;
    }
    if (!reader->wire.failed && (!strcmp(node->op, "Loop") || !strcmp(node->op, "Scan")))
        return push_unknown(reader, "trip_count");
    if (!reader->wire.failed && !strcmp(node->op, "If"))
        return push_unknown(reader, "branch");
    return !reader->wire.failed;
}

/* Operators whose inputs are one list, as ATen has them. */
static bool takes_list(const char *target)
{
    return !strcmp(target, "onnx.Concat") || !strcmp(target, "onnx.Einsum");
}

/* Puts the inputs in front of the attributes that were read, from `first` on. */
static bool put_inputs(onnx_reader *reader, const onnx_node *node, const char *target, size_t first)
{
    size_t attributes = reader->arg_count - first;
    bool list = takes_list(target);
    size_t count = list ? 1 : node->input_count;
    uint32_t *values = pyro_arena_array(&reader->model->arena, node->input_count + 1,
                                        sizeof *values);
    if (!values || !pyro_grow(&reader->args, &reader->arg_capacity, reader->arg_count + count,
                              sizeof *reader->args))
        return onnx_out_of_memory(reader);
    pyro_copy_items(values, reader->ids, node->first_input, node->input_count, sizeof *values);
    if (attributes)
        memmove(reader->args + first + count, reader->args + first,
                attributes * sizeof *reader->args);
    if (list)
        reader->args[first] = (pyro_arg){.name = "tensors",
                                         .kind = PYRO_ARG_TENSORS,
                                         .count = (uint32_t)node->input_count,
                                         .items.values = values};
    for (size_t i = 0; !list && i < count; i++)
        reader->args[first + i] = (pyro_arg){
            .name = "", .kind = PYRO_ARG_TENSOR, .count = 1, .items.values = values + i};
    for (size_t i = 0; !list && i < count; i++)
        if (values[i] == PYRO_NO_VALUE)
            reader->args[first + i] = (pyro_arg){.name = "", .kind = PYRO_ARG_NONE};
    reader->arg_count += count;
    return true;
}

/* Names the inputs as the operator's row does. */
static void name_inputs(onnx_reader *reader, const pyro_op *op, size_t first, size_t count)
{
    const char *names = op && op->arguments ? op->arguments : "";
    for (size_t i = 0; i < count && *names; i++) {
        size_t length = strcspn(names, " ");
        uint32_t id = pyro_intern_add(&reader->model->strings, names, length);
        if (id != PYRO_INTERN_NONE)
            reader->args[first + i].name = pyro_intern_text(&reader->model->strings, id);
        names += length + (names[length] == ' ');
    }
}

static bool read_outputs(onnx_reader *reader, const onnx_scope *scope, const onnx_node *node,
                         size_t *first)
{
    pyro_wire_field field;
    *first = reader->id_count;
    for (int64_t at = node->begin; pyro_wire_next(&reader->wire, &at, node->end, &field);) {
        size_t length;
        if (field.number != NODE_OUTPUT)
            continue;
        const char *name = pyro_wire_bytes(&reader->wire, &field, &length);
        uint32_t id = name && length ? onnx_make(reader, scope, name, length, field.offset)
                                     : PYRO_NO_VALUE;
        if (reader->wire.failed || !push_id(reader, id))
            return false;
    }
    return !reader->wire.failed;
}

/* "" and "ai.onnx" are "onnx", "com.microsoft" is "microsoft", "ai.onnx.ml" is "onnx_ml". */
static const char *target_of(onnx_reader *reader, const onnx_node *node, size_t first_arg)
{
    char text[300], *at;
    const char *domain = node->domain;
    if (!*domain || !strcmp(domain, "ai.onnx"))
        domain = "onnx";
    else if (!strncmp(domain, "ai.", 3))
        domain += 3;
    else if (!strncmp(domain, "com.", 4))
        domain += 4;
    int length = snprintf(text, sizeof text - 8, "%.100s.%.150s", domain, node->op);
    for (at = text; *at && at < text + strlen(domain); at++)
        if (*at == '.')
            *at = '_';
    /* Convolutions and pools have rows for each number of spatial dims, as in ATen. */
    size_t spatial = 0;
    if (!strcmp(node->op, "Conv") || !strcmp(node->op, "ConvTranspose") ||
        !strcmp(node->op, "MaxPool") || !strcmp(node->op, "AveragePool")) {
        for (size_t i = first_arg; i < reader->arg_count; i++)
            if (!strcmp(reader->args[i].name, "kernel_size"))
                spatial = reader->args[i].count;
        uint32_t weight = node->input_count > 1 ? reader->ids[node->first_input + 1]
                                                : PYRO_NO_VALUE;
        if (!spatial && weight != PYRO_NO_VALUE && node->op[0] == 'C' &&
            weight < reader->main->graph->value_count && reader->main->values[weight].declared &&
            reader->main->values[weight].declared_rank > 2)
            spatial = reader->main->values[weight].declared_rank - 2u;
        if (spatial >= 1 && spatial <= 3)
            length += snprintf(text + length, 8, ".%zud", spatial);
    }
    uint32_t id = pyro_intern_add(&reader->model->strings, text, (size_t)length);
    return id == PYRO_INTERN_NONE ? NULL : pyro_intern_text(&reader->model->strings, id);
}

/* A Constant is a stored value, not a node. */
static bool read_constant(onnx_reader *reader, const onnx_scope *scope, const onnx_node *node,
                          size_t first_arg)
{
    pyro_wire_field field, output = {0};
    size_t length;
    for (int64_t at = node->begin; pyro_wire_next(&reader->wire, &at, node->end, &field);)
        if (field.number == NODE_OUTPUT)
            output = field;
    const char *name = output.number ? pyro_wire_bytes(&reader->wire, &output, &length) : NULL;
    uint32_t index = name ? onnx_store(reader, scope, name, length, output.offset) : PYRO_NO_VALUE;
    if (index == PYRO_NO_VALUE)
        return reader->wire.failed
                   ? false
                   : pyro_wire_fail(&reader->wire, node->begin, "a constant without a name");
    onnx_value *value = onnx_value_of(scope->graph, index);
    value->is_stored = value->is_generated = true;
    const pyro_arg *arg = reader->arg_count > first_arg ? &reader->args[first_arg] : NULL;
    onnx_tensor_proto tensor = {.dtype = PYRO_DTYPE_UNKNOWN};
    if (!arg || arg->kind == PYRO_ARG_TEXT || arg->kind == PYRO_ARG_OTHER) {
        value->declared_dtype = PYRO_DTYPE_UNKNOWN; /* strings */
        return true;
    }
    if (arg->kind == PYRO_ARG_TENSOR) {
        const onnx_value *given = onnx_value_of(scope->graph, arg->items.values[0]);
        value->declared = given->declared;
        value->declared_rank = given->declared_rank;
        value->declared_dtype = given->declared_dtype;
        value->constant = given->constant;
        value->location = given->location;
        value->location_offset = given->location_offset;
        return true;
    }
    bool real = arg->kind == PYRO_ARG_NUMBER || arg->kind == PYRO_ARG_NUMBERS;
    bool scalar = arg->kind == PYRO_ARG_NUMBER || arg->kind == PYRO_ARG_INTEGER;
    uint32_t count = scalar ? 1 : arg->count;
    onnx_values *values = pyro_arena_alloc(&reader->model->arena, sizeof *values);
    int64_t *integers = pyro_arena_array(&reader->model->arena, count + 1u, sizeof *integers);
    double *reals = pyro_arena_array(&reader->model->arena, count + 1u, sizeof *reals);
    if (!values || !integers || !reals)
        return onnx_out_of_memory(reader);
    for (uint32_t i = 0; i < count; i++)
        if (real)
            reals[i] = scalar ? arg->items.number : arg->items.numbers[i];
        else
            integers[i] = arg->items.integers[i].literal;
    *values = (onnx_values){count, real ? NULL : integers, real ? reals : NULL};
    tensor.dtype = real ? PYRO_DTYPE_FLOAT32 : PYRO_DTYPE_INT64;
    tensor.rank = !scalar;
    tensor.dims[0] = count;
    tensor.values = count <= ONNX_MAX_ELEMENTS ? values : NULL;
    return onnx_describe(reader, scope->graph, index, &tensor);
}

static bool add_node(onnx_reader *reader, const onnx_scope *scope, const onnx_node *head,
                     const char *target, const pyro_op *op, size_t first_arg)
{
    pyro_graph *graph = scope->graph->graph;
    size_t inputs = takes_list(target) ? 1 : head->input_count, first_output;
    if (!put_inputs(reader, head, target, first_arg))
        return false;
    if (!takes_list(target))
        name_inputs(reader, op, first_arg, inputs);
    if (!read_outputs(reader, scope, head, &first_output))
        return false;
    size_t arg_count = reader->arg_count - first_arg;
    size_t output_count = reader->id_count - first_output;
    pyro_arg *args = pyro_arena_array(&reader->model->arena, arg_count + 1, sizeof *args);
    uint32_t *outputs = pyro_arena_array(&reader->model->arena, output_count + 1, sizeof *outputs);
    if (!args || !outputs ||
        !pyro_grow(&graph->nodes, &graph->node_capacity, graph->node_count + 1,
                   sizeof *graph->nodes))
        return onnx_out_of_memory(reader);
    pyro_copy_items(args, reader->args, first_arg, arg_count, sizeof *args);
    pyro_copy_items(outputs, reader->ids, first_output, output_count, sizeof *outputs);
    if (reader->model->total_nodes >= ONNX_MAX_NODES)
        return pyro_wire_fail(&reader->wire, head->begin,
                              "more than %d nodes after functions are expanded", ONNX_MAX_NODES);
    uint32_t module = onnx_layer(reader, scope, head);
    if (module == PYRO_NO_VALUE)
        return onnx_out_of_memory(reader);
    bool named = output_count && outputs[0] != PYRO_NO_VALUE;
    graph->nodes[graph->node_count] = (pyro_node){
        .name = *head->name ? head->name
                : named     ? graph->values[outputs[0]].name
                            : target,
        .target = target,
        .args = args,
        .outputs = outputs,
        .arg_count = (uint32_t)arg_count,
        .output_count = (uint32_t)output_count,
        .module = module,
        .call = pyro_model_enter(reader->model, module),
        .offset = head->begin,
    };
    for (size_t o = 0; o < output_count; o++)
        if (outputs[o] != PYRO_NO_VALUE)
            scope->graph->values[outputs[o]].maker = (uint32_t)graph->node_count;
    graph->node_count++;
    reader->model->total_nodes++;
    return true;
}

static bool read_rest(onnx_reader *reader, const onnx_scope *scope, onnx_node *head)
{
    size_t first_arg = reader->arg_count;
    uint32_t function = onnx_find_function(reader, head);
    bool good = read_head(reader, scope, head);
    function = good ? onnx_find_function(reader, head) : function;
    good = good && read_attributes(reader, scope, head);
    if (good && function != PYRO_NO_VALUE)
        good = onnx_expand(reader, scope, head, function, first_arg);
    else if (good && !strcmp(head->op, "Constant") && !*head->domain)
        good = read_constant(reader, scope, head, first_arg);
    else if (good) {
        const char *target = target_of(reader, head, first_arg);
        good = target ? add_node(reader, scope, head, target, pyro_op_find(&reader->ops, target),
                                 first_arg)
                      : onnx_out_of_memory(reader);
    }
    reader->arg_count = first_arg;
    return good;
}

bool onnx_read_node(onnx_reader *reader, const onnx_scope *scope, int64_t begin, int64_t end)
{
    onnx_node head = {.name = "",
                      .op = "",
                      .domain = "",
                      .overload = "",
                      .first_input = reader->id_count,
                      .begin = begin,
                      .end = end};
    bool good = read_rest(reader, scope, &head);
    reader->id_count = head.first_input;
    return good;
}
