/* Writes a trace as text: an overview on one screen, or one full table. */
#include "report/cost/rows.h"
#include "report/text.h"
#include "report/trace/view.h"
#include "report/writers.h"

#include "base/error.h"
#include "base/text/units.h"

#include <stdio.h>
#include <string.h>

enum {
    OVERVIEW_LAYERS = 5,
    OVERVIEW_ROWS = 3,
    OVERVIEW_FINDINGS = 3,
    OVERVIEW_WARNINGS = 5,
    OVERVIEW_CATEGORIES = 6,
    BAR_WIDTH = 36
};

/* Smaller categories are left out of the overview. */
static const double LEAST_SHARE = 0.01;

static void write_banner(pyro_trace_writer *w, const pyro_trace *trace)
{
    const char *file = pyro_trace_file(trace), *slash = strrchr(file, '/');
    pyro_buf title = PYRO_BUF_INIT;

    pyro_buf_adds(&title, "TRACE PROFILE: ");
    pyro_text_clean(&title, slash && slash[1] != '\0' ? slash + 1 : file);
    pyro_text_banner(w->buf, pyro_text_part(w->buf, &title), w->options->width, w->options->color);
    pyro_buf_free(&title);
}

static void write_field(pyro_trace_writer *w, const char *label, pyro_buf *value)
{
    pyro_text_field(w->buf, label, value, w->options->width);
    pyro_buf_free(value);
}

static bool lacks_device_work(const pyro_analysis *analysis)
{
    for (size_t i = 0; i < analysis->defect_count; i++)
        if (strcmp(analysis->defects[i].id, "no-device-events") == 0)
            return true;
    return false;
}

static void write_device(pyro_trace_writer *w)
{
    const pyro_analysis *analysis = w->analysis;
    char share[PYRO_UNIT_TEXT], total[PYRO_UNIT_TEXT], count[PYRO_UNIT_TEXT];
    pyro_buf value = PYRO_BUF_INIT;

    if (analysis->device_name[0] != '\0') {
        pyro_text_clean(&value, analysis->device_name);
        write_field(w, "Device:", &value);
    }
    if (w->on_host && analysis->device_name[0] == '\0' && !lacks_device_work(analysis)) {
        pyro_buf_adds(&value, "of the host");
        write_field(w, "Times:", &value);
        return;
    }
    if (w->on_host) {
        pyro_buf_adds(&value,
                      lacks_device_work(analysis)
                          ? "not in the file, though a device was used; times are the host's"
                          : "nothing ran on a device; times are the host's");
        write_field(w, "Device time:", &value);
        return;
    }
    pyro_buf_addf(
        &value, "%s (%s kernel%s); busy %s of the span",
        pyro_format_duration(total, analysis->device_total_ns),
        pyro_format_exact(count, analysis->kernel_count), analysis->kernel_count == 1 ? "" : "s",
        pyro_format_share(share, (double)analysis->device_busy_ns, (double)analysis->span_ns));
    write_field(w, "Device time:", &value);
}

/* "2.90 s before the first step: imports 1.20 s, CUDA calls 0.80 s"; parts of at least 5%. */
static void write_startup(pyro_trace_writer *w)
{
    const pyro_startup *startup = &w->analysis->startup;
    const struct {
        const char *name;
        int64_t part_ns;
    } parts[] = {{"imports", startup->import_ns},
                 {"compilation", startup->compile_ns},
                 {"device calls", startup->runtime_ns},
                 {"data loading", startup->loading_ns},
                 {"ops", startup->ops_ns},
                 {"other host time", startup->other_ns}};
    char time[PYRO_UNIT_TEXT];
    const char *separator = ": ";
    pyro_buf value = PYRO_BUF_INIT;

    /* Less than a hundredth of the run is no start-up to speak of, and time of which nothing is
     * known says little. */
    if (startup->span_ns <= w->analysis->span_ns / 100 ||
        (startup->other_ns > startup->span_ns / 20 * 19 && !startup->first_step_ns))
        return;
    pyro_buf_addf(&value, "%s before the first step", pyro_format_duration(time, startup->span_ns));
    if (startup->first_step_ns > 0)
        pyro_buf_addf(&value, ", with a warm-up step of %s",
                      pyro_format_duration(time, startup->first_step_ns));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].part_ns < startup->span_ns / 20)
            continue;
        pyro_buf_addf(&value, "%s%s %s", separator, parts[i].name,
                      pyro_format_duration(time, parts[i].part_ns));
        separator = ", ";
    }
    write_field(w, "Start-up:", &value);
}

