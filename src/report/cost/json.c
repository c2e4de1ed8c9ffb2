/* Writes a cost as JSON, schema pyrometer.cost/1: all rows, in graph order. */
#include "report/cost/rows.h"
#include "report/writers.h"

#include "base/error.h"

static void write_bytes(pyro_json_writer *writer, const pyro_work *work)
{
    pyro_json_member_integer(writer, "activation_read_bytes", work->activation_read_bytes);
    pyro_json_member_integer(writer, "weight_read_bytes", work->weight_read_bytes);
    pyro_json_member_integer(writer, "written_bytes", work->written_bytes);
}

static void write_intensity(pyro_json_writer *writer, const pyro_cost_row *row)
{
    pyro_json_member_number(writer, "arithmetic_intensity", row->arithmetic_intensity);
    pyro_json_member_string(writer, "bottleneck", pyro_bound_name(row->bound));
    pyro_json_member_string(writer, "band", pyro_row_band(row));
}

/* Rows of a list. */
typedef struct row_list {
    const pyro_cost_row *rows;
    bool with_depth;
} row_list;

static void write_row(pyro_json_writer *writer, const void *list, size_t index)
{
    const pyro_cost_row *row = &((const row_list *)list)->rows[index];

    pyro_json_begin_object_inline(writer);
    pyro_json_member_string(writer, "name", row->name);
    pyro_json_member_string(writer, "type", row->type);
    pyro_json_member_string(writer, "class", row->class_name);
    if (((const row_list *)list)->with_depth)
        pyro_json_member_integer(writer, "depth", (int64_t)row->depth);
    pyro_json_member_integer(writer, "operators", row->operators);
    pyro_json_member_integer(writer, "macs", row->work.macs);
    pyro_json_member_integer(writer, "flops", row->work.flops);
    pyro_json_member_integer(writer, "memory", row->memory_bytes);
    write_bytes(writer, &row->work);
    pyro_json_member_integer(writer, "params", row->work.params);
    write_intensity(writer, row);
    pyro_json_end_object(writer);
}

static void write_rows(pyro_json_writer *writer, const char *key, const pyro_cost_row *rows,
                       size_t count, bool with_depth)
{
    pyro_json_key(writer, key);
    pyro_json_begin_array(writer);
    pyro_json_items(writer, count, write_row, &(row_list){rows, with_depth});
    pyro_json_end_array(writer);
}

static void write_node(pyro_json_writer *writer, const void *nodes, size_t index)
{
    const pyro_cost_node *node = (const pyro_cost_node *)nodes + index;

    pyro_json_begin_object_inline(writer);
    pyro_json_member_string(writer, "name", node->name);
    pyro_json_member_string(writer, "op", node->op);
    pyro_json_member_string(writer, "type", node->type);
    pyro_json_member_string(writer, "category", node->category);
    pyro_json_member_string(writer, "layer", pyro_node_layer(node));
    pyro_json_member_string(writer, "shape", node->shape);
    pyro_json_member_integer(writer, "times", node->times);
    pyro_json_member_integer(writer, "macs", node->work.macs);
    pyro_json_member_integer(writer, "flops", node->work.flops);
    pyro_json_member_integer(writer, "memory", pyro_work_bytes(&node->work));
    write_bytes(writer, &node->work);
    pyro_json_end_object(writer);
}

static void write_nodes(pyro_json_writer *writer, const pyro_cost *cost)
{
    size_t count;
    const pyro_cost_node *nodes = pyro_cost_nodes(cost, &count);

    pyro_json_key(writer, "nodes");
    pyro_json_begin_array(writer);
    pyro_json_items(writer, count, write_node, nodes);
    pyro_json_end_array(writer);
}

static void write_input(pyro_json_writer *writer, const pyro_input *input)
{
    pyro_json_begin_object_inline(writer);
    pyro_json_member_string(writer, "name", input->name);
    pyro_json_member_string(writer, "dtype", input->dtype);
    pyro_json_key(writer, "shape");
    pyro_json_begin_array_inline(writer);
    for (size_t i = 0; i < input->rank; i++)
        if (input->dims[i] >= 0)
            pyro_json_integer(writer, input->dims[i]);
        else
            pyro_json_null(writer);
    pyro_json_end_array(writer);
    pyro_json_key(writer, "symbols");
    pyro_json_begin_array_inline(writer);
    for (size_t i = 0; i < input->rank; i++)
        pyro_json_string(writer, input->symbols ? input->symbols[i] : NULL);
    pyro_json_end_array(writer);
    pyro_json_end_object(writer);
}

