/*
 * Summarises layers over several passes, one file per pass: median and worst time, and whether
 * their ops or shapes changed.
 */
#include "base/containers/buf.h"
#include "base/error.h"
#include "base/containers/intern.h"
#include "trace/trace.h"

#include <pyrometer/trace.h>
#include <stdlib.h>
#include <string.h>

/* The data about a layer so far. */
typedef struct layer {
    const char *class_name, *shapes, *changed_in;
    int64_t calls, shape_sets, op_sets;
    int64_t *times_ns; /* one per pass that called it */
    size_t pass_count, pass_capacity;
    uint32_t first_shapes, first_ops; /* ids of texts; PYRO_INTERN_NONE */
} layer;

struct pyro_passes {
    pyro_arena arena;
    pyro_intern paths; /* the id is the layer's index */
    pyro_intern texts; /* of all layers: "path\\nops", so that texts of different layers differ */
    layer *layers;
    size_t layer_capacity;
    const char **files;
    size_t file_count, file_capacity, files_without_ops;
    bool on_device;
    pyro_pass_summary summary;
    pyro_pass_row *rows;
};

pyro_passes *pyro_passes_new(void)
{
    pyro_passes *passes = calloc(1, sizeof *passes);
    if (!passes)
        return NULL;
    pyro_arena_init(&passes->arena);
    pyro_intern_init(&passes->paths, &passes->arena);
    pyro_intern_init(&passes->texts, &passes->arena);
    return passes;
}

void pyro_passes_free(pyro_passes *passes)
{
    if (!passes)
        return;
    for (size_t i = 0; i < passes->paths.count; i++)
        free(passes->layers[i].times_ns);
    free(passes->layers);
    free(passes->files);
    free(passes->rows);
    pyro_intern_free(&passes->paths);
    pyro_intern_free(&passes->texts);
    pyro_arena_free(&passes->arena);
    free(passes);
}

static layer *layer_of(pyro_passes *passes, const char *path)
{
    size_t known = passes->paths.count;
    if (!pyro_grow(&passes->layers, &passes->layer_capacity, known + 1, sizeof *passes->layers))
        return NULL;
    uint32_t id = pyro_intern_add(&passes->paths, path, strlen(path));
    if (id == PYRO_INTERN_NONE)
        return NULL;
    if (id == known)
        passes->layers[id] = (layer){.class_name = "",
                                     .shapes = "",
                                     .changed_in = "",
                                     .first_shapes = PYRO_INTERN_NONE,
                                     .first_ops = PYRO_INTERN_NONE};
    return &passes->layers[id];
}

static bool add_times(pyro_passes *passes, const pyro_layer_row *row)
{
    layer *found = layer_of(passes, row->path);
    if (!found)
        return false;
    if (row->calls == 0)
        return true;
    if (!pyro_grow(&found->times_ns, &found->pass_capacity, found->pass_count + 1,
                   sizeof *found->times_ns))
        return false;
    if (found->pass_count == 0) {
        found->class_name = pyro_arena_text(&passes->arena, row->class_name,
                                            strlen(row->class_name));
        found->shapes = pyro_arena_text(&passes->arena, row->shapes, strlen(row->shapes));
        if (!found->class_name || !found->shapes)
            return false;
    }
    found->times_ns[found->pass_count++] = passes->on_device ? row->forward_device_ns
                                                             : row->forward_host_ns;
    found->calls += row->calls;
    return true;
}

/* Counts a text that this layer did not have in any earlier pass. */
static bool compare(pyro_passes *passes, layer *found, pyro_buf *text, uint32_t *first,
                    int64_t *sets, const char *file)
{
    size_t known = passes->texts.count;
    uint32_t id = text->failed ? PYRO_INTERN_NONE
                               : pyro_intern_add(&passes->texts, text->data, text->length);
    if (id == PYRO_INTERN_NONE)
        return false;
    *sets += id == known;
    if (*first == PYRO_INTERN_NONE)
        *first = id;
    if (id != *first && !found->changed_in[0])
        found->changed_in = file;
    return true;
}

/* The ops of one layer in this pass, rows[begin] to rows[end]. */
static bool compare_ops(pyro_passes *passes, const pyro_layer_op_row *rows, size_t count,
                        const char *file)
{
    layer *found = layer_of(passes, rows->layer);
    pyro_buf ops = PYRO_BUF_INIT, shapes = PYRO_BUF_INIT;
    if (!found)
        return false;
    pyro_buf_addf(&ops, "ops\n%s", rows->layer);
    pyro_buf_addf(&shapes, "shapes\n%s", rows->layer);
    for (size_t i = 0; i < count; i++) {
        /* One op may run with several shapes: its name is listed once. */
        if (i == 0 || strcmp(rows[i].op, rows[i - 1].op) != 0)
            pyro_buf_addf(&ops, "\n%s", rows[i].op);
        pyro_buf_addf(&shapes, "\n%s %s", rows[i].op, rows[i].shapes);
    }
    bool ok = compare(passes, found, &ops, &found->first_ops, &found->op_sets, file) &&
              compare(passes, found, &shapes, &found->first_shapes, &found->shape_sets, file);
    pyro_buf_free(&ops);
    pyro_buf_free(&shapes);
    return ok;
}

