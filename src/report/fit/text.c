/* Writes whether a model fits as text: the answer, the parts per GPU, the largest sizes, levers. */
#include "report/text.h"
#include "report/writers.h"

#include "base/text/table.h"
#include "base/text/units.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct fit_text {
    pyro_buf *buf;
    const pyro_fit *fit;
    const pyro_report_options *options;
} fit_text;

static void write_field(const fit_text *w, const char *label, pyro_buf *value)
{
    pyro_text_field(w->buf, label, value, w->options->width);
    pyro_buf_reset(value);
}

static void write_table(const fit_text *w, pyro_table *table)
{
    pyro_table_write(table, w->buf, 2, w->options->width, w->options->color);
    w->buf->failed |= table->failed;
    pyro_table_free(table);
}

static const char *gpus_of(char text[PYRO_UNIT_TEXT], int64_t gpus)
{
    snprintf(text, PYRO_UNIT_TEXT, "%" PRId64 " x", gpus);
    return text;
}

/* "Yes: 23.1 of 80.0 GiB on each GPU; 56.9 GiB (71.1%) are free." */
static void write_verdict(const fit_text *w, const pyro_fit_answer *answer)
{
    char used[PYRO_UNIT_TEXT], memory[PYRO_UNIT_TEXT], margin[PYRO_UNIT_TEXT],
        share[PYRO_UNIT_TEXT], layout[PYRO_LAYOUT_TEXT], count[PYRO_UNIT_TEXT];
    int64_t rest = answer->margin_bytes < 0 ? -answer->margin_bytes : answer->margin_bytes;
    const char *where = answer->gpus > 1 ? "on the fullest GPU" : "on the GPU";
    pyro_buf line = PYRO_BUF_INIT;

    pyro_buf_addf(&line, "%s. It needs %s %s, which has %s: %s",
                  answer->fits ? "Yes, it fits" : "No, it does not fit",
                  pyro_format_bytes(used, answer->rank.total_bytes), where,
                  pyro_format_bytes(memory, answer->memory_bytes), pyro_format_bytes(margin, rest));
    if (answer->fits)
        pyro_buf_addf(&line, " (%s) are free.",
                      pyro_format_share(share, (double)rest, (double)answer->memory_bytes));
    else
        pyro_buf_adds(&line, " are missing.");
    if (!answer->fits && answer->enough_gpus)
        pyro_buf_addf(&line, " The fewest GPUs that hold it: %s %s (%s).",
                      gpus_of(count, answer->enough_gpus), answer->chip,
                      pyro_layout_format(layout, &answer->enough));
    pyro_buf_addc(w->buf, '\n');
    pyro_text_wrap(w->buf, pyro_text_part(w->buf, &line), 0, 0, w->options->width);
    pyro_buf_addc(w->buf, '\n');
    pyro_buf_free(&line);
}

static void write_training(const fit_text *w, pyro_buf *value)
{
    const pyro_train_options *train = &w->fit->train;

    pyro_buf_addf(value, "training with %s, checkpoint %s, precision ",
                  pyro_optimizer_name(train->optimizer), pyro_checkpoint_name(train->checkpoint));
    if (train->precision == PYRO_PRECISION_FILE)
        pyro_buf_addf(value, "%s as in the file", w->fit->dtype);
    else
        pyro_buf_adds(value, pyro_precision_name(train->precision));
    if (train->freeze) {
        pyro_buf_adds(value, ", frozen: ");
        pyro_text_clean(value, train->freeze);
    }
    if (train->lora) {
        pyro_buf_adds(value, ", LoRA ");
        pyro_text_clean(value, train->lora);
    }
}

