/* Writes a graph as GraphML, for yEd, Gephi and networkx. */
#include "base/text/units.h"
#include "report/graph/writers.h"
#include "report/text.h"
#include <inttypes.h>
#include <string.h>

static void add_xml_text(pyro_buf *buf, const char *text)
{
    pyro_buf clean = PYRO_BUF_INIT;
    pyro_text_clean(&clean, text);
    for (const char *at = clean.data; at && *at; at++) {
        if (*at == '<')
            pyro_buf_adds(buf, "&lt;");
        else if (*at == '>')
            pyro_buf_adds(buf, "&gt;");
        else if (*at == '&')
            pyro_buf_adds(buf, "&amp;");
        else if (*at == '"')
            pyro_buf_adds(buf, "&quot;");
        else
            pyro_buf_addc(buf, *at);
    }
    buf->failed |= clean.failed;
    pyro_buf_free(&clean);
}

static void add_data(pyro_buf *buf, const char *key, const char *text)
{
    pyro_buf_addf(buf, "<data key=\"%s\">", key);
    add_xml_text(buf, text);
    pyro_buf_adds(buf, "</data>");
}

/* Omits unknown amounts. */
static void add_integer(pyro_buf *buf, const char *key, int64_t amount)
{
    if (amount >= 0)
        pyro_buf_addf(buf, "<data key=\"%s\">%" PRId64 "</data>", key, amount);
}

static const char graphml_head[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
    "  <key id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>\n"
    "  <key id=\"path\" for=\"node\" attr.name=\"path\" attr.type=\"string\"/>\n"
    "  <key id=\"type\" for=\"node\" attr.name=\"type\" attr.type=\"string\"/>\n"
    "  <key id=\"parameters\" for=\"node\" attr.name=\"parameters\" attr.type=\"long\"/>\n"
    "  <key id=\"parameter_bytes\" for=\"node\" attr.name=\"parameter_bytes\" "
    "attr.type=\"long\"/>\n"
    "  <key id=\"median_ns\" for=\"node\" attr.name=\"median_ns\" attr.type=\"long\"/>\n"
    "  <key id=\"p95_ns\" for=\"node\" attr.name=\"p95_ns\" attr.type=\"long\"/>\n"
    "  <key id=\"device_ns\" for=\"node\" attr.name=\"device_ns\" attr.type=\"long\"/>\n"
    "  <key id=\"flops\" for=\"node\" attr.name=\"flops\" attr.type=\"long\"/>\n"
    "  <key id=\"moved_bytes\" for=\"node\" attr.name=\"moved_bytes\" attr.type=\"long\"/>\n"
    "  <key id=\"output_bytes\" for=\"node\" attr.name=\"output_bytes\" attr.type=\"long\"/>\n"
    "  <key id=\"bytes\" for=\"edge\" attr.name=\"bytes\" attr.type=\"long\"/>\n"
    "  <key id=\"tensors\" for=\"edge\" attr.name=\"tensors\" attr.type=\"string\"/>\n"
    "  <key id=\"assumed\" for=\"edge\" attr.name=\"assumed\" attr.type=\"boolean\"/>\n"
    "  <graph edgedefault=\"directed\">\n";

static void add_graphml_edge(pyro_buf *buf, const pyro_dataflow *graph, const pyro_graph_edge *edge)
{
    size_t ignored;
    const pyro_graph_tensor *tensors = pyro_dataflow_tensors(graph, &ignored);
    pyro_buf_addf(buf, "    <edge source=\"n%" PRIu32 "\" target=\"n%" PRIu32 "\">", edge->from,
                  edge->to);
    add_integer(buf, "bytes", edge->bytes);
    pyro_buf_adds(buf, "<data key=\"tensors\">");
    for (uint32_t t = 0; t < edge->tensor_count; t++) {
        const pyro_graph_tensor *tensor = &tensors[edge->first_tensor + t];
        pyro_buf_addf(buf, "%s%s:", t ? ", " : "", tensor->dtype);
        pyro_graph_add_shape(buf, tensor);
    }
    pyro_buf_adds(buf, "</data>");
    if (edge->assumed)
        add_data(buf, "assumed", "true");
    pyro_buf_adds(buf, "</edge>\n");
}

int pyro_write_graph_graphml(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_dataflow *graph = request->graph.graph;
    const pyro_graph_report *report = request->graph.report;
    size_t node_count, edge_count;
    const pyro_graph_node *nodes = pyro_dataflow_nodes(graph, &node_count);
    const pyro_graph_edge *edges = pyro_dataflow_edges(graph, &edge_count);

    pyro_buf_adds(buf, graphml_head);
    for (size_t i = 0; i < node_count; i++) {
        const pyro_graph_node *node = &nodes[i];
        pyro_buf_addf(buf, "    <node id=\"n%zu\">", i);
        add_data(buf, "name", node->name);
        add_data(buf, "path", node->path);
        add_data(buf, "type", node->type);
        add_integer(buf, "parameters", node->parameters);
        add_integer(buf, "parameter_bytes", node->parameter_bytes);
        add_integer(buf, "median_ns", node->median_ns);
        add_integer(buf, "p95_ns", node->p95_ns);
        add_integer(buf, "device_ns", node->device_ns);
        add_integer(buf, "flops", node->flops);
        add_integer(buf, "moved_bytes", node->moved_bytes);
        add_integer(buf, "output_bytes", node->output_bytes);
        pyro_buf_adds(buf, "</node>\n");
    }
    for (size_t i = 0; !report->no_edges && i < edge_count; i++)
        add_graphml_edge(buf, graph, &edges[i]);
    pyro_buf_adds(buf, "  </graph>\n</graphml>\n");
    return PYRO_OK;
}
