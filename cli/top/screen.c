/* Reads the last part of the recording, analyzes it and lays out the screen. */
#include "cli/top/screen.h"

#include "base/error.h"
#include "base/text/printable.h"
#include "base/text/table.h"
#include "base/text/units.h"
#include "cli/recording_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pyrometer/recording.h>
#include <pyrometer/trace.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Lines around the table: two of the head, an empty one, titles, rule, keys. */
#define OTHER_LINES 7
#define FEWEST_ROWS 1
#define DEFAULT_ROWS 20

/* One line of the table, whatever it is about. */
typedef struct top_row {
    const char *name;
    int64_t time_ns, calls;
    int64_t forward_ns, backward_ns; /* -1: not known */
} top_row;

static int read_head(const char *path, pyro_recording_look *look, int64_t *size_bytes,
                     pyro_error *error)
{
    char head[sizeof(pyro_recording_header)];
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return pyro_fail(error, PYRO_ERROR_IO, "cannot open it: %s", strerror(errno));
    ssize_t got = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) ? pread(fd, head, sizeof head, 0)
                                                                 : -1;
    close(fd);
    *size_bytes = file.st_size;
    if (got < 0 || !pyro_recording_look_at(look, head, (size_t)got))
        return pyro_fail(error, PYRO_ERROR_FORMAT,
                         "not a recording of pyrometer run or pyrometer.capture(); pyrometer trace "
                         "reads other traces");
    return PYRO_OK;
}

