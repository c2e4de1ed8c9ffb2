/* Writes the cost of a training step as JSON, schema pyrometer.train/1. */
#include "report/cost/rows.h"
#include "report/writers.h"

static void write_work(pyro_json_writer *writer, const char *key, const pyro_work *work)
{
    pyro_json_key(writer, key);
    pyro_json_begin_object_inline(writer);
    pyro_json_member_integer(writer, "macs", work->macs);
    pyro_json_member_integer(writer, "flops", work->flops);
    pyro_json_member_integer(writer, "memory", pyro_work_bytes(work));
    pyro_json_member_integer(writer, "activation_read_bytes", work->activation_read_bytes);
    pyro_json_member_integer(writer, "weight_read_bytes", work->weight_read_bytes);
    pyro_json_member_integer(writer, "written_bytes", work->written_bytes);
    pyro_json_end_object(writer);
}

static void write_options(pyro_json_writer *writer, const pyro_train_options *options)
{
    pyro_json_key(writer, "options");
    pyro_json_begin_object_inline(writer);
    pyro_json_member_string(writer, "optimizer", pyro_optimizer_name(options->optimizer));
    pyro_json_member_string(writer, "checkpoint", pyro_checkpoint_name(options->checkpoint));
    pyro_json_member_string(writer, "precision", pyro_precision_name(options->precision));
    pyro_json_member_string(writer, "freeze", options->freeze);
    pyro_json_member_string(writer, "lora", options->lora);
    pyro_json_end_object(writer);
}

static void write_totals(pyro_json_writer *writer, const pyro_train_total *total)
{
    pyro_json_member_integer(writer, "total_macs", total->macs);
    pyro_json_member_integer(writer, "total_flops", total->flops);
    pyro_json_member_integer(writer, "total_memory", total->memory_bytes);
    write_work(writer, "forward", &total->forward);
    write_work(writer, "backward", &total->backward);
    write_work(writer, "recompute", &total->recompute);
    write_work(writer, "optimizer", &total->optimizer);
    pyro_json_member_integer(writer, "trainable_params", total->trainable_params);
    pyro_json_member_integer(writer, "frozen_params", total->frozen_params);
    pyro_json_member_integer(writer, "lora_params", total->lora_params);
}

static void write_memory(pyro_json_writer *writer, const pyro_train *train)
{
    const pyro_train_total *total = pyro_train_get_total(train);
    size_t count;
    const pyro_memory_step *curve = pyro_train_curve(train, &count);
    const pyro_memory_step *peak = &curve[pyro_train_peak(train)];

    pyro_json_key(writer, "peak_memory");
    pyro_json_begin_object(writer);
    pyro_json_member_integer(writer, "total_bytes", total->peak_bytes);
    pyro_json_member_string(writer, "phase", pyro_train_phase_name(peak->phase));
    pyro_json_member_string(writer, "node", peak->node);
    pyro_json_member_string(writer, "layer", peak->layer);
    pyro_json_member_integer(writer, "step", (int64_t)pyro_train_peak(train));
    pyro_json_member_integer(writer, "activation_bytes", total->peak_activation_bytes);
    pyro_json_member_integer(writer, "saved_activation_bytes", total->saved_activation_bytes);
    pyro_json_member_integer(writer, "weight_bytes", total->weight_bytes);
    pyro_json_member_integer(writer, "master_weight_bytes", total->master_weight_bytes);
    pyro_json_member_integer(writer, "gradient_bytes", total->gradient_bytes);
    pyro_json_member_integer(writer, "optimizer_state_bytes", total->optimizer_state_bytes);
    pyro_json_member_integer(writer, "optimizer_scratch_bytes", total->optimizer_scratch_bytes);
    pyro_json_member_integer(writer, "input_bytes", total->input_bytes);
    pyro_json_end_object(writer);
}

static void write_row(pyro_json_writer *writer, const pyro_train_row *row, const char *layer)
{
    pyro_json_begin_object_inline(writer);
    pyro_json_member_string(writer, "name", row->name);
    pyro_json_member_string(writer, "type", row->type);
    if (layer)
        pyro_json_member_string(writer, "layer", layer);
    write_work(writer, "forward", &row->forward);
    write_work(writer, "backward", &row->backward);
    write_work(writer, "recompute", &row->recompute);
    if (!layer) {
        write_work(writer, "optimizer", &row->optimizer);
        pyro_json_member_integer(writer, "trainable_params", row->trainable_params);
        pyro_json_member_integer(writer, "gradient_bytes", row->gradient_bytes);
        pyro_json_member_integer(writer, "optimizer_state_bytes", row->state_bytes);
    }
    pyro_json_member_integer(writer, "saved_activation_bytes", row->saved_bytes);
    pyro_json_end_object(writer);
}

static void write_rows(pyro_json_writer *writer, const char *key, const pyro_train_row *rows,
                       size_t count)
{
    pyro_json_key(writer, key);
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < count; i++)
        write_row(writer, &rows[i], NULL);
    pyro_json_end_array(writer);
}

static void write_nodes(pyro_json_writer *writer, const pyro_train *train)
{
    size_t count, cost_count;
    const pyro_train_row *rows = pyro_train_nodes(train, &count);
    const pyro_cost_node *nodes = pyro_cost_nodes(pyro_train_cost(train), &cost_count);

    pyro_json_key(writer, "nodes");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < count; i++)
        write_row(writer, &rows[i], pyro_node_layer(&nodes[i]));
    pyro_json_end_array(writer);
}

static void write_curve(pyro_json_writer *writer, const pyro_train *train)
{
    size_t count;
    const pyro_memory_step *curve = pyro_train_curve(train, &count);

    pyro_json_key(writer, "curve");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        pyro_json_begin_object_inline(writer);
        pyro_json_member_string(writer, "phase", pyro_train_phase_name(curve[i].phase));
        pyro_json_member_string(writer, "node", curve[i].node);
        pyro_json_member_string(writer, "layer", curve[i].layer);
        pyro_json_member_integer(writer, "bytes", curve[i].bytes);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
}

static void write_alive(pyro_json_writer *writer, const pyro_train *train)
{
    size_t count;
    const pyro_memory_item *items = pyro_train_alive(train, &count);

    pyro_json_key(writer, "alive_at_peak");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        pyro_json_begin_object_inline(writer);
        pyro_json_member_string(writer, "what", items[i].what);
        pyro_json_member_string(writer, "name", items[i].name);
        pyro_json_member_string(writer, "layer", items[i].layer);
        pyro_json_member_integer(writer, "bytes", items[i].bytes);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
}

int pyro_write_train_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_train *train = request->train;
    pyro_json_writer writer;
    const pyro_train_row *rows;
    size_t count;
    int status;

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "schema", "pyrometer.train/1");
    status = pyro_json_subject(&writer, pyro_train_cost(train), request->error);
    if (status != PYRO_OK)
        return status;
    write_options(&writer, pyro_train_get_options(train));
    write_totals(&writer, pyro_train_get_total(train));
    write_memory(&writer, train);
    rows = pyro_train_layers(train, &count);
    write_rows(&writer, "layers", rows, count);
    rows = pyro_train_operators(train, &count);
    write_rows(&writer, "operators_by_type", rows, count);
    write_nodes(&writer, train);
    write_curve(&writer, train);
    write_alive(&writer, train);
    pyro_json_coverage(&writer, pyro_train_cost(train));
    const char *const *notes = pyro_train_notes(train, &count);
    pyro_json_member_strings(&writer, "notes", notes, count);
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}
