/* Writes why the flight recorder saved a file: the trigger, what was different about a slow step, who
 * held the memory when an allocation failed. */
#include "report/trace/view.h"

#include "base/text/units.h"
#include "report/cost/rows.h"
#include "report/text.h"
#include "trace/trace.h"

#include <pyrometer/recording.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HOLDERS = 5, MOST_PARTS = 3 };

/* A part of a step's time: its name and its member, an int64_t, of one of the two rows. */
typedef struct step_part {
    const char *name;
    bool is_device;
    size_t offset;
} step_part;

#define HOST(name, member) {name, false, offsetof(pyro_training_step, member)}
#define DEVICE(name, member) {name, true, offsetof(pyro_step_row, member)}

static const step_part host_parts[] = {
    HOST("forward", forward_op_ns),          HOST("backward", backward_op_ns),
    HOST("optimizer", optimizer_op_ns),      HOST("data loading", data_ns),
    HOST("communication", communication_ns), HOST("other ops", other_op_ns),
    HOST("Python outside ops", python_ns)};
static const step_part device_parts[] = {
    DEVICE("compute", compute_ns), DEVICE("communication alone", communication_exposed_ns),
    DEVICE("copies alone", copy_exposed_ns), DEVICE("idle device", idle_ns)};

static int64_t part_of(const pyro_analysis *analysis, size_t step, const step_part *part)
{
    const char *row = part->is_device ? (const char *)&analysis->steps[step]
                                      : (const char *)&analysis->training[step];
    int64_t part_ns = *(const int64_t *)(const void *)(row + part->offset);
    return part_ns > 0 ? part_ns : 0;
}

static int by_size(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The usual time of a part: the median over the other steps. */
static int64_t usual(const pyro_analysis *analysis, size_t slow, const step_part *part,
                     int64_t *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i < analysis->step_count; i++)
        if (i != slow)
            scratch[count++] = part_of(analysis, i, part);
    qsort(scratch, count, sizeof *scratch, by_size);
    return scratch[count / 2];
}

/* The time that the recorder marked as slow; false without such a mark. */
static bool find_mark(const pyro_trace *trace, int64_t *start_ns, int64_t *end_ns)
{
    static const char prefix[] = "slow-step: ";
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->category[i] != PYRO_EVENT_ANNOTATION ||
            strncmp(pyro_event_name(trace, i), prefix, sizeof prefix - 1) != 0)
            continue;
        *start_ns = trace->start_ns[i];
        *end_ns = pyro_event_end_ns(trace, i);
        return true;
    }
    return false;
}

/* The step that covers most of the marked time; its count if none covers half of it. */
static size_t find_slow(const pyro_trace *trace, const pyro_analysis *analysis)
{
    int64_t start_ns, end_ns, most_ns = 0;
    size_t found = analysis->step_count;
    if (!find_mark(trace, &start_ns, &end_ns))
        return found;
    for (size_t i = 0; i < analysis->step_count; i++) {
        const pyro_step_row *step = &analysis->steps[i];
        int64_t step_end = step->start_ns + step->span_ns;
        int64_t from = step->start_ns > start_ns ? step->start_ns : start_ns;
        int64_t common = (step_end < end_ns ? step_end : end_ns) - from;
        if (common > most_ns && common >= (end_ns - start_ns) / 2) {
            most_ns = common;
            found = i;
        }
    }
    return found;
}

