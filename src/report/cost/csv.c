/* Writes a cost as CSV: one record per layer or per node. */
#include "report/csv.h"
#include "report/cost/rows.h"
#include "report/writers.h"

#define LAYER_COLUMNS \
    "name,type,class,operators,macs,flops,memory,activation_read_bytes,weight_read_bytes," \
    "written_bytes,params,arithmetic_intensity,bottleneck,band"
#define NODE_COLUMNS \
    "name,op,type,category,layer,shape,times,macs,flops,memory,activation_read_bytes," \
    "weight_read_bytes,written_bytes"

static void write_layer(pyro_buf *buf, const pyro_cost_row *row)
{
    pyro_csv_text(buf, row->name, false);
    pyro_csv_text(buf, row->type, false);
    pyro_csv_text(buf, row->class_name, false);
    pyro_csv_integer(buf, row->operators, false);
    pyro_csv_integer(buf, row->work.macs, false);
    pyro_csv_integer(buf, row->work.flops, false);
    pyro_csv_integer(buf, row->memory_bytes, false);
    pyro_csv_integer(buf, row->work.activation_read_bytes, false);
    pyro_csv_integer(buf, row->work.weight_read_bytes, false);
    pyro_csv_integer(buf, row->work.written_bytes, false);
    pyro_csv_integer(buf, row->work.params, false);
    pyro_csv_number(buf, row->arithmetic_intensity, false);
    pyro_csv_text(buf, pyro_bound_name(row->bound), false);
    pyro_csv_text(buf, pyro_row_band(row), true);
}

static void write_node(pyro_buf *buf, const pyro_cost_node *node)
{
    pyro_csv_text(buf, node->name, false);
    pyro_csv_text(buf, node->op, false);
    pyro_csv_text(buf, node->type, false);
    pyro_csv_text(buf, node->category, false);
    pyro_csv_text(buf, pyro_node_layer(node), false);
    pyro_csv_text(buf, node->shape, false);
    pyro_csv_integer(buf, node->times, false);
    pyro_csv_integer(buf, node->work.macs, false);
    pyro_csv_integer(buf, node->work.flops, false);
    pyro_csv_integer(buf, pyro_work_bytes(&node->work), false);
    pyro_csv_integer(buf, node->work.activation_read_bytes, false);
    pyro_csv_integer(buf, node->work.weight_read_bytes, false);
    pyro_csv_integer(buf, node->work.written_bytes, true);
}

int pyro_write_cost_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_cost *cost = request->cost;
    size_t count;

    if (request->options->verbose) {
        const pyro_cost_node *node = pyro_cost_nodes(cost, &count);
        pyro_csv_header(buf, NODE_COLUMNS);
        for (size_t i = 0; i < count; i++)
            write_node(buf, &node[i]);
        return PYRO_OK;
    }
    const pyro_cost_row *row = pyro_cost_layers(cost, &count);
    pyro_csv_header(buf, LAYER_COLUMNS);
    for (size_t i = 0; i < count; i++)
        write_layer(buf, &row[i]);
    return PYRO_OK;
}
