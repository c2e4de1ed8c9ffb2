/*
 * Writes a graph as text: nodes, edges, stats and cuts. docs/reference/graph-format.md explains
 * every line.
 */
#include "base/text/table.h"
#include "base/text/units.h"
#include "report/graph/writers.h"
#include "report/text.h"
#include <inttypes.h>

enum { NO_EDGE = 1 << 20 }; /* files have no right edge: no name is cut */

void pyro_graph_add_shape(pyro_buf *buf, const pyro_graph_tensor *tensor)
{
    if (tensor->rank == 0)
        pyro_buf_adds(buf, "scalar");
    for (size_t d = 0; d < tensor->rank; d++) {
        if (tensor->dims[d] < 0)
            pyro_buf_addf(buf, "%s?", d ? "x" : "");
        else
            pyro_buf_addf(buf, "%s%" PRId64, d ? "x" : "", tensor->dims[d]);
    }
}

static void cell_text(pyro_table *table, const char *text)
{
    pyro_buf clean = PYRO_BUF_INIT;
    pyro_text_clean(&clean, text);
    pyro_table_cell(table, clean.failed ? NULL : clean.length ? clean.data : "-");
    table->failed |= clean.failed;
    pyro_buf_free(&clean);
}

static void cell_integer(pyro_table *table, int64_t value)
{
    if (value < 0)
        pyro_table_cell(table, "-");
    else
        pyro_table_cellf(table, "%" PRId64, value);
}

static void cell_milliseconds(pyro_table *table, int64_t duration_ns)
{
    if (duration_ns < 0)
        pyro_table_cell(table, "-");
    else
        pyro_table_cellf(table, "%.3f", (double)duration_ns / 1e6);
}

static void write_table(pyro_buf *buf, pyro_table *table)
{
    pyro_table_write(table, buf, 2, NO_EDGE, false);
    buf->failed |= table->failed;
    pyro_table_free(table);
}

static bool has_device_times(const pyro_graph_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i].device_ns >= 0)
            return true;
    return false;
}

static void write_nodes(pyro_buf *buf, const pyro_dataflow *graph)
{
    static const pyro_table_column columns[] = {
        {"Id", true, false},        {"Name", false, false},       {"Type", false, false},
        {"Ops", true, false},       {"Params", true, false},      {"Param bytes", true, false},
        {"Passes", true, false},    {"Median ms", true, false},   {"P95 ms", true, false},
        {"FLOPs", true, false},     {"Moved bytes", true, false}, {"Output bytes", true, false},
        {"Device ms", true, false}, /* only of recordings with work of devices */
    };
    size_t count, width = sizeof columns / sizeof *columns;
    const pyro_graph_node *nodes = pyro_dataflow_nodes(graph, &count);
    bool on_device = has_device_times(nodes, count);
    pyro_table table;

    pyro_buf_addf(buf, "Nodes (%zu):\n", count);
    pyro_table_init(&table, columns, on_device ? width : width - 1);
    for (size_t i = 0; i < count; i++) {
        const pyro_graph_node *node = &nodes[i];
        pyro_table_cellf(&table, "%zu", i);
        cell_text(&table, node->name);
        cell_text(&table, node->type);
        cell_integer(&table, node->kind == PYRO_GRAPH_NODE_INPUT ? -1 : node->operators);
        cell_integer(&table, node->kind == PYRO_GRAPH_NODE_INPUT ? -1 : node->parameters);
        cell_integer(&table, node->kind == PYRO_GRAPH_NODE_INPUT ? -1 : node->parameter_bytes);
        cell_integer(&table, node->passes ? node->passes : -1);
        cell_milliseconds(&table, node->median_ns);
        cell_milliseconds(&table, node->p95_ns);
        cell_integer(&table, node->flops);
        cell_integer(&table, node->moved_bytes);
        cell_integer(&table, node->output_bytes);
        if (on_device)
            cell_milliseconds(&table, node->device_ns);
    }
    write_table(buf, &table);
}

