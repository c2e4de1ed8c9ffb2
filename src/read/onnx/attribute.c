/* Reads AttributeProto into an argument of a node. */
#include "read/onnx/onnx.h"

#include "base/bytes.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdio.h>
#include <string.h>

/* Numbers of onnx.proto. */
enum attribute_field {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_FLOAT = 2,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_TEXT = 4,
    ATTRIBUTE_TENSOR = 5,
    ATTRIBUTE_GRAPH = 6,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    ATTRIBUTE_REFERENCE = 21,
};

/* Their names in ATen, which the rules of ops.def ask for. */
static const char *rule_name(const char *name)
{
    static const char *const names[][2] = {
        {"kernel_shape", "kernel_size"}, {"strides", "stride"}, {"pads", "padding"},
        {"dilations", "dilation"},       {"group", "groups"},   {"axis", "dim"},
        {"training_mode", "training"},   {"perm", "dims"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i][0], name))
            return names[i][1];
    return name;
}

static bool push_integer(onnx_reader *reader, uint64_t value, size_t first, int64_t offset)
{
    if (reader->integer_count - first >= ONNX_MAX_LIST)
        return pyro_wire_fail(&reader->wire, offset, "an attribute of more than %d numbers",
                              ONNX_MAX_LIST);
    if (!pyro_grow(&reader->integers, &reader->integer_capacity, reader->integer_count + 1,
                   sizeof *reader->integers))
        return onnx_out_of_memory(reader);
    reader->integers[reader->integer_count++] = (int64_t)value;
    return true;
}

static bool push_real(onnx_reader *reader, uint32_t bits, size_t first, int64_t offset)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    if (reader->real_count - first >= ONNX_MAX_LIST)
        return pyro_wire_fail(&reader->wire, offset, "an attribute of more than %d numbers",
                              ONNX_MAX_LIST);
    if (!pyro_grow(&reader->reals, &reader->real_capacity, reader->real_count + 1,
                   sizeof *reader->reals))
        return onnx_out_of_memory(reader);
    reader->reals[reader->real_count++] = (double)value;
    return true;
}

static bool read_ints(onnx_reader *reader, const pyro_wire_field *field, size_t first)
{
    uint64_t value;
    if (field->type == PYRO_WIRE_VARINT)
        return push_integer(reader, field->value, first, field->offset);
    for (int64_t at = field->begin; at < field->end;)
        if (!pyro_wire_varint(&reader->wire, &at, field->end, &value) ||
            !push_integer(reader, value, first, field->offset))
            return false;
    return true;
}

static bool read_floats(onnx_reader *reader, const pyro_wire_field *field, size_t first)
{
    if (field->type == PYRO_WIRE_FIXED32)
        return push_real(reader, (uint32_t)field->value, first, field->offset);
    size_t length;
    const char *bytes = pyro_wire_bytes(&reader->wire, field, &length);
    for (size_t at = 0; bytes && at + 4 <= length; at += 4) {
        uint32_t bits;
        memcpy(&bits, bytes + at, sizeof bits);
        if (!push_real(reader, bits, first, field->offset))
            return false;
    }
    return bytes != NULL;
}

/* Moves the integers that were pushed since `first` into an argument. */
static bool take_integers(onnx_reader *reader, size_t first, pyro_arg *out)
{
    size_t count = reader->integer_count - first;
    pyro_arg_integer *items = pyro_arena_array(&reader->model->arena, count + 1, sizeof *items);
    if (!items)
        return onnx_out_of_memory(reader);
    for (size_t i = 0; i < count; i++)
        items[i] = (pyro_arg_integer){reader->integers[first + i], PYRO_NO_VALUE};
    reader->integer_count = first;
    out->count = (uint32_t)count;
    out->items.integers = items;
    return true;
}

static bool take_reals(onnx_reader *reader, size_t first, pyro_arg *out)
{
    size_t count = reader->real_count - first;
    double *items = pyro_arena_array(&reader->model->arena, count + 1, sizeof *items);
    if (!items)
        return onnx_out_of_memory(reader);
    pyro_copy_items(items, reader->reals, first, count, sizeof *items);
    reader->real_count = first;
    out->kind = PYRO_ARG_NUMBERS;
    out->count = (uint32_t)count;
    out->items.numbers = items;
    return true;
}

/* A tensor of an attribute becomes a stored value. */
static bool read_tensor(onnx_reader *reader, const onnx_scope *scope, const pyro_wire_field *field,
                        pyro_arg *out)
{
    onnx_tensor_proto tensor;
    char name[64];
    if (!onnx_read_tensor(reader, field->begin, field->end, &tensor))
        return false;
    int length = snprintf(name, sizeof name, "constant@%lld.%zu", (long long)field->begin,
                          reader->unnamed++);
    uint32_t *value = pyro_arena_alloc(&reader->model->arena, sizeof *value);
    if (!value)
        return onnx_out_of_memory(reader);
    *value = onnx_store(reader, scope, name, (size_t)length, field->offset);
    if (*value == PYRO_NO_VALUE || !onnx_describe(reader, scope->graph, *value, &tensor))
        return false;
    onnx_value_of(scope->graph, *value)->is_generated = true;
    out->kind = PYRO_ARG_TENSOR;
    out->count = 1;
    out->items.values = value;
    return true;
}

