/*
 * Estimates from the most similar rows of a kind. Each row has a residual: how much longer it took
 * than a simple model of the chip (kernel_model.h) says. The residuals of the nearest rows, by sizes and type, are
 * averaged and added to what the model says for the work. Walks all rows of a kind, so large tables
 * use buckets alone (efficiency_find.c).
 */
#include "predict/efficiency_table.h"

#include "base/error.h"
#include "predict/kernel_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEAREST = 8, MOST_ROWS = 4096 };

/* Of squared distances: amounts of work count most, then columns and depth of products. */
static const double weights[PYRO_SIZE_COUNT] = {[PYRO_SIZE_M] = 0.05,
                                                [PYRO_SIZE_N] = 0.2,
                                                [PYRO_SIZE_K] = 0.2,
                                                [PYRO_SIZE_FLOPS] = 0.5,
                                                [PYRO_SIZE_BYTES] = 0.5};
#define UNKNOWN (-1.0)   /* a feature that does not count */
#define OTHER_TYPE 9.0   /* distance between two types */
#define OTHER_FORM 9.0   /* distance between two forms */
#define SOFTENING 0.1    /* added to distances, so that none is zero */
#define STEEPNESS 1.5    /* by which power of the distance neighbours count less */
#define LEAST_VARIANCE 0.02
#define VARIANCE_PER_DISTANCE 0.01

struct pyro_near_row {
    double features[PYRO_SIZE_COUNT], residual;
    uint32_t row; /* of the table */
    uint8_t dtype, form;
    bool is_left_out; /* while a table is thinned */
};

/* What a lookup compares with rows. */
typedef struct wanted {
    double features[PYRO_SIZE_COUNT];
    int dtype, form;
} wanted;

/* Logarithms of the sizes, from the sums of a row. */
static void set_features(double features[PYRO_SIZE_COUNT], const pyro_efficiency_row *row)
{
    for (int i = 0; i < PYRO_SIZE_COUNT; i++)
        features[i] = row->sizes[i] == PYRO_SIZE_NONE && i < PYRO_SIZE_FLOPS
                          ? UNKNOWN
                          : (double)row->size_logs[i] / ((double)row->samples * PYRO_LOG_UNIT);
}

static double size_at(const double features[PYRO_SIZE_COUNT], int size)
{
    return features[size] < 0 ? 0 : exp2(features[size]);
}

/* log2 ns that the model says. */
static double model_log(const pyro_chip *chip, int kind, int dtype, int form,
                        const double features[PYRO_SIZE_COUNT])
{
    pyro_kernel_work work = {.kind = (pyro_work_kind)kind,
                             .form = (pyro_work_form)form,
                             .dtype = dtype,
                             .flops = size_at(features, PYRO_SIZE_FLOPS),
                             .bytes = size_at(features, PYRO_SIZE_BYTES),
                             .m = size_at(features, PYRO_SIZE_M),
                             .n = size_at(features, PYRO_SIZE_N),
                             .k = size_at(features, PYRO_SIZE_K),
                             .parts = size_at(features, PYRO_SIZE_PARTS)};
    return log2(pyro_kernel_model_ns(chip, &work));
}

static size_t group_of(const pyro_efficiency_row *row)
{
    return (size_t)row->chip * 16 + row->kind;
}

static void add_row(pyro_efficiency_table *table, const pyro_efficiency_row *row, size_t at)
{
    struct pyro_near_row *near = &table->near_rows[at];
    double time = (double)row->time_log / ((double)row->samples * PYRO_LOG_UNIT);
    set_features(near->features, row);
    near->dtype = row->dtype;
    near->form = row->form;
    near->row = (uint32_t)(row - table->rows);
    near->residual = time - model_log(table->facts[row->chip].chip, row->kind, row->dtype,
                                      row->form, near->features);
}

/* Sorts the rows by chip and kind. Groups with too many rows are left empty. */
int pyro_efficiency_prepare_near(pyro_efficiency_table *table, pyro_error *error)
{
    size_t groups = table->chips.count * 16;
    free(table->near_rows);
    free(table->near_first);
    table->near_first = calloc(groups + 2, sizeof *table->near_first);
    table->near_rows = NULL;
    if (!table->near_first)
        return pyro_fail_memory(error);
    size_t *first = table->near_first;
    for (size_t i = 0; i < table->count; i++)
        first[group_of(&table->rows[i]) + 1]++;
    for (size_t g = 0; g < groups; g++)
        first[g + 1] = first[g] + (first[g + 1] > MOST_ROWS ? 0 : first[g + 1]);
    table->near_rows = calloc(first[groups] + 1, sizeof *table->near_rows);
    size_t *next = calloc(groups + 1, sizeof *next);
    if (!table->near_rows || !next) {
        free(next);
        return pyro_fail_memory(error);
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t group = group_of(&table->rows[i]);
        if (first[group] + next[group] < first[group + 1])
            add_row(table, &table->rows[i], first[group] + next[group]++);
    }
    free(next);
    return PYRO_OK;
}