static int by_layer(const void *left, const void *right)
{
    const pyro_layer_op_row *const *a = left, *const *b = right;
    int order = strcmp((*a)->layer, (*b)->layer);
    return order ? order : (*a > *b) - (*a < *b);
}

/* Rows of one layer together, in the order in which they ran. */
static pyro_layer_op_row *group(const pyro_layer_ops *ops)
{
    const pyro_layer_op_row **order = malloc((ops->count + 1) * sizeof *order);
    pyro_layer_op_row *rows = malloc((ops->count + 1) * sizeof *rows);
    if (order && rows) {
        for (size_t i = 0; i < ops->count; i++)
            order[i] = &ops->rows[i];
        qsort(order, ops->count, sizeof *order, by_layer);
        for (size_t i = 0; i < ops->count; i++)
            rows[i] = *order[i];
    } else {
        free(rows);
        rows = NULL;
    }
    free(order);
    return rows;
}

static bool add_ops(pyro_passes *passes, const pyro_layer_ops *ops, const char *file)
{
    pyro_layer_op_row *rows = group(ops);
    bool ok = rows != NULL;
    for (size_t begin = 0, end; ok && begin < ops->count; begin = end) {
        end = begin + 1;
        while (end < ops->count && strcmp(rows[end].layer, rows[begin].layer) == 0)
            end++;
        ok = compare_ops(passes, rows + begin, end - begin, file);
    }
    free(rows);
    return ok;
}

int pyro_passes_add(pyro_passes *passes, pyro_trace *trace, const pyro_analysis *analysis,
                    const pyro_analysis_options *options, pyro_error *error)
{
    pyro_layer_ops *ops;
    int status = pyro_trace_layer_ops(&ops, trace, options, error);
    if (status != PYRO_OK)
        return status;
    const char *name = pyro_trace_file(trace);
    const char *file = pyro_arena_text(&passes->arena, name, strlen(name));
    bool ok = file && pyro_grow(&passes->files, &passes->file_capacity, passes->file_count + 1,
                                sizeof *passes->files);
    if (ok) {
        passes->on_device = passes->file_count == 0 ? analysis->device_total_ns > 0
                                                    : passes->on_device;
        passes->files[passes->file_count++] = file;
        for (size_t i = 0; i < analysis->layer_count && ok; i++)
            ok = add_times(passes, &analysis->layers[i]);
    }
    if (pyro_trace_lacks_ops(trace))
        passes->files_without_ops++;
    else
        ok = ok && add_ops(passes, ops, file);
    pyro_layer_ops_free(ops);
    return ok ? PYRO_OK : pyro_fail_memory(error);
}

static int by_time(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static pyro_pass_row summarize(layer *from, const char *path)
{
    size_t count = from->pass_count;
    pyro_pass_row row = {.path = path,
                         .class_name = from->class_name,
                         .passes = (int64_t)count,
                         .calls = from->calls,
                         .p95_ns = -1,
                         .shapes = from->shapes,
                         .shape_sets = from->shape_sets,
                         .op_sets = from->op_sets,
                         .changed_in = from->changed_in};
    if (count == 0)
        return row;
    qsort(from->times_ns, count, sizeof *from->times_ns, by_time);
    for (size_t i = 0; i < count; i++)
        if (__builtin_add_overflow(row.total_ns, from->times_ns[i], &row.total_ns))
            row.total_ns = INT64_MAX;
    int64_t low = from->times_ns[(count - 1) / 2], high = from->times_ns[count / 2];
    row.median_ns = low + (high - low) / 2;
    row.min_ns = from->times_ns[0];
    row.max_ns = from->times_ns[count - 1];
    /* The nearest rank. */
    if (count >= PYRO_PASSES_FOR_P95)
        row.p95_ns = from->times_ns[(count * 95 + 99) / 100 - 1];
    return row;
}

int pyro_passes_summarize(pyro_passes *passes, const pyro_pass_summary **out, pyro_error *error)
{
    size_t count = passes->paths.count;
    free(passes->rows);
    passes->rows = malloc((count + 1) * sizeof *passes->rows);
    if (!passes->rows)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < count; i++)
        passes->rows[i] = summarize(&passes->layers[i],
                                    pyro_intern_text(&passes->paths, (uint32_t)i));
    passes->summary = (pyro_pass_summary){.files = passes->files,
                                          .file_count = passes->file_count,
                                          .on_device = passes->on_device,
                                          .passes_without_ops = passes->files_without_ops,
                                          .rows = passes->rows,
                                          .row_count = count};
    *out = &passes->summary;
    return PYRO_OK;
}