static void write_setting(const fit_text *w, const pyro_fit_answer *answer)
{
    const pyro_fit *fit = w->fit;
    char text[PYRO_UNIT_TEXT], layout[PYRO_LAYOUT_TEXT];
    pyro_buf value = PYRO_BUF_INIT;

    pyro_text_clean(&value, fit->model);
    pyro_buf_addf(&value, ", %s parameters, ", pyro_format_count(text, fit->parameters));
    if (fit->training)
        write_training(w, &value);
    else
        pyro_buf_addf(&value, "inference in %s", fit->dtype);
    write_field(w, "Model:", &value);
    pyro_buf_addf(&value, "batch %" PRId64, fit->batch);
    if (fit->sequence > 0)
        pyro_buf_addf(&value, " x %s tokens", pyro_format_exact(text, fit->sequence));
    if (answer->layout.data > 1 || answer->layout.pipeline > 1)
        pyro_buf_adds(&value, fit->training ? " per micro-batch of each replica" : " per replica");
    if (fit->training && fit->micro_batches > 1)
        pyro_buf_addf(&value, ", %" PRId64 " micro-batches per step", fit->micro_batches);
    if (fit->cache_dtype[0])
        pyro_buf_addf(&value, "; KV cache of %" PRId64 " sequence%s in %s", fit->concurrent,
                      fit->concurrent == 1 ? "" : "s", fit->cache_dtype);
    write_field(w, "Sizes:", &value);
    pyro_buf_addf(&value, "%" PRId64 " x %s", answer->gpus, answer->chip);
    if (answer->gpus > 1)
        pyro_buf_addf(&value, ", %s", pyro_layout_format(layout, &answer->layout));
    if (answer->chosen)
        pyro_buf_adds(&value, answer->fits ? " (the cheapest that fits)"
                                           : " (nothing fits; this comes closest)");
    write_field(w, "Layout:", &value);
    pyro_text_clean(&value, answer->peak);
    if (value.length)
        write_field(w, "Peak in:", &value);
    pyro_buf_free(&value);
}

static void write_parts(const fit_text *w, const pyro_fit_answer *answer)
{
    static const pyro_table_column columns[] = {{"Per GPU", false, false},
                                                {"Whole", true, false},
                                                {"At the peak", true, false},
                                                {"Of memory", true, false}};
    const pyro_fit_rank *rank = &answer->rank;
    char text[PYRO_UNIT_TEXT];
    pyro_table table;

    pyro_buf_addc(w->buf, '\n');
    if (answer->layout.pipeline > 1)
        pyro_buf_addf(w->buf, "Stage %" PRId64 " of %" PRId64 ", which holds most:\n",
                      rank->stage + 1, answer->layout.pipeline);
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int part = 0; part < PYRO_FIT_PART_COUNT; part++) {
        if (!rank->held_bytes[part])
            continue;
        pyro_table_cell(&table, pyro_fit_part_title((pyro_fit_part)part));
        pyro_table_cell(&table, pyro_format_bytes(text, rank->held_bytes[part]));
        pyro_table_cell(&table, pyro_format_bytes(text, rank->peak_bytes[part]));
        pyro_table_cell(&table, pyro_format_share(text, (double)rank->peak_bytes[part],
                                                  (double)answer->memory_bytes));
    }
    pyro_table_rule(&table);
    pyro_table_cell(&table, "Total");
    pyro_table_cell(&table, "");
    pyro_table_cell(&table, pyro_format_bytes(text, rank->total_bytes));
    pyro_table_cell(
        &table, pyro_format_share(text, (double)rank->total_bytes, (double)answer->memory_bytes));
    write_table(w, &table);
}

/* "12", "none", "as the file fixes it" */
static void add_largest(const fit_text *w, const char *label, int64_t size, bool limited,
                        const char *unit)
{
    char text[PYRO_UNIT_TEXT];
    pyro_buf value = PYRO_BUF_INIT;

    if (size == 0)
        pyro_buf_adds(&value, "none fits");
    else
        pyro_buf_addf(&value, "%s%s%s", pyro_format_exact(text, size), unit,
                      limited ? " (the model allows no more)" : "");
    if (size >= 0)
        write_field(w, label, &value);
    pyro_buf_free(&value);
}

static void write_largest(const fit_text *w, const pyro_fit_answer *answer)
{
    if (answer->largest_batch < 0 && answer->largest_sequence < 0 && answer->largest_concurrent < 0)
        return;
    pyro_text_heading(w->buf, "\nLargest that fits, other sizes as above:", w->options->color);
    add_largest(w, "Batch:", answer->largest_batch, answer->batch_is_limited, "");
    add_largest(w, "Sequence:", answer->largest_sequence, answer->sequence_is_limited,
                " tokens, by memory alone");
    add_largest(w, "Concurrency:", answer->largest_concurrent, false, " sequences in the KV cache");
}

