/* Summarises communication by process group and kind over all ranks, and steps over all ranks. */
#include "analyze/ranks/groups.h"
#include "analyze/device/collective.h"
#include "analyze/intervals.h"
#include "analyze/quantile.h"
#include "base/containers/buf.h"

#include <stdlib.h>
#include <string.h>

/* Of the table of ranks by steps: a heat map shows no more. */
#define MOST_CELLS 100000

/* A row under construction. */
typedef struct group_sum {
    pyro_rank_group_row row;
    int64_t time_ns, exposed_ns, wait_ns;
    int64_t least_ns, least_bytes; /* of matched instances: the rank that waited least */
    int64_t *skews_ns;
    uint32_t *last_counts; /* by member */
    uint32_t last_member;  /* that the ranks were counted for */
    size_t matched;
} group_sum;

typedef struct group_sums {
    const pyro_rank_set *set;
    pyro_map by_key;
    group_sum *sums;
    size_t count, capacity;
} group_sums;

static group_sum *sum_of(group_sums *all, uint32_t group, uint32_t kind)
{
    uint64_t key = (uint64_t)group << 32 | kind;
    uint32_t index = pyro_map_get(&all->by_key, key);
    if (index != PYRO_MAP_NONE)
        return &all->sums[index];
    if (!pyro_grow(&all->sums, &all->capacity, all->count + 1, sizeof *all->sums) ||
        !pyro_map_put(&all->by_key, key, (uint32_t)all->count))
        return NULL;
    group_sum *sum = &all->sums[all->count++];
    *sum = (group_sum){.row = {.group = pyro_rank_text(all->set->summary, group),
                               .kind = pyro_rank_text(all->set->summary, kind),
                               .group_size = -1,
                               .arrival_skew_ns = -1,
                               .last_rank = -1,
                               .bus_gb_per_s = -1},
                       .last_member = UINT32_MAX};
    return sum;
}

static bool add_collectives(group_sums *all)
{
    for (uint32_t member = 0; member < all->set->count; member++) {
        const pyro_rank_part *part = all->set->members[member].part;
        for (size_t i = 0; i < part->collective_count; i++) {
            const pyro_rank_collective *collective = &part->collectives[i];
            group_sum *sum = sum_of(all, collective->group, collective->kind);
            if (!sum)
                return false;
            sum->row.ranks += sum->last_member != member;
            sum->last_member = member;
            if (collective->group_size > sum->row.group_size)
                sum->row.group_size = collective->group_size;
            if (collective->message_bytes < 0 || sum->row.bytes < 0)
                sum->row.bytes = -1;
            else
                sum->row.bytes = pyro_add_ns(sum->row.bytes, collective->message_bytes);
            sum->row.calls++;
            sum->time_ns = pyro_add_ns(sum->time_ns, collective->end_ns - collective->start_ns);
            sum->exposed_ns = pyro_add_ns(sum->exposed_ns, collective->exposed_ns);
        }
    }
    return true;
}

static void add_instance(const pyro_rank_set *set, const pyro_rank_lane *lane, size_t instance,
                         group_sum *sum)
{
    size_t first = lane->first_cell + instance * lane->seat_count;
    int64_t last = set->last_ns[lane->first_instance + instance], earliest = INT64_MAX;
    int64_t least = INT64_MAX, bytes = -1;
    for (size_t seat = 0; seat < lane->seat_count; seat++) {
        uint32_t member = set->seats[lane->first_seat + seat].member;
        const pyro_rank_collective *cell = set->cells[first + seat];
        const pyro_rank_clock *clock = &set->members[member].clock;
        int64_t arrival = pyro_rank_align(clock, cell->arrival_ns);
        int64_t start = pyro_rank_align(clock, cell->start_ns);
        int64_t end = pyro_rank_align(clock, cell->end_ns);
        int64_t until = last < end ? last : end;
        earliest = arrival < earliest ? arrival : earliest;
        least = end - start < least ? end - start : least;
        bytes = cell->message_bytes > bytes ? cell->message_bytes : bytes;
        if (until > start)
            sum->wait_ns = pyro_add_ns(sum->wait_ns, until - start);
        sum->last_counts[member] += arrival == last;
    }
    sum->skews_ns[sum->matched++] = last - earliest;
    if (bytes >= 0) {
        sum->least_ns = pyro_add_ns(sum->least_ns, least);
        sum->least_bytes = pyro_add_ns(sum->least_bytes, bytes);
    }
}