static int write_inputs(pyro_json_writer *writer, pyro_model *model, pyro_error *error)
{
    size_t count = pyro_model_input_count(model);

    pyro_json_key(writer, "inputs");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        pyro_input input;
        int status = pyro_model_input(model, i, &input, error);

        if (status != PYRO_OK)
            return status;
        write_input(writer, &input);
    }
    pyro_json_end_array(writer);
    return PYRO_OK;
}

void pyro_json_coverage(pyro_json_writer *writer, const pyro_cost *cost)
{
    size_t count;
    const pyro_uncounted *uncounted = pyro_cost_uncounted(cost, &count);

    pyro_json_key(writer, "coverage");
    pyro_json_begin_object(writer);
    pyro_json_member_number(writer, "share", pyro_cost_coverage(cost));
    pyro_json_key(writer, "uncounted");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        pyro_json_begin_object_inline(writer);
        pyro_json_member_string(writer, "op", uncounted[i].op);
        pyro_json_member_integer(writer, "count", uncounted[i].count);
        pyro_json_member_string(writer, "reason", uncounted[i].reason);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
    pyro_json_end_object(writer);
}

static void write_totals(pyro_json_writer *writer, const pyro_cost *cost)
{
    const pyro_cost_row *total = pyro_cost_total(cost);

    pyro_json_member_integer(writer, "operators", total->operators);
    pyro_json_member_integer(writer, "total_macs", total->work.macs);
    pyro_json_member_integer(writer, "total_flops", total->work.flops);
    pyro_json_member_integer(writer, "total_memory", total->memory_bytes);
    pyro_json_member_integer(writer, "params", total->work.params);
    pyro_json_member_integer(writer, "param_bytes", pyro_cost_param_bytes(cost));
    pyro_json_member_integer(writer, "buffers", pyro_cost_buffer_values(cost));
    pyro_json_key(writer, "memory");
    pyro_json_begin_object_inline(writer);
    write_bytes(writer, &total->work);
    pyro_json_end_object(writer);
    write_intensity(writer, total);
}

static void write_footprint(pyro_json_writer *writer, const pyro_cost *cost)
{
    pyro_footprint held;

    pyro_cost_footprint(cost, &held);
    pyro_json_key(writer, "footprint");
    pyro_json_begin_object_inline(writer);
    pyro_json_member_integer(writer, "total_bytes", held.total_bytes);
    pyro_json_member_integer(writer, "weight_bytes", held.weight_bytes);
    pyro_json_key(writer, "kv_cache_bytes");
    if (held.cache_bytes >= 0)
        pyro_json_integer(writer, held.cache_bytes);
    else
        pyro_json_null(writer);
    pyro_json_end_object(writer);
}

static int write_peak(pyro_json_writer *writer, const pyro_cost *cost, pyro_error *error)
{
    pyro_peak peak;
    int status = pyro_cost_peak(cost, &peak, error);

    if (status != PYRO_OK)
        return status;
    pyro_json_key(writer, "peak_memory");
    pyro_json_begin_object_inline(writer);
    pyro_json_member_integer(writer, "total_bytes", peak.total_bytes);
    pyro_json_member_integer(writer, "activation_bytes", peak.activation_bytes);
    pyro_json_member_integer(writer, "input_bytes", peak.input_bytes);
    pyro_json_member_string(writer, "node", peak.node);
    pyro_json_member_string(writer, "layer", peak.layer);
    pyro_json_end_object(writer);
    return PYRO_OK;
}

/* Bytes alive at every node of the main graph, and what is alive at the peak. */
static int write_curve(pyro_json_writer *writer, const pyro_cost *cost, pyro_error *error)
{
    pyro_memory_curve curve;
    int status = pyro_cost_curve(cost, &curve, error);

    if (status != PYRO_OK)
        return status;
    pyro_json_key(writer, "memory_curve");
    pyro_json_begin_array_inline(writer);
    for (size_t i = 0; i < curve.count; i++)
        pyro_json_integer(writer, curve.bytes[i]);
    pyro_json_end_array(writer);
    pyro_json_key(writer, "alive_at_peak");
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < curve.alive_count; i++) {
        pyro_json_begin_object_inline(writer);
        pyro_json_member_string(writer, "what", curve.alive[i].what);
        pyro_json_member_string(writer, "name", curve.alive[i].name);
        pyro_json_member_string(writer, "layer", curve.alive[i].layer);
        pyro_json_member_integer(writer, "bytes", curve.alive[i].bytes);
        pyro_json_end_object(writer);
    }
    pyro_json_end_array(writer);
    pyro_memory_curve_free(&curve);
    return PYRO_OK;
}