static void write_edges(pyro_buf *buf, const pyro_dataflow *graph)
{
    static const pyro_table_column columns[] = {
        {"From", true, false},  {"", false, false},        {"To", false, false},
        {"Bytes", true, false}, {"Tensors", false, false}, {"Names", false, false},
    };
    size_t count, ignored;
    const pyro_graph_edge *edges = pyro_dataflow_edges(graph, &count);
    const pyro_graph_node *nodes = pyro_dataflow_nodes(graph, &ignored);
    const pyro_graph_tensor *tensors = pyro_dataflow_tensors(graph, &ignored);
    pyro_table table;
    pyro_buf text = PYRO_BUF_INIT;

    pyro_buf_addf(buf, "\nEdges (%zu):\n", count);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        const pyro_graph_edge *edge = &edges[i];
        pyro_table_cellf(&table, "%" PRIu32, edge->from);
        pyro_table_cell(&table, "->");
        pyro_table_cellf(&table, "%" PRIu32, edge->to);
        cell_integer(&table, edge->bytes);
        pyro_buf_reset(&text);
        for (uint32_t t = 0; t < edge->tensor_count; t++) {
            const pyro_graph_tensor *tensor = &tensors[edge->first_tensor + t];
            pyro_buf_addf(&text, "%s%s:", t ? ", " : "", tensor->dtype);
            pyro_graph_add_shape(&text, tensor);
            pyro_buf_adds(&text, tensor->assumed ? " (assumed)" : "");
        }
        cell_text(&table, text.failed ? "" : text.data);
        pyro_buf_reset(&text);
        pyro_buf_addf(&text, "%s -> %s", nodes[edge->from].name, nodes[edge->to].name);
        cell_text(&table, text.failed ? "" : text.data);
    }
    buf->failed |= text.failed;
    pyro_buf_free(&text);
    write_table(buf, &table);
}

static void add_duration(pyro_buf *buf, const char *label, int64_t duration_ns)
{
    if (duration_ns < 0)
        pyro_buf_addf(buf, "  %-22s -\n", label);
    else
        pyro_buf_addf(buf, "  %-22s %.3f ms\n", label, (double)duration_ns / 1e6);
}

static void add_amount(pyro_buf *buf, const char *label, int64_t amount)
{
    if (amount < 0)
        pyro_buf_addf(buf, "  %-22s -\n", label);
    else
        pyro_buf_addf(buf, "  %-22s %" PRId64 "\n", label, amount);
}

void pyro_write_graph_stats(pyro_buf *buf, const pyro_dataflow *graph)
{
    const pyro_graph_totals *totals = pyro_dataflow_totals(graph);
    size_t count, note_count;
    const pyro_graph_node *nodes = pyro_dataflow_nodes(graph, &count);
    const char *const *notes = pyro_dataflow_notes(graph, &note_count);

    pyro_buf_adds(buf, "Stats:\n");
    add_amount(buf, "Nodes:", totals->nodes);
    add_amount(buf, "Inputs among them:", totals->inputs);
    add_amount(buf, "Edges:", totals->edges);
    add_amount(buf, "Parameters:", totals->parameters);
    add_amount(buf, "Parameter bytes:", totals->parameter_bytes);
    add_amount(buf, "FLOPs:", totals->flops);
    add_amount(buf, "Moved bytes:", totals->moved_bytes);
    add_amount(buf, "Passes:", totals->passes);
    add_duration(buf, "Forward median:", totals->pass_median_ns);
    add_duration(buf, "Forward p95:", totals->pass_p95_ns);
    add_duration(buf, "Sum over nodes:", totals->node_total_ns);
    add_duration(buf, "Mean of a node:", totals->node_mean_ns);
    add_duration(buf, "Slowest node:", totals->node_max_ns);
    if (totals->slowest != UINT32_MAX) {
        buf->length--; /* its name goes on the same line */
        pyro_buf_adds(buf, " (");
        pyro_text_clean(buf, nodes[totals->slowest].name);
        pyro_buf_adds(buf, ")\n");
    }
    for (size_t i = 0; i < note_count; i++) {
        pyro_buf_adds(buf, "  Note: ");
        pyro_text_clean(buf, notes[i]);
        pyro_buf_addc(buf, '\n');
    }
}

