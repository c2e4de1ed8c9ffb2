/*
 * Writes the JSON of exported programs for tests, from short texts:
 *   sizes  "2 8 s0@4 2*s0@8"       numbers, and expressions with their value at export
 *   args   "self=%x dims=[1,2]"    %value, [%a,%b], 3, [1,2], true, none, 'text', @symbolic, {JSON}
 * A size or an argument may not contain a space.
 */
#ifndef PYRO_TESTS_PROGRAM_H
#define PYRO_TESTS_PROGRAM_H

#include "base/containers/buf.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct program {
    pyro_buf inputs, nodes, values, symbolic, specs, ranges, json;
} program;

static inline void program_comma(pyro_buf *buf)
{
    if (buf->length)
        pyro_buf_addc(buf, ',');
}

static inline void program_size(pyro_buf *out, const char *text, size_t length)
{
    const char *hint = memchr(text, '@', length);
    size_t expression = hint ? (size_t)(hint - text) : length;
    if (!hint && strspn(text, "-0123456789") >= length)
        pyro_buf_addf(out, "{\"as_int\":%.*s}", (int)length, text);
    else
        pyro_buf_addf(out, "{\"as_expr\":{\"expr_str\":\"%.*s\"", (int)expression, text);
    if (hint)
        pyro_buf_addf(out, ",\"hint\":{\"as_int\":%.*s}", (int)(length - expression - 1), hint + 1);
    if (hint || strspn(text, "-0123456789") < length)
        pyro_buf_adds(out, "}}");
}

/* Calls `each` on every word of a text. */
static inline void program_words(pyro_buf *out, const char *text,
                                 void (*each)(pyro_buf *, const char *, size_t))
{
    bool first = true;
    while (*(text += strspn(text, " "))) {
        size_t length = strcspn(text, " ");
        if (!first)
            pyro_buf_addc(out, ',');
        first = false;
        each(out, text, length);
        text += length;
    }
}

static inline void program_typed(program *p, const char *name, int dtype, const char *sizes)
{
    program_comma(&p->values);
    pyro_buf_addf(&p->values, "\"%s\":{\"dtype\":%d,\"sizes\":[", name, dtype);
    program_words(&p->values, sizes, program_size);
    pyro_buf_adds(&p->values, "]}");
}

/* Describes a value of float32. */
static inline void program_tensor(program *p, const char *name, const char *sizes)
{
    program_typed(p, name, 7, sizes);
}

static inline void program_placeholder(program *p, const char *name)
{
    program_comma(&p->inputs);
    pyro_buf_addf(&p->inputs, "{\"as_tensor\":{\"name\":\"%s\"}}", name);
    program_comma(&p->specs);
}

static inline void program_input(program *p, const char *name, const char *sizes)
{
    program_placeholder(p, name);
    pyro_buf_addf(&p->specs, "{\"user_input\":{\"arg\":{\"as_tensor\":{\"name\":\"%s\"}}}}", name);
    program_tensor(p, name, sizes);
}

/* `role` is "parameter", "buffer" or "tensor_constant". */
static inline void program_weight(program *p, const char *role, const char *name, const char *path,
                                  const char *sizes)
{
    program_placeholder(p, name);
    pyro_buf_addf(&p->specs, "{\"%s\":{\"arg\":{\"name\":\"%s\"},\"%s_name\":\"%s\"}}", role, name,
                  role, path);
    program_tensor(p, name, sizes);
}

static inline void program_parameter(program *p, const char *name, const char *path,
                                     const char *sizes)
{
    program_weight(p, "parameter", name, path, sizes);
}

static inline void program_range(program *p, const char *symbol, int min, int max)
{
    program_comma(&p->ranges);
    pyro_buf_addf(&p->ranges, "\"%s\":{\"min_val\":%d,\"max_val\":%d}", symbol, min, max);
}

/* A symbolic number that arguments name as @name. */
static inline void program_number(program *p, const char *name, const char *size)
{
    program_comma(&p->symbolic);
    pyro_buf_addf(&p->symbolic, "\"%s\":", name);
    program_size(&p->symbolic, size, strlen(size));
}

static inline void program_list(pyro_buf *out, const char *text, size_t length)
{
    const char *items = text + 1, *end = text + length - 1;
    bool tensors = *items == '%';
    pyro_buf_adds(out, tensors ? "{\"as_tensors\":[" : "{\"as_ints\":[");
    while (tensors && items < end) {
        const char *comma = memchr(items, ',', (size_t)(end - items));
        const char *stop = comma ? comma : end;
        pyro_buf_addf(out, "{\"name\":\"%.*s\"}%s", (int)(stop - items - 1), items + 1,
                      comma ? "," : "");
        items = stop + 1;
    }
    if (!tensors)
        pyro_buf_add(out, items, (size_t)(end - items));
    pyro_buf_adds(out, "]}");
}

