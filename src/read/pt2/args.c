/* Reads the arguments of nodes: objects with one key, which is the kind of the argument. */
#include "read/pt2/pt2.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

static bool push_value(pt2_reader *reader, uint32_t value)
{
    if (!pyro_grow(&reader->values, &reader->value_capacity, reader->value_count + 1,
                   sizeof *reader->values))
        return pt2_out_of_memory(reader);
    reader->values[reader->value_count++] = value;
    return true;
}

static bool push_integer(pt2_reader *reader, int64_t literal, uint32_t value)
{
    if (!pyro_grow(&reader->integers, &reader->integer_capacity, reader->integer_count + 1,
                   sizeof *reader->integers))
        return pt2_out_of_memory(reader);
    reader->integers[reader->integer_count++] = (pyro_arg_integer){literal, value};
    return true;
}

/* Copies what was pushed since `from` into the arena and pops it from the scratch. */
static bool keep_values(pt2_reader *reader, size_t from, const uint32_t **out, uint32_t *count)
{
    size_t length = reader->value_count - from;
    uint32_t *copy = pyro_arena_items(&reader->model->arena, length, sizeof *copy,
                                      alignof(uint32_t));
    if (!copy)
        return pt2_out_of_memory(reader);
    if (length)
        memcpy(copy, reader->values + from, length * sizeof *copy);
    reader->value_count = from;
    *out = copy;
    *count = (uint32_t)length;
    return true;
}

static bool keep_integers(pt2_reader *reader, size_t from, pyro_arg *arg)
{
    size_t length = reader->integer_count - from;
    pyro_arg_integer *copy = pyro_arena_items(&reader->model->arena, length, sizeof *copy,
                                              alignof(pyro_arg_integer));
    if (!copy)
        return pt2_out_of_memory(reader);
    if (length)
        memcpy(copy, reader->integers + from, length * sizeof *copy);
    reader->integer_count = from;
    arg->items.integers = copy;
    arg->count = (uint32_t)length;
    return true;
}

static const char tensor_before[] = "\"as_tensor\": {\"name\": \"", tensor_after[] = "\"}}";

bool pt2_take_value(pt2_reader *reader, pyro_graph *graph, const char *before, const char *after,
                    uint32_t *out)
{
    size_t length;
    const char *text;
    if (!pyro_json_take_text(reader->json, before, after, &text, &length))
        return false;
    *out = pyro_graph_value(graph, text, length);
    return true;
}

/* {"name": "x", ...}: the object is the current token. */
static bool named_value_at(pt2_reader *reader, pyro_graph *graph, uint32_t *out)
{
    *out = PYRO_NO_VALUE;
    if (pyro_json_current(reader->json) != PYRO_JSON_OBJECT) {
        if (!pt2_failed(reader))
            pyro_json_fail(reader->json, "expected the name of a value");
        return false;
    }
    if (pt2_take_value(reader, graph, "\"name\": \"", "\"}", out))
        return *out != PYRO_NO_VALUE || pt2_out_of_memory(reader);
    while (pt2_next_key(reader)) {
        if (PYRO_JSON_IS(reader->json, "name") || PYRO_JSON_IS(reader->json, "as_name")) {
            size_t length;
            if (!pt2_expect(reader, PYRO_JSON_STRING, "the name of a value"))
                return false;
            const char *text = pyro_json_text(reader->json, &length);
            *out = text ? pyro_graph_value(graph, text, length) : PYRO_NO_VALUE;
            if (*out == PYRO_NO_VALUE)
                return pt2_out_of_memory(reader);
        } else if (!pt2_skip(reader)) {
            return false;
        }
    }
    if (pt2_failed(reader))
        return false;
    if (*out == PYRO_NO_VALUE)
        pyro_json_fail(reader->json, "a value without a name");
    return *out != PYRO_NO_VALUE;
}

/* {"as_tensor": {"name": ..}} or {"as_none": true}: the object is the current token. */
static bool optional_value_at(pt2_reader *reader, pyro_graph *graph, uint32_t *out)
{
    *out = PYRO_NO_VALUE;
    if (pyro_json_current(reader->json) != PYRO_JSON_OBJECT)
        return named_value_at(reader, graph, out);
    while (pt2_next_key(reader)) {
        if (PYRO_JSON_IS(reader->json, "as_tensor")) {
            pyro_json_next(reader->json);
            if (!named_value_at(reader, graph, out))
                return false;
        } else if (!pt2_skip(reader)) {
            return false;
        }
    }
    return !pt2_failed(reader);
}

