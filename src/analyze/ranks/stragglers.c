/*
 * Finds the straggler, and why. Step times are equal in synchronous training, so a straggler is the
 * rank that arrives last at collectives, by far and in most steps. The cause is the layer whose own
 * time exceeds that of the other ranks most.
 */
#include "analyze/quantile.h"
#include "analyze/ranks/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_LATE_NS 100000
/* Fewer steps are not enough unless a layer also explains the lateness. */
#define STEPS_TO_STAND_ALONE 6
#define LEAST_STEPS 3
#define LEAST_MATCHED 3
/* Of fewer than three steps, or where lateness comes and goes. */
#define EXPLAINED_TO_TELL 0.5
#define EXPLAINED_TO_NAME 0.2
#define OP_TO_NAME 0.3
/* Ranks that a layer is compared with: enough for a median. */
#define MOST_COMPARED 63

typedef struct comparison {
    const pyro_rank_set *set;
    size_t others[MOST_COMPARED];
    size_t other_count;
    pyro_map layers[MOST_COMPARED]; /* path and phase to a layer of the part */
} comparison;

static int64_t median(int64_t *values, size_t count)
{
    return pyro_quantile(values, count, 1, 2);
}

/* How much later than the others in a step; 0 when all are late in turns. */
static int64_t net_lateness(const pyro_rank_set *set, size_t index, size_t step, int64_t *values)
{
    const pyro_rank_member *member = &set->members[index];
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++) {
        const pyro_rank_lateness *other =
            i == index ? NULL : pyro_rank_lateness_in(&set->members[i], member->steps[step].step);
        if (other && set->members[i].clock.component == member->clock.component)
            values[count++] = other->late_ns;
    }
    return member->steps[step].late_ns - (count ? median(values, count) : 0);
}

static uint64_t key_of(const pyro_rank_layer *layer)
{
    return (uint64_t)layer->path << 8 | (uint64_t)(layer->phase & 0xFF);
}

/* Others of the same kind of trace, evenly chosen where there are many. */
static bool open_comparison(comparison *comparison, const pyro_rank_set *set, size_t index)
{
    const pyro_rank_part *own = set->members[index].part;
    size_t stride = set->count / (MOST_COMPARED + 1) + 1;
    comparison->set = set;
    for (size_t i = 0; i < set->count && comparison->other_count < MOST_COMPARED; i += stride) {
        const pyro_rank_part *part = set->members[i].part;
        if (i == index || part->on_device != own->on_device)
            continue;
        size_t slot = comparison->other_count++;
        comparison->others[slot] = i;
        for (size_t layer = 0; layer < part->layer_count; layer++)
            if (!pyro_map_put(&comparison->layers[slot], key_of(&part->layers[layer]),
                              (uint32_t)layer))
                return false;
    }
    return true;
}

static void close_comparison(comparison *comparison)
{
    for (size_t i = 0; i < MOST_COMPARED; i++)
        pyro_map_free(&comparison->layers[i]);
}

static const pyro_rank_layer *layer_of_other(const comparison *comparison, size_t slot,
                                             const pyro_rank_layer *layer)
{
    uint32_t index = pyro_map_get(&comparison->layers[slot], key_of(layer));
    if (index == PYRO_MAP_NONE)
        return NULL;
    return &comparison->set->members[comparison->others[slot]].part->layers[index];
}

/* The time of the other ranks in a layer; 0 if they lack the layer. */
static int64_t others_in_layer(const comparison *comparison, const pyro_rank_layer *layer,
                               bool device)
{
    int64_t values[MOST_COMPARED];
    for (size_t slot = 0; slot < comparison->other_count; slot++) {
        const pyro_rank_layer *other = layer_of_other(comparison, slot, layer);
        values[slot] = !other ? 0 : device ? other->device_ns : other->host_ns;
    }
    return comparison->other_count ? median(values, comparison->other_count) : 0;
}

static int64_t others_in_op(const comparison *comparison, const pyro_rank_layer *layer,
                            uint32_t name, bool device)
{
    int64_t values[MOST_COMPARED];
    for (size_t slot = 0; slot < comparison->other_count; slot++) {
        const pyro_rank_layer *other = layer_of_other(comparison, slot, layer);
        values[slot] = 0;
        for (int i = 0; other && i < PYRO_RANK_LAYER_OPS; i++)
            if (other->ops[i].name == name)
                values[slot] = device ? other->ops[i].device_ns : other->ops[i].host_ns;
    }
    return comparison->other_count ? median(values, comparison->other_count) : 0;
}

static void name_op(const comparison *comparison, const pyro_rank_layer *layer, bool device,
                    pyro_straggler_row *row)
{
    int64_t most = 0;
    for (int i = 0; i < PYRO_RANK_LAYER_OPS; i++) {
        const pyro_rank_layer_op *op = &layer->ops[i];
        if (op->name == PYRO_NO_ID)
            continue;
        int64_t excess = (device ? op->device_ns : op->host_ns) -
                         others_in_op(comparison, layer, op->name, device);
        if (excess <= most || (double)excess < OP_TO_NAME * (double)row->excess_ns)
            continue;
        most = excess;
        row->op = pyro_rank_text(comparison->set->summary, op->name);
    }
}

