/* Reads GraphProto: initializers, inputs, described values, then nodes. */
#include "read/onnx/onnx.h"

#include "base/bytes.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Numbers of onnx.proto. */
enum graph_field {
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13,
    GRAPH_SPARSE_INITIALIZER = 15,
};
enum info_field { INFO_NAME = 1, INFO_TYPE = 2, INFO_METADATA = 4 };
enum type_field { TYPE_TENSOR = 1, TENSOR_ELEMENT = 1, TENSOR_SHAPE = 2 };
enum shape_field { SHAPE_DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, SPARSE_VALUES = 1, SPARSE_DIMS = 3 };

/* What a ValueInfoProto describes. */
typedef struct value_info {
    pyro_wire_field name;
    bool is_tensor, has_shape;
    uint8_t dtype, rank, role;
    pyro_size sizes[PYRO_MAX_RANK];
} value_info;

static bool is_word(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return length && !isdigit((unsigned char)text[0]);
}

/* The expression of a named size: "batch", "2*s0 + 1", or any text, which then names a symbol. */
static bool add_size(onnx_reader *reader, const char *text, size_t length, pyro_size *out)
{
    pyro_exprs *exprs = &reader->model->exprs;
    int64_t index = pyro_exprs_add(exprs, text, length);
    if (index >= 0 && !exprs->items[index].understood && !is_word(text, length)) {
        char name[64];
        size_t count = length < sizeof name - 2 ? length : sizeof name - 2;
        name[0] = '_';
        for (size_t i = 0; i < count; i++)
            name[i + 1] = isalnum((unsigned char)text[i]) ? text[i] : '_';
        index = pyro_exprs_add(exprs, name, count + 1);
    }
    if (index < 0)
        return onnx_out_of_memory(reader);
    *out = ~(pyro_size)index;
    return true;
}

static bool read_dim(onnx_reader *reader, const pyro_wire_field *dim, const char *name, size_t axis,
                     pyro_size *out)
{
    pyro_wire_field field;
    bool found = false;
    for (int64_t at = dim->begin; pyro_wire_next(&reader->wire, &at, dim->end, &field);) {
        size_t length;
        if (field.number == DIM_VALUE && field.type == PYRO_WIRE_VARINT &&
            (int64_t)field.value >= 0) {
            *out = (pyro_size)field.value;
            found = true;
        } else if (field.number == DIM_PARAM) {
            const char *text = pyro_wire_bytes(&reader->wire, &field, &length);
            if (!text || (length && !add_size(reader, text, length, out)))
                return false;
            found = length > 0;
        }
    }
    if (found || reader->wire.failed)
        return !reader->wire.failed;
    char symbol[96]; /* a size without a name */
    int length = snprintf(symbol, sizeof symbol, "%.60s_dim%zu", name, axis);
    for (int i = 0; i < length; i++)
        if (!isalnum((unsigned char)symbol[i]))
            symbol[i] = '_';
    return add_size(reader, symbol, (size_t)length, out);
}

static bool read_shape(onnx_reader *reader, const pyro_wire_field *shape, const char *name,
                       value_info *info)
{
    pyro_wire_field field;
    info->has_shape = true;
    for (int64_t at = shape->begin; pyro_wire_next(&reader->wire, &at, shape->end, &field);) {
        if (field.number != SHAPE_DIM || field.type != PYRO_WIRE_BYTES)
            continue;
        if (info->rank == PYRO_MAX_RANK)
            return pyro_wire_fail(&reader->wire, field.offset, "a tensor of more than %d dims",
                                  PYRO_MAX_RANK);
        if (!read_dim(reader, &field, name, info->rank, &info->sizes[info->rank]))
            return false;
        info->rank++;
    }
    return !reader->wire.failed;
}

static bool read_type(onnx_reader *reader, const pyro_wire_field *type, const char *name,
                      value_info *info)
{
    pyro_wire_field field, inner;
    for (int64_t at = type->begin; pyro_wire_next(&reader->wire, &at, type->end, &field);) {
        if (field.number != TYPE_TENSOR || field.type != PYRO_WIRE_BYTES)
            continue;
        info->is_tensor = true;
        for (int64_t in = field.begin; pyro_wire_next(&reader->wire, &in, field.end, &inner);) {
            if (inner.number == TENSOR_ELEMENT)
                info->dtype = onnx_dtype((int64_t)inner.value);
            else if (inner.number == TENSOR_SHAPE && inner.type == PYRO_WIRE_BYTES &&
                     !read_shape(reader, &inner, name, info))
                return false;
        }
    }
    return !reader->wire.failed;
}

