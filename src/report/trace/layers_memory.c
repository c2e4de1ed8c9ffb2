/* Writes the text of a trace that is not plain tables: layers, stacks, memory, findings. */
#include "report/trace/view.h"

#include "base/text/units.h"
#include "report/cost/rows.h"
#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS(columns) columns, sizeof columns / sizeof *columns

static const pyro_table_column layer_columns[] = {
    {"Layer", false, true},    {"Calls", true, false}, {"Forward", true, false},
    {"Backward", true, false}, {"Self", true, false},  {"Share", true, false},
    {"FLOP/s", true, false},   {"Class", false, true},
};

/* With the part of the own time that is in kernels fused over several layers. */
static const pyro_table_column fused_columns[] = {
    {"Layer", false, true},    {"Calls", true, false},  {"Forward", true, false},
    {"Backward", true, false}, {"Self", true, false},   {"Share", true, false},
    {"Fused", true, false},    {"FLOP/s", true, false}, {"Class", false, true},
};

/* The layer table being filled; the class comes last, and only if it fits. */
typedef struct memory_layer_table {
    pyro_table table;
    size_t name_room;
    bool with_class;
    bool with_fused; /* some layer has such time */
    int64_t
        whole_ns; /* base of the shares: on the host the span, because layers are more than ops */
    int64_t shown_ns; /* own time of the rows so far */
} memory_layer_table;

static void open_layer_table(const pyro_trace_writer *w, memory_layer_table *layers)
{
    /* Widest indent, gaps and columns other than the layer and its class. */
    enum { OTHER_COLUMNS = 56, FUSED_COLUMN = 10, CLASS_COLUMN = 18, SMALLEST_NAME = 24 };
    size_t width = (size_t)w->options->width;
    size_t count = sizeof layer_columns / sizeof *layer_columns;
    bool has_fused = false;

    for (size_t i = 0; i < w->analysis->layer_count; i++)
        has_fused = has_fused || w->analysis->layers[i].shared_ns > 0;

    *layers = (memory_layer_table){
        .with_class = width >=
                      OTHER_COLUMNS + CLASS_COLUMN + SMALLEST_NAME + (has_fused ? FUSED_COLUMN : 0),
        .with_fused = has_fused && !w->on_host && width >= OTHER_COLUMNS + FUSED_COLUMN,
        .whole_ns = w->on_host ? w->analysis->span_ns : w->whole_ns,
    };
    layers->name_room = width > OTHER_COLUMNS + SMALLEST_NAME ? width - OTHER_COLUMNS
                                                              : SMALLEST_NAME;
    if (layers->with_class)
        layers->name_room -= CLASS_COLUMN;
    if (layers->with_fused && layers->name_room >= SMALLEST_NAME + FUSED_COLUMN)
        layers->name_room -= FUSED_COLUMN;
    count -= !layers->with_class;
    if (layers->with_fused)
        pyro_table_init(&layers->table, fused_columns, count + 1);
    else
        pyro_table_init(&layers->table, layer_columns, count);
}

static void add_layer(pyro_trace_writer *w, memory_layer_table *layers, const pyro_layer_row *row,
                      const pyro_buf *name)
{
    pyro_table *table = &layers->table;
    int64_t self_ns = pyro_layer_self_ns(row, w->on_host);

    pyro_table_cell(table, name->data);
    table->failed = table->failed || name->failed;
    pyro_cell_count(table, row->calls);
    pyro_cell_duration(table, w->on_host ? row->forward_host_ns : row->forward_device_ns);
    pyro_cell_duration(table, w->on_host ? row->backward_host_ns : row->backward_device_ns);
    pyro_cell_duration(table, self_ns);
    pyro_cell_share(table, self_ns, layers->whole_ns);
    if (layers->with_fused)
        pyro_cell_duration(table, row->shared_ns);
    pyro_cell_rate(table, row->flops_per_s);
    if (layers->with_class)
        pyro_table_cell(table, row->class_name);
    layers->shown_ns += self_ns;
}

