/* Matches the layers of two models by dotted path. */
#include "graph/cost_changes.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* The layers of one model, sorted by name; equal names stay in graph order. */
typedef struct named_layers {
    const pyro_cost_row *first;
    const pyro_cost_row **sorted;
    size_t count;
} named_layers;

static int by_name(const void *left, const void *right)
{
    const pyro_cost_row *a = *(const pyro_cost_row *const *)left;
    const pyro_cost_row *b = *(const pyro_cost_row *const *)right;
    int order = strcmp(a->name, b->name);

    return order != 0 ? order : (a < b ? -1 : a > b);
}

static bool sort_layers(named_layers *layers, const pyro_cost_row *rows, size_t count)
{
    layers->first = rows;
    layers->count = count;
    layers->sorted = calloc(layers->count + 1, sizeof *layers->sorted);
    if (!layers->sorted)
        return false;
    for (size_t i = 0; i < layers->count; i++)
        layers->sorted[i] = &layers->first[i];
    qsort(layers->sorted, layers->count, sizeof *layers->sorted, by_name);
    return true;
}

int64_t pyro_change_i64(int64_t before, int64_t after)
{
    int64_t change;

    if (__builtin_sub_overflow(after, before, &change))
        return after > before ? INT64_MAX : INT64_MIN;
    return change;
}

/* The size of a change without its sign, as a double so that none overflows. */
static double magnitude(int64_t before, int64_t after)
{
    double change = (double)after - (double)before;

    return change < 0 ? -change : change;
}

static double flops_magnitude(const pyro_layer_change *change)
{
    return magnitude(change->before ? change->before->work.flops : 0,
                     change->after ? change->after->work.flops : 0);
}

static double memory_magnitude(const pyro_layer_change *change)
{
    return magnitude(change->before ? change->before->memory_bytes : 0,
                     change->after ? change->after->memory_bytes : 0);
}

static int by_magnitude(const void *left, const void *right)
{
    const pyro_layer_change *a = left, *b = right;
    double a_flops = flops_magnitude(a), b_flops = flops_magnitude(b);
    double a_memory = memory_magnitude(a), b_memory = memory_magnitude(b);

    if (a_flops != b_flops)
        return a_flops < b_flops ? 1 : -1;
    if (a_memory != b_memory)
        return a_memory < b_memory ? 1 : -1;
    return a->position < b->position ? -1 : a->position > b->position;
}

static bool is_identical(const pyro_cost_row *a, const pyro_cost_row *b)
{
    return a->operators == b->operators && a->work.macs == b->work.macs &&
           a->work.flops == b->work.flops && a->work.params == b->work.params &&
           a->work.activation_read_bytes == b->work.activation_read_bytes &&
           a->work.weight_read_bytes == b->work.weight_read_bytes &&
           a->work.written_bytes == b->work.written_bytes && strcmp(a->type, b->type) == 0 &&
           strcmp(a->class_name, b->class_name) == 0;
}

/* Walks both sorted lists at once. */
static void merge(pyro_layer_changes *out, const named_layers *before, const named_layers *after)
{
    size_t i = 0, j = 0;

    while (i < before->count || j < after->count) {
        const pyro_cost_row *old = i < before->count ? before->sorted[i] : NULL;
        const pyro_cost_row *new = j < after->count ? after->sorted[j] : NULL;
        int order = !old ? 1 : !new ? -1 : strcmp(old->name, new->name);
        pyro_layer_change change = {order <= 0 ? old : NULL, order >= 0 ? new : NULL, 0};

        i += order <= 0;
        j += order >= 0;
        if (order == 0 && is_identical(old, new)) {
            out->identical++;
            continue;
        }
        out->added += !change.before;
        out->removed += !change.after;
        out->changed += order == 0;
        change.position = change.after ? (size_t)(change.after - after->first)
                                       : (size_t)(change.before - before->first);
        out->items[out->count++] = change;
    }
}

int pyro_match_layers(pyro_layer_changes *out, const pyro_cost_row *before, size_t before_count,
                      const pyro_cost_row *after, size_t after_count, pyro_error *error)
{
    named_layers old = {0}, new = {0};
    bool ready;

    memset(out, 0, sizeof *out);
    ready = sort_layers(&old, before, before_count) && sort_layers(&new, after, after_count);
    if (ready) {
        out->items = calloc(old.count + new.count + 1, sizeof *out->items);
        ready = out->items != NULL;
    }
    if (ready) {
        merge(out, &old, &new);
        qsort(out->items, out->count, sizeof *out->items, by_magnitude);
    }
    free(old.sorted);
    free(new.sorted);
    return ready ? PYRO_OK : pyro_fail_memory(error);
}

void pyro_layer_changes_free(pyro_layer_changes *changes)
{
    free(changes->items);
    memset(changes, 0, sizeof *changes);
}

const char *pyro_change_kind(const pyro_layer_change *change)
{
    return !change->before ? "added" : !change->after ? "removed" : "changed";
}

const char *pyro_change_name(const pyro_layer_change *change)
{
    return change->after ? change->after->name : change->before->name;
}