static void write_traffic(const fit_text *w, const pyro_fit_answer *answer)
{
    const pyro_fit_traffic *traffic = &answer->rank.traffic;
    const struct {
        const char *name;
        int64_t bytes;
    } kinds[] = {{"data", traffic->data_bytes},
                 {"tensor", traffic->tensor_bytes},
                 {"pipeline", traffic->pipeline_bytes},
                 {"expert", traffic->expert_bytes}};
    char text[PYRO_UNIT_TEXT];
    pyro_buf value = PYRO_BUF_INIT;
    bool first = true;

    if (answer->gpus <= 1)
        return;
    pyro_text_heading(w->buf,
                      w->fit->training ? "\nCommunication per step, sent by each GPU:"
                                       : "\nCommunication per forward pass, sent by each GPU:",
                      w->options->color);
    pyro_buf_adds(&value, pyro_format_bytes(text, traffic->total_bytes));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].bytes) {
            pyro_buf_addf(&value, "%s%s %s", first ? " (" : ", ", kinds[i].name,
                          pyro_format_bytes(text, kinds[i].bytes));
            first = false;
        }
    pyro_buf_adds(&value, first ? "" : ")");
    if (traffic->seconds > 0)
        pyro_buf_addf(&value, "; %s at %.0f GB/s of the link's %.0f",
                      pyro_format_duration(text, (int64_t)(traffic->seconds * 1e9)),
                      (double)traffic->total_bytes / traffic->seconds / 1e9,
                      answer->link_bytes_per_s / 1e9);
    write_field(w, "Sent:", &value);
    pyro_buf_free(&value);
}

static void write_levers(const fit_text *w, const pyro_fit_answer *answer)
{
    static const pyro_table_column columns[] = {{"One more measure", false, true},
                                                {"Saves", true, false},
                                                {"Total", true, false},
                                                {"Fits", false, false},
                                                {"How", false, true}};
    char text[PYRO_UNIT_TEXT];
    pyro_table table;

    if (!answer->lever_count)
        return;
    pyro_buf_addc(w->buf, '\n');
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < answer->lever_count; i++) {
        const pyro_fit_lever *lever = &answer->levers[i];
        pyro_table_cell(&table, lever->name);
        pyro_table_cell(&table, pyro_format_bytes(text, lever->saved_bytes));
        pyro_table_cell(&table, pyro_format_bytes(text, lever->total_bytes));
        pyro_table_cell(&table, lever->fits ? "yes" : "no");
        pyro_table_cell(&table, lever->how);
    }
    write_table(w, &table);
}

/* A row per chip. */
static void write_chips(const fit_text *w)
{
    static const pyro_table_column columns[] = {{"Chip", false, false},  {"GPUs", true, false},
                                                {"Layout", false, true}, {"Fits", false, false},
                                                {"Used", true, false},   {"Memory", true, false},
                                                {"Margin", true, false}, {"Batch", true, false}};
    char text[PYRO_UNIT_TEXT], layout[PYRO_LAYOUT_TEXT];
    pyro_table table;

    pyro_buf_addc(w->buf, '\n');
    pyro_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < w->fit->answer_count; i++) {
        const pyro_fit_answer *answer = &w->fit->answers[i];
        pyro_table_cell(&table, answer->chip);
        pyro_table_cell(&table, pyro_format_exact(text, answer->gpus));
        pyro_table_cell(&table, pyro_layout_format(layout, &answer->layout));
        pyro_table_cell(&table, answer->fits ? "yes" : "no");
        pyro_table_cell(&table, pyro_format_bytes(text, answer->rank.total_bytes));
        pyro_table_cell(&table, pyro_format_bytes(text, answer->memory_bytes));
        pyro_table_cell(&table, pyro_format_bytes_signed(text, answer->margin_bytes));
        pyro_table_cell(&table, answer->largest_batch < 0
                                    ? "-"
                                    : pyro_format_exact(text, answer->largest_batch));
    }
    write_table(w, &table);
    pyro_buf_adds(w->buf, "  Batch: the largest that fits. Details of the first chip:\n");
}

int pyro_write_fit_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_fit *fit = request->fit;
    const pyro_fit_answer *answer = &fit->answers[0];
    fit_text w = {buf, fit, request->options};
    pyro_buf title = PYRO_BUF_INIT;

    pyro_buf_adds(&title, "DOES IT FIT: ");
    pyro_text_clean(&title, fit->model);
    pyro_buf_addf(&title, " on %" PRId64 " x %s", answer->gpus, answer->chip);
    if (fit->answer_count > 1)
        pyro_buf_addf(&title, " and %zu more", fit->answer_count - 1);
    pyro_text_banner(buf, pyro_text_part(buf, &title), w.options->width, w.options->color);
    pyro_buf_free(&title);
    if (fit->answer_count > 1)
        write_chips(&w);
    write_verdict(&w, answer);
    write_setting(&w, answer);
    write_parts(&w, answer);
    write_largest(&w, answer);
    write_traffic(&w, answer);
    write_levers(&w, answer);
    pyro_text_list(buf, "\nAssumptions:", fit->assumptions, fit->assumption_count, w.options->width,
                   w.options->color);
    pyro_text_list(buf, "\nNotes:", fit->notes, fit->note_count, w.options->width,
                   w.options->color);
    return PYRO_OK;
}
