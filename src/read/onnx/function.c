/* Finds the functions of a file, and expands their bodies where nodes call them. */
#include "read/onnx/onnx.h"

#include "base/bytes.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of onnx.proto. */
enum function_field {
    FUNCTION_NAME = 1,
    FUNCTION_INPUT = 4,
    FUNCTION_OUTPUT = 5,
    FUNCTION_NODE = 7,
    FUNCTION_DOMAIN = 10,
    FUNCTION_ATTRIBUTE = 11,
    FUNCTION_OVERLOAD = 13,
};
enum { NODE_OUTPUT = 2, KEY_BYTES = 600 };

static int write_key(char key[KEY_BYTES], const char *domain, const char *name,
                     const char *overload)
{
    return snprintf(key, KEY_BYTES, "%.190s:%.190s:%.190s", strcmp(domain, "ai.onnx") ? domain : "",
                    name, overload);
}

bool onnx_index_function(onnx_reader *reader, int64_t begin, int64_t end)
{
    pyro_wire_field field;
    const char *name = "", *domain = "", *overload = "";
    char key[KEY_BYTES];
    for (int64_t at = begin; pyro_wire_next(&reader->wire, &at, end, &field);) {
        const char **text = field.number == FUNCTION_NAME       ? &name
                            : field.number == FUNCTION_DOMAIN   ? &domain
                            : field.number == FUNCTION_OVERLOAD ? &overload
                                                                : NULL;
        if (text && !(*text = onnx_text(reader, &field)))
            return false;
    }
    if (reader->wire.failed)
        return false;
    int length = write_key(key, domain, name, overload);
    uint32_t id = pyro_intern_add(&reader->function_keys, key, (size_t)length);
    if (id != PYRO_INTERN_NONE && id < reader->function_count)
        return pyro_wire_fail(&reader->wire, begin, "function '%.100s' is defined twice", name);
    if (id == PYRO_INTERN_NONE || !pyro_grow(&reader->functions, &reader->function_capacity,
                                             id + 1u, sizeof *reader->functions))
        return onnx_out_of_memory(reader);
    reader->functions[reader->function_count++] = (onnx_function){name, begin, end};
    return true;
}

uint32_t onnx_find_function(const onnx_reader *reader, const onnx_node *node)
{
    char key[KEY_BYTES];
    if (!reader->function_count || !*node->op)
        return PYRO_NO_VALUE;
    int length = write_key(key, node->domain, node->op, node->overload);
    uint32_t id = pyro_intern_find(&reader->function_keys, key, (size_t)length);
    return id == PYRO_INTERN_NONE ? PYRO_NO_VALUE : id;
}

static bool check_depth(onnx_reader *reader, const onnx_scope *scope, const onnx_node *node,
                        uint32_t function)
{
    for (const onnx_scope *s = scope; s; s = s->outer)
        for (const onnx_expansion *e = s->expansion; e; e = e->caller)
            if (e->function == function)
                return pyro_wire_fail(&reader->wire, node->begin, "function '%.100s' calls itself",
                                      reader->functions[function].name);
    if (reader->depth >= ONNX_MAX_DEPTH)
        return pyro_wire_fail(&reader->wire, node->begin,
                              "bodies and functions are nested more than %d deep", ONNX_MAX_DEPTH);
    if (++reader->expansions > ONNX_MAX_EXPANSIONS)
        return pyro_wire_fail(&reader->wire, node->begin, "more than %d calls of functions",
                              ONNX_MAX_EXPANSIONS);
    return true;
}

/* Binds the formal inputs to the values of the call. */
static bool bind_inputs(onnx_reader *reader, const onnx_node *node, const onnx_function *function,
                        onnx_expansion *expansion)
{
    pyro_wire_field field;
    size_t position = 0;
    for (int64_t at = function->begin; pyro_wire_next(&reader->wire, &at, function->end, &field);) {
        size_t length;
        if (field.number != FUNCTION_INPUT)
            continue;
        const char *name = pyro_wire_bytes(&reader->wire, &field, &length);
        uint32_t value = position < node->input_count ? reader->ids[node->first_input + position]
                                                      : PYRO_NO_VALUE;
        position++;
        if (!name || !onnx_bind(reader, expansion, name, length, value, false))
            return false;
    }
    return !reader->wire.failed;
}

