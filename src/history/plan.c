/* Plans capacity for stored lines: which batch on which machine needs how many replicas. */
#include "history/history.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "history/benchmark.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES_MAX = 200000 };

static bool is_same_machine(const pyro_history_line *a, const pyro_history_line *b)
{
    return strcmp(a->machine_class, b->machine_class) == 0;
}

/* The same benchmark but for its batch, on any machine. */
static bool is_family(const pyro_history_line *a, const pyro_history_line *b)
{
    pyro_buf left = PYRO_BUF_INIT, right = PYRO_BUF_INIT;
    bool is_same = strcmp(a->project, b->project) == 0;

    pyro_benchmark_add_family(&left, a->benchmark);
    pyro_benchmark_add_family(&right, b->benchmark);
    is_same = is_same && !left.failed && !right.failed && left.length == right.length &&
              (left.length == 0 || memcmp(left.data, right.data, left.length) == 0);
    pyro_buf_free(&left);
    pyro_buf_free(&right);
    return is_same;
}

static bool is_usable(const pyro_history_line *line)
{
    return strcmp(line->metric, "latency") == 0 && strcmp(line->unit, "ms") == 0 &&
           line->point_count > 0;
}

/* Where the current level begins. */
static size_t level_start(const pyro_history_line *line, const pyro_history_changes *changes)
{
    size_t start = 0;

    for (size_t i = 0; i < changes->change_count; i++)
        if (changes->changes[i].line == line && changes->changes[i].kind != PYRO_CHANGE_NOISE)
            start = changes->changes[i].index;
    return start;
}

/* The samples of the current level times `ratio`, newest results first; the caller frees them. */
static int collect(pyro_service *out, const pyro_history_line *line,
                   const pyro_history_changes *changes, double ratio, pyro_error *error)
{
    size_t start = level_start(line, changes), capacity = 0;
    double *samples = NULL;

    *out = (pyro_service){.batch = pyro_benchmark_batch(line->benchmark)};
    for (size_t i = line->point_count; i-- > start && out->count < SAMPLES_MAX;) {
        const pyro_history_point *point = &line->points[i];

        if (!point->samples)
            continue;
        if (!pyro_grow(&samples, &capacity, out->count + point->sample_count, sizeof *samples)) {
            free(samples);
            return pyro_fail_memory(error);
        }
        for (size_t j = 0; j < point->sample_count; j++)
            samples[out->count++] = ratio * point->samples[j];
    }
    out->samples_ms = samples;
    return PYRO_OK;
}

typedef struct planning {
    pyro_service *services; /* one per line; without samples: not usable */
    pyro_service *family;
    pyro_capacity_rows *out;
    const pyro_history_lines *lines;
    const pyro_capacity_request *request;
    pyro_error *error;
} planning;

static int plan_line(planning *p, size_t index)
{
    const pyro_history_line *line = &p->lines->lines[index];
    pyro_capacity_request request = *p->request;
    pyro_capacity_row *row = &p->out->rows[p->out->row_count];
    size_t count = 0;

    for (size_t i = 0; i < p->lines->line_count; i++)
        if (p->services[i].count > 0 && is_same_machine(line, &p->lines->lines[i]) &&
            is_family(line, &p->lines->lines[i]))
            p->family[count++] = p->services[i];
    request.services = p->family;
    request.service_count = count;
    request.batch = p->services[index].batch;
    request.concurrency = pyro_benchmark_concurrency(line->benchmark);
    *row = (pyro_capacity_row){.line = line,
                               .batch = request.batch,
                               .concurrency = request.concurrency,
                               .sample_count = p->services[index].count};
    int status = pyro_capacity_plan(&row->capacity, &request, p->error);
    p->out->row_count += status == PYRO_OK;
    return status;
}

/* Needs fewer replicas, or any number where the other one cannot keep the limits. */
static bool needs_fewer(const pyro_capacity_row *a, const pyro_capacity_row *b)
{
    return a->capacity.replicas > 0 &&
           (b->capacity.replicas == 0 || a->capacity.replicas < b->capacity.replicas);
}

/* Which rows answer "what if": a larger batch on the same machine, another machine. */
static void find_alternatives(pyro_capacity_rows *plan, pyro_capacity_row *row)
{
    row->next_batch = row->other_machine = PYRO_NO_ROW;
    for (size_t i = 0; i < plan->row_count; i++) {
        const pyro_capacity_row *other = &plan->rows[i];
        bool is_here = is_same_machine(row->line, other->line);
        size_t *chosen = is_here ? &row->next_batch : &row->other_machine;

        if (other == row || !is_family(row->line, other->line) ||
            (is_here ? other->batch <= row->batch
                     : other->batch != row->batch || !needs_fewer(other, row)))
            continue;
        if (*chosen == PYRO_NO_ROW || (is_here ? other->batch < plan->rows[*chosen].batch
                                               : needs_fewer(other, &plan->rows[*chosen])))
            *chosen = i;
    }
}

int pyro_history_plan(pyro_capacity_rows *out, const pyro_history_lines *lines,
                      const pyro_history_changes *changes, const pyro_capacity_request *request,
                      pyro_error *error)
{
    size_t count = lines->line_count;
    planning p = {.services = calloc(count + 1, sizeof *p.services),
                  .family = calloc(count + 1, sizeof *p.family),
                  .out = out,
                  .lines = lines,
                  .request = request,
                  .error = error};
    int status;

    *out = (pyro_capacity_rows){.rows = calloc(count + 1, sizeof *out->rows)};
    status = p.services && p.family && out->rows ? PYRO_OK : pyro_fail_memory(error);
    for (size_t i = 0; i < count && status == PYRO_OK; i++) {
        double ratio = request->ratios ? request->ratios[i] : 1;

        if (is_usable(&lines->lines[i]) && ratio > 0)
            status = collect(&p.services[i], &lines->lines[i], changes, ratio, error);
    }
    for (size_t i = 0; i < count && status == PYRO_OK; i++)
        if (p.services[i].count > 0)
            status = plan_line(&p, i);
    for (size_t i = 0; i < out->row_count && status == PYRO_OK; i++)
        find_alternatives(out, &out->rows[i]);
    for (size_t i = 0; p.services && i < count; i++)
        free((double *)p.services[i].samples_ms);
    free(p.services);
    free(p.family);
    if (status != PYRO_OK)
        pyro_capacity_rows_free(out);
    return status;
}

void pyro_capacity_rows_free(pyro_capacity_rows *rows)
{
    free(rows->rows);
    *rows = (pyro_capacity_rows){0};
}