static void cell_amount(pyro_table *table, int64_t amount, bool timed)
{
    if (timed)
        cell_milliseconds(table, amount);
    else
        cell_integer(table, amount);
}

static void write_parts(pyro_buf *buf, const pyro_dataflow *graph, const pyro_cuts *cuts)
{
    const pyro_table_column columns[] = {
        {"Part", true, false},         {"First", false, false},
        {"Last", false, false},        {cuts->timed ? "Time ms" : "FLOPs", true, false},
        {"Share", true, false},        {"Params", true, false},
        {"Memory bytes", true, false}, {"Received bytes", true, false},
    };
    size_t count;
    const pyro_graph_node *nodes = pyro_dataflow_nodes(graph, &count);
    double whole = 0;
    pyro_table table;

    pyro_buf_addf(buf, "\nSplit into %zu parts, balanced by %s", cuts->part_count,
                  cuts->timed ? "time" : "FLOPs (nothing was timed)");
    if (cuts->memory_limit > 0)
        pyro_buf_addf(buf, ", at most %" PRId64 " bytes each", cuts->memory_limit);
    pyro_buf_adds(buf, ":\n");
    for (size_t i = 0; i < cuts->part_count; i++)
        whole += (double)cuts->parts[i].amount;
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < cuts->part_count; i++) {
        const pyro_part *part = &cuts->parts[i];
        char share[PYRO_UNIT_TEXT];
        pyro_table_cellf(&table, "%zu", i + 1);
        cell_text(&table, nodes[part->first].name);
        cell_text(&table, nodes[part->last].name);
        cell_amount(&table, part->amount, cuts->timed);
        pyro_table_cell(&table, pyro_format_share(share, (double)part->amount, whole));
        cell_integer(&table, part->parameters);
        cell_integer(&table, part->memory_bytes);
        cell_integer(&table, part->received_bytes);
    }
    write_table(buf, &table);
}

void pyro_write_graph_cuts(pyro_buf *buf, const pyro_dataflow *graph, const pyro_cuts *cuts)
{
    const pyro_table_column columns[] = {
        {"After", true, false},
        {"Name", false, false},
        {"Crossing bytes", true, false},
        {"Tensors", true, false},
        {cuts->timed ? "Ms before" : "FLOPs before", true, false},
        {cuts->timed ? "Ms behind" : "FLOPs behind", true, false},
    };
    size_t count;
    const pyro_graph_node *nodes = pyro_dataflow_nodes(graph, &count);
    pyro_table table;

    pyro_buf_addf(buf, "Cuts (%zu):\n", cuts->cut_count);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < cuts->cut_count; i++) {
        const pyro_cut *cut = &cuts->cuts[i];
        cell_integer(&table, cut->after);
        cell_text(&table, nodes[cut->after].name);
        cell_integer(&table, cut->bytes);
        cell_integer(&table, cut->tensors);
        cell_amount(&table, cut->before, cuts->timed);
        cell_amount(&table, cut->behind, cuts->timed);
    }
    write_table(buf, &table);
    write_parts(buf, graph, cuts);
    if (cuts->warning[0])
        pyro_buf_addf(buf, "  Warning: %s\n", cuts->warning);
}

int pyro_write_graph_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_dataflow *graph = request->graph.graph;
    const pyro_graph_report *report = request->graph.report;

    pyro_buf_adds(buf, "Graph: ");
    pyro_text_clean(buf, pyro_dataflow_name(graph));
    pyro_buf_addf(buf, "\nGranularity: %s\n\n",
                  pyro_granularity_name(pyro_dataflow_granularity(graph)));
    write_nodes(buf, graph);
    if (!report->no_edges)
        write_edges(buf, graph);
    if (!report->no_stats) {
        pyro_buf_addc(buf, '\n');
        pyro_write_graph_stats(buf, graph);
    }
    if (report->cuts) {
        pyro_buf_addc(buf, '\n');
        pyro_write_graph_cuts(buf, graph, report->cuts);
    }
    return PYRO_OK;
}