/* A row with own time only, for several layers or for time outside layers. */
static void add_sum(memory_layer_table *layers, const char *label, int64_t self_ns)
{
    if (self_ns == 0)
        return;
    pyro_table_cell(&layers->table, label);
    for (int i = 0; i < 3; i++)
        pyro_table_cell(&layers->table, "");
    pyro_cell_duration(&layers->table, self_ns);
    pyro_cell_share(&layers->table, self_ns, layers->whole_ns);
    if (layers->with_fused)
        pyro_table_cell(&layers->table, "");
    pyro_table_cell(&layers->table, "");
    if (layers->with_class)
        pyro_table_cell(&layers->table, "");
}

/* Device time outside the shown layers, by reason, so that the table adds up. */
static void add_rest(pyro_trace_writer *w, memory_layer_table *layers, size_t hidden)
{
    const pyro_unattributed *rest = &w->analysis->unattributed;
    int64_t hidden_ns;
    char label[64];

    if (w->on_host)
        return;
    hidden_ns = w->whole_ns - pyro_unattributed_ns(rest) - layers->shown_ns;
    if (hidden > 0)
        snprintf(label, sizeof label, "(%zu more layer%s)", hidden, hidden == 1 ? "" : "s");
    else
        snprintf(label, sizeof label, "(layers left out)"); /* by a filter */
    if (layers->shown_ns > 0)
        pyro_table_rule(&layers->table);
    add_sum(layers, label, hidden_ns);
    add_sum(layers, "(outside any layer)", rest->outside_layer_ns);
    add_sum(layers, "(optimizer)", rest->optimizer_ns);
    add_sum(layers, "(collectives)", rest->collective_ns);
    add_sum(layers, "(no launch in file)", rest->no_launch_ns);
    add_sum(layers, "Device total", w->whole_ns);
}

static void write_tree(pyro_trace_writer *w, memory_layer_table *layers)
{
    enum { DEEPEST = 20 };

    for (size_t i = 0; i < w->analysis->layer_count; i++) {
        const pyro_layer_row *row = &w->analysis->layers[i];
        const char *dot = strrchr(row->path, '.');
        pyro_buf name = PYRO_BUF_INIT;

        pyro_buf_fill(&name, ' ', 2 * (row->depth < DEEPEST ? row->depth : DEEPEST));
        pyro_buf_adds(&name, row->parent < i && dot ? dot + 1 : pyro_layer_label(row));
        add_layer(w, layers, row, &name);
        pyro_buf_free(&name);
    }
}

static void write_ranked(pyro_trace_writer *w, memory_layer_table *layers,
                         const pyro_layer_row **rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pyro_buf name = PYRO_BUF_INIT;

        pyro_text_path(&name, pyro_layer_label(rows[i]), layers->name_room);
        add_layer(w, layers, rows[i], &name);
        pyro_buf_free(&name);
    }
}

void pyro_write_trace_layers(pyro_trace_writer *w)
{
    bool tree = w->options->verbose && w->options->top == 0;
    size_t ranked, shown;
    const pyro_layer_row **rows = pyro_layers_sorted(w->analysis, &ranked);
    memory_layer_table layers;

    if (!rows) {
        w->failed = true;
        return;
    }
    shown = pyro_rows_shown(w->options, ranked);
    open_layer_table(w, &layers);
    if (tree) {
        pyro_text_heading(
            w->buf, "\nLayers (times include sublayers, self excludes them):", w->options->color);
        write_tree(w, &layers);
        shown = ranked;
    } else {
        pyro_trace_heading(w, "Layers", w->on_host ? "own host time" : "own device time", shown,
                           ranked);
        write_ranked(w, &layers, rows, shown);
    }
    add_rest(w, &layers, ranked - shown);
    pyro_trace_draw(w, &layers.table);
    free(rows);
}

static int64_t stack_ns(const pyro_trace_writer *w, const pyro_stack_row *row)
{
    return w->on_host ? row->host_self_ns : row->device_ns;
}

/* The frames of a folded stack, one per line, innermost first; the first line has the numbers. */
static void add_stack(pyro_trace_writer *w, pyro_table *table, const pyro_stack_row *row,
                      int64_t whole_ns)
{
    int64_t time_ns = stack_ns(w, row);
    size_t end = strlen(row->frames);

    pyro_cell_duration(table, time_ns);
    pyro_cell_share(table, time_ns, whole_ns);
    for (;;) {
        size_t start = end;

        while (start > 0 && row->frames[start - 1] != ';')
            start--;
        pyro_table_cellf(table, "%.*s", (int)(end - start), row->frames + start);
        if (start == 0)
            return;
        pyro_table_cell(table, "");
        pyro_table_cell(table, "");
        end = start - 1;
    }
}

