/* Writes a graph as JSON, schema "pyrometer.graph/1". */
#include "base/json/write.h"
#include "report/graph/writers.h"

static const char *const kind_names[] = {"input", "module", "op"};

static void write_nodes(pyro_json_writer *writer, const pyro_dataflow *graph)
{
    size_t count;
    const pyro_graph_node *nodes = pyro_dataflow_nodes(graph, &count);

    pyro_json_key(writer, "nodes");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        const pyro_graph_node *node = &nodes[i];
        pyro_json_begin_object_inline(writer);
        pyro_json_member_integer(writer, "id", (int64_t)i);
        pyro_json_member_string(writer, "name", node->name);
        pyro_json_member_string(writer, "kind", kind_names[node->kind]);
        pyro_json_member_string(writer, "path", node->path);
        pyro_json_member_string(writer, "type", node->type);
        pyro_json_member_integer(writer, "operators", node->operators);
        pyro_json_member_integer(writer, "parameters", node->parameters);
        pyro_json_member_integer(writer, "parameter_bytes", node->parameter_bytes);
        pyro_json_member_integer(writer, "passes", node->passes);
        pyro_json_member_amount(writer, "median_ns", node->median_ns);
        pyro_json_member_amount(writer, "p95_ns", node->p95_ns);
        pyro_json_member_amount(writer, "total_ns", node->total_ns);
        pyro_json_member_amount(writer, "device_ns", node->device_ns);
        pyro_json_member_amount(writer, "flops", node->flops);
        pyro_json_member_amount(writer, "moved_bytes", node->moved_bytes);
        pyro_json_member_amount(writer, "output_bytes", node->output_bytes);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
}

static void write_tensor(pyro_json_writer *writer, const pyro_graph_tensor *tensor)
{
    pyro_json_begin_object_inline(writer);
    pyro_json_member_string(writer, "dtype", tensor->dtype);
    pyro_json_key(writer, "shape");
    pyro_json_begin_array_inline(writer);
    for (size_t d = 0; d < tensor->rank; d++) {
        if (tensor->dims[d] < 0)
            pyro_json_null(writer);
        else
            pyro_json_integer(writer, tensor->dims[d]);
    }
    pyro_json_end_array(writer);
    pyro_json_member_amount(writer, "bytes", tensor->bytes);
    pyro_json_member_boolean(writer, "assumed", tensor->assumed);
    pyro_json_end_object(writer);
}

static void write_edges(pyro_json_writer *writer, const pyro_dataflow *graph)
{
    size_t count, ignored;
    const pyro_graph_edge *edges = pyro_dataflow_edges(graph, &count);
    const pyro_graph_tensor *tensors = pyro_dataflow_tensors(graph, &ignored);

    pyro_json_key(writer, "edges");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        pyro_json_begin_object_inline(writer);
        pyro_json_member_integer(writer, "from", edges[i].from);
        pyro_json_member_integer(writer, "to", edges[i].to);
        pyro_json_member_amount(writer, "bytes", edges[i].bytes);
        pyro_json_member_boolean(writer, "assumed", edges[i].assumed);
        pyro_json_key(writer, "tensors");
        pyro_json_begin_array_inline(writer);
        for (uint32_t t = 0; t < edges[i].tensor_count; t++)
            write_tensor(writer, &tensors[edges[i].first_tensor + t]);
        pyro_json_end_array(writer);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
}

static void write_stats(pyro_json_writer *writer, const pyro_dataflow *graph)
{
    const pyro_graph_totals *totals = pyro_dataflow_totals(graph);

    pyro_json_key(writer, "stats");
    pyro_json_begin_object(writer);
    pyro_json_member_amount(writer, "nodes", totals->nodes);
    pyro_json_member_amount(writer, "edges", totals->edges);
    pyro_json_member_amount(writer, "inputs", totals->inputs);
    pyro_json_member_amount(writer, "parameters", totals->parameters);
    pyro_json_member_amount(writer, "parameter_bytes", totals->parameter_bytes);
    pyro_json_member_amount(writer, "flops", totals->flops);
    pyro_json_member_amount(writer, "moved_bytes", totals->moved_bytes);
    pyro_json_member_amount(writer, "passes", totals->passes);
    pyro_json_member_amount(writer, "pass_median_ns", totals->pass_median_ns);
    pyro_json_member_amount(writer, "pass_p95_ns", totals->pass_p95_ns);
    pyro_json_member_amount(writer, "node_total_ns", totals->node_total_ns);
    pyro_json_member_amount(writer, "node_mean_ns", totals->node_mean_ns);
    pyro_json_member_amount(writer, "node_max_ns", totals->node_max_ns);
    pyro_json_member_amount(writer, "slowest",
                            totals->slowest == UINT32_MAX ? -1 : (int64_t)totals->slowest);
    pyro_json_end_object(writer);
}

static void write_cuts(pyro_json_writer *writer, const pyro_cuts *cuts)
{
    const char *const warnings[] = {cuts->warning};
    pyro_json_member_string(writer, "amount", cuts->timed ? "ns" : "flops");
    pyro_json_key(writer, "cuts");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < cuts->cut_count; i++) {
        const pyro_cut *cut = &cuts->cuts[i];
        pyro_json_begin_object_inline(writer);
        pyro_json_member_integer(writer, "after", cut->after);
        pyro_json_member_amount(writer, "bytes", cut->bytes);
        pyro_json_member_integer(writer, "tensors", cut->tensors);
        pyro_json_member_integer(writer, "before", cut->before);
        pyro_json_member_integer(writer, "behind", cut->behind);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
    pyro_json_key(writer, "parts");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < cuts->part_count; i++) {
        const pyro_part *part = &cuts->parts[i];
        pyro_json_begin_object_inline(writer);
        pyro_json_member_integer(writer, "first", part->first);
        pyro_json_member_integer(writer, "last", part->last);
        pyro_json_member_integer(writer, "amount", part->amount);
        pyro_json_member_integer(writer, "parameters", part->parameters);
        pyro_json_member_integer(writer, "parameter_bytes", part->parameter_bytes);
        pyro_json_member_integer(writer, "memory_bytes", part->memory_bytes);
        pyro_json_member_integer(writer, "received_bytes", part->received_bytes);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
    pyro_json_member_strings(writer, "warnings", warnings, cuts->warning[0] ? 1 : 0);
}

int pyro_write_graph_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_dataflow *graph = request->graph.graph;
    const pyro_graph_report *report = request->graph.report;
    pyro_json_writer writer;
    size_t note_count;
    const char *const *notes = pyro_dataflow_notes(graph, &note_count);

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "schema", "pyrometer.graph/1");
    pyro_json_member_string(&writer, "name", pyro_dataflow_name(graph));
    pyro_json_member_string(&writer, "granularity",
                            pyro_granularity_name(pyro_dataflow_granularity(graph)));
    write_nodes(&writer, graph);
    if (!report->no_edges)
        write_edges(&writer, graph);
    if (!report->no_stats)
        write_stats(&writer, graph);
    pyro_json_member_strings(&writer, "notes", notes, note_count);
    if (report->cuts)
        write_cuts(&writer, report->cuts);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}