/* null when the model is not a decoding step. */
static void write_decode(pyro_json_writer *writer, const pyro_cost *cost)
{
    pyro_decode decode;

    pyro_json_key(writer, "decode");
    if (!pyro_cost_decode(cost, &decode)) {
        pyro_json_null(writer);
        return;
    }
    pyro_json_begin_object_inline(writer);
    pyro_json_member_integer(writer, "past_tokens", decode.past_tokens);
    pyro_json_member_integer(writer, "sequences", decode.sequences);
    pyro_json_member_integer(writer, "kv_cache_read_bytes", decode.cache_read_bytes);
    pyro_json_member_integer(writer, "kv_cache_read_bytes_per_token",
                             decode.cache_read_bytes_per_token);
    pyro_json_member_integer(writer, "kv_cache_bytes_per_past_token",
                             decode.cache_bytes_per_past_token);
    pyro_json_end_object(writer);
}

int pyro_json_subject(pyro_json_writer *writer, const pyro_cost *cost, pyro_error *error)
{
    pyro_model *model = pyro_cost_model(cost);
    pyro_convention convention = pyro_cost_convention(cost);
    int64_t file_bytes = pyro_model_file_bytes(model);

    pyro_json_member_string(writer, "model", pyro_model_name(model));
    pyro_json_member_string(writer, "display_name", pyro_model_display_name(model));
    pyro_json_member_string(writer, "source", pyro_model_source(model));
    pyro_json_key(writer, "file_bytes");
    if (file_bytes >= 0)
        pyro_json_integer(writer, file_bytes);
    else
        pyro_json_null(writer);
    pyro_json_member_string(writer, "convention", pyro_convention_name(convention));
    pyro_json_member_string(writer, "convention_summary", pyro_convention_summary(convention));
    pyro_json_member_string(writer, "dtype", pyro_cost_dtype(cost));
    pyro_json_member_number(writer, "ridge", pyro_cost_ridge(cost));
    return write_inputs(writer, model, error);
}

int pyro_json_summary(pyro_json_writer *writer, const pyro_cost *cost, pyro_error *error)
{
    size_t advice_count, note_count;
    const char *const *advice = pyro_cost_advice(cost, &advice_count);
    const char *const *notes = pyro_cost_notes(cost, &note_count);
    int status = pyro_json_subject(writer, cost, error);

    if (status != PYRO_OK)
        return status;
    write_totals(writer, cost);
    write_footprint(writer, cost);
    status = write_peak(writer, cost, error);
    if (status != PYRO_OK)
        return status;
    write_decode(writer, cost);
    pyro_json_coverage(writer, cost);
    pyro_json_member_strings(writer, "advice", advice, advice_count);
    pyro_json_member_strings(writer, "notes", notes, note_count);
    return PYRO_OK;
}

int pyro_write_cost_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_cost *cost = request->cost;
    pyro_json_writer writer;
    const pyro_cost_row *rows;
    size_t count;
    int status;

    pyro_json_writer_init(&writer, buf, 2);
    pyro_json_begin_object(&writer);
    pyro_json_member_string(&writer, "schema", "pyrometer.cost/1");
    status = pyro_json_summary(&writer, cost, request->error);
    if (status != PYRO_OK)
        return status;
    rows = pyro_cost_layers(cost, &count);
    write_rows(&writer, "layers", rows, count, false);
    rows = pyro_cost_modules(cost, &count);
    if (!rows)
        return pyro_fail_memory(request->error);
    write_rows(&writer, "modules", rows, count, true);
    rows = pyro_cost_operators(cost, &count);
    write_rows(&writer, "operators_by_type", rows, count, false);
    write_nodes(&writer, cost);
    status = write_curve(&writer, cost, request->error);
    if (status != PYRO_OK)
        return status;
    pyro_json_end_object(&writer);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}