/* A list of tensors, or with `optional` of tensors and Nones. */
static bool read_tensors(pt2_reader *reader, pyro_graph *graph, bool optional)
{
    if (!pt2_expect(reader, PYRO_JSON_ARRAY, "a list of tensors"))
        return false;
    while (pt2_next_item(reader)) {
        uint32_t value;
        if (!(optional ? optional_value_at(reader, graph, &value)
                       : named_value_at(reader, graph, &value)) ||
            !push_value(reader, value))
            return false;
    }
    return !pt2_failed(reader);
}

/* {"as_name": "sym"} or {"as_int": 3}: the object is the current token. */
static bool symbolic_integer_at(pt2_reader *reader, pyro_graph *graph)
{
    int64_t literal = 0;
    uint32_t value = PYRO_NO_VALUE;
    if (pyro_json_current(reader->json) != PYRO_JSON_OBJECT) {
        if (!pt2_failed(reader))
            pyro_json_fail(reader->json, "expected a symbolic number");
        return false;
    }
    while (pt2_next_key(reader)) {
        if (PYRO_JSON_IS(reader->json, "as_name")) {
            size_t length;
            if (!pt2_expect(reader, PYRO_JSON_STRING, "the name of a symbolic number"))
                return false;
            const char *text = pyro_json_text(reader->json, &length);
            value = text ? pyro_graph_value(graph, text, length) : PYRO_NO_VALUE;
            if (value == PYRO_NO_VALUE)
                return pt2_out_of_memory(reader);
        } else if (PYRO_JSON_IS(reader->json, "as_int")) {
            if (!pt2_integer(reader, &literal, "an integer"))
                return false;
        } else if (!pt2_skip(reader)) {
            return false;
        }
    }
    return !pt2_failed(reader) && push_integer(reader, literal, value);
}

/* Keeps an integer; anything else becomes 0, because no cost depends on it. */
static bool number_at(pt2_reader *reader)
{
    int64_t literal = 0;
    pyro_json_kind kind = pyro_json_current(reader->json);
    if (kind == PYRO_JSON_TRUE || kind == PYRO_JSON_FALSE)
        literal = kind == PYRO_JSON_TRUE;
    else if (kind == PYRO_JSON_NUMBER && !pyro_json_int(reader->json, &literal))
        literal = 0;
    else if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
        return pt2_skip(reader) && push_integer(reader, 0, PYRO_NO_VALUE);
    return !pt2_failed(reader) && push_integer(reader, literal, PYRO_NO_VALUE);
}

static bool read_integers(pt2_reader *reader, pyro_graph *graph, bool symbolic)
{
    if (!pt2_expect(reader, PYRO_JSON_ARRAY, "a list of integers"))
        return false;
    while (pt2_next_item(reader))
        if (!(symbolic ? symbolic_integer_at(reader, graph) : number_at(reader)))
            return false;
    return !pt2_failed(reader);
}

static bool read_float(pt2_reader *reader, pyro_arg *arg)
{
    pyro_json_kind kind = pyro_json_next(reader->json);
    arg->kind = PYRO_ARG_NUMBER;
    if (kind == PYRO_JSON_NUMBER && !pyro_json_double(reader->json, &arg->items.number))
        arg->items.number = 0;
    if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
        return pt2_skip(reader);
    return kind != PYRO_JSON_ERROR; /* "Infinity" and the like are strings */
}

/* {"name": "true_graph_0", "graph": {...}} */
static bool read_subgraph(pt2_reader *reader, pyro_arg *arg)
{
    pyro_graph *graph = pyro_model_add_graph(reader->model);
    bool found = false;
    if (!graph)
        return pt2_out_of_memory(reader);
    if (!pt2_expect(reader, PYRO_JSON_OBJECT, "a subgraph"))
        return false;
    while (pt2_next_key(reader)) {
        bool is_graph = PYRO_JSON_IS(reader->json, "graph");
        if (!(is_graph ? pt2_graph(reader, graph) : pt2_skip(reader)))
            return false;
        found |= is_graph;
    }
    if (!found && !pt2_failed(reader))
        pyro_json_fail(reader->json, "a subgraph argument without a graph");
    arg->kind = PYRO_ARG_GRAPH;
    arg->items.graph = graph;
    return found && !pt2_failed(reader);
}

