/* Writes the cost of a training step as CSV: one record per layer or, with --verbose, per node. */
#include "report/cost/rows.h"
#include "report/csv.h"
#include "report/writers.h"

#define WORK_COLUMNS \
    "forward_macs,forward_flops,forward_memory,backward_macs,backward_flops,backward_memory," \
    "recompute_macs,recompute_flops,recompute_memory"

static void write_work(pyro_buf *buf, const pyro_work *work)
{
    pyro_csv_integer(buf, work->macs, false);
    pyro_csv_integer(buf, work->flops, false);
    pyro_csv_integer(buf, pyro_work_bytes(work), false);
}

static void write_parts(pyro_buf *buf, const pyro_train_row *row)
{
    write_work(buf, &row->forward);
    write_work(buf, &row->backward);
    write_work(buf, &row->recompute);
}

static void write_nodes(pyro_buf *buf, const pyro_train *train)
{
    size_t count, cost_count;
    const pyro_train_row *rows = pyro_train_nodes(train, &count);
    const pyro_cost_node *nodes = pyro_cost_nodes(pyro_train_cost(train), &cost_count);

    pyro_csv_header(buf, "name,op,type,layer," WORK_COLUMNS ",saved_activation_bytes");
    for (size_t i = 0; i < count; i++) {
        pyro_csv_text(buf, rows[i].name, false);
        pyro_csv_text(buf, nodes[i].op, false);
        pyro_csv_text(buf, rows[i].type, false);
        pyro_csv_text(buf, pyro_node_layer(&nodes[i]), false);
        write_parts(buf, &rows[i]);
        pyro_csv_integer(buf, rows[i].saved_bytes, true);
    }
}

int pyro_write_train_csv(pyro_buf *buf, const pyro_report_request *request)
{
    size_t count;
    const pyro_train_row *rows = pyro_train_layers(request->train, &count);

    if (request->options->verbose) {
        write_nodes(buf, request->train);
        return PYRO_OK;
    }
    pyro_csv_header(buf, "name,type," WORK_COLUMNS ",optimizer_flops,optimizer_memory,"
                         "trainable_params,gradient_bytes,optimizer_state_bytes,"
                         "saved_activation_bytes");
    for (size_t i = 0; i < count; i++) {
        pyro_csv_text(buf, rows[i].name, false);
        pyro_csv_text(buf, rows[i].type, false);
        write_parts(buf, &rows[i]);
        pyro_csv_integer(buf, rows[i].optimizer.flops, false);
        pyro_csv_integer(buf, pyro_work_bytes(&rows[i].optimizer), false);
        pyro_csv_integer(buf, rows[i].trainable_params, false);
        pyro_csv_integer(buf, rows[i].gradient_bytes, false);
        pyro_csv_integer(buf, rows[i].state_bytes, false);
        pyro_csv_integer(buf, rows[i].saved_bytes, true);
    }
    return PYRO_OK;
}
