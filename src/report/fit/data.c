/* Writes whether a model fits as JSON (schemas/fit-1.json) and as CSV, a record per chip. */
#include "report/csv.h"
#include "report/writers.h"

#define SCHEMA "pyrometer.fit/1"

static void write_layout(pyro_json_writer *w, const char *key, const pyro_layout *layout)
{
    pyro_json_key(w, key);
    pyro_json_begin_object(w);
    pyro_json_member_integer(w, "tensor", layout->tensor);
    pyro_json_member_integer(w, "pipeline", layout->pipeline);
    pyro_json_member_integer(w, "data", layout->data);
    pyro_json_member_integer(w, "expert", layout->expert);
    pyro_json_member_string(w, "sharding", pyro_sharding_name(layout->sharding));
    pyro_json_member_boolean(w, "sequence", layout->sequence);
    pyro_json_end_object(w);
}

static void write_bytes(pyro_json_writer *w, const char *key, const int64_t *bytes)
{
    pyro_json_key(w, key);
    pyro_json_begin_object(w);
    for (int part = 0; part < PYRO_FIT_PART_COUNT; part++)
        pyro_json_member_integer(w, pyro_fit_part_name((pyro_fit_part)part), bytes[part]);
    pyro_json_end_object(w);
}

/* A size that fits; null if it cannot be changed. */
static void write_largest(pyro_json_writer *w, const char *key, int64_t size)
{
    pyro_json_key(w, key);
    if (size < 0)
        pyro_json_null(w);
    else
        pyro_json_integer(w, size);
}

static void write_traffic(pyro_json_writer *w, const pyro_fit_traffic *traffic)
{
    pyro_json_key(w, "communication");
    pyro_json_begin_object(w);
    pyro_json_member_integer(w, "data_bytes", traffic->data_bytes);
    pyro_json_member_integer(w, "tensor_bytes", traffic->tensor_bytes);
    pyro_json_member_integer(w, "pipeline_bytes", traffic->pipeline_bytes);
    pyro_json_member_integer(w, "expert_bytes", traffic->expert_bytes);
    pyro_json_member_integer(w, "total_bytes", traffic->total_bytes);
    pyro_json_member_number(w, "seconds", traffic->seconds);
    pyro_json_end_object(w);
}

static void write_levers(pyro_json_writer *w, const pyro_fit_answer *answer)
{
    pyro_json_key(w, "levers");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < answer->lever_count; i++) {
        const pyro_fit_lever *lever = &answer->levers[i];
        pyro_json_begin_object(w);
        pyro_json_member_string(w, "name", lever->name);
        pyro_json_member_string(w, "how", lever->how);
        pyro_json_member_integer(w, "saved_bytes", lever->saved_bytes);
        pyro_json_member_integer(w, "total_bytes", lever->total_bytes);
        pyro_json_member_boolean(w, "fits", lever->fits);
        pyro_json_end_object(w);
    }
    pyro_json_end_array(w);
}

static void write_answer(pyro_json_writer *w, const pyro_fit_answer *answer)
{
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "chip", answer->chip);
    pyro_json_member_integer(w, "memory_bytes", answer->memory_bytes);
    pyro_json_member_integer(w, "gpus", answer->gpus);
    write_layout(w, "layout", &answer->layout);
    pyro_json_member_boolean(w, "layout_was_chosen", answer->chosen);
    pyro_json_member_boolean(w, "fits", answer->fits);
    pyro_json_member_integer(w, "total_bytes", answer->rank.total_bytes);
    pyro_json_member_integer(w, "margin_bytes", answer->margin_bytes);
    pyro_json_member_integer(w, "stage", answer->rank.stage);
    pyro_json_member_string(w, "peak", answer->peak);
    write_bytes(w, "held_bytes", answer->rank.held_bytes);
    write_bytes(w, "peak_bytes", answer->rank.peak_bytes);
    write_largest(w, "largest_batch", answer->largest_batch);
    write_largest(w, "largest_sequence", answer->largest_sequence);
    write_largest(w, "largest_concurrent", answer->largest_concurrent);
    if (answer->enough_gpus) {
        pyro_json_member_integer(w, "enough_gpus", answer->enough_gpus);
        write_layout(w, "enough_layout", &answer->enough);
    }
    write_traffic(w, &answer->rank.traffic);
    write_levers(w, answer);
    pyro_json_end_object(w);
}