static inline void program_argument(pyro_buf *out, const char *text, size_t length)
{
    int rest = (int)length - 1;
    if (*text == '%')
        pyro_buf_addf(out, "{\"as_tensor\":{\"name\":\"%.*s\"}}", rest, text + 1);
    else if (*text == '@')
        pyro_buf_addf(out, "{\"as_sym_int\":{\"as_name\":\"%.*s\"}}", rest, text + 1);
    else if (*text == '\'')
        pyro_buf_addf(out, "{\"as_string\":\"%.*s\"}", rest - 1, text + 1);
    else if (*text == '[')
        program_list(out, text, length);
    else if (*text == '{')
        pyro_buf_add(out, text, length);
    else if (!strncmp(text, "none", 4))
        pyro_buf_adds(out, "{\"as_none\":true}");
    else
        pyro_buf_addf(out, "{\"%s\":%.*s}", *text == 't' || *text == 'f' ? "as_bool" : "as_int",
                      (int)length, text);
}

/* "name=value", or "=value" for a positional argument. */
static inline void program_named_argument(pyro_buf *out, const char *text, size_t length)
{
    const char *equals = memchr(text, '=', length);
    pyro_buf_addf(out, "{\"name\":\"%.*s\",\"arg\":", (int)(equals - text), text);
    program_argument(out, equals + 1, length - (size_t)(equals + 1 - text));
    pyro_buf_adds(out, "}");
}

/*
 * A node of an operator as files name it without "torch.ops."; in the layer of a path ("" is the
 * model, NULL omits it) and of a class; its outputs are written as arguments without names.
 */
static inline void program_node_in(program *p, const char *target, const char *layer,
                                   const char *layer_class, const char *args, const char *outputs)
{
    program_comma(&p->nodes);
    pyro_buf_addf(&p->nodes, "{\"target\":\"torch.ops.%s\",\"inputs\":[", target);
    program_words(&p->nodes, args, program_named_argument);
    pyro_buf_adds(&p->nodes, "],\"outputs\":[");
    program_words(&p->nodes, outputs, program_argument);
    pyro_buf_adds(&p->nodes, "],\"metadata\":{");
    if (layer)
        pyro_buf_addf(&p->nodes, "\"nn_module_stack\":\"L__self__,,test.Model%s%s%s%s%s%s\"",
                      *layer ? ";L__self__" : "", layer, *layer ? "," : "", layer,
                      *layer ? "," : "", *layer ? layer_class : "");
    pyro_buf_adds(&p->nodes, "}}");
}

/* The same in a layer of some class. */
static inline void program_node(program *p, const char *target, const char *layer, const char *args,
                                const char *outputs)
{
    program_node_in(p, target, layer, "test.Layer", args, outputs);
}

/* The graph alone: the body of a higher-order operator. */
static inline void program_add_graph(const program *p, pyro_buf *out)
{
    pyro_buf_addf(out,
                  "{\"inputs\":[%s],\"outputs\":[],\"nodes\":[%s],\"tensor_values\":{%s},"
                  "\"sym_int_values\":{%s}}",
                  p->inputs.data ? p->inputs.data : "", p->nodes.data ? p->nodes.data : "",
                  p->values.data ? p->values.data : "", p->symbolic.data ? p->symbolic.data : "");
}

/* The whole program, until program_free. */
static inline const char *program_json(program *p)
{
    pyro_buf_reset(&p->json);
    pyro_buf_adds(&p->json, "{\"graph_module\":{\"graph\":");
    program_add_graph(p, &p->json);
    pyro_buf_addf(&p->json,
                  ",\"signature\":{\"input_specs\":[%s]}},\"range_constraints\":{%s},"
                  "\"schema_version\":{\"major\":8,\"minor\":14},\"torch_version\":\"2.13.0\"}",
                  p->specs.data ? p->specs.data : "", p->ranges.data ? p->ranges.data : "");
    return p->json.data;
}

static inline void program_free(program *p)
{
    pyro_buf *parts[] = {&p->inputs, &p->nodes,  &p->values, &p->symbolic,
                         &p->specs,  &p->ranges, &p->json};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        pyro_buf_free(parts[i]);
}

#endif