static bool read_body(onnx_reader *reader, const onnx_scope *scope, const pyro_wire_field *field,
                      pyro_arg *out)
{
    if (reader->depth >= ONNX_MAX_DEPTH)
        return pyro_wire_fail(&reader->wire, field->offset,
                              "bodies and functions are nested more than %d deep", ONNX_MAX_DEPTH);
    onnx_graph *graph = onnx_graph_new(reader, scope->graph);
    if (!graph)
        return false;
    onnx_scope inner = {.graph = graph, .outer = scope};
    reader->depth++;
    bool good = onnx_read_graph(reader, &inner, field->begin, field->end);
    reader->depth--;
    out->kind = PYRO_ARG_GRAPH;
    out->items.graph = graph->graph;
    return good;
}

/* An attribute of an expanded function: that of the call. False if it is not given. */
static bool refer(const onnx_scope *scope, const char *name, const char *reference, pyro_arg *out)
{
    const onnx_expansion *expansion = scope->expansion;
    const char *wanted = rule_name(reference);
    for (size_t i = 0; expansion && i < expansion->arg_count; i++)
        if (!strcmp(expansion->args[i].name, wanted)) {
            *out = expansion->args[i];
            out->name = rule_name(name);
            return true;
        }
    *out = (pyro_arg){.name = "", .kind = PYRO_ARG_OTHER};
    return false;
}

static bool take_field(onnx_reader *reader, const onnx_scope *scope, const pyro_wire_field *field,
                       pyro_arg *out, size_t first[2])
{
    float number;
    uint32_t bits = (uint32_t)field->value;
    switch (field->number) {
    case ATTRIBUTE_FLOAT:
        memcpy(&number, &bits, sizeof number);
        out->items.number = (double)number;
        out->kind = PYRO_ARG_NUMBER;
        return true;
    case ATTRIBUTE_INT:
        out->kind = PYRO_ARG_INTEGER;
        return push_integer(reader, field->value, first[0], field->offset);
    case ATTRIBUTE_TEXT:
        out->kind = PYRO_ARG_TEXT;
        return (out->items.text = onnx_text(reader, field)) != NULL;
    case ATTRIBUTE_TENSOR:
        return field->type == PYRO_WIRE_BYTES && read_tensor(reader, scope, field, out);
    case ATTRIBUTE_GRAPH:
        return field->type == PYRO_WIRE_BYTES && read_body(reader, scope, field, out);
    case ATTRIBUTE_FLOATS:
        out->kind = PYRO_ARG_NUMBERS;
        return read_floats(reader, field, first[1]);
    case ATTRIBUTE_INTS:
        out->kind = PYRO_ARG_INTEGERS;
        return read_ints(reader, field, first[0]);
    default:
        return true;
    }
}

bool onnx_read_attribute(onnx_reader *reader, const onnx_scope *scope, int64_t begin, int64_t end,
                         pyro_arg *out)
{
    enum { TYPE_FLOATS = 6, TYPE_INTS = 7 };
    pyro_wire_field field;
    size_t first[2] = {reader->integer_count, reader->real_count};
    const char *name = "", *reference = NULL;
    uint64_t type = 0;
    *out = (pyro_arg){.name = "", .kind = PYRO_ARG_OTHER};
    for (int64_t at = begin; pyro_wire_next(&reader->wire, &at, end, &field);) {
        bool good = true;
        if (field.number == ATTRIBUTE_NAME)
            good = (name = onnx_text(reader, &field)) != NULL;
        else if (field.number == ATTRIBUTE_REFERENCE)
            good = (reference = onnx_text(reader, &field)) != NULL;
        else if (field.number == ATTRIBUTE_TYPE)
            type = field.value;
        else
            good = take_field(reader, scope, &field, out, first);
        if (!good && !reader->wire.failed)
            return pyro_wire_fail(&reader->wire, field.offset, "a damaged attribute");
        if (!good)
            return false;
    }
    if (reader->wire.failed)
        return false;
    if (reference && *reference) {
        refer(scope, name, reference, out);
        return true;
    }
    /* A list without items has no field of its own. */
    if (out->kind == PYRO_ARG_OTHER && type == TYPE_INTS)
        out->kind = PYRO_ARG_INTEGERS;
    out->name = rule_name(name);
    if (out->kind == PYRO_ARG_INTEGER || out->kind == PYRO_ARG_INTEGERS)
        return take_integers(reader, first[0], out);
    if (out->kind == PYRO_ARG_NUMBERS || type == TYPE_FLOATS)
        return take_reals(reader, first[1], out);
    return true;
}
