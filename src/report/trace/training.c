/* Writes the summary of profiled steps: a table of ops like that of torch.profiler, FLOP/s compared
 * with the peak, and the parts of a step. */
#include <pyrometer/training.h>

#include "base/containers/buf.h"
#include "analyze/totals.h"
#include "base/error.h"
#include "base/text/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TOP = 10, WIDEST_NAME = 55, COLUMN = 12, MOST_COLUMNS = 5, MOST_STEPS = 12 };

static char *format_time(char text[PYRO_UNIT_TEXT], int64_t time_ns)
{
    double ns = (double)time_ns;
    if (ns >= 1e9)
        snprintf(text, PYRO_UNIT_TEXT, "%.3fs", ns / 1e9);
    else if (ns >= 1e6)
        snprintf(text, PYRO_UNIT_TEXT, "%.3fms", ns / 1e6);
    else
        snprintf(text, PYRO_UNIT_TEXT, "%.3fus", ns / 1e3);
    return text;
}

static char *format_flops(char text[PYRO_UNIT_TEXT], double flops)
{
    static const char units[] = " KMGTPE";
    size_t unit = 0;
    for (; flops >= 1000 && unit + 2 < sizeof units; unit++)
        flops /= 1000;
    if (unit == 0)
        snprintf(text, PYRO_UNIT_TEXT, "%.0f", flops);
    else
        snprintf(text, PYRO_UNIT_TEXT, "%.3f%c", flops, units[unit]);
    return text;
}

static int by_total(const void *left, const void *right)
{
    const pyro_op_row *a = *(const pyro_op_row *const *)left;
    const pyro_op_row *b = *(const pyro_op_row *const *)right;
    if (a->device_total_ns != b->device_total_ns)
        return a->device_total_ns < b->device_total_ns ? 1 : -1;
    if (a->host_total_ns != b->host_total_ns)
        return a->host_total_ns < b->host_total_ns ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void write_rule(pyro_buf *buf, int name_width, int columns)
{
    for (int i = 0; i < name_width; i++)
        pyro_buf_addc(buf, '-');
    for (int i = 1; i < columns; i++)
        pyro_buf_adds(buf, "  ------------");
    pyro_buf_addc(buf, '\n');
}

static void write_row(pyro_buf *buf, int name_width, const char *const *cells, int columns)
{
    const char *name = cells[0];
    size_t length = strlen(name);
    if (length > WIDEST_NAME)
        pyro_buf_addf(buf, "%*.*s...", name_width - 3, WIDEST_NAME - 3, name);
    else
        pyro_buf_addf(buf, "%*s", name_width, name);
    for (int i = 1; i < columns; i++)
        pyro_buf_addf(buf, "  %*s", COLUMN, cells[i]);
    pyro_buf_addc(buf, '\n');
}

static void write_op(pyro_buf *buf, int name_width, const pyro_op_row *row, bool with_flops,
                     bool on_device)
{
    char texts[MOST_COLUMNS][PYRO_UNIT_TEXT];
    const char *cells[MOST_COLUMNS] = {row->name};
    int count = 1;
    if (with_flops)
        cells[count++] = row->flops > 0 ? format_flops(texts[1], (double)row->flops) : "--";
    cells[count++] = format_time(texts[2], row->host_total_ns);
    cells[count++] = on_device ? format_time(texts[3], row->device_total_ns) : "--";
    snprintf(texts[4], sizeof texts[4], "%lld", (long long)row->calls);
    cells[count++] = texts[4];
    write_row(buf, name_width, cells, count);
}

static int write_ops(pyro_buf *buf, const pyro_analysis *analysis,
                     const pyro_training_report *report, pyro_error *error)
{
    static const char *const titles[] = {"Name", "Self FLOPS", "CPU total", "CUDA total",
                                         "# of Calls"};
    const char *shown_titles[MOST_COLUMNS];
    const pyro_op_row **rows = malloc((analysis->op_count + 1) * sizeof *rows);
    size_t shown = report->top > 0 ? (size_t)report->top : DEFAULT_TOP;
    int name_width = 0, columns = 0;
    if (!rows)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < analysis->op_count; i++)
        rows[i] = &analysis->ops[i];
    qsort(rows, analysis->op_count, sizeof *rows, by_total);
    shown = shown < analysis->op_count ? shown : analysis->op_count;
    for (size_t i = 0; i < shown; i++) {
        int width = (int)strnlen(rows[i]->name, WIDEST_NAME);
        name_width = width > name_width ? width : name_width;
    }
    for (int i = 0; i < MOST_COLUMNS; i++)
        if (i != 1 || report->with_flops)
            shown_titles[columns++] = titles[i];
    name_width = name_width < (int)strlen(titles[0]) ? (int)strlen(titles[0]) : name_width;
    write_rule(buf, name_width, columns);
    write_row(buf, name_width, shown_titles, columns);
    write_rule(buf, name_width, columns);
    for (size_t i = 0; i < shown; i++)
        write_op(buf, name_width, rows[i], report->with_flops, analysis->kernel_count > 0);
    write_rule(buf, name_width, columns);
    free(rows);
    return PYRO_OK;
}

