/* Adds a model to a page: its cost and its graph. */
#include "report/page/page.h"

#include "base/error.h"

#include <pyrometer/report.h>

int pyro_page_add_graph(pyro_page *page, const pyro_program *program, pyro_error *error)
{
    pyro_dataflow_options options = {PYRO_GRANULARITY_LAYER, PYRO_LEVEL_HIGH};
    pyro_graph_report report = {.format = PYRO_GRAPH_JSON};
    pyro_dataflow *graph = NULL;
    char *text = NULL;
    size_t size = 0;
    int status = pyro_dataflow_build(&graph, program, &options, error);

    if (status == PYRO_OK)
        status = pyro_report_graph(&text, &size, graph, &report, error);
    if (status == PYRO_OK)
        pyro_page_add_text(page, "graph", text, size);
    pyro_free(text);
    pyro_dataflow_free(graph);
    return status;
}

/* Files of weights have a cost but no graph. */
static int add_model_graph(pyro_page *page, const pyro_cost *cost, pyro_error *error)
{
    pyro_program *program = NULL;
    pyro_error reason;
    int status;

    pyro_error_clear(&reason);
    if (pyro_program_of_model(&program, cost, &reason) != PYRO_OK)
        return PYRO_OK;
    status = pyro_page_add_graph(page, program, error);
    pyro_program_free(program);
    return status;
}

int pyro_page_add_model(pyro_page *page, const char *name, const pyro_cost *cost, pyro_error *error)
{
    pyro_report_options options = {.format = PYRO_FORMAT_JSON};
    char *text = NULL;
    size_t size = 0;
    int status = pyro_report_cost(&text, &size, cost, &options, error);

    if (status != PYRO_OK)
        return status;
    pyro_page_begin_part(page, "cost", name);
    pyro_page_add_text(page, "result", text, size);
    status = add_model_graph(page, cost, error);
    pyro_page_end_part(page);
    pyro_free(text);
    return status;
}