static int by_time(const void *left, const void *right)
{
    const top_row *a = left, *b = right;

    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static top_row row_of_layer(const pyro_layer_row *layer, bool on_device)
{
    int64_t forward_ns = on_device ? layer->forward_device_self_ns : layer->forward_host_self_ns;
    int64_t backward_ns = on_device ? layer->backward_device_self_ns : layer->backward_host_self_ns;

    return (top_row){.name = layer->path[0] ? layer->path : layer->class_name,
                     .time_ns = forward_ns + backward_ns,
                     .calls = layer->calls,
                     .forward_ns = forward_ns,
                     .backward_ns = backward_ns};
}

static size_t count_rows(const pyro_analysis *analysis, top_table table)
{
    return table == TOP_LAYERS ? analysis->layer_count
           : table == TOP_OPS  ? analysis->op_count
                               : analysis->kernel_row_count;
}

/* The rows of a table, most time first; NULL when memory is out. */
static top_row *list_rows(const pyro_analysis *analysis, top_table table, size_t *count)
{
    bool on_device = analysis->device_total_ns > 0;
    top_row *rows;

    *count = count_rows(analysis, table);
    rows = calloc(*count + 1, sizeof *rows);
    for (size_t i = 0; rows && i < *count; i++) {
        const pyro_op_row *op = &analysis->ops[i];
        const pyro_kernel_row *kernel = &analysis->kernels[i];

        if (table == TOP_LAYERS)
            rows[i] = row_of_layer(&analysis->layers[i], on_device);
        else if (table == TOP_OPS)
            rows[i] = (top_row){op->name, on_device ? op->device_self_ns : op->host_self_ns,
                                op->calls, -1, -1};
        else
            rows[i] = (top_row){kernel->short_name, kernel->total_ns, kernel->calls, -1, -1};
    }
    if (rows)
        qsort(rows, *count, sizeof *rows, by_time);
    return rows;
}

static void write_rows(pyro_buf *buf, const top_view *view, const top_row *rows, size_t count)
{
    static const char *const titles[] = {"Layer", "Op", "Kernel"};
    static const char *const droppable[] = {"Backward", "Forward", "Calls", "Own time", NULL};
    bool is_layers = view->table == TOP_LAYERS;
    pyro_table_column columns[] = {{titles[view->table], false, true}, {"Share", true, false},
                                   {"Own time", true, false},          {"Calls", true, false},
                                   {"Forward", true, false},           {"Backward", true, false}};
    int64_t total_ns = 0;
    char text[PYRO_UNIT_TEXT];
    pyro_table table;

    for (size_t i = 0; i < count; i++)
        total_ns += rows[i].time_ns;
    pyro_table_init(&table, columns, is_layers ? 6 : 4);
    size_t room = view->rows == 0                          ? DEFAULT_ROWS
                  : view->rows > OTHER_LINES + FEWEST_ROWS ? (size_t)(view->rows - OTHER_LINES)
                                                           : FEWEST_ROWS;
    for (size_t i = 0; i < count && i < room; i++) {
        const top_row *row = &rows[i];
        pyro_buf name = PYRO_BUF_INIT;

        pyro_buf_add_printable(&name, row->name);
        pyro_table_cell(&table, name.failed ? "" : name.data);
        pyro_buf_free(&name);
        pyro_table_cell(&table, pyro_format_share(text, (double)row->time_ns, (double)total_ns));
        pyro_table_cell(&table, pyro_format_duration(text, row->time_ns));
        pyro_table_cell(&table, pyro_format_exact(text, row->calls));
        if (is_layers) {
            pyro_table_cell(&table, pyro_format_duration(text, row->forward_ns));
            pyro_table_cell(&table, pyro_format_duration(text, row->backward_ns));
        }
    }
    pyro_table_fit(&table, droppable, 0, view->columns);
    pyro_table_write(&table, buf, 0, view->columns, false);
    pyro_table_free(&table);
}

static void write_head(pyro_buf *buf, const top_view *view, const pyro_recording_look *look,
                       int64_t size_bytes)
{
    const char *slash = strrchr(view->path, '/');
    char text[PYRO_UNIT_TEXT];

    pyro_buf_add_printable(buf, slash ? slash + 1 : view->path);
    pyro_buf_addf(buf, "   %s", pyro_recording_state_text(look));
    pyro_buf_addf(buf, "   %s", pyro_format_duration(text, look->duration_ns));
    pyro_buf_addf(buf, "   %s", pyro_format_bytes(text, size_bytes));
    if (look->is_growing)
        pyro_buf_addf(buf, "   process %" PRId64, look->process);
    pyro_buf_adds(buf, view->is_paused ? "   paused\n" : "\n");
}

/* "last 10 s: 12 steps, 823 ms per step; device busy 85%; cuda:0 peak 1.2 GiB" */
static void write_summary(pyro_buf *buf, const top_view *view, const pyro_analysis *analysis)
{
    char text[PYRO_UNIT_TEXT], per[PYRO_UNIT_TEXT];
    int64_t span_ns = 0;
    size_t steps = 0;

    pyro_buf_addf(buf, "last %s:",
                  pyro_format_duration(
                      text, view->last_ns < analysis->span_ns ? view->last_ns : analysis->span_ns));
    for (size_t i = 0; i < analysis->step_count; i++) {
        if (analysis->steps[i].number < 0)
            continue;
        span_ns += analysis->steps[i].span_ns;
        steps++;
    }
    if (steps > 0)
        pyro_buf_addf(buf, " %s steps, %s per step;", pyro_format_exact(text, (int64_t)steps),
                      pyro_format_duration(per, span_ns / (int64_t)steps));
    if (analysis->device_total_ns > 0)
        pyro_buf_addf(
            buf, " device busy %s;",
            pyro_format_share(text, (double)analysis->device_busy_ns, (double)analysis->span_ns));
    for (size_t i = 0; i < analysis->memory_count; i++)
        pyro_buf_addf(buf, " %s peak %s;", analysis->memory[i].device,
                      pyro_format_bytes(text, analysis->memory[i].peak_bytes));
    if (buf->length > 0 && !buf->failed &&
        (buf->data[buf->length - 1] == ';' || buf->data[buf->length - 1] == ':'))
        buf->length--;
    pyro_buf_adds(buf, "\n\n");
}

/* The part of the screen that needs the events. */
static int write_events(pyro_buf *buf, const top_view *view, pyro_error *error)
{
    pyro_trace_options reading = {.threads = 1, .last_ns = view->last_ns};
    pyro_analysis_options options = {
        .step = -1, .threads = 1, .without_stacks = true, .without_gap_causes = true};
    pyro_trace *trace = NULL;
    pyro_analysis *analysis = NULL;
    top_row *rows = NULL;
    size_t count = 0;
    int status = pyro_trace_open(&trace, view->path, &reading, error);

    if (status == PYRO_OK)
        status = pyro_trace_analyze(&analysis, trace, &options, error);
    if (status == PYRO_OK) {
        rows = list_rows(analysis, view->table, &count);
        status = rows ? PYRO_OK : pyro_fail_memory(error);
    }
    if (status == PYRO_OK) {
        write_summary(buf, view, analysis);
        if (count > 0)
            write_rows(buf, view, rows, count);
        else
            pyro_buf_addf(buf, "no %s in this part of the recording\n",
                          view->table == TOP_LAYERS ? "layers"
                          : view->table == TOP_OPS  ? "ops"
                                                    : "kernels");
    }
    free(rows);
    pyro_analysis_free(analysis);
    pyro_trace_close(trace);
    return status;
}

int top_screen(pyro_buf *buf, const top_view *view, pyro_error *error)
{
    pyro_recording_look look;
    pyro_error reading;
    int64_t size_bytes = 0;
    int status = read_head(view->path, &look, &size_bytes, error);

    if (status != PYRO_OK)
        return status;
    write_head(buf, view, &look, size_bytes);
    pyro_error_clear(&reading);
    if (write_events(buf, view, &reading) != PYRO_OK)
        pyro_buf_addf(buf, "\n%s\n", reading.message);
    if (view->shows_keys)
        pyro_buf_adds(buf,
                      "\nl layers  o ops  k kernels  + - longer, shorter  space pause  q quit");
    return buf->failed ? pyro_fail_memory(error) : PYRO_OK;
}
