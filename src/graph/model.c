/* Creates, names and frees models. Has the accessors of the public interface. */
#include "graph/model.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "graph/dims.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pyro_model *pyro_model_new(void)
{
    pyro_model *model = calloc(1, sizeof *model);
    if (!model)
        return NULL;
    pyro_arena_init(&model->arena);
    pyro_intern_init(&model->strings, &model->arena);
    pyro_exprs_init(&model->exprs, &model->arena);
    pyro_arena_init(&model->module_arena);
    pyro_intern_init(&model->module_paths, &model->module_arena);
    pyro_intern_init(&model->class_names, &model->module_arena);
    pyro_intern_init(&model->call_keys, &model->module_arena);
    pyro_intern_init(&model->parameter_paths, &model->arena);
    model->last_place = (pyro_place){PYRO_NO_VALUE, PYRO_NO_VALUE};
    model->name = model->display_name = model->source = model->file = "";
    model->file_bytes = -1;
    model->open_call = PYRO_NO_VALUE;
    model->facts = (pyro_facts)PYRO_FACTS_NONE;
    if (pyro_model_module(model, "", 0) == PYRO_NO_VALUE) {
        pyro_model_close(model);
        return NULL;
    }
    return model;
}

void pyro_model_close(pyro_model *model)
{
    if (!model)
        return;
    for (pyro_graph *graph = model->all_graphs; graph;) {
        pyro_graph *next = graph->next;
        pyro_intern_free(&graph->names);
        free(graph->values);
        free(graph->nodes);
        free(graph);
        graph = next;
    }
    pyro_exprs_free(&model->exprs);
    pyro_intern_free(&model->strings);
    pyro_intern_free(&model->module_paths);
    pyro_intern_free(&model->class_names);
    pyro_intern_free(&model->parameter_paths);
    pyro_buf_free(&model->last_stack);
    pyro_intern_free(&model->call_keys);
    free(model->key_calls);
    free(model->calls);
    free(model->modules);
    free(model->parameters);
    free(model->inputs);
    free(model->guards);
    free(model->notes);
    pyro_arena_free(&model->module_arena);
    pyro_arena_free(&model->arena);
    free(model);
}

pyro_graph *pyro_model_add_graph(pyro_model *model)
{
    pyro_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return NULL;
    pyro_intern_init(&graph->names, &model->arena);
    graph->next = model->all_graphs;
    model->all_graphs = graph;
    return graph;
}

bool pyro_model_note(pyro_model *model, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *copy = pyro_arena_text(&model->arena, text, strlen(text));
    if (!copy || !pyro_grow(&model->notes, &model->note_capacity, model->note_count + 1,
                            sizeof *model->notes))
        return false;
    model->notes[model->note_count++] = copy;
    return true;
}

uint32_t pyro_graph_value(pyro_graph *graph, const char *name, size_t length)
{
    uint32_t id = pyro_intern_add_ordered(&graph->names, &graph->name_order, name, length);
    if (id == PYRO_INTERN_NONE)
        return PYRO_NO_VALUE;
    if (id < graph->value_count)
        return id;
    if (!pyro_grow(&graph->values, &graph->value_capacity, id + 1u, sizeof *graph->values))
        return PYRO_NO_VALUE;
    memset(&graph->values[id], 0, sizeof graph->values[id]);
    graph->values[id].name = pyro_intern_text(&graph->names, id);
    graph->value_count = id + 1u;
    pyro_populator_follow(graph->names.arena->populator, graph->values, graph->value_count,
                          graph->value_capacity, sizeof *graph->values);
    return id;
}

const char *pyro_model_name(const pyro_model *model)
{
    return model->name;
}

const char *pyro_model_display_name(const pyro_model *model)
{
    return model->display_name;
}

const char *pyro_model_source(const pyro_model *model)
{
    return model->source;
}

const pyro_facts *pyro_model_facts(const pyro_model *model)
{
    return &model->facts;
}

pyro_origin pyro_model_origin(const pyro_model *model)
{
    return model->origin;
}

int64_t pyro_model_file_bytes(const pyro_model *model)
{
    return model->file_bytes;
}

size_t pyro_model_input_count(const pyro_model *model)
{
    return model->input_count;
}

int pyro_model_input(pyro_model *model, size_t index, pyro_input *out, pyro_error *error)
{
    if (index >= model->input_count)
        return pyro_fail(error, PYRO_ERROR_NOT_FOUND, "the model has %zu inputs, not %zu",
                         model->input_count, index + 1);
    const pyro_value *value = &model->graph->values[model->inputs[index]];
    int64_t *dims = pyro_arena_array(&model->arena, value->rank + 1u, sizeof *dims);
    const char **symbols = pyro_arena_array(&model->arena, value->rank + 1u, sizeof *symbols);
    if (!dims || !symbols)
        return pyro_fail_memory(error);
    for (size_t d = 0; d < value->rank; d++) {
        const pyro_expr *expr = pyro_size_expr(model, value->sizes[d]);
        if (!pyro_size_value(model, value->sizes[d], &dims[d]))
            dims[d] = -1;
        if (expr) {
            const pyro_symbol *symbol = pyro_expr_as_symbol(&model->exprs,
                                                            (size_t)~value->sizes[d]);
            symbols[d] = symbol ? symbol->name : expr->text;
        }
    }
    *out = (pyro_input){value->name, pyro_dtype_name(value->dtype), value->rank, dims, symbols};
    return PYRO_OK;
}