void pyro_write_trace_stacks(pyro_trace_writer *w)
{
    static const pyro_table_column columns[] = {
        {"Time", true, false}, {"Share", true, false}, {"Frames", false, true}};
    size_t count = 0, shown, written = 0;
    int64_t whole_ns = 0; /* stacks include time outside ops */
    pyro_table table;

    for (size_t i = 0; i < w->analysis->stack_count; i++) {
        count += stack_ns(w, &w->analysis->stacks[i]) > 0;
        whole_ns += stack_ns(w, &w->analysis->stacks[i]);
    }
    shown = pyro_rows_shown(w->options, count);
    pyro_trace_heading(w, "Stacks, innermost frame first", w->on_host ? "host time" : "device time",
                       shown, count);
    pyro_table_init(&table, COLUMNS(columns));
    for (size_t i = 0; written < shown; i++) {
        if (stack_ns(w, &w->analysis->stacks[i]) <= 0)
            continue;
        add_stack(w, &table, &w->analysis->stacks[i], whole_ns);
        written++;
    }
    pyro_trace_draw(w, &table);
}

void pyro_write_trace_holders(pyro_trace_writer *w, const pyro_memory_device *device)
{
    static const pyro_table_column columns[] = {
        {"Allocated in layer", false, true},
        {"Op", false, true},
        {"Blocks", true, false},
        {"Bytes", true, false},
        {"Share", true, false},
    };
    size_t shown = pyro_rows_shown(w->options, device->holder_count);
    char text[PYRO_UNIT_TEXT];
    pyro_table table;

    if (shown == 0)
        return;
    bool has_failed = device->failed_bytes >= 0;
    pyro_trace_heading(w, has_failed ? "Live when memory ran out" : "Live at the peak", "bytes",
                       shown, device->holder_count);
    pyro_table_init(&table, COLUMNS(columns));
    for (size_t i = 0; i < shown; i++) {
        const pyro_memory_holder *holder = &device->holders[i];

        pyro_cell_layer(w, &table, holder->layer);
        pyro_table_cell(&table, holder->op[0] != '\0' ? holder->op : "-");
        pyro_cell_count(&table, holder->blocks);
        pyro_table_cell(&table, pyro_format_bytes(text, holder->bytes));
        pyro_cell_share(&table, holder->bytes,
                        has_failed ? device->failed_live_bytes : device->peak_bytes);
    }
    pyro_trace_draw(w, &table);
}

static void write_memory_device(pyro_trace_writer *w, const pyro_memory_device *device)
{
    pyro_buf heading = PYRO_BUF_INIT;
    char peak[PYRO_UNIT_TEXT], other[PYRO_UNIT_TEXT];

    pyro_buf_adds(&heading, "\nMemory of ");
    pyro_text_clean(&heading, device->device);
    pyro_buf_addc(&heading, ':');
    pyro_text_heading(w->buf, pyro_text_part(w->buf, &heading), w->options->color);
    pyro_buf_free(&heading);
    pyro_buf_addf(w->buf, "  Peak:                 %s, %s after the start\n",
                  pyro_format_bytes(peak, device->peak_bytes),
                  pyro_format_duration(other, device->peak_time_ns - w->analysis->start_ns));
    if (device->peak_reserved_bytes >= 0)
        pyro_buf_addf(w->buf, "  Reserved at most:     %s\n",
                      pyro_format_bytes(peak, device->peak_reserved_bytes));
    pyro_buf_addf(w->buf,
                  "  Allocations:          %lld, %s in total\n"
                  "  Frees:                %lld\n",
                  (long long)device->allocations, pyro_format_bytes(peak, device->allocated_bytes),
                  (long long)device->frees);
    if (device->failed_bytes >= 0)
        pyro_buf_addf(w->buf, "  Failed allocation:    %s, with %s live\n",
                      pyro_format_bytes(peak, device->failed_bytes),
                      pyro_format_bytes(other, device->failed_live_bytes));
    if (device->growth_bytes_per_step > 0)
        pyro_buf_addf(w->buf, "  Grows:                %s per step, in %.0f%% of the steps\n",
                      pyro_format_bytes(peak, device->growth_bytes_per_step),
                      100 * device->growth_confidence);
    pyro_write_trace_holders(w, device);
}