/* The nearest rows so far, nearest first. */
typedef struct nearest {
    double distance[NEAREST], residual[NEAREST];
    bool is_other_type[NEAREST];
    int count;
} nearest;

static void keep(nearest *near, double distance, double residual, bool is_other_type)
{
    int at = near->count < NEAREST ? near->count++ : NEAREST - 1;
    for (; at > 0 && near->distance[at - 1] > distance; at--) {
        near->distance[at] = near->distance[at - 1];
        near->residual[at] = near->residual[at - 1];
        near->is_other_type[at] = near->is_other_type[at - 1];
    }
    near->distance[at] = distance;
    near->residual[at] = residual;
    near->is_other_type[at] = is_other_type;
}

static double distance_to(const struct pyro_near_row *row, const wanted *w)
{
    double distance = row->dtype == w->dtype ? 0 : OTHER_TYPE;
    if (row->form != w->form && row->form != PYRO_FORM_ANY && w->form != PYRO_FORM_ANY)
        distance += OTHER_FORM;
    for (int i = 0; i < PYRO_SIZE_COUNT; i++)
        if (row->features[i] >= 0 && w->features[i] >= 0)
            distance += weights[i] * (row->features[i] - w->features[i]) *
                        (row->features[i] - w->features[i]);
    return distance;
}

/* Of the rows from `begin` to `end`, without `skipped` (NULL: none) and those that are left out. */
static nearest find_nearest(const pyro_efficiency_table *table, size_t begin, size_t end,
                            const wanted *w, const struct pyro_near_row *skipped)
{
    nearest near = {.count = 0};
    for (size_t i = begin; i < end; i++) {
        const struct pyro_near_row *row = &table->near_rows[i];
        if (row->is_left_out || row == skipped)
            continue;
        double distance = distance_to(row, w);
        if (near.count < NEAREST || distance < near.distance[NEAREST - 1])
            keep(&near, distance, row->residual, row->dtype != w->dtype);
    }
    return near;
}

/* The mean of their residuals, and its variance: the nearest count most. */
static double mean_residual(const nearest *near, double *variance)
{
    double sum = 0, mean = 0, squares = 0;
    for (int i = 0; i < near->count; i++) {
        double weight = pow(SOFTENING + near->distance[i], -STEEPNESS);
        sum += weight;
        mean += weight * near->residual[i];
        squares += weight * near->residual[i] * near->residual[i];
    }
    mean /= sum;
    *variance = fmax(squares / sum - mean * mean, 0);
    return mean;
}

bool pyro_efficiency_find_near(const pyro_efficiency_table *table, uint32_t chip, int kind,
                               int dtype, const struct pyro_op_work *work,
                               struct pyro_near_estimate *out)
{
    size_t group = (size_t)chip * 16 + (size_t)kind;
    size_t begin = table->near_first[group], end = table->near_first[group + 1];
    pyro_efficiency_row row = {.samples = 1};
    wanted w = {.dtype = dtype, .form = work->form};
    double variance;

    if (begin == end)
        return false;
    pyro_efficiency_set_sizes(&row, work);
    set_features(w.features, &row);
    nearest near = find_nearest(table, begin, end, &w, NULL);
    double mean = mean_residual(&near, &variance);
    out->time_log = mean + model_log(table->facts[chip].chip, kind, dtype, work->form, w.features);
    out->spread = sqrt(variance + LEAST_VARIANCE + VARIANCE_PER_DISTANCE * near.distance[0]);
    out->distance = near.distance[0];
    out->samples = near.count;
    out->is_other_type = near.is_other_type[0];
    return true;
}

/* Marks rows of a group that the remaining ones predict; keeps enough of them for an estimate. */
static void thin_group(pyro_efficiency_table *table, size_t begin, size_t end, double tolerance_log)
{
    for (size_t i = begin; i < end; i++) {
        struct pyro_near_row *row = &table->near_rows[i];
        wanted w = {.dtype = row->dtype, .form = row->form};
        memcpy(w.features, row->features, sizeof w.features);
        nearest near = find_nearest(table, begin, end, &w, row);
        double variance;
        if (near.count == NEAREST && !near.is_other_type[0])
            row->is_left_out = fabs(mean_residual(&near, &variance) - row->residual) <=
                               tolerance_log;
    }
}

void pyro_efficiency_find_predicted(pyro_efficiency_table *table, double tolerance, bool *predicted)
{
    size_t groups = table->chips.count * 16;
    for (size_t g = 0; g < groups; g++)
        thin_group(table, table->near_first[g], table->near_first[g + 1], log2(1 + tolerance));
    for (size_t i = 0; i < table->near_first[groups]; i++) {
        predicted[table->near_rows[i].row] = table->near_rows[i].is_left_out;
        table->near_rows[i].is_left_out = false;
    }
}
