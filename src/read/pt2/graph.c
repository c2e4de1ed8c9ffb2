/* Reads a graph of an exported program: its nodes and the descriptions of its values. */
#include "read/pt2/pt2.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <inttypes.h>
#include <stdalign.h>
#include <string.h>

/* Reads a list of sizes or strides; NULL on failure. Strides are not checked. */
static const pyro_size *read_dims(pt2_reader *reader, bool are_sizes, size_t *rank)
{
    pyro_size dims[PYRO_MAX_RANK];
    *rank = 0;
    if (!pt2_expect(reader, PYRO_JSON_ARRAY, "the sizes of a tensor"))
        return NULL;
    while (pt2_next_item(reader)) {
        if (*rank == PYRO_MAX_RANK) {
            pyro_json_fail(reader->json, "expected no more than %d dims", PYRO_MAX_RANK);
            return NULL;
        }
        if (!pt2_size_at(reader, !are_sizes, &dims[*rank]))
            return NULL;
        ++*rank;
    }
    if (pt2_failed(reader))
        return NULL;
    pyro_size *copy = pyro_arena_items(&reader->model->arena, *rank, sizeof *copy,
                                       alignof(pyro_size));
    if (!copy) {
        pt2_out_of_memory(reader);
        return NULL;
    }
    memcpy(copy, dims, *rank * sizeof *copy);
    return copy;
}

static bool read_sizes(pt2_reader *reader, pyro_value *value)
{
    size_t rank;
    value->sizes = read_dims(reader, true, &rank);
    value->rank = (uint8_t)rank;
    return value->sizes != NULL;
}

static bool read_offset(pt2_reader *reader, pyro_value *value)
{
    pyro_json_next(reader->json);
    return pt2_size_at(reader, true, &value->offset);
}

static bool read_dtype(pt2_reader *reader, pyro_value *value)
{
    int64_t code;
    if (!pt2_integer(reader, &code, "the element type of a tensor"))
        return false;
    value->dtype = (uint8_t)pyro_dtype_from_pt2(code);
    if (value->dtype == PYRO_DTYPE_UNKNOWN)
        pyro_json_fail(reader->json, "a tensor of the unknown element type %" PRId64, code);
    return value->dtype != PYRO_DTYPE_UNKNOWN;
}

/* {"type": "cuda", "index": 0} */
static bool read_device(pt2_reader *reader, pyro_value *value)
{
    int64_t index = -1;
    uint32_t type = 0;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "a device"))
        return false;
    while (pt2_next_key(reader)) {
        if (PYRO_JSON_IS(reader->json, "index")) {
            pyro_json_kind kind = pyro_json_next(reader->json);
            if (kind != PYRO_JSON_NULL && kind != PYRO_JSON_NUMBER) {
                pyro_json_fail(reader->json, "expected the index of a device");
                return false;
            }
            if (kind == PYRO_JSON_NUMBER && !pyro_json_int(reader->json, &index))
                return false;
            continue;
        }
        if (!PYRO_JSON_IS(reader->json, "type")) {
            if (!pt2_skip(reader))
                return false;
            continue;
        }
        if (!pt2_expect(reader, PYRO_JSON_STRING, "the type of a device"))
            return false;
        value->on_meta = PYRO_JSON_IS(reader->json, "meta");
        size_t length;
        const char *text = pyro_json_text(reader->json, &length);
        type = text ? pyro_intern_add(&reader->model->strings, text, length) : PYRO_INTERN_NONE;
        if (type == PYRO_INTERN_NONE)
            return pt2_out_of_memory(reader);
    }
    value->device = (type + 1) << 8 | (uint32_t)((index + 1) & 0xff);
    return !pt2_failed(reader);
}

