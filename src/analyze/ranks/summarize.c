/* Makes the part of a rank: its number, its steps, then collectives and layers. */
#include "analyze/ranks/summarize.h"
#include "analyze/intervals.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Digits behind `text`, at most nine; -1 when missing. */
static int64_t read_digits(const char *text, const char **end)
{
    int64_t number = 0;
    size_t length = 0;
    while (length < 9 && isdigit((unsigned char)text[length]))
        number = number * 10 + (text[length++] - '0');
    *end = text + length;
    return length && !isdigit((unsigned char)**end) ? number : -1;
}

static bool begins_rank(const char *text)
{
    return tolower((unsigned char)text[0]) == 'r' && tolower((unsigned char)text[1]) == 'a' &&
           tolower((unsigned char)text[2]) == 'n' && tolower((unsigned char)text[3]) == 'k';
}

/* The last "rank" that a number follows; "crank" and "Franka" do not count. */
static void read_name(const char *name, int64_t *rank, int64_t *cycle)
{
    for (const char *at = name; *at; at++) {
        if (!begins_rank(at) || (at > name && isalpha((unsigned char)at[-1])))
            continue;
        const char *digits = at + 4, *end;
        if (*digits && strchr("_-.=", *digits))
            digits++;
        int64_t number = read_digits(digits, &end);
        if (number < 0)
            continue;
        *rank = number;
        *cycle = 0;
        if (*end == '_') {
            const char *behind;
            number = read_digits(end + 1, &behind);
            *cycle = number >= 0 && *behind == '.' ? number : 0;
        }
    }
}

void pyro_rank_of_name(const char *path, int64_t *rank, int64_t *cycle)
{
    *rank = -1;
    *cycle = 0;
    read_name(base_name(path), rank, cycle);
    const char *name = base_name(path);
    /* rank_3/host_17.pt.trace.json: the folder says it. */
    if (*rank < 0 && name > path) {
        size_t length = (size_t)(name - path) - 1;
        char folder[256];
        while (length && path[length - 1] == '/')
            length--;
        size_t begin = length;
        while (begin && path[begin - 1] != '/')
            begin--;
        if (length - begin < sizeof folder) {
            memcpy(folder, path + begin, length - begin);
            folder[length - begin] = '\0';
            read_name(folder, rank, cycle);
            *cycle = 0;
        }
    }
}

static pyro_rank_step step_of_device(const pyro_step_row *row)
{
    return (pyro_rank_step){.compute_ns = row->compute_ns,
                            .communication_ns = row->communication_ns,
                            .communication_exposed_ns = row->communication_exposed_ns,
                            .idle_ns = row->idle_ns,
                            .data_loading_ns = row->data_loading_ns};
}

static pyro_rank_step step_of_host(const pyro_rank_maker *maker, const pyro_step_row *row)
{
    int64_t start = row->start_ns, end = row->start_ns + row->span_ns;
    pyro_rank_step step = {
        .compute_ns = pyro_coverage_overlap(&maker->compute, start, end),
        .communication_ns = pyro_coverage_overlap(&maker->communication, start, end),
        .communication_exposed_ns = pyro_coverage_overlap(&maker->waiting, start, end),
        .data_loading_ns = row->data_loading_ns};
    step.idle_ns = row->span_ns - step.compute_ns - step.communication_exposed_ns;
    return step;
}

static int make_steps(pyro_rank_maker *maker)
{
    const pyro_analysis *analysis = maker->analysis;
    pyro_rank_part *part = &maker->part;
    size_t count = analysis->step_count < PYRO_RANK_MOST_STEPS ? analysis->step_count
                                                               : PYRO_RANK_MOST_STEPS;
    if (!pyro_grow(&part->steps, &part->step_capacity, count + 1, sizeof *part->steps))
        return pyro_fail_memory(maker->context.error);
    for (size_t i = 0; i < count; i++) {
        const pyro_step_row *row = &analysis->steps[i];
        pyro_rank_step step = maker->on_device ? step_of_device(row) : step_of_host(maker, row);
        step.number = row->number;
        step.start_ns = pyro_rank_wall_ns(maker->context.trace, row->start_ns);
        step.span_ns = pyro_rank_clamp(row->span_ns);
        part->steps[part->step_count++] = step;
    }
    return PYRO_OK;
}

static void add_totals(pyro_rank_maker *maker)
{
    const pyro_analysis *analysis = maker->analysis;
    pyro_rank_part *part = &maker->part;
    part->memory_peak_bytes = part->flops = -1;
    for (size_t i = 0; i < analysis->op_count; i++) {
        int64_t flops = analysis->ops[i].flops;
        if (flops >= 0)
            part->flops = pyro_add_ns(part->flops < 0 ? 0 : part->flops, flops);
    }
    for (size_t i = 0; i < analysis->memory_count; i++) {
        const pyro_memory_device *memory = &analysis->memory[i];
        bool is_host = strcmp(memory->device, "cpu") == 0;
        if ((!is_host || !maker->on_device) && memory->peak_bytes > part->memory_peak_bytes)
            part->memory_peak_bytes = memory->peak_bytes;
    }
}