static bool read_one_value(pt2_reader *reader, pyro_graph *graph, pyro_arg *arg)
{
    uint32_t value;
    size_t from = reader->value_count;
    pyro_json_next(reader->json);
    if (!named_value_at(reader, graph, &value) || !push_value(reader, value))
        return false;
    arg->kind = PYRO_ARG_TENSOR;
    return keep_values(reader, from, &arg->items.values, &arg->count);
}

/* The value behind one key of an Argument, which is the current token. */
static bool read_tagged(pt2_reader *reader, pyro_graph *graph, pyro_arg *arg)
{
    pyro_json *json = reader->json;
    size_t values_from = reader->value_count, integers_from = reader->integer_count;
    *arg = (pyro_arg){.name = arg->name}; /* of two kinds, which no file has, the last one wins */
    if (PYRO_JSON_IS(json, "as_tensor"))
        return read_one_value(reader, graph, arg);
    bool optional = PYRO_JSON_IS(json, "as_optional_tensors");
    if (optional || PYRO_JSON_IS(json, "as_tensors")) {
        arg->kind = PYRO_ARG_TENSORS;
        return read_tensors(reader, graph, optional) &&
               keep_values(reader, values_from, &arg->items.values, &arg->count);
    }
    if (PYRO_JSON_IS(json, "as_optional_tensor")) {
        uint32_t value;
        pyro_json_next(json);
        arg->kind = PYRO_ARG_TENSORS;
        return optional_value_at(reader, graph, &value) && push_value(reader, value) &&
               keep_values(reader, values_from, &arg->items.values, &arg->count);
    }
    bool symbolic = PYRO_JSON_IS(json, "as_sym_ints") || PYRO_JSON_IS(json, "as_sym_bools");
    if (symbolic || PYRO_JSON_IS(json, "as_ints") || PYRO_JSON_IS(json, "as_bools")) {
        arg->kind = PYRO_ARG_INTEGERS;
        return read_integers(reader, graph, symbolic) && keep_integers(reader, integers_from, arg);
    }
    if (PYRO_JSON_IS(json, "as_sym_int") || PYRO_JSON_IS(json, "as_sym_bool")) {
        arg->kind = PYRO_ARG_INTEGER;
        pyro_json_next(json);
        return symbolic_integer_at(reader, graph) && keep_integers(reader, integers_from, arg);
    }
    bool boolean = PYRO_JSON_IS(json, "as_bool");
    if (boolean || PYRO_JSON_IS(json, "as_int") || PYRO_JSON_IS(json, "as_scalar_type")) {
        arg->kind = boolean ? PYRO_ARG_BOOLEAN : PYRO_ARG_INTEGER;
        pyro_json_next(json);
        return number_at(reader) && keep_integers(reader, integers_from, arg);
    }
    if (PYRO_JSON_IS(json, "as_float"))
        return read_float(reader, arg);
    if (PYRO_JSON_IS(json, "as_string")) {
        arg->kind = PYRO_ARG_TEXT;
        return pt2_text(reader, &arg->items.text, "a text");
    }
    if (PYRO_JSON_IS(json, "as_graph"))
        return read_subgraph(reader, arg);
    arg->kind = PYRO_JSON_IS(json, "as_none") ? PYRO_ARG_NONE : PYRO_ARG_OTHER;
    return pt2_skip(reader);
}

/* Keeps one value as the argument. */
static bool keep_tensor(pt2_reader *reader, uint32_t value, pyro_arg *arg)
{
    size_t from = reader->value_count;
    arg->kind = PYRO_ARG_TENSOR;
    if (value == PYRO_NO_VALUE)
        return pt2_out_of_memory(reader);
    return push_value(reader, value) && keep_values(reader, from, &arg->items.values, &arg->count);
}

/* An Argument: the object is the current token. */
static bool argument_at(pt2_reader *reader, pyro_graph *graph, pyro_arg *arg)
{
    if (pyro_json_current(reader->json) != PYRO_JSON_OBJECT) {
        if (!pt2_failed(reader))
            pyro_json_fail(reader->json, "expected an argument");
        return false;
    }
    uint32_t value;
    if (pt2_take_value(reader, graph, tensor_before, tensor_after, &value))
        return keep_tensor(reader, value, arg);
    while (pt2_next_key(reader))
        if (!read_tagged(reader, graph, arg))
            return false;
    return !pt2_failed(reader);
}

