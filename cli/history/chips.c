/* pyrometer history plan --on: what the rows of a plan would need on other chips. */
#include "cli/history/chips.h"

#include "base/error.h"
#include "cli/history/predict.h"

#include <stdlib.h>

typedef struct chip_planning {
    pyro_history_chips *out;
    const pyro_history_reading *reading;
    const pyro_capacity_rows *plan;
    const pyro_capacity_request *request;
    pyro_predicted_ratio *predicted; /* by row, then by chip */
    double *ratios; /* by line, of one chip */
    size_t chips;
    pyro_error *error;
} chip_planning;

static double ratio_at(const pyro_predicted_ratio *predicted, int end)
{
    return end < 0 ? predicted->low : end > 0 ? predicted->high : predicted->ratio;
}

/* The whole plan with the service times of a chip: at the ratio (0) or an end of its range. */
static int plan_chip(chip_planning *p, size_t chip, int end)
{
    const pyro_history_lines *lines = p->reading->lines;
    pyro_capacity_request request = *p->request;
    pyro_capacity_rows rows;

    for (size_t i = 0; i < lines->line_count; i++)
        p->ratios[i] = 0;
    for (size_t row = 0; row < p->plan->row_count; row++) {
        const pyro_predicted_ratio *predicted = &p->predicted[row * p->chips + chip];

        if (predicted->why_not[0] == '\0')
            p->ratios[p->plan->rows[row].line - lines->lines] = ratio_at(predicted, end);
    }
    request.ratios = p->ratios;
    int status = pyro_history_plan(&rows, lines, p->reading->changes, &request, p->error);
    for (size_t i = 0; status == PYRO_OK && i < rows.row_count; i++)
        for (size_t row = 0; row < p->plan->row_count; row++) {
            pyro_capacity_chip *item = &p->out->items[row * p->chips + chip];

            if (p->plan->rows[row].line != rows.rows[i].line)
                continue;
            if (end == 0)
                item->capacity = rows.rows[i].capacity;
            else if (end < 0)
                item->replicas_low = rows.rows[i].capacity.replicas;
            else
                item->replicas_high = rows.rows[i].capacity.replicas;
        }
    if (status == PYRO_OK)
        pyro_capacity_rows_free(&rows);
    return status;
}

static void describe(chip_planning *p, size_t index)
{
    const pyro_predicted_ratio *predicted = &p->predicted[index];

    p->out->items[index] = (pyro_capacity_chip){
        .row = index / p->chips,
        .chip = predicted->chip,
        .measured_on = predicted->measured_on,
        .why_not = predicted->why_not[0] != '\0' ? predicted->why_not : NULL,
        .ratio = predicted->ratio,
        .ratio_low = predicted->low,
        .ratio_high = predicted->high,
    };
}

static int plan_chips(chip_planning *p, pyro_predictor *predictor)
{
    int status = PYRO_OK;

    for (size_t row = 0; row < p->plan->row_count; row++)
        pyro_predict_line(p->predicted + row * p->chips, predictor, p->plan->rows[row].line);
    for (size_t i = 0; i < p->out->count; i++)
        describe(p, i);
    for (size_t i = 0; i < 3 * p->chips && status == PYRO_OK; i++)
        status = plan_chip(p, i / 3, (const int[]){0, -1, 1}[i % 3]);
    return status;
}

int pyro_history_chips_open(pyro_history_chips *out, const pyro_history_values *values,
                            const pyro_history_reading *reading, const pyro_capacity_rows *plan,
                            const pyro_capacity_request *request, pyro_error *error)
{
    pyro_predictor predictor;
    int status;

    *out = (pyro_history_chips){0};
    if (values->on.count == 0)
        return PYRO_OK;
    status = pyro_predictor_open(&predictor, values, error);
    if (status == PYRO_OK) {
        chip_planning p = {.out = out,
                           .reading = reading,
                           .plan = plan,
                           .request = request,
                           .chips = pyro_predictor_count(&predictor),
                           .error = error};

        out->count = plan->row_count * p.chips;
        out->items = calloc(out->count + 1, sizeof *out->items);
        out->predicted = p.predicted = calloc(out->count + 1, sizeof *p.predicted);
        p.ratios = calloc(reading->lines->line_count + 1, sizeof *p.ratios);
        status = out->items && p.predicted && p.ratios ? plan_chips(&p, &predictor)
                                                       : pyro_fail_memory(error);
        free(p.ratios);
    }
    pyro_predictor_close(&predictor);
    return status;
}

void pyro_history_chips_close(pyro_history_chips *chips)
{
    free(chips->items);
    free(chips->predicted);
    *chips = (pyro_history_chips){0};
}
