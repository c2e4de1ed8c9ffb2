/*
 * What every fuzz target of a model format checks: sizes, costs, roll-ups, reports and graphs of a
 * model that was opened from the input.
 */
#ifndef PYRO_FUZZ_MODEL_H
#define PYRO_FUZZ_MODEL_H

#include <pyrometer/pyrometer.h>
#include <stdlib.h>
#include <string.h>

/* Limits the time that the fuzzer spends on reports. */
#define MOST_REPORTED_NODES 2000

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* Every failure has a message of one line. */
static void require_error(const pyro_error *error, int status)
{
    char line[1024];
    require(status < 0 && error->code == status && error->message[0]);
    pyro_error_line(error, line, sizeof line);
    require(!strchr(line, '\n'));
}

static void require_sound(const pyro_cost_row *row)
{
    const pyro_work *work = &row->work;
    require(work->macs >= 0 && work->flops >= 0 && work->params >= 0);
    require(work->activation_read_bytes >= 0 && work->weight_read_bytes >= 0);
    require(work->written_bytes >= 0 && row->memory_bytes >= 0 && row->operators >= 0);
    require(row->arithmetic_intensity >= 0 && row->name && row->type && row->class_name);
}

/* Layers are disjoint and sum to the total; so do operator types. */
static void require_sums(const pyro_cost *cost)
{
    size_t count;
    const pyro_cost_row *total = pyro_cost_total(cost);
    pyro_work sum = {0};
    require_sound(total);
    const pyro_cost_row *rows = pyro_cost_layers(cost, &count);
    for (size_t i = 0; i < count; i++) {
        require_sound(&rows[i]);
        sum.macs += rows[i].work.macs;
        sum.flops += rows[i].work.flops;
        sum.params += rows[i].work.params;
        sum.written_bytes += rows[i].work.written_bytes;
    }
    require(sum.macs == total->work.macs && sum.flops == total->work.flops);
    require(sum.params == total->work.params && sum.written_bytes == total->work.written_bytes);
    rows = pyro_cost_operators(cost, &count);
    for (size_t i = 0; i < count; i++) {
        require_sound(&rows[i]);
        sum.flops -= rows[i].work.flops;
    }
    require(sum.flops == 0);
    rows = pyro_cost_modules(cost, &count);
    for (size_t i = 0; i < count; i++)
        require_sound(&rows[i]);
    require(pyro_cost_coverage(cost) >= 0 && pyro_cost_coverage(cost) <= 1);
}

static void write_reports(const pyro_cost *cost)
{
    for (int format = PYRO_FORMAT_TEXT; format <= PYRO_FORMAT_CSV; format++) {
        pyro_report_options options = {.format = (pyro_format)format, .top = -1, .verbose = true};
        pyro_error error;
        char *text;
        size_t size;
        pyro_error_clear(&error);
        require(pyro_report_cost(&text, &size, cost, &options, &error) == PYRO_OK);
        require(strlen(text) == size);
        pyro_free(text);
    }
}

/* Builds graphs at every granularity and splits them. */
static void check_graphs(const pyro_cost *cost)
{
    pyro_program *program;
    require(pyro_program_of_model(&program, cost, NULL) == PYRO_OK);
    for (int granularity = 0; granularity < PYRO_GRANULARITY_COUNT; granularity++) {
        pyro_dataflow_options options = {(pyro_granularity)granularity, PYRO_LEVEL_HIGH};
        pyro_dataflow *graph;
        pyro_cuts cuts;
        size_t nodes, edges;
        if (pyro_dataflow_build(&graph, program, &options, NULL) != PYRO_OK)
            continue;
        pyro_dataflow_nodes(graph, &nodes);
        const pyro_graph_edge *edge = pyro_dataflow_edges(graph, &edges);
        for (size_t i = 0; i < edges; i++)
            require(edge[i].from < nodes && edge[i].to < nodes && edge[i].tensor_count > 0);
        if (pyro_cuts_find(&cuts, graph, 3, 100000, NULL) == PYRO_OK)
            pyro_cuts_free(&cuts);
        pyro_dataflow_free(graph);
    }
    pyro_program_free(program);
}

/* Computes the cost in every convention; MACs must not depend on it. */
static void price(pyro_model *model, int depth)
{
    int64_t macs = -1;
    for (int convention = 0; convention < PYRO_CONVENTION_COUNT; convention++) {
        pyro_cost_options options = {.convention = (pyro_convention)convention,
                                     .depth = convention == 0 ? -1 : depth,
                                     .dtype = convention == 1 ? "float16" : NULL};
        pyro_cost *cost;
        pyro_error error;
        size_t nodes;
        pyro_error_clear(&error);
        int status = pyro_cost_compute(&cost, model, &options, &error);
        if (status < 0) {
            require_error(&error, status);
            continue;
        }
        require_sums(cost);
        require(macs < 0 || macs == pyro_cost_total(cost)->work.macs);
        macs = pyro_cost_total(cost)->work.macs;
        pyro_cost_nodes(cost, &nodes);
        if (nodes < MOST_REPORTED_NODES) {
            write_reports(cost);
            check_graphs(cost);
        }
        pyro_cost_free(cost);
    }
}

/* Sets other sizes than the file's, where it allows them. */
static void resize(pyro_model *model, int64_t by)
{
    pyro_error error;
    for (size_t i = 0; i < pyro_model_input_count(model); i++) {
        pyro_input input;
        int64_t dims[64];
        pyro_error_clear(&error);
        require(pyro_model_input(model, i, &input, &error) == PYRO_OK && input.rank <= 64);
        for (size_t d = 0; d < input.rank; d++)
            dims[d] = input.dims[d] + (input.symbols[d] && input.dims[d] < INT32_MAX ? by : 0);
        int status = pyro_model_set_shape(model, input.name, dims, input.rank, &error);
        if (status < 0)
            require_error(&error, status);
    }
    pyro_error_clear(&error);
    int status = pyro_model_set_batch(model, by, &error);
    if (status < 0)
        require_error(&error, status);
}

/* Checks and closes a model that was opened with that status. */
static void check_opened(pyro_model *model, int status, const pyro_error *error)
{
    if (status < 0) {
        require_error(error, status);
        return;
    }
    price(model, 1);
    resize(model, 3);
    price(model, 0);
    pyro_model_close(model);
}

static inline void check_model(const uint8_t *data, size_t size, const char *label)
{
    pyro_model *model;
    pyro_error error;
    pyro_error_clear(&error);
    int status = pyro_model_open_memory(&model, data, size, label, &error);
    check_opened(model, status, &error);
}

#endif