/* Reads the start of most named arguments at once; other ones are left to the caller. */
static bool take_named_tensor(pt2_reader *reader, pyro_graph *graph, pyro_arg *arg)
{
    const char *texts[2];
    size_t lengths[2];
    if (!pyro_json_take_texts(reader->json, "\"name\": \"",
                              "\", \"arg\": {\"as_tensor\": {\"name\": \"", "\"}}", texts, lengths))
        return true;
    uint32_t name = pyro_intern_add(&reader->model->strings, texts[0], lengths[0]);
    if (name == PYRO_INTERN_NONE)
        return pt2_out_of_memory(reader);
    arg->name = pyro_intern_text(&reader->model->strings, name);
    return keep_tensor(reader, pyro_graph_value(graph, texts[1], lengths[1]), arg);
}

static bool named_argument_at(pt2_reader *reader, pyro_graph *graph, pyro_arg *arg)
{
    arg->name = "";
    if (pyro_json_current(reader->json) != PYRO_JSON_OBJECT) {
        if (!pt2_failed(reader))
            pyro_json_fail(reader->json, "expected a named argument");
        return false;
    }
    if (!take_named_tensor(reader, graph, arg))
        return false;
    while (pt2_next_key(reader)) {
        bool good;
        if (PYRO_JSON_IS(reader->json, "name")) {
            good = pt2_text(reader, &arg->name, "the name of an argument");
        } else if (PYRO_JSON_IS(reader->json, "arg")) {
            pyro_json_next(reader->json);
            good = argument_at(reader, graph, arg);
        } else {
            good = pt2_skip(reader);
        }
        if (!good)
            return false;
    }
    return !pt2_failed(reader);
}

bool pt2_args(pt2_reader *reader, pyro_graph *graph, pyro_node *node)
{
    size_t from = reader->arg_count; /* nodes of subgraphs come in between */
    if (!pt2_expect(reader, PYRO_JSON_ARRAY, "the arguments of a node"))
        return false;
    while (pt2_next_item(reader)) {
        pyro_arg arg = {.name = ""};
        if (!named_argument_at(reader, graph, &arg))
            return false;
        if (!pyro_grow(&reader->args, &reader->arg_capacity, reader->arg_count + 1,
                       sizeof *reader->args))
            return pt2_out_of_memory(reader);
        reader->args[reader->arg_count++] = arg;
    }
    if (pt2_failed(reader))
        return false;
    size_t count = reader->arg_count - from;
    pyro_arg *copy = pyro_arena_items(&reader->model->arena, count, sizeof *copy,
                                      alignof(pyro_arg));
    if (!copy)
        return pt2_out_of_memory(reader);
    if (count)
        memcpy(copy, reader->args + from, count * sizeof *copy);
    reader->arg_count = from;
    node->args = copy;
    node->arg_count = (uint32_t)count;
    return true;
}

bool pt2_values(pt2_reader *reader, pyro_graph *graph, const uint32_t **out, uint32_t *count)
{
    size_t from = reader->value_count;
    if (!pt2_expect(reader, PYRO_JSON_ARRAY, "a list of values"))
        return false;
    while (pt2_next_item(reader)) {
        pyro_arg arg = {.name = ""};
        uint32_t value;
        if (pt2_take_value(reader, graph, tensor_before, tensor_after, &value)) {
            if (value == PYRO_NO_VALUE)
                return pt2_out_of_memory(reader);
            if (!push_value(reader, value))
                return false;
            continue;
        }
        if (!argument_at(reader, graph, &arg))
            return false;
        if (arg.kind == PYRO_ARG_TENSOR || arg.kind == PYRO_ARG_TENSORS) {
            for (uint32_t i = 0; i < arg.count; i++)
                if (!push_value(reader, arg.items.values[i]))
                    return false;
        } else if (arg.kind == PYRO_ARG_INTEGER || arg.kind == PYRO_ARG_INTEGERS) {
            for (uint32_t i = 0; i < arg.count; i++)
                if (!push_value(reader, arg.items.integers[i].value))
                    return false;
        } else if (!push_value(reader, PYRO_NO_VALUE)) {
            return false;
        }
    }
    return !pt2_failed(reader) && keep_values(reader, from, out, count);
}