/* Names that any machine may have say nothing. */
static uint32_t host_of(pyro_rank_maker *maker)
{
    const pyro_trace *trace = maker->context.trace;
    const char *host = trace->host != PYRO_NO_ID ? pyro_trace_text(trace, trace->host)
                                                 : pyro_trace_note_text(trace, "host");
    bool is_usual = !host[0] || !strncmp(host, "localhost", 9) || !strcmp(host, "unknown");
    return is_usual ? PYRO_NO_ID : pyro_rank_intern(maker->summary, host);
}

static int describe(pyro_rank_maker *maker)
{
    const pyro_trace *trace = maker->context.trace;
    pyro_rank_part *part = &maker->part;
    int64_t named;
    pyro_rank_of_name(trace->file ? trace->file : "", &named, &part->cycle);
    part->rank = trace->rank >= 0 ? trace->rank : named;
    part->world_size = trace->world_size > 0 ? trace->world_size : -1;
    part->file = pyro_rank_intern(maker->summary, trace->file ? trace->file : "");
    part->device = pyro_rank_intern(maker->summary, maker->analysis->device_name);
    part->host = host_of(maker);
    part->start_ns = pyro_rank_wall_ns(trace, maker->analysis->start_ns);
    part->span_ns = pyro_rank_clamp(maker->analysis->span_ns);
    part->events = trace->file_events;
    part->warnings = (int64_t)trace->warning_count;
    part->on_device = maker->on_device;
    if (part->file == PYRO_NO_ID || part->device == PYRO_NO_ID)
        return pyro_fail_memory(maker->context.error);
    return PYRO_OK;
}

static int fill_part(pyro_rank_maker *maker)
{
    int status = pyro_context_measure(&maker->context);
    if (status == PYRO_OK)
        status = pyro_context_prepare(&maker->context);
    if (status == PYRO_OK)
        status = describe(maker);
    if (status == PYRO_OK)
        status = pyro_rank_make_collectives(maker);
    if (status == PYRO_OK)
        status = make_steps(maker);
    if (status == PYRO_OK)
        status = pyro_rank_make_layers(maker);
    if (status == PYRO_OK)
        add_totals(maker);
    pyro_coverage_free(&maker->compute);
    pyro_coverage_free(&maker->communication);
    pyro_coverage_free(&maker->waiting);
    return status;
}

static int make_part(pyro_rank_summary *summary, pyro_trace *trace, const pyro_analysis *analysis,
                     const pyro_analysis_options *options, pyro_error *error)
{
    pyro_arena scratch;
    pyro_intern texts;
    pyro_analysis unused = {0};
    pyro_rank_maker maker = {.analysis = analysis,
                             .summary = summary,
                             .on_device = analysis->device_total_ns > 0,
                             .context = {.trace = trace,
                                         .joins = pyro_analysis_joins(analysis),
                                         .options = options,
                                         .arena = &scratch,
                                         .scratch = &scratch,
                                         .texts = &texts,
                                         .result = &unused,
                                         .error = error}};
    pyro_arena_init(&scratch);
    pyro_intern_init(&texts, &scratch);
    int status = fill_part(&maker);
    if (status == PYRO_OK)
        status = pyro_rank_summary_insert(summary, &maker.part, error);
    else
        pyro_rank_part_free(&maker.part);
    pyro_intern_free(&texts);
    pyro_arena_free(&scratch);
    return status;
}

int pyro_rank_summary_make(pyro_rank_summary **out, pyro_trace *trace,
                           const pyro_analysis_options *options, pyro_error *error)
{
    pyro_analysis_options chosen = options ? *options : (pyro_analysis_options){.step = -1};
    pyro_analysis *analysis = NULL;
    pyro_rank_summary *summary = NULL;
    chosen.filter = NULL;
    chosen.phase = PYRO_PHASE_OTHER;
    chosen.without_stacks = chosen.without_gap_causes = true;
    chosen.host_steps = true; /* so that those of all ranks compare */
    *out = NULL;
    int status = pyro_trace_analyze(&analysis, trace, &chosen, error);
    if (status == PYRO_OK) {
        summary = pyro_rank_summary_new();
        status = summary ? make_part(summary, trace, analysis, &chosen, error)
                         : pyro_fail_memory(error);
    }
    pyro_analysis_free(analysis);
    if (status == PYRO_OK)
        *out = summary;
    else
        pyro_rank_summary_free(summary);
    return status;
}