/* torch's exporter says what an input of the program was: a parameter, a buffer, a constant. */
static bool read_role(onnx_reader *reader, const pyro_wire_field *entry, value_info *info)
{
    static const char kind[] = "pkg.torch.export.graph_signature.InputSpec.kind";
    pyro_wire_field field;
    const char *key = "", *value = "";
    for (int64_t at = entry->begin; pyro_wire_next(&reader->wire, &at, entry->end, &field);) {
        if (field.number == ENTRY_KEY && !(key = onnx_text(reader, &field)))
            return false;
        if (field.number == ENTRY_VALUE && !(value = onnx_text(reader, &field)))
            return false;
    }
    if (!strcmp(key, kind))
        info->role = !strcmp(value, "PARAMETER")         ? PYRO_ROLE_PARAMETER
                     : !strcmp(value, "BUFFER")          ? PYRO_ROLE_BUFFER
                     : !strcmp(value, "CONSTANT_TENSOR") ? PYRO_ROLE_CONSTANT
                                                         : 0;
    return !reader->wire.failed;
}

static bool read_info(onnx_reader *reader, const pyro_wire_field *message, value_info *info)
{
    pyro_wire_field field;
    *info = (value_info){.dtype = PYRO_DTYPE_UNKNOWN};
    const char *name = "";
    for (int64_t at = message->begin; pyro_wire_next(&reader->wire, &at, message->end, &field);) {
        bool good = true;
        if (field.number == INFO_NAME) {
            info->name = field;
            good = (name = onnx_text(reader, &field)) != NULL;
        } else if (field.number == INFO_TYPE && field.type == PYRO_WIRE_BYTES) {
            good = read_type(reader, &field, name, info);
        } else if (field.number == INFO_METADATA && field.type == PYRO_WIRE_BYTES) {
            good = read_role(reader, &field, info);
        }
        if (!good)
            return false;
    }
    if (!reader->wire.failed && info->name.type != PYRO_WIRE_BYTES)
        return pyro_wire_fail(&reader->wire, message->offset, "a value without a name");
    return !reader->wire.failed;
}

/* Keeps what the file says of a value. */
static bool declare(onnx_reader *reader, onnx_value *value, const value_info *info)
{
    if (info->role)
        value->role = info->role;
    if (value->is_stored || !info->is_tensor)
        return true;
    value->declared_dtype = info->dtype;
    if (!info->has_shape)
        return true;
    pyro_size *sizes = pyro_arena_array(&reader->model->arena, info->rank + 1u, sizeof *sizes);
    if (!sizes)
        return onnx_out_of_memory(reader);
    pyro_copy(sizes, info->sizes, info->rank * sizeof *sizes);
    value->declared = sizes;
    value->declared_rank = info->rank;
    return true;
}

static bool add_user_input(onnx_reader *reader, uint32_t index)
{
    pyro_model *model = reader->model;
    pyro_value *value = &model->graph->values[index];
    const onnx_value *beside = &reader->main->values[index];
    value->role = PYRO_ROLE_INPUT;
    value->kind = PYRO_GRAPH_VALUE_OTHER;
    if (!beside->declared || beside->declared_dtype == PYRO_DTYPE_UNKNOWN)
        return true; /* a sequence, or a tensor of any rank */
    value->kind = PYRO_GRAPH_VALUE_TENSOR;
    value->sizes = beside->declared;
    value->rank = beside->declared_rank;
    value->dtype = beside->declared_dtype;
    if (!pyro_grow(&model->inputs, &model->input_capacity, model->input_count + 1,
                   sizeof *model->inputs))
        return onnx_out_of_memory(reader);
    model->inputs[model->input_count++] = index;
    return true;
}

