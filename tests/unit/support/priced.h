/* Opens programs of program.h and prices them, or fails the test with the reason. */
#ifndef PYRO_TESTS_PRICED_H
#define PYRO_TESTS_PRICED_H

#include "program.h"
#include "unit.h"
#include <pyrometer/cost.h>
#include <stddef.h>

/* Frees the program. */
static inline pyro_model *open_program(program *p)
{
    pyro_model *model;
    pyro_error error;
    pyro_error_clear(&error);
    const char *json = program_json(p);
    if (pyro_model_open_memory(&model, json, strlen(json), "test.json", &error) < 0)
        fail_msg("%s", error.message);
    program_free(p);
    return model;
}

static inline pyro_cost *price(pyro_model *model, pyro_cost_options options)
{
    pyro_cost *cost;
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_cost_compute(&cost, model, &options, &error) < 0)
        fail_msg("%s", error.message);
    return cost;
}

static inline pyro_cost *price_full(pyro_model *model)
{
    return price(model, (pyro_cost_options){.depth = -1});
}

static inline void expect_failure(pyro_model *model, pyro_cost_options options, pyro_status code,
                                  const char *words)
{
    pyro_cost *cost;
    pyro_error error;
    pyro_error_clear(&error);
    assert_int_equal(pyro_cost_compute(&cost, model, &options, &error), code);
    if (!strstr(error.message, words))
        fail_msg("'%s' is not in: %s", words, error.message);
}

static inline const pyro_cost_node *find_node(const pyro_cost *cost, const char *name)
{
    size_t count;
    const pyro_cost_node *nodes = pyro_cost_nodes(cost, &count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(nodes[i].name, name))
            return &nodes[i];
    fail_msg("no node is called %s", name);
    return NULL;
}

#endif
