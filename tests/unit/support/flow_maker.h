/* Builds small programs for tests of the dataflow: calls, and steps with inputs and outputs. */
#ifndef PYRO_TESTS_FLOW_MAKER_H
#define PYRO_TESTS_FLOW_MAKER_H

#include "dataflow/dataflow.h"
#include "unit.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define NO_MORE UINT32_MAX

static inline pyro_program *make_program(void)
{
    pyro_program *program = pyro_program_new();
    pyro_flow_call root = {.path = "", .class_name = "Model", .parent = PYRO_NONE};
    assert_non_null(program);
    program->name = "test";
    assert_int_equal(pyro_program_add_call(program, &root), 0);
    return program;
}

static inline uint32_t make_call(pyro_program *program, uint32_t parent, const char *path,
                                 const char *class_name)
{
    pyro_flow_call call = {
        .path = pyro_program_text(program, path), .class_name = class_name, .parent = parent};
    return pyro_program_add_call(program, &call);
}

static inline uint32_t make_function(pyro_program *program, uint32_t parent, const char *name)
{
    pyro_flow_call call = {.path = program->calls[parent].path,
                           .class_name = name,
                           .parent = parent,
                           .is_function = true};
    return pyro_program_add_call(program, &call);
}

static inline uint32_t make_value(pyro_program *program, uint32_t maker, uint32_t memory,
                                  int64_t bytes)
{
    pyro_flow_value value = {.name = "", .maker = maker, .weight = PYRO_NONE, .memory = memory};
    value.tensor.dtype = "uint8";
    assert_true(pyro_program_shape(program, &value.tensor, &bytes, 1, 1));
    return pyro_program_add_value(program, &value);
}

/* An external value with its own memory. */
static inline uint32_t make_input(pyro_program *program, const char *name, int64_t bytes)
{
    uint32_t value = make_value(program, PYRO_NONE, (uint32_t)program->value_count + 1000, bytes);
    program->values[value].name = name;
    return value;
}

static inline uint32_t make_weight(pyro_program *program, const char *name, int64_t bytes)
{
    pyro_flow_weight weight = {name, PYRO_WEIGHT_PARAMETER, bytes / 4, bytes};
    uint32_t number = pyro_program_add_weight(program, &weight);
    uint32_t value = make_input(program, name, bytes);
    program->values[value].weight = number;
    return value;
}

/* A step in a call: its input values, up to NO_MORE, and one output with its own memory. */
static inline uint32_t make_step(pyro_program *program, uint32_t call, const char *op,
                                 int64_t bytes, int64_t flops, ...)
{
    pyro_flow_step step = {.op = op, .call = call, .flops = flops, .moved_bytes = bytes};
    uint32_t number = pyro_program_add_step(program, &step), value;
    va_list uses;
    va_start(uses, flops);
    while ((value = va_arg(uses, uint32_t)) != NO_MORE)
        assert_true(pyro_program_add_use(program, (pyro_flow_use){.value = value}));
    va_end(uses);
    value = make_value(program, number, (uint32_t)program->value_count + 1000, bytes);
    assert_true(pyro_program_add_made(program, value));
    return value;
}

static inline pyro_dataflow *make_graph(pyro_program *program, pyro_granularity granularity)
{
    pyro_dataflow_options options = {granularity, PYRO_LEVEL_HIGH};
    pyro_dataflow *graph;
    pyro_program_finish(program);
    assert_int_equal(pyro_dataflow_build(&graph, program, &options, NULL), PYRO_OK);
    return graph;
}

/* The names of all nodes with spaces between, and of all edges as "a>b". */
static inline void expect_graph(const pyro_dataflow *graph, const char *nodes, const char *edges)
{
    char text[4096] = "";
    for (size_t i = 0; i < graph->node_count; i++) {
        strcat(text, i ? " " : "");
        strcat(text, graph->nodes[i].name);
    }
    assert_string_equal(text, nodes);
    text[0] = 0;
    for (size_t i = 0; i < graph->edge_count; i++) {
        strcat(text, i ? " " : "");
        strcat(text, graph->nodes[graph->edges[i].from].name);
        strcat(text, ">");
        strcat(text, graph->nodes[graph->edges[i].to].name);
    }
    assert_string_equal(text, edges);
}

#endif