static bool add_instances(group_sums *all)
{
    const pyro_rank_set *set = all->set;
    for (size_t i = 0; i < set->lane_count; i++) {
        const pyro_rank_lane *lane = &set->lanes[i];
        group_sum *sum = sum_of(all, lane->group, lane->kind);
        if (!sum)
            return false;
        sum->row.matched += lane->is_usable ? (int64_t)lane->count : 0;
    }
    for (size_t i = 0; i < all->count; i++) {
        group_sum *sum = &all->sums[i];
        sum->skews_ns = pyro_arena_array(set->arena, (size_t)sum->row.matched + 1, sizeof(int64_t));
        sum->last_counts = pyro_arena_array(set->arena, set->count + 1, sizeof(uint32_t));
        if (!sum->skews_ns || !sum->last_counts)
            return false;
    }
    for (size_t i = 0; i < set->lane_count; i++) {
        const pyro_rank_lane *lane = &set->lanes[i];
        group_sum *sum = sum_of(all, lane->group, lane->kind);
        for (size_t instance = 0; lane->is_usable && instance < lane->count; instance++)
            add_instance(set, lane, instance, sum);
    }
    return true;
}

/* Steps of all ranks that have the group, so that times can be given for one of each. */
static int64_t count_steps(const group_sums *all, const group_sum *sum)
{
    int64_t steps = 0, members = 0;
    for (size_t i = 0; i < all->set->count; i++) {
        steps += (int64_t)all->set->members[i].part->step_count;
        members++;
    }
    return members && steps ? steps * sum->row.ranks / members : 1;
}

static void finish_group(const group_sums *all, group_sum *sum)
{
    pyro_rank_group_row *row = &sum->row;
    int64_t steps = count_steps(all, sum);
    double factor = pyro_collective_bus_factor(row->kind, row->group_size);
    uint32_t most = 0;
    steps = steps > 0 ? steps : 1;
    row->time_ns = sum->time_ns / steps;
    row->exposed_ns = sum->exposed_ns / steps;
    row->wait_ns = sum->wait_ns / steps;
    row->calls_per_step = (double)row->calls / (double)steps;
    row->exposed_share = sum->time_ns > 0 ? (double)sum->exposed_ns / (double)sum->time_ns : 0;
    if (!sum->matched)
        return;
    row->arrival_skew_ns = pyro_quantile(sum->skews_ns, sum->matched, 1, 2);
    for (size_t i = 0; i < all->set->count; i++) {
        if (sum->last_counts[i] <= most)
            continue;
        most = sum->last_counts[i];
        row->last_rank = all->set->members[i].part->rank;
    }
    row->last_share = (double)most / (double)sum->matched;
    if (sum->least_bytes > 0 && sum->least_ns > 0 && factor >= 0)
        row->bus_gb_per_s = (double)sum->least_bytes * factor / (double)sum->least_ns;
}

static int by_exposed(const void *left, const void *right)
{
    const pyro_rank_group_row *a = left, *b = right;
    if (a->exposed_ns != b->exposed_ns)
        return a->exposed_ns > b->exposed_ns ? -1 : 1;
    int order = strcmp(a->group, b->group);
    return order ? order : strcmp(a->kind, b->kind);
}

pyro_rank_group_row *pyro_rank_sum_groups(const pyro_rank_set *set, size_t *count)
{
    group_sums all = {.set = set};
    pyro_rank_group_row *rows = NULL;
    if (add_collectives(&all) && add_instances(&all))
        rows = pyro_arena_array(set->arena, all.count + 1, sizeof *rows);
    for (size_t i = 0; rows && i < all.count; i++) {
        finish_group(&all, &all.sums[i]);
        rows[i] = all.sums[i].row;
    }
    if (rows && all.count)
        qsort(rows, all.count, sizeof *rows, by_exposed);
    *count = all.count;
    pyro_map_free(&all.by_key);
    free(all.sums);
    return rows;
}