static bool read_input(onnx_reader *reader, const onnx_scope *scope, const pyro_wire_field *field)
{
    value_info info;
    size_t length;
    if (!read_info(reader, field, &info))
        return false;
    const char *name = pyro_wire_bytes(&reader->wire, &info.name, &length);
    if (!name)
        return false;
    uint32_t stored = onnx_declare(reader, scope->graph, name, length);
    if (stored == PYRO_NO_VALUE)
        return false;
    /* Before IR 4 every initializer is an input too. */
    if (scope->graph->graph->values[stored].made && onnx_value_of(scope->graph, stored)->is_stored)
        return declare(reader, onnx_value_of(scope->graph, stored), &info);
    uint32_t index = onnx_make(reader, scope, name, length, info.name.offset);
    if (index == PYRO_NO_VALUE || !declare(reader, &scope->graph->values[index], &info))
        return false;
    if (!pyro_grow(&reader->ids, &reader->id_capacity, reader->id_count + 1, sizeof *reader->ids))
        return onnx_out_of_memory(reader);
    reader->ids[reader->id_count++] = index;
    return scope->graph == reader->main ? add_user_input(reader, index) : true;
}

static bool read_initializer(onnx_reader *reader, const onnx_scope *scope, int64_t begin,
                             int64_t end)
{
    onnx_tensor_proto tensor;
    size_t length;
    if (!onnx_read_tensor(reader, begin, end, &tensor))
        return false;
    if (tensor.name.type != PYRO_WIRE_BYTES)
        return pyro_wire_fail(&reader->wire, begin, "an initializer without a name");
    const char *name = pyro_wire_bytes(&reader->wire, &tensor.name, &length);
    uint32_t index = name ? onnx_store(reader, scope, name, length, begin) : PYRO_NO_VALUE;
    return index != PYRO_NO_VALUE && onnx_describe(reader, scope->graph, index, &tensor);
}

/* A sparse tensor: its name and type are those of its values, its dims are its own. */
static bool read_sparse(onnx_reader *reader, const onnx_scope *scope,
                        const pyro_wire_field *message)
{
    pyro_wire_field field;
    onnx_tensor_proto tensor = {.dtype = PYRO_DTYPE_UNKNOWN}, values = tensor;
    for (int64_t at = message->begin; pyro_wire_next(&reader->wire, &at, message->end, &field);) {
        uint64_t dim;
        if (field.number == SPARSE_VALUES && field.type == PYRO_WIRE_BYTES &&
            !onnx_read_tensor(reader, field.begin, field.end, &values))
            return false;
        if (field.number != SPARSE_DIMS)
            continue;
        for (int64_t in = field.begin; in < field.end && tensor.rank < PYRO_MAX_RANK;) {
            if (!pyro_wire_varint(&reader->wire, &in, field.end, &dim))
                return false;
            tensor.dims[tensor.rank++] = (int64_t)dim < 0 ? 0 : (int64_t)dim;
        }
        if (field.type == PYRO_WIRE_VARINT && tensor.rank < PYRO_MAX_RANK)
            tensor.dims[tensor.rank++] = (int64_t)field.value < 0 ? 0 : (int64_t)field.value;
    }
    size_t length;
    if (reader->wire.failed || values.name.type != PYRO_WIRE_BYTES)
        return !reader->wire.failed;
    tensor.dtype = values.dtype;
    const char *name = pyro_wire_bytes(&reader->wire, &values.name, &length);
    uint32_t index = name ? onnx_store(reader, scope, name, length, message->offset)
                          : PYRO_NO_VALUE;
    return index != PYRO_NO_VALUE && onnx_describe(reader, scope->graph, index, &tensor);
}

/* Sizes of inputs that the file leaves open, until the user sets them: 128 tokens, no past ones. */
static void default_sizes(pyro_model *model)
{
    enum { TOKENS = 128 };
    for (size_t i = 0; i < model->exprs.symbol_count; i++) {
        pyro_symbol *symbol = &model->exprs.symbols[i];
        bool past = strcasestr(symbol->name, "past"), tokens = strcasestr(symbol->name, "seq");
        symbol->value = symbol->hint = past ? 0 : tokens ? TOKENS : 1;
        symbol->known = symbol->has_hint = true;
    }
}