/* "about 35% of a step; 12.1 to 14.0 ms without it"; less than this share is not worth a line. */
static void write_profiler_cost(pyro_trace_writer *w)
{
    const pyro_analysis *analysis = w->analysis;
    const pyro_profiler_cost *cost = &analysis->profiler_cost;
    bool has_steps = analysis->step_count > 1 ||
                     (analysis->step_count == 1 && analysis->steps[0].number >= 0);
    char low[PYRO_UNIT_TEXT], high[PYRO_UNIT_TEXT];
    pyro_buf value = PYRO_BUF_INIT;

    /* The recorder's cost per op varies too much from program to program for a range without a
     * measurement on this machine. */
    if (cost->share < PYRO_PROFILER_MATTERS ||
        (analysis->is_captured && cost->source != PYRO_COSTS_CALIBRATED))
        return;
    pyro_format_duration(low, cost->step_without_low_ns);
    pyro_format_duration(high, cost->step_without_high_ns);
    char *unit = strrchr(low, ' '), *same = strrchr(high, ' ');
    if (unit && same && strcmp(unit, same) == 0)
        *unit = '\0';
    pyro_buf_addf(&value, "about %.0f%% of %s; %s to %s without it", cost->share * 100,
                  !has_steps                 ? "the time"
                  : analysis->step_count > 1 ? "a step"
                                             : "the step",
                  low, high);
    write_field(w, analysis->is_captured ? "Recorder:" : "Profiler:", &value);
}

static void write_summary(pyro_trace_writer *w, const pyro_trace *trace)
{
    const pyro_memory_device *memory = pyro_main_memory(w->analysis);
    char count[PYRO_UNIT_TEXT], span[PYRO_UNIT_TEXT];
    pyro_buf value = PYRO_BUF_INIT;

    pyro_text_heading(w->buf, "\nSummary:", w->options->color);
    pyro_write_trace_trigger(w, trace);
    pyro_buf_addf(&value, "%s, over %s", pyro_format_exact(count, pyro_trace_event_count(trace)),
                  pyro_format_duration(span, w->analysis->span_ns));
    write_field(w, "Events:", &value);
    write_device(w);
    write_startup(w);
    write_profiler_cost(w);
    if (memory) {
        pyro_buf_adds(&value, pyro_format_bytes(span, memory->peak_bytes));
        pyro_buf_adds(&value, " on ");
        pyro_text_clean(&value, memory->device);
        write_field(w, "Peak memory:", &value);
    }
    if (pyro_power_text(w->analysis, &value))
        write_field(w, "GPU power:", &value);
}

/* "  Compute    12.3 ms   45.2%  ############" */
static void write_part(pyro_trace_writer *w, const char *label, int64_t part_ns, int64_t whole_ns)
{
    char time[PYRO_UNIT_TEXT], share[PYRO_UNIT_TEXT];
    int left = w->options->width - 45; /* rest of the line after the numbers */
    size_t room = left > BAR_WIDTH ? BAR_WIDTH : left > 0 ? (size_t)left : 0;
    double length = whole_ns > 0 ? (double)part_ns / (double)whole_ns * (double)room + 0.5 : 0;

    pyro_buf_addf(w->buf, "  %-21s %9s %7s", label, pyro_format_duration(time, part_ns),
                  pyro_format_share(share, (double)part_ns, (double)whole_ns));
    if (length >= 1) {
        pyro_buf_adds(w->buf, "  ");
        pyro_buf_fill(w->buf, '#', length < (double)room ? (size_t)length : room);
    }
    pyro_buf_addc(w->buf, '\n');
}

static void add_phase(pyro_buf *buf, const char *name, int64_t part_ns, int64_t whole_ns)
{
    char share[PYRO_UNIT_TEXT];

    if (part_ns > 0)
        pyro_buf_addf(buf, "%s%s %s", buf->length > 0 ? ", " : "", name,
                      pyro_format_share(share, (double)part_ns, (double)whole_ns));
}