/* TensorMeta: {"dtype": 7, "sizes": [...], "device": {...}, ...} */
static bool read_tensor(pt2_reader *reader, pyro_value *value)
{
    const pyro_size *strides = NULL;
    size_t stride_count = 0;
    value->dtype = PYRO_DTYPE_UNKNOWN;
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "the description of a tensor"))
        return false;
    while (pt2_next_key(reader)) {
        bool good;
        if (PYRO_JSON_IS(reader->json, "dtype"))
            good = read_dtype(reader, value);
        else if (PYRO_JSON_IS(reader->json, "sizes"))
            good = read_sizes(reader, value);
        else if (PYRO_JSON_IS(reader->json, "strides"))
            good = (strides = read_dims(reader, false, &stride_count)) != NULL;
        else if (PYRO_JSON_IS(reader->json, "storage_offset"))
            good = read_offset(reader, value);
        else if (PYRO_JSON_IS(reader->json, "device"))
            good = read_device(reader, value);
        else
            good = pt2_skip(reader);
        if (!good)
            return false;
    }
    if (pt2_failed(reader))
        return false;
    if (!value->sizes || value->dtype == PYRO_DTYPE_UNKNOWN) {
        pyro_json_fail(reader->json, "tensor '%.100s' without sizes or element type", value->name);
        return false;
    }
    value->kind = PYRO_GRAPH_VALUE_TENSOR;
    value->strides = stride_count == value->rank ? strides : NULL;
    return true;
}

static bool read_symbolic(pt2_reader *reader, pyro_value *value)
{
    pyro_size size;
    pyro_json_next(reader->json);
    if (!pt2_size_at(reader, true, &size))
        return false;
    pyro_size *copy = pyro_arena_array(&reader->model->arena, 1, sizeof *copy);
    if (!copy)
        return pt2_out_of_memory(reader);
    *copy = size;
    value->sizes = copy;
    value->kind = PYRO_GRAPH_VALUE_SYMBOLIC;
    return true;
}

static bool read_other(pt2_reader *reader, pyro_value *value)
{
    value->kind = PYRO_GRAPH_VALUE_OTHER;
    return pt2_skip(reader);
}

/* {"name": description, ...}; a name that is described twice is an error. */
static bool read_values(pt2_reader *reader, pyro_graph *graph,
                        bool (*describe)(pt2_reader *, pyro_value *))
{
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "descriptions of values"))
        return false;
    while (pt2_next_key(reader)) {
        size_t length;
        const char *text = pyro_json_text(reader->json, &length);
        uint32_t index = text ? pyro_graph_value(graph, text, length) : PYRO_NO_VALUE;
        if (index == PYRO_NO_VALUE)
            return pt2_out_of_memory(reader);
        if (graph->values[index].kind != PYRO_GRAPH_VALUE_UNDESCRIBED) {
            pyro_json_fail(reader->json, "'%.100s' is described twice", graph->values[index].name);
            return false;
        }
        /* The array may move while nested values are read, so a copy is filled. */
        pyro_value value = graph->values[index];
        if (!describe(reader, &value))
            return false;
        graph->values[index] = value;
    }
    return !pt2_failed(reader);
}

static bool read_target(pt2_reader *reader, pyro_node *node)
{
    static const char prefix[] = "torch.ops.";
    if (!pt2_text(reader, &node->target, "the target of a node"))
        return false;
    if (!strncmp(node->target, prefix, sizeof prefix - 1))
        node->target += sizeof prefix - 1;
    return true;
}

static bool read_metadata(pt2_reader *reader, pyro_node *node)
{
    static const char no_stack[] = "_empty_nn_module_stack_from_metadata_hook";
    pyro_json_kind kind = pyro_json_next(reader->json);
    if (kind == PYRO_JSON_NULL)
        return true;
    if (kind != PYRO_JSON_OBJECT) {
        if (kind != PYRO_JSON_ERROR)
            pyro_json_fail(reader->json, "expected the metadata of a node");
        return false;
    }
    while (pt2_next_key(reader)) {
        if (!PYRO_JSON_IS(reader->json, "nn_module_stack")) {
            if (!pt2_skip(reader))
                return false;
            continue;
        }
        size_t length;
        if (!pt2_expect(reader, PYRO_JSON_STRING, "a module stack"))
            return false;
        const char *text = pyro_json_text(reader->json, &length);
        if (!strncmp(text, no_stack, sizeof no_stack - 1))
            continue;
        if (!pt2_place_node(reader, node, text, length))
            return false;
    }
    return !pt2_failed(reader);
}