/* "Python outside ops 1.50 s, usually 1.10 ms; ..." for the parts that make it slow. */
static void add_parts(pyro_buf *value, const pyro_trace_writer *w, size_t slow, int64_t *scratch)
{
    const pyro_analysis *analysis = w->analysis;
    const step_part *parts = w->on_host ? host_parts : device_parts;
    size_t count = w->on_host ? sizeof host_parts / sizeof *host_parts
                              : sizeof device_parts / sizeof *device_parts;
    char time[PYRO_UNIT_TEXT], often[PYRO_UNIT_TEXT];
    int64_t more_ns = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t extra = part_of(analysis, slow, &parts[i]) -
                        usual(analysis, slow, &parts[i], scratch);
        more_ns += extra > 0 ? extra : 0;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t part_ns = part_of(analysis, slow, &parts[i]);
        int64_t usual_ns = usual(analysis, slow, &parts[i], scratch);
        if (part_ns - usual_ns <= more_ns / MOST_PARTS / 2)
            continue;
        pyro_buf_addf(value, "%s%s %s, usually %s", value->length > 0 ? "; " : "", parts[i].name,
                      pyro_format_duration(time, part_ns), pyro_format_duration(often, usual_ns));
    }
}

static void write_slow_step(pyro_trace_writer *w, const pyro_trace *trace)
{
    const pyro_analysis *analysis = w->analysis;
    size_t slow = find_slow(trace, analysis);
    pyro_buf value = PYRO_BUF_INIT;

    if (slow >= analysis->step_count || analysis->step_count < 3 ||
        analysis->training_count != analysis->step_count)
        return;
    int64_t *scratch = malloc(analysis->step_count * sizeof *scratch);
    if (!scratch) {
        w->failed = true;
        return;
    }
    add_parts(&value, w, slow, scratch);
    if (value.length > 0 && analysis->steps[slow].number >= 0)
        pyro_buf_addf(&value, " (--step %lld shows it alone)",
                      (long long)analysis->steps[slow].number);
    if (value.length > 0)
        pyro_text_field(w->buf, "Slow step:", &value, w->options->width);
    pyro_buf_free(&value);
    free(scratch);
}

/* "cuda:0 had 77.1 GiB live and could not allocate 2.0 GiB" */
static void write_out_of_memory(pyro_trace_writer *w)
{
    char failed[PYRO_UNIT_TEXT], live[PYRO_UNIT_TEXT];

    for (size_t i = 0; i < w->analysis->memory_count; i++) {
        const pyro_memory_device *device = &w->analysis->memory[i];
        pyro_buf value = PYRO_BUF_INIT;

        if (device->failed_bytes < 0)
            continue;
        pyro_text_clean(&value, device->device);
        pyro_buf_addf(&value, " had %s live and could not allocate %s",
                      pyro_format_bytes(live, device->failed_live_bytes),
                      pyro_format_bytes(failed, device->failed_bytes));
        pyro_text_field(w->buf, "Out of memory:", &value, w->options->width);
        pyro_buf_free(&value);
    }
}

void pyro_write_trace_trigger(pyro_trace_writer *w, const pyro_trace *trace)
{
    const char *trigger = pyro_trace_note_text(trace, PYRO_PROPERTY_TRIGGER);
    pyro_buf value = PYRO_BUF_INIT;

    if (trigger[0] != '\0') {
        pyro_text_clean(&value, trigger);
        pyro_buf_adds(&value, ": ");
        pyro_text_clean(&value, pyro_trace_note_text(trace, PYRO_PROPERTY_TRIGGER_TEXT));
        pyro_text_field(w->buf, "Saved on:", &value, w->options->width);
    }
    pyro_buf_free(&value);
    if (strcmp(trigger, "slow-step") == 0)
        write_slow_step(w, trace);
    write_out_of_memory(w);
}

void pyro_write_trace_failures(pyro_trace_writer *w)
{
    const pyro_report_options *asked = w->options;
    pyro_report_options shortened = *asked;

    shortened.verbose = false;
    shortened.top = asked->top != 0 ? asked->top : MOST_HOLDERS;
    w->options = &shortened;
    for (size_t i = 0; i < w->analysis->memory_count; i++)
        if (w->analysis->memory[i].failed_bytes >= 0)
            pyro_write_trace_holders(w, &w->analysis->memory[i]);
    w->options = asked;
}