static void write_training(pyro_json_writer *w, const pyro_train_options *train)
{
    pyro_json_key(w, "training");
    pyro_json_begin_object(w);
    pyro_json_member_string(w, "optimizer", pyro_optimizer_name(train->optimizer));
    pyro_json_member_string(w, "checkpoint", pyro_checkpoint_name(train->checkpoint));
    pyro_json_member_string(w, "precision", pyro_precision_name(train->precision));
    pyro_json_member_string(w, "freeze", train->freeze ? train->freeze : "");
    pyro_json_member_string(w, "lora", train->lora ? train->lora : "");
    pyro_json_end_object(w);
}

static void write_texts(pyro_json_writer *w, const char *key, const char **texts, size_t count)
{
    pyro_json_key(w, key);
    pyro_json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        pyro_json_string(w, texts[i]);
    pyro_json_end_array(w);
}

int pyro_write_fit_json(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_fit *fit = request->fit;
    pyro_json_writer w;

    pyro_json_writer_init(&w, buf, 2);
    pyro_json_begin_object(&w);
    pyro_json_member_string(&w, "schema", SCHEMA);
    pyro_json_member_string(&w, "model", fit->model);
    pyro_json_member_string(&w, "dtype", fit->dtype);
    pyro_json_member_integer(&w, "parameters", fit->parameters);
    pyro_json_member_string(&w, "mode", fit->training ? "training" : "inference");
    if (fit->training)
        write_training(&w, &fit->train);
    pyro_json_member_integer(&w, "batch", fit->batch);
    pyro_json_member_integer(&w, "sequence", fit->sequence);
    pyro_json_member_integer(&w, "concurrent", fit->concurrent);
    pyro_json_member_integer(&w, "micro_batches", fit->micro_batches);
    if (fit->cache_dtype[0]) {
        pyro_json_member_string(&w, "cache_dtype", fit->cache_dtype);
        pyro_json_member_integer(&w, "cache_bytes_per_token", fit->cache_bytes_per_token);
        pyro_json_member_integer(&w, "cache_block_tokens", PYRO_FIT_BLOCK_TOKENS);
    }
    pyro_json_key(&w, "answers");
    pyro_json_begin_array(&w);
    for (size_t i = 0; i < fit->answer_count; i++)
        write_answer(&w, &fit->answers[i]);
    pyro_json_end_array(&w);
    write_texts(&w, "assumptions", fit->assumptions, fit->assumption_count);
    write_texts(&w, "notes", fit->notes, fit->note_count);
    pyro_json_end_object(&w);
    pyro_buf_addc(buf, '\n');
    return PYRO_OK;
}

int pyro_write_fit_csv(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_fit *fit = request->fit;
    char layout[PYRO_LAYOUT_TEXT];

    pyro_csv_header(buf, "chip,memory_bytes,gpus,layout,fits,total_bytes,margin_bytes,"
                         "largest_batch,largest_sequence,largest_concurrent,communication_bytes,"
                         "weights,master_weights,gradients,optimizer_states,optimizer_scratch,"
                         "activations,kv_cache,buffers,reserve");
    for (size_t i = 0; i < fit->answer_count; i++) {
        const pyro_fit_answer *answer = &fit->answers[i];
        pyro_csv_text(buf, answer->chip, false);
        pyro_csv_integer(buf, answer->memory_bytes, false);
        pyro_csv_integer(buf, answer->gpus, false);
        pyro_csv_text(buf, pyro_layout_format(layout, &answer->layout), false);
        pyro_csv_text(buf, answer->fits ? "true" : "false", false);
        pyro_csv_integer(buf, answer->rank.total_bytes, false);
        pyro_csv_integer(buf, answer->margin_bytes, false);
        pyro_csv_integer(buf, answer->largest_batch, false);
        pyro_csv_integer(buf, answer->largest_sequence, false);
        pyro_csv_integer(buf, answer->largest_concurrent, false);
        pyro_csv_integer(buf, answer->rank.traffic.total_bytes, false);
        for (int part = 0; part < PYRO_FIT_PART_COUNT; part++)
            pyro_csv_integer(buf, answer->rank.peak_bytes[part], part == PYRO_FIT_PART_COUNT - 1);
    }
    return PYRO_OK;
}
