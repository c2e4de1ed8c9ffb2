/* Merges the parts of ranks into a set that does not depend on their order. */
#include "analyze/ranks/summary.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

pyro_rank_summary *pyro_rank_summary_new(void)
{
    pyro_rank_summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        return NULL;
    pyro_arena_init(&summary->arena);
    pyro_intern_init(&summary->texts, &summary->arena);
    return summary;
}

void pyro_rank_part_free(pyro_rank_part *part)
{
    free(part->steps);
    free(part->collectives);
    free(part->layers);
}

void pyro_rank_summary_free(pyro_rank_summary *summary)
{
    if (!summary)
        return;
    for (size_t i = 0; i < summary->count; i++)
        pyro_rank_part_free(&summary->parts[i]);
    free(summary->parts);
    pyro_intern_free(&summary->texts);
    pyro_arena_free(&summary->arena);
    free(summary);
}

size_t pyro_rank_summary_count(const pyro_rank_summary *summary)
{
    return summary->count;
}

uint32_t pyro_rank_intern(pyro_rank_summary *summary, const char *text)
{
    return pyro_intern_add(&summary->texts, text, strlen(text));
}

static int compare(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

int pyro_rank_part_order(const pyro_rank_summary *left_of, const pyro_rank_part *left,
                         const pyro_rank_summary *right_of, const pyro_rank_part *right)
{
    const int64_t pairs[][2] = {
        {left->rank, right->rank},         {left->cycle, right->cycle},
        {left->start_ns, right->start_ns}, {left->span_ns, right->span_ns},
        {left->events, right->events},     {left->on_device, right->on_device},
    };
    int order = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !order; i++)
        order = compare(pairs[i][0], pairs[i][1]);
    if (!order)
        order = strcmp(pyro_rank_text(left_of, left->file), pyro_rank_text(right_of, right->file));
    if (!order)
        order = compare((int64_t)left->collective_count, (int64_t)right->collective_count);
    return order;
}

int pyro_rank_summary_insert(pyro_rank_summary *summary, pyro_rank_part *part, pyro_error *error)
{
    size_t low = 0, high = summary->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = pyro_rank_part_order(summary, &summary->parts[middle], summary, part);
        if (order == 0) {
            pyro_rank_part_free(part);
            return PYRO_OK;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!pyro_grow(&summary->parts, &summary->capacity, summary->count + 1,
                   sizeof *summary->parts)) {
        pyro_rank_part_free(part);
        return pyro_fail_memory(error);
    }
    memmove(&summary->parts[low + 1], &summary->parts[low],
            (summary->count - low) * sizeof *summary->parts);
    summary->parts[low] = *part;
    summary->count++;
    return PYRO_OK;
}

typedef struct translation {
    pyro_rank_summary *to;
    const pyro_rank_summary *from;
    bool failed;
} translation;

static void translate(translation *between, uint32_t *id)
{
    if (*id == PYRO_NO_ID)
        return;
    *id = pyro_rank_intern(between->to, pyro_rank_text(between->from, *id));
    between->failed |= *id == PYRO_NO_ID;
}

static bool copy_array(void *target, size_t *capacity, const void *items, size_t count, size_t size)
{
    void *copy = malloc(count * size + 1);
    if (!copy)
        return false;
    if (count)
        memcpy(copy, items, count * size);
    memcpy(target, &copy, sizeof copy);
    *capacity = count;
    return true;
}

static void translate_part(translation *between, pyro_rank_part *part)
{
    translate(between, &part->file);
    translate(between, &part->device);
    translate(between, &part->host);
    for (size_t i = 0; i < part->collective_count; i++) {
        translate(between, &part->collectives[i].kind);
        translate(between, &part->collectives[i].group);
        translate(between, &part->collectives[i].comms_id);
    }
    for (size_t i = 0; i < part->layer_count; i++) {
        pyro_rank_layer *layer = &part->layers[i];
        translate(between, &layer->path);
        translate(between, &layer->class_name);
        for (int op = 0; op < PYRO_RANK_LAYER_OPS; op++)
            translate(between, &layer->ops[op].name);
    }
}

static int add_copy(translation *between, const pyro_rank_part *from, pyro_error *error)
{
    pyro_rank_part part = *from;
    part.steps = NULL;
    part.collectives = NULL;
    part.layers = NULL;
    bool copied = copy_array(&part.steps, &part.step_capacity, from->steps, from->step_count,
                             sizeof *from->steps) &&
                  copy_array(&part.collectives, &part.collective_capacity, from->collectives,
                             from->collective_count, sizeof *from->collectives) &&
                  copy_array(&part.layers, &part.layer_capacity, from->layers, from->layer_count,
                             sizeof *from->layers);
    if (copied)
        translate_part(between, &part);
    if (!copied || between->failed) {
        pyro_rank_part_free(&part);
        return pyro_fail_memory(error);
    }
    return pyro_rank_summary_insert(between->to, &part, error);
}

int pyro_rank_summary_merge(pyro_rank_summary *summary, const pyro_rank_summary *other,
                            pyro_error *error)
{
    translation between = {.to = summary, .from = other};
    int status = PYRO_OK;
    if (summary == other)
        return PYRO_OK;
    for (size_t i = 0; i < other->count && status == PYRO_OK; i++)
        status = add_copy(&between, &other->parts[i], error);
    return status;
}