static bool read_inputs(onnx_reader *reader, const onnx_scope *scope, int64_t begin, int64_t end)
{
    pyro_wire_field field;
    size_t first = reader->id_count;
    for (int64_t at = begin; pyro_wire_next(&reader->wire, &at, end, &field);)
        if (field.number == GRAPH_INPUT && field.type == PYRO_WIRE_BYTES &&
            !read_input(reader, scope, &field))
            return false;
    if (reader->wire.failed)
        return false;
    if (scope->graph == reader->main)
        default_sizes(reader->model);
    size_t count = reader->id_count - first;
    uint32_t *inputs = pyro_arena_array(&reader->model->arena, count + 1, sizeof *inputs);
    if (!inputs)
        return onnx_out_of_memory(reader);
    pyro_copy_items(inputs, reader->ids, first, count, sizeof *inputs);
    scope->graph->graph->inputs = inputs;
    scope->graph->graph->input_count = count;
    reader->id_count = first;
    return true;
}

/* Values that the file describes: outputs and intermediate values. */
static bool read_infos(onnx_reader *reader, const onnx_scope *scope, int64_t begin, int64_t end)
{
    pyro_wire_field field;
    for (int64_t at = begin; pyro_wire_next(&reader->wire, &at, end, &field);) {
        value_info info;
        size_t length;
        if ((field.number != GRAPH_VALUE_INFO && field.number != GRAPH_OUTPUT) ||
            field.type != PYRO_WIRE_BYTES)
            continue;
        if (!read_info(reader, &field, &info))
            return false;
        const char *name = pyro_wire_bytes(&reader->wire, &info.name, &length);
        uint32_t index = name ? onnx_declare(reader, scope->graph, name, length) : PYRO_NO_VALUE;
        if (index == PYRO_NO_VALUE || !declare(reader, onnx_value_of(scope->graph, index), &info))
            return false;
    }
    return !reader->wire.failed;
}

static bool read_outputs(onnx_reader *reader, const onnx_scope *scope, int64_t begin, int64_t end)
{
    pyro_wire_field field, name;
    size_t first = reader->id_count;
    for (int64_t at = begin; pyro_wire_next(&reader->wire, &at, end, &field);) {
        if (field.number != GRAPH_OUTPUT || field.type != PYRO_WIRE_BYTES)
            continue;
        for (int64_t in = field.begin; pyro_wire_next(&reader->wire, &in, field.end, &name);) {
            size_t length;
            if (name.number != INFO_NAME)
                continue;
            const char *text = pyro_wire_bytes(&reader->wire, &name, &length);
            uint32_t index = text ? onnx_use(reader, scope, text, length, name.offset)
                                  : PYRO_NO_VALUE;
            if (index == PYRO_NO_VALUE || !pyro_grow(&reader->ids, &reader->id_capacity,
                                                     reader->id_count + 1, sizeof *reader->ids))
                return reader->wire.failed ? false : onnx_out_of_memory(reader);
            reader->ids[reader->id_count++] = index;
        }
    }
    size_t count = reader->id_count - first;
    scope->graph->outputs = pyro_arena_array(&reader->model->arena, count + 1, sizeof(uint32_t));
    if (!scope->graph->outputs)
        return onnx_out_of_memory(reader);
    pyro_copy_items(scope->graph->outputs, reader->ids, first, count, sizeof(uint32_t));
    scope->graph->output_count = count;
    scope->graph->graph->outputs = scope->graph->outputs;
    scope->graph->graph->output_count = count;
    reader->id_count = first;
    return !reader->wire.failed;
}

bool onnx_read_graph(onnx_reader *reader, const onnx_scope *scope, int64_t begin, int64_t end)
{
    pyro_wire_field field;
    for (int64_t at = begin; pyro_wire_next(&reader->wire, &at, end, &field);) {
        bool good = true;
        if (field.number == GRAPH_INITIALIZER && field.type == PYRO_WIRE_BYTES)
            good = read_initializer(reader, scope, field.begin, field.end);
        else if (field.number == GRAPH_SPARSE_INITIALIZER && field.type == PYRO_WIRE_BYTES)
            good = read_sparse(reader, scope, &field);
        if (!good)
            return false;
    }
    if (reader->wire.failed || !read_inputs(reader, scope, begin, end) ||
        !read_infos(reader, scope, begin, end))
        return false;
    for (int64_t at = begin; pyro_wire_next(&reader->wire, &at, end, &field);)
        if (field.number == GRAPH_NODE && field.type == PYRO_WIRE_BYTES &&
            !onnx_read_node(reader, scope, field.begin, field.end))
            return false;
    return !reader->wire.failed && read_outputs(reader, scope, begin, end);
}