/* The layer whose own time exceeds that of the others most. */
static void find_layer(const comparison *comparison, const pyro_rank_part *part,
                       pyro_straggler_row *row)
{
    const pyro_rank_layer *worst = NULL;
    bool worst_on_device = false;
    for (size_t i = 0; i < part->layer_count; i++) {
        const pyro_rank_layer *layer = &part->layers[i];
        for (int device = 0; device < 2; device++) {
            int64_t own = device ? layer->device_ns : layer->host_ns;
            int64_t others = own > row->excess_ns ? others_in_layer(comparison, layer, device) : 0;
            if (own <= row->excess_ns || own - others <= row->excess_ns)
                continue;
            worst = layer;
            worst_on_device = device;
            row->layer_ns = own;
            row->others_ns = others;
            row->excess_ns = own - others;
        }
    }
    row->explained = row->late_ns > 0 ? (double)row->excess_ns / (double)row->late_ns : 0;
    if (!worst || row->explained < EXPLAINED_TO_NAME) {
        row->layer_ns = row->others_ns = row->excess_ns = 0;
        row->explained = 0;
        return;
    }
    row->layer = pyro_rank_text(comparison->set->summary, worst->path);
    row->class_name = pyro_rank_text(comparison->set->summary, worst->class_name);
    row->phase = (pyro_phase)worst->phase;
    row->where = worst_on_device ? "device" : "host";
    name_op(comparison, worst, worst_on_device, row);
}

/* Late by far, and in at least three steps of four; `late` are its steps' latenesses. */
static bool is_often_late(const pyro_rank_set *set, const pyro_rank_member *member,
                          double least_share, int64_t *late, pyro_straggler_row *row)
{
    size_t steps = member->step_count;
    row->steps = (int64_t)steps;
    row->late_ns = median(late, steps);
    row->late_steps = 0;
    for (size_t i = 0; i < steps; i++)
        row->late_steps += row->late_ns > 0 && late[i] > row->late_ns / 4;
    row->late_share = set->step_ns > 0 ? (double)row->late_ns / (double)set->step_ns : 0;
    double doubt = member->clock.samples && !member->clock.is_of_host
                       ? 3 * (double)member->clock.residual_ns / sqrt((double)member->clock.samples)
                       : 0;
    return row->late_ns >= LEAST_LATE_NS && row->late_share >= least_share &&
           (double)row->late_ns > doubt && pyro_quantile(late, steps, 1, 4) > row->late_ns / 4;
}

/*
 * True for steady lateness, beyond that of the others. On a busy machine the others are late in
 * turns too, and plain lateness must suffice. `values` has room for members and steps.
 */
static bool is_late(const pyro_rank_set *set, size_t index, double least_share, int64_t *values,
                    pyro_straggler_row *row, bool *is_steady)
{
    const pyro_rank_member *member = &set->members[index];
    int64_t *late = values + set->count;
    *is_steady = false;
    if (!member->step_count || member->matched < LEAST_MATCHED)
        return false;
    for (size_t i = 0; i < member->step_count; i++)
        late[i] = net_lateness(set, index, i, values);
    *is_steady = is_often_late(set, member, least_share, late, row);
    if (*is_steady)
        return true;
    for (size_t i = 0; i < member->step_count; i++)
        late[i] = member->steps[i].late_ns;
    return is_often_late(set, member, least_share, late, row);
}

static bool judge(const pyro_rank_set *set, size_t index, double least_share, int64_t *values,
                  pyro_straggler_row *row, bool *is_straggler)
{
    comparison comparison = {0};
    *row = (pyro_straggler_row){.rank = set->members[index].part->rank,
                                .layer = "",
                                .class_name = "",
                                .op = "",
                                .where = ""};
    bool is_steady;
    *is_straggler = is_late(set, index, least_share, values, row, &is_steady);
    if (!*is_straggler)
        return true;
    bool ok = open_comparison(&comparison, set, index);
    if (ok)
        find_layer(&comparison, set->members[index].part, row);
    close_comparison(&comparison);
    double needed = EXPLAINED_TO_TELL;
    if (is_steady && row->steps >= LEAST_STEPS)
        needed = row->steps >= STEPS_TO_STAND_ALONE ? 0 : EXPLAINED_TO_NAME;
    /* Pauses of the machine show there, too. */
    bool is_vague = !is_steady && strcmp(row->layer, PYRO_RANK_OUTSIDE) == 0;
    *is_straggler = row->explained >= needed && !is_vague;
    return ok;
}

static int by_lateness(const void *left, const void *right)
{
    const pyro_straggler_row *a = left, *b = right;
    if (a->late_ns != b->late_ns)
        return a->late_ns > b->late_ns ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

pyro_straggler_row *pyro_rank_find_stragglers(const pyro_rank_set *set, double least_share,
                                              size_t *count)
{
    pyro_straggler_row *rows = pyro_arena_array(set->arena, set->count + 1, sizeof *rows);
    size_t steps = 0;
    bool ok = rows != NULL;
    for (size_t i = 0; i < set->count; i++)
        steps = set->members[i].step_count > steps ? set->members[i].step_count : steps;
    int64_t *values = pyro_arena_array(set->arena, set->count + steps + 1, sizeof *values);
    *count = 0;
    for (size_t i = 0; ok && values && i < set->count; i++) {
        bool is_straggler = false;
        ok = judge(set, i, least_share > 0 ? least_share : PYRO_RANK_LATE_SHARE, values,
                   &rows[*count], &is_straggler);
        *count += is_straggler;
    }
    if (!ok || !values)
        return NULL;
    qsort(rows, *count, sizeof *rows, by_lateness);
    return rows;
}