/* Makes the values of the call's outputs, which nodes of the body then produce. */
static bool bind_outputs(onnx_reader *reader, const onnx_scope *scope, const onnx_node *node,
                         const onnx_function *function, onnx_expansion *expansion)
{
    pyro_wire_field field, formal;
    int64_t formals = function->begin;
    for (int64_t at = node->begin; pyro_wire_next(&reader->wire, &at, node->end, &field);) {
        size_t length;
        if (field.number != NODE_OUTPUT)
            continue;
        do
            if (!pyro_wire_next(&reader->wire, &formals, function->end, &formal))
                return reader->wire.failed
                           ? false
                           : pyro_wire_fail(&reader->wire, field.offset,
                                            "a call of '%.100s' has more outputs than the function",
                                            function->name);
        while (formal.number != FUNCTION_OUTPUT);
        const char *name = pyro_wire_bytes(&reader->wire, &field, &length);
        uint32_t value = PYRO_NO_VALUE;
        if (name && length)
            value = onnx_make(reader, scope, name, length, field.offset);
        if (reader->wire.failed)
            return false;
        const char *inner = pyro_wire_bytes(&reader->wire, &formal, &length);
        if (!inner ||
            (value != PYRO_NO_VALUE && !onnx_bind(reader, expansion, inner, length, value, true)))
            return false;
    }
    return !reader->wire.failed;
}

/* The attributes of the call, then the defaults of the function: the first of a name counts. */
static bool collect_attributes(onnx_reader *reader, const onnx_scope *scope, size_t first_arg,
                               const onnx_function *function, onnx_expansion *expansion)
{
    pyro_wire_field field;
    for (int64_t at = function->begin; pyro_wire_next(&reader->wire, &at, function->end, &field);) {
        pyro_arg arg;
        if (field.number != FUNCTION_ATTRIBUTE || field.type != PYRO_WIRE_BYTES)
            continue;
        if (!onnx_read_attribute(reader, scope, field.begin, field.end, &arg))
            return false;
        if (!pyro_grow(&reader->args, &reader->arg_capacity, reader->arg_count + 1,
                       sizeof *reader->args))
            return onnx_out_of_memory(reader);
        reader->args[reader->arg_count++] = arg;
    }
    size_t count = reader->arg_count - first_arg;
    pyro_arg *args = pyro_arena_array(&reader->model->arena, count + 1, sizeof *args);
    if (!args)
        return onnx_out_of_memory(reader);
    pyro_copy_items(args, reader->args, first_arg, count, sizeof *args);
    expansion->args = args;
    expansion->arg_count = count;
    return !reader->wire.failed;
}

/* An output that no node of the body made is an input of the function: it is refused. */
static bool check_outputs(onnx_reader *reader, const onnx_node *node,
                          const onnx_expansion *expansion)
{
    for (size_t i = 0; i < expansion->bound_count; i++)
        if (expansion->bound[i].is_pending)
            return pyro_wire_fail(&reader->wire, node->begin,
                                  "function '%.100s' does not make its output '%.100s'",
                                  reader->functions[expansion->function].name,
                                  pyro_intern_text(&expansion->names, (uint32_t)i));
    return true;
}

static bool expand(onnx_reader *reader, const onnx_scope *scope, const onnx_node *node,
                   onnx_expansion *expansion, size_t first_arg)
{
    onnx_function function = reader->functions[expansion->function];
    onnx_scope inner = {.graph = scope->graph, .outer = scope->outer, .expansion = expansion};
    pyro_wire_field field;
    if (!collect_attributes(reader, scope, first_arg, &function, expansion) ||
        !bind_inputs(reader, node, &function, expansion) ||
        !bind_outputs(reader, scope, node, &function, expansion))
        return false;
    for (int64_t at = function.begin; pyro_wire_next(&reader->wire, &at, function.end, &field);)
        if (field.number == FUNCTION_NODE && field.type == PYRO_WIRE_BYTES &&
            !onnx_read_node(reader, &inner, field.begin, field.end))
            return false;
    return !reader->wire.failed && check_outputs(reader, node, expansion);
}

bool onnx_expand(onnx_reader *reader, const onnx_scope *scope, const onnx_node *node,
                 uint32_t function, size_t args)
{
    if (!check_depth(reader, scope, node, function))
        return false;
    onnx_expansion expansion = {.caller = scope->expansion, .function = function};
    expansion.module = onnx_layer(reader, scope, node);
    expansion.prefix = pyro_arena_format(
        &reader->model->arena, "%s%s%.100s#%zu", scope->expansion ? scope->expansion->prefix : "",
        scope->expansion ? "/" : "", *node->name ? node->name : node->op, reader->unnamed++);
    if (!expansion.prefix || expansion.module == PYRO_NO_VALUE)
        return onnx_out_of_memory(reader);
    pyro_intern_init(&expansion.names, &reader->model->arena);
    reader->depth++;
    bool good = expand(reader, scope, node, &expansion, args);
    reader->depth--;
    pyro_intern_free(&expansion.names);
    free(expansion.bound);
    return good;
}