static void write_phases(pyro_trace_writer *w, const pyro_step_row *sum)
{
    pyro_buf phases = PYRO_BUF_INIT;

    /* Replays of graphs often have no phase: then the shares of the rest would mislead. */
    if ((double)sum->other_ns > 0.9 * (double)sum->device_total_ns)
        return;
    add_phase(&phases, "forward", sum->forward_ns, sum->device_total_ns);
    add_phase(&phases, "backward", sum->backward_ns, sum->device_total_ns);
    add_phase(&phases, "optimizer", sum->optimizer_ns, sum->device_total_ns);
    add_phase(&phases, "other", sum->other_ns, sum->device_total_ns);
    pyro_buf_addf(w->buf, "  Device time: %s\n", pyro_text_part(w->buf, &phases));
    pyro_buf_free(&phases);
}

/* The causes of idle time; those under one in a thousand are left to --by cause. */
static void write_idle(pyro_trace_writer *w, int64_t whole_ns)
{
    enum { LEAST_PART = 1000 };

    for (int cause = PYRO_CAUSE_PYTHON; cause < PYRO_CAUSE_COUNT; cause++) {
        int64_t time_ns = pyro_cause_total_ns(w->analysis, (pyro_cause)cause);
        char label[32];

        if (time_ns == 0 || time_ns < whole_ns / LEAST_PART)
            continue;
        snprintf(label, sizeof label, "  %s", pyro_cause_label((pyro_cause)cause, w->on_host));
        write_part(w, label, time_ns, whole_ns);
    }
}

/* " (6 steps, median 77.5 ms)"; returns how far the device is behind the host. */
static int64_t add_step_time(pyro_trace_writer *w, pyro_buf *heading, size_t count)
{
    const char *inferred = pyro_steps_are_inferred(w->analysis->step_source) ? "inferred " : "";
    char median[PYRO_UNIT_TEXT];
    pyro_step_time time;

    w->failed = w->failed || !pyro_analysis_step_time(&time, w->analysis);
    pyro_format_duration(median, time.median_ns);
    if (count == 1)
        pyro_buf_addf(heading, " (1 %sstep of %s)", inferred, median);
    else if (!time.on_device)
        pyro_buf_addf(heading, " (%zu %ssteps, median %s)", count, inferred, median);
    else
        pyro_buf_addf(heading, " (%zu %ssteps, median %s on the device)", count, inferred, median);
    return time.on_device && count > 1 ? time.lag_ns : 0;
}

/* The largest categories in one or two lines; the rest are in --by category. */
static void write_kinds(pyro_trace_writer *w)
{
    const pyro_analysis *analysis = w->analysis;
    pyro_buf kinds = PYRO_BUF_INIT, line = PYRO_BUF_INIT;

    if (analysis->category_count == 1 && strcmp(analysis->categories[0].category, "other") == 0)
        return;
    for (size_t i = 0; i < analysis->category_count && i < OVERVIEW_CATEGORIES; i++)
        if (analysis->categories[i].share >= LEAST_SHARE)
            add_phase(&kinds, analysis->categories[i].category, analysis->categories[i].total_ns,
                      analysis->device_total_ns);
    if (kinds.length > 0) {
        pyro_buf_addf(&line, "Categories: %s", pyro_text_part(w->buf, &kinds));
        pyro_text_wrap(w->buf, pyro_text_part(w->buf, &line), 2, 14, w->options->width);
    }
    pyro_buf_free(&kinds);
    pyro_buf_free(&line);
}

static void write_where(pyro_trace_writer *w)
{
    pyro_step_row sum = pyro_analysis_sum_steps(w->analysis);
    size_t count = w->analysis->step_count;
    pyro_buf heading = PYRO_BUF_INIT;
    char lag[PYRO_UNIT_TEXT];
    int64_t lag_ns = 0;

    if (count == 0 || sum.span_ns <= 0)
        return;
    pyro_buf_adds(&heading, "\nWhere the time went");
    if (count > 1 || w->analysis->steps[0].number >= 0)
        lag_ns = add_step_time(w, &heading, count);
    pyro_buf_addc(&heading, ':');
    pyro_text_heading(w->buf, pyro_text_part(w->buf, &heading), w->options->color);
    pyro_buf_free(&heading);
    if (lag_ns > 0)
        pyro_buf_addf(w->buf, "  (the host runs ahead: the device is up to %s behind it)\n",
                      pyro_format_duration(lag, lag_ns));
    if (w->on_host) {
        pyro_write_trace_host_parts(w, write_part);
        pyro_write_trace_least(w);
        return;
    }
    write_part(w, "Compute", sum.compute_ns, sum.span_ns);
    if (sum.communication_ns > 0)
        write_part(w, "Communication alone", sum.communication_exposed_ns, sum.span_ns);
    if (pyro_cause_total_ns(w->analysis, PYRO_CAUSE_PEER_WAIT) > 0)
        write_part(w, "  waiting for a rank",
                   pyro_cause_total_ns(w->analysis, PYRO_CAUSE_PEER_WAIT), sum.span_ns);
    if (sum.copy_ns > 0)
        write_part(w, "Copies alone", sum.copy_exposed_ns, sum.span_ns);
    write_part(w, "Idle", sum.idle_ns, sum.span_ns);
    write_idle(w, sum.span_ns);
    write_phases(w, &sum);
    write_kinds(w);
    pyro_write_trace_least(w);
}

