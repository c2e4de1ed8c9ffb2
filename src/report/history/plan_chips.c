/* Writes what the rows of a plan would need on other chips, or why that is unknown. */
#include "report/history/history.h"

#include "report/text.h"

#include <math.h>
#include <string.h>

static void add_count(pyro_buf *text, size_t replicas)
{
    if (replicas > 0)
        pyro_buf_addf(text, "%zu", replicas);
    else
        pyro_buf_adds(text, "too slow");
}

/* "resnet50 batch_size=8 on ci: H100 SXM instead of A100: 2 replicas with p99 ..., not 5 ..." */
static void add_prediction(pyro_buf *text, const pyro_capacity_row *row,
                           const pyro_capacity_chip *chip)
{
    pyro_buf_addf(text, "%s instead of %s: ", chip->chip, chip->measured_on);
    pyro_add_replicas(text, &chip->capacity);
    pyro_buf_adds(text, ", not ");
    pyro_add_replicas(text, &row->capacity);
    pyro_buf_addf(text, "; service times are the measured ones times %.2f (%.2f to %.2f",
                  chip->ratio, chip->ratio_low, chip->ratio_high);
    if (chip->replicas_low != chip->replicas_high) {
        pyro_buf_adds(text, ": replicas ");
        add_count(text, chip->replicas_low);
        pyro_buf_adds(text, " to ");
        add_count(text, chip->replicas_high);
    }
    pyro_buf_addc(text, ')');
}

/* The same reason for all chips of a row is written once. */
static bool is_repeated(const pyro_history_report *report, size_t index)
{
    const pyro_capacity_chip *chip = &report->chips[index], *before = chip - 1;

    return index > 0 && before->row == chip->row && chip->why_not && before->why_not &&
           strcmp(chip->why_not, before->why_not) == 0;
}

void pyro_write_plan_chips_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_history_report *report = request->history;
    pyro_buf text = PYRO_BUF_INIT, item = PYRO_BUF_INIT;

    if (report->chip_count > 0) {
        pyro_buf_addc(buf, '\n');
        pyro_text_heading(
            buf, "Other chips, predicted by pyrometer map, not measured:", request->options->color);
    }
    for (size_t i = 0; i < report->chip_count; i++) {
        const pyro_capacity_chip *chip = &report->chips[i];
        const pyro_capacity_row *row = &report->plan->rows[chip->row];

        if (is_repeated(report, i))
            continue;
        pyro_buf_reset(&text);
        pyro_buf_reset(&item);
        pyro_buf_addf(&text, "%s on %s: ", row->line->benchmark, row->line->machine_class);
        if (chip->why_not)
            pyro_buf_addf(&text, "no prediction: %s", chip->why_not);
        else
            add_prediction(&text, row, chip);
        pyro_buf_adds(&item, "- ");
        pyro_text_clean(&item, pyro_text_part(buf, &text));
        pyro_text_wrap(buf, pyro_text_part(buf, &item), 2, 4, request->options->width);
    }
    pyro_buf_free(&text);
    pyro_buf_free(&item);
}

static void write_chip(pyro_json_writer *w, const pyro_capacity_chip *chip)
{
    const pyro_capacity *capacity = &chip->capacity;
    bool is_possible = !chip->why_not && capacity->replicas > 0;

    pyro_json_begin_object(w);
    pyro_json_member_integer(w, "row", (int64_t)chip->row);
    pyro_json_member_string(w, "chip", chip->chip);
    pyro_json_member_string(w, "measured_on", chip->measured_on);
    pyro_json_member_string(w, "why_not", chip->why_not ? chip->why_not : "");
    pyro_json_member_number(w, "ratio", chip->ratio);
    pyro_json_member_number(w, "ratio_low", chip->ratio_low);
    pyro_json_member_number(w, "ratio_high", chip->ratio_high);
    pyro_json_member_integer(w, "replicas", (int64_t)capacity->replicas);
    pyro_json_member_integer(w, "replicas_low", (int64_t)chip->replicas_low);
    pyro_json_member_integer(w, "replicas_high", (int64_t)chip->replicas_high);
    pyro_json_member_number(w, "load", is_possible ? capacity->load : NAN);
    pyro_json_member_number(w, "p50_ms", is_possible ? capacity->queue.p50_ms : NAN);
    pyro_json_member_number(w, "p95_ms", is_possible ? capacity->queue.p95_ms : NAN);
    pyro_json_member_number(w, "p99_ms", is_possible ? capacity->queue.p99_ms : NAN);
    pyro_json_member_number(w, "headroom", is_possible ? capacity->headroom : NAN);
    pyro_json_end_object(w);
}

void pyro_write_plan_chips_json(pyro_json_writer *w, const pyro_history_report *report)
{
    pyro_json_key(w, "chips");
    pyro_json_begin_array(w);
    for (size_t i = 0; i < report->chip_count; i++)
        write_chip(w, &report->chips[i]);
    pyro_json_end_array(w);
}