/* A step of a member. */
typedef struct member_step {
    int64_t number, span_ns, rank;
    int64_t late_ns;
} member_step;

static int by_number_and_span(const void *left, const void *right)
{
    const member_step *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->span_ns != b->span_ns)
        return a->span_ns < b->span_ns ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static member_step *list_steps(const pyro_rank_set *set, size_t *count)
{
    size_t total = 0;
    for (size_t i = 0; i < set->count; i++)
        total += set->members[i].part->step_count;
    member_step *steps = malloc((total + 1) * sizeof *steps);
    *count = 0;
    for (size_t i = 0; steps && i < set->count; i++) {
        const pyro_rank_member *member = &set->members[i];
        for (size_t s = 0; s < member->part->step_count; s++) {
            const pyro_rank_step *step = &member->part->steps[s];
            steps[*count] = (member_step){
                .number = step->number, .span_ns = step->span_ns, .rank = member->part->rank};
            const pyro_rank_lateness *lateness = pyro_rank_lateness_in(member, step->number);
            steps[(*count)++].late_ns = lateness ? lateness->late_ns : 0;
        }
    }
    if (steps && *count)
        qsort(steps, *count, sizeof *steps, by_number_and_span);
    return steps;
}

pyro_rank_step_row *pyro_rank_sum_steps(const pyro_rank_set *set, size_t *count)
{
    size_t total;
    member_step *steps = list_steps(set, &total);
    pyro_rank_step_row *rows = steps ? pyro_arena_array(set->arena, total + 1, sizeof *rows) : NULL;
    *count = 0;
    for (size_t first = 0, next; rows && first < total; first = next) {
        pyro_rank_step_row row = {.number = steps[first].number, .last_rank = -1};
        for (next = first; next < total && steps[next].number == row.number; next++) {
            if (steps[next].late_ns <= row.late_ns)
                continue;
            row.late_ns = steps[next].late_ns;
            row.last_rank = steps[next].rank;
        }
        row.ranks = (int64_t)(next - first);
        row.min_ns = steps[first].span_ns;
        row.median_ns = steps[first + (next - first - 1) / 2].span_ns;
        row.max_ns = steps[next - 1].span_ns;
        row.slowest_rank = steps[next - 1].rank;
        row.skew_ns = row.max_ns - row.min_ns;
        rows[(*count)++] = row;
    }
    free(steps);
    return rows;
}

static pyro_rank_cell_row cell_of(const pyro_rank_member *member, const pyro_rank_step *step)
{
    const pyro_rank_lateness *lateness = pyro_rank_lateness_in(member, step->number);

    return (pyro_rank_cell_row){
        .rank = member->part->rank,
        .number = step->number,
        .step_ns = step->span_ns,
        .compute_ns = step->compute_ns,
        .communication_exposed_ns = step->communication_exposed_ns,
        .idle_ns = step->idle_ns,
        .data_loading_ns = step->data_loading_ns,
        .late_ns = lateness ? lateness->late_ns : 0,
        .wait_ns = lateness ? lateness->wait_ns : 0,
    };
}

pyro_rank_cell_row *pyro_rank_list_cells(const pyro_rank_set *set, size_t *count)
{
    size_t most = set->count ? MOST_CELLS / set->count : 0, total = 0;
    pyro_rank_cell_row *rows;

    most = most ? most : 1;
    for (size_t i = 0; i < set->count; i++) {
        size_t steps = set->members[i].part->step_count;
        total += steps < most ? steps : most;
    }
    rows = pyro_arena_array(set->arena, total + 1, sizeof *rows);
    *count = 0;
    for (size_t i = 0; rows && i < set->count; i++) {
        const pyro_rank_part *part = set->members[i].part;
        for (size_t s = 0; s < part->step_count && s < most; s++)
            rows[(*count)++] = cell_of(&set->members[i], &part->steps[s]);
    }
    return rows;
}
