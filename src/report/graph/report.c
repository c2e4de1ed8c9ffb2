/* The public entry points for graphs: each chooses a writer and hands its buffer over. */
#include "base/error.h"
#include "report/graph/writers.h"

static int hand_over(pyro_buf *buf, char **out, size_t *size, pyro_error *error)
{
    size_t length = 0;

    *out = pyro_buf_detach(buf, &length);
    if (size != NULL)
        *size = length;
    pyro_buf_free(buf);
    return *out != NULL ? PYRO_OK : pyro_fail_memory(error);
}

int pyro_report_graph(char **out, size_t *size, const pyro_dataflow *graph,
                      const pyro_graph_report *given, pyro_error *error)
{
    static const pyro_graph_report defaults = {.format = PYRO_GRAPH_TEXT};
    const pyro_graph_report *report = given ? given : &defaults;
    pyro_buf buf = PYRO_BUF_INIT;
    int status = PYRO_OK;

    switch (report->format) {
    case PYRO_GRAPH_TEXT:
        pyro_write_graph_text(&buf, graph, report);
        break;
    case PYRO_GRAPH_DOT:
        status = pyro_write_graph_dot(&buf, graph, report, error);
        break;
    case PYRO_GRAPH_JSON:
        pyro_write_graph_json(&buf, graph, report);
        break;
    case PYRO_GRAPH_GRAPHML:
        pyro_write_graph_graphml(&buf, graph, report);
        break;
    }
    if (status < 0) {
        pyro_buf_free(&buf);
        return status;
    }
    return hand_over(&buf, out, size, error);
}

int pyro_report_graph_stats(char **out, size_t *size, const pyro_dataflow *graph, pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_write_graph_stats(&buf, graph);
    return hand_over(&buf, out, size, error);
}

int pyro_report_cuts(char **out, size_t *size, const pyro_dataflow *graph, const pyro_cuts *cuts,
                     pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;

    pyro_write_graph_cuts(&buf, graph, cuts);
    return hand_over(&buf, out, size, error);
}