static void write_warnings(pyro_trace_writer *w, const pyro_trace *trace)
{
    size_t count, shown;
    const char *const *warnings = pyro_trace_warnings(trace, &count);

    shown = count > OVERVIEW_WARNINGS && !w->options->verbose ? OVERVIEW_WARNINGS : count;
    pyro_text_list(w->buf, "\nWarnings:", warnings, shown, w->options->width, w->options->color);
    if (shown < count)
        pyro_buf_addf(w->buf, "  - and %zu more (--verbose shows them)\n", count - shown);
}

/* A short table. Writes nothing when empty, except for layers: a hint how to get them. */
static void write_short(pyro_trace_writer *w, pyro_trace_view view, size_t count, int rows)
{
    const pyro_report_options *asked = w->options;
    pyro_report_options shortened = *asked;

    shortened.verbose = false;
    shortened.top = asked->top != 0 ? asked->top : rows;
    w->options = &shortened;
    if (count > 0 || (view == PYRO_TRACE_LAYERS && !asked->quiet))
        pyro_write_trace_table(w, view);
    w->options = asked;
}

/* Nobody acts on less than a hundredth of the time, unless it is asked for. */
static int64_t least_gain_ns(const pyro_trace_writer *w)
{
    int64_t span_ns = pyro_analysis_sum_steps(w->analysis).span_ns;

    return w->options->top != 0 ? 0 : span_ns / 100;
}

static void write_overview(pyro_trace_writer *w, const pyro_trace *trace)
{
    const pyro_analysis *analysis = w->analysis;

    write_summary(w, trace);
    pyro_write_trace_failures(w);
    write_where(w);
    pyro_write_trace_serving_kinds(w);
    w->least_gain_ns = least_gain_ns(w);
    if (!w->options->quiet)
        write_short(w, PYRO_TRACE_FINDINGS, analysis->finding_count, OVERVIEW_FINDINGS);
    w->least_gain_ns = 0;
    write_short(w, PYRO_TRACE_LAYERS, analysis->layer_count, OVERVIEW_LAYERS);
    write_short(w, PYRO_TRACE_OPS, analysis->op_count, OVERVIEW_ROWS);
    write_short(w, PYRO_TRACE_KERNELS, analysis->kernel_row_count, OVERVIEW_ROWS);
}

int pyro_write_trace_text(pyro_buf *buf, const pyro_report_request *request)
{
    const pyro_trace *trace = request->trace.trace;
    const pyro_analysis *analysis = request->trace.analysis;
    const pyro_trace_report_options *options = request->trace.options;
    pyro_trace_writer w = {
        .buf = buf,
        .analysis = analysis,
        .options = &options->report,
        .on_host = pyro_trace_on_host(analysis),
        .whole_ns = pyro_trace_whole_ns(analysis),
    };

    write_banner(&w, trace);
    if (options->view == PYRO_TRACE_OVERVIEW)
        write_overview(&w, trace);
    else
        pyro_write_trace_table(&w, options->view);
    if (options->view == PYRO_TRACE_LAYERS)
        pyro_write_trace_work(&w);
    if (options->view == PYRO_TRACE_OPS)
        pyro_write_trace_op_work(&w);
    write_warnings(&w, trace);
    if (options->view == PYRO_TRACE_OVERVIEW)
        pyro_write_trace_defect_list(&w);
    if (options->view == PYRO_TRACE_OVERVIEW && !options->report.quiet)
        pyro_text_list(buf, "\nNotes:", analysis->notes, analysis->note_count,
                       options->report.width, options->report.color);
    return w.failed ? pyro_fail_memory(request->error) : PYRO_OK;
}