static bool read_node_key(pt2_reader *reader, pyro_graph *graph, pyro_node *node)
{
    if (PYRO_JSON_IS(reader->json, "target"))
        return read_target(reader, node);
    if (PYRO_JSON_IS(reader->json, "inputs"))
        return pt2_args(reader, graph, node);
    if (PYRO_JSON_IS(reader->json, "outputs"))
        return pt2_values(reader, graph, &node->outputs, &node->output_count);
    if (PYRO_JSON_IS(reader->json, "metadata"))
        return read_metadata(reader, node);
    return pt2_skip(reader);
}

/* The object is the current token. */
static bool node_at(pt2_reader *reader, pyro_graph *graph)
{
    pyro_node node = {
        .offset = pyro_json_offset(reader->json), .module = PYRO_NO_VALUE, .call = PYRO_NO_VALUE};
    if (pyro_json_current(reader->json) != PYRO_JSON_OBJECT) {
        if (!pt2_failed(reader))
            pyro_json_fail(reader->json, "expected a node");
        return false;
    }
    while (pt2_next_key(reader))
        if (!read_node_key(reader, graph, &node))
            return false;
    if (pt2_failed(reader))
        return false;
    if (node.module == PYRO_NO_VALUE)
        pt2_place_nowhere(reader);
    if (!node.target) {
        pyro_json_fail(reader->json, "a node without a target");
        return false;
    }
    if (!pyro_grow(&graph->nodes, &graph->node_capacity, graph->node_count + 1,
                   sizeof *graph->nodes))
        return pt2_out_of_memory(reader);
    node.name = node.output_count && node.outputs[0] != PYRO_NO_VALUE
                    ? graph->values[node.outputs[0]].name
                    : node.target;
    graph->nodes[graph->node_count++] = node;
    pyro_populator_follow(reader->model->arena.populator, graph->nodes, graph->node_count,
                          graph->node_capacity, sizeof *graph->nodes);
    reader->model->total_nodes++;
    return true;
}

static bool read_nodes(pt2_reader *reader, pyro_graph *graph)
{
    if (!pt2_expect(reader, PYRO_JSON_ARRAY, "the nodes of a graph"))
        return false;
    while (pt2_next_item(reader))
        if (!node_at(reader, graph))
            return false;
    return !pt2_failed(reader);
}

static bool read_graph_key(pt2_reader *reader, pyro_graph *graph)
{
    if (PYRO_JSON_IS(reader->json, "nodes"))
        return read_nodes(reader, graph);
    if (PYRO_JSON_IS(reader->json, "inputs")) {
        uint32_t count = 0;
        bool good = pt2_values(reader, graph, &graph->inputs, &count);
        graph->input_count = count;
        return good;
    }
    if (PYRO_JSON_IS(reader->json, "outputs")) {
        uint32_t count = 0;
        bool good = pt2_values(reader, graph, &graph->outputs, &count);
        graph->output_count = count;
        return good;
    }
    if (PYRO_JSON_IS(reader->json, "tensor_values"))
        return read_values(reader, graph, read_tensor);
    if (PYRO_JSON_IS(reader->json, "sym_int_values") ||
        PYRO_JSON_IS(reader->json, "sym_bool_values"))
        return read_values(reader, graph, read_symbolic);
    if (PYRO_JSON_IS(reader->json, "sym_float_values") ||
        PYRO_JSON_IS(reader->json, "custom_obj_values"))
        return read_values(reader, graph, read_other);
    return pt2_skip(reader);
}

bool pt2_graph(pt2_reader *reader, pyro_graph *graph)
{
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "a graph"))
        return false;
    while (pt2_next_key(reader))
        if (!read_graph_key(reader, graph))
            return false;
    return !pt2_failed(reader);
}