static void write_work(pyro_buf *buf, const pyro_training_totals *all, bool on_device)
{
    char work[PYRO_UNIT_TEXT], rate[PYRO_UNIT_TEXT], peak[PYRO_UNIT_TEXT], share[PYRO_UNIT_TEXT];
    double flops = (double)all->sum.flops, rate_per_s;
    if (flops <= 0 || all->sum.span_ns <= 0) {
        pyro_buf_adds(buf, "Work: no op has a known cost\n");
        return;
    }
    rate_per_s = flops / ((double)all->sum.span_ns / 1e9);
    pyro_buf_addf(buf, "Work: %sFLOP per step (convention full), %sFLOP/s",
                  format_flops(work, flops / (double)all->count), format_flops(rate, rate_per_s));
    if (all->peak_flops_per_s > 0)
        pyro_buf_addf(buf, ", %s of the peak of %sFLOP/s (%s)\n",
                      pyro_format_share(share, rate_per_s, all->peak_flops_per_s),
                      format_flops(peak, all->peak_flops_per_s), all->dtype);
    else if (on_device)
        pyro_buf_addf(buf, "; the peak of this device for %s is unknown\n", all->dtype);
    else
        pyro_buf_adds(buf, "; the peak of this machine is unknown: run"
                           " pyrometer doctor --calibrate to measure it\n");
}

static void write_step(pyro_buf *buf, const char *label, const pyro_training_step *step,
                       int64_t count)
{
    const int64_t parts[] = {step->span_ns,      step->forward_ns, step->backward_ns,
                             step->optimizer_ns, step->data_ns,    step->communication_ns,
                             step->other_ns};
    char text[PYRO_UNIT_TEXT];
    pyro_buf_addf(buf, "%-8s", label);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        pyro_buf_addf(buf, "  %13s", format_time(text, parts[i] / count));
    pyro_buf_addc(buf, '\n');
}

static void write_steps(pyro_buf *buf, const pyro_analysis *analysis,
                        const pyro_training_report *report, const pyro_training_totals *all)
{
    static const char *const titles[] = {"Time", "Forward",       "Backward", "Optimizer",
                                         "Data", "Communication", "Other"};
    char label[PYRO_UNIT_TEXT];
    pyro_buf_addf(buf, "%-8s", "Step");
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        pyro_buf_addf(buf, "  %13s", titles[i]);
    pyro_buf_addc(buf, '\n');
    for (size_t i = 0; i < analysis->training_count && all->count <= MOST_STEPS; i++) {
        const pyro_training_step *step = &analysis->training[i];
        if (step->number < report->first_step || step->number > report->last_step)
            continue;
        snprintf(label, sizeof label, "%lld", (long long)step->number);
        write_step(buf, label, step, 1);
    }
    if (all->count > 1)
        write_step(buf, "mean", &all->sum, all->count);
}

int pyro_report_training(char **out, size_t *size, const pyro_analysis *analysis,
                         const pyro_training_report *report, pyro_error *error)
{
    pyro_buf buf = PYRO_BUF_INIT;
    pyro_training_totals all = pyro_analysis_sum_training(analysis, report->first_step,
                                                          report->last_step);
    *out = NULL;
    if (report->title)
        pyro_buf_addf(&buf, "%s\n", report->title);
    int status = write_ops(&buf, analysis, report, error);
    if (status == PYRO_OK) {
        if (report->with_flops && all.count)
            write_work(&buf, &all, analysis->kernel_count > 0);
        if (all.count)
            write_steps(&buf, analysis, report, &all);
        *out = pyro_buf_detach(&buf, size);
        status = *out ? PYRO_OK : pyro_fail_memory(error);
    }
    pyro_buf_free(&buf);
    return status;
}