void pyro_write_trace_memory(pyro_trace_writer *w)
{
    for (size_t i = 0; i < w->analysis->memory_count; i++)
        write_memory_device(w, &w->analysis->memory[i]);
}

/* Text from the analysis, wrapped under the number of its finding. */
static void write_finding_part(pyro_trace_writer *w, const char *mark, const char *text)
{
    pyro_buf part = PYRO_BUF_INIT;

    if (text[0] == '\0')
        return;
    pyro_buf_adds(&part, mark);
    pyro_text_clean(&part, text);
    pyro_text_wrap(w->buf, pyro_text_part(w->buf, &part), 5, 5 + (int)strlen(mark),
                   w->options->width);
    pyro_buf_free(&part);
}

/* ", at train.py(12): step". Layers of a list have numbers as names: "0.1" alone is no place. */
static void add_place(pyro_buf *text, const char *place)
{
    if (place[0] == '\0')
        return;
    pyro_buf_adds(text, strspn(place, "0123456789.") == strlen(place) ? ", at layer " : ", at ");
    pyro_text_clean(text, place);
}

/* "- Python code outside of ops, at train.py(12): step: 12.0 ms" for each part. */
static void write_parts(pyro_trace_writer *w, const pyro_finding *finding)
{
    char gain[PYRO_UNIT_TEXT];

    for (size_t i = 0; i < w->analysis->finding_part_count; i++) {
        const pyro_finding_part *part = &w->analysis->finding_parts[i];
        pyro_buf text = PYRO_BUF_INIT;

        if (strcmp(part->finding, finding->id) != 0)
            continue;
        pyro_buf_adds(&text, part->title);
        if (strcmp(part->place, finding->place) != 0)
            add_place(&text, part->place);
        if (part->evidence[0] != '\0') {
            const char *threshold = strstr(part->evidence, "; threshold");
            size_t length = strlen(part->evidence);

            pyro_buf_adds(&text, ": ");
            pyro_buf_add(&text, part->evidence,
                         threshold ? (size_t)(threshold - part->evidence) : length);
        }
        if (part->evidence[0] == '\0' && part->gain_ns > 0)
            pyro_buf_addf(&text, ": %s", pyro_format_duration(gain, part->gain_ns));
        write_finding_part(w, "- ", pyro_text_part(w->buf, &text));
        pyro_buf_free(&text);
    }
}

static void write_finding(pyro_trace_writer *w, size_t number, const pyro_finding *finding)
{
    pyro_buf title = PYRO_BUF_INIT;
    char gain[PYRO_UNIT_TEXT];

    pyro_buf_addf(&title, "%zu. ", number);
    pyro_text_clean(&title, finding->title);
    add_place(&title, finding->place);
    if (finding->gain_ns > 0)
        pyro_buf_addf(&title, " (up to %s to gain)", pyro_format_duration(gain, finding->gain_ns));
    pyro_text_wrap(w->buf, pyro_text_part(w->buf, &title), 2, 5, w->options->width);
    pyro_buf_free(&title);
    write_finding_part(w, "", finding->evidence);
    write_parts(w, finding);
    write_finding_part(w, "-> ", finding->advice);
}

static bool is_worth_a_line(const pyro_trace_writer *w, const pyro_finding *finding)
{
    if (finding->gain_ns < 0)
        return w->least_gain_ns == 0 || finding->severity > PYRO_SEVERITY_INFO;
    return finding->gain_ns >= w->least_gain_ns;
}

void pyro_write_trace_findings(pyro_trace_writer *w)
{
    size_t count = w->analysis->finding_count, most = pyro_rows_shown(w->options, count);
    size_t worth = 0, shown = 0;

    for (size_t i = 0; i < count; i++)
        worth += is_worth_a_line(w, &w->analysis->findings[i]);
    if (worth == 0)
        return;
    pyro_trace_heading(w, "Findings", "gain", worth < most ? worth : most, count);
    for (size_t i = 0; i < count && shown < most; i++)
        if (is_worth_a_line(w, &w->analysis->findings[i]))
            write_finding(w, ++shown, &w->analysis->findings[i]);
}
