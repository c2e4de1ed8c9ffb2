/*
 * Measures lateness: compares the arrival of each member at every matched collective with the
 * others. A rank is late from the time at which most others have arrived until it arrives;
 * overlapping times of several collectives count once.
 */
#include "analyze/coverage.h"
#include "analyze/quantile.h"
#include "analyze/ranks/match.h"

#include <stdlib.h>

/* Lateness below this share of a step is ignored. */
#define LEAST_SHARE_OF_STEP 100

typedef struct arrival {
    int64_t time_ns;
    uint32_t seat;
} arrival;

/* A time in which a member was late, or waited. */
typedef struct interval {
    int64_t step, start_ns, end_ns;
    bool is_wait;
} interval;

static int by_time(const void *left, const void *right)
{
    const arrival *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->seat > b->seat) - (a->seat < b->seat);
}

/* The middle of all arrivals but one. */
static int64_t median_of_others(const arrival *sorted, size_t count, size_t without)
{
    size_t low = (count - 2) / 2, high = (count - 1) / 2; /* of the count - 1 others */
    int64_t a = sorted[low + (low >= without)].time_ns;
    int64_t b = sorted[high + (high >= without)].time_ns;
    return a + (b - a) / 2;
}

static void compare_arrivals(pyro_rank_set *set, const pyro_rank_lane *lane, size_t instance,
                             arrival *arrivals)
{
    size_t first = lane->first_cell + instance * lane->seat_count;
    for (uint32_t seat = 0; seat < lane->seat_count; seat++) {
        uint32_t member = set->seats[lane->first_seat + seat].member;
        arrivals[seat].seat = seat;
        arrivals[seat].time_ns = pyro_rank_align(&set->members[member].clock,
                                                 set->cells[first + seat]->arrival_ns);
    }
    qsort(arrivals, lane->seat_count, sizeof *arrivals, by_time);
    for (size_t i = 0; i < lane->seat_count; i++)
        set->others_ns[first + arrivals[i].seat] = median_of_others(arrivals, lane->seat_count, i);
    set->last_ns[lane->first_instance + instance] = arrivals[lane->seat_count - 1].time_ns;
}

static int by_step(const void *left, const void *right)
{
    const interval *a = left, *b = right;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->is_wait != b->is_wait)
        return a->is_wait ? 1 : -1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* Intervals of one lane; returns how many. */
static size_t add_lane(const pyro_rank_set *set, const pyro_rank_lane *lane, size_t seat,
                       pyro_rank_member *member, interval *intervals)
{
    size_t count = 0;
    for (size_t i = 0; i < lane->count; i++) {
        size_t cell = lane->first_cell + i * lane->seat_count + seat;
        int64_t arrival = pyro_rank_align(&member->clock, set->cells[cell]->arrival_ns);
        int64_t last = set->last_ns[lane->first_instance + i];
        intervals[count++] = (interval){
            .step = lane->step, .start_ns = set->others_ns[cell], .end_ns = arrival};
        intervals[count++] = (interval){
            .step = lane->step, .start_ns = arrival, .end_ns = last, .is_wait = true};
        member->late_collectives += arrival - set->others_ns[cell] >
                                    set->step_ns / LEAST_SHARE_OF_STEP;
        member->matched++;
    }
    return count;
}

static bool sum_up(pyro_rank_set *set, pyro_rank_member *member, const interval *intervals,
                   size_t count)
{
    pyro_coverage coverage = {0};
    bool ok = true;
    member->steps = pyro_arena_array(set->arena, count / 2 + 1, sizeof *member->steps);
    if (!member->steps)
        return false;
    for (size_t first = 0, next; first < count && ok; first = next) {
        const interval *begin = &intervals[first];
        int64_t total = 0;
        coverage.count = 0;
        for (next = first; ok && next < count && intervals[next].step == begin->step &&
                           intervals[next].is_wait == begin->is_wait;
             next++)
            ok = pyro_coverage_add(&coverage, intervals[next].start_ns, intervals[next].end_ns);
        pyro_coverage_finish(&coverage);
        for (size_t i = 0; i < coverage.count; i++)
            total += coverage.items[i].end_ns - coverage.items[i].start_ns;
        if (begin->is_wait)
            member->steps[member->step_count - 1].wait_ns = total;
        else
            member->steps[member->step_count++] = (pyro_rank_lateness){.step = begin->step,
                                                                       .late_ns = total};
    }
    pyro_coverage_free(&coverage);
    return ok;
}

static bool sum_member(pyro_rank_set *set, const pyro_rank_seat **own, size_t own_count)
{
    pyro_rank_member *member = &set->members[own[0]->member];
    size_t count = 0, filled = 0;
    for (size_t i = 0; i < own_count; i++)
        count += set->lanes[own[i]->lane].count * 2;
    interval *intervals = malloc((count + 1) * sizeof *intervals);
    if (!intervals)
        return false;
    for (size_t i = 0; i < own_count; i++) {
        const pyro_rank_lane *lane = &set->lanes[own[i]->lane];
        size_t seat = (size_t)(own[i] - set->seats) - lane->first_seat;
        filled += add_lane(set, lane, seat, member, intervals + filled);
    }
    if (filled)
        qsort(intervals, filled, sizeof *intervals, by_step);
    bool ok = sum_up(set, member, intervals, filled);
    free(intervals);
    return ok;
}

static int by_member(const void *left, const void *right)
{
    const pyro_rank_seat *a = *(const pyro_rank_seat *const *)left;
    const pyro_rank_seat *b = *(const pyro_rank_seat *const *)right;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    return (a->lane > b->lane) - (a->lane < b->lane);
}

static bool sum_members(pyro_rank_set *set)
{
    const pyro_rank_seat **seats = malloc((set->seat_count + 1) * sizeof *seats);
    size_t count = 0;
    bool ok = seats != NULL;
    for (size_t i = 0; ok && i < set->seat_count; i++)
        if (set->lanes[set->seats[i].lane].is_usable)
            seats[count++] = &set->seats[i];
    if (count)
        qsort(seats, count, sizeof *seats, by_member);
    for (size_t first = 0, next; first < count && ok; first = next) {
        for (next = first; next < count && seats[next]->member == seats[first]->member;)
            next++;
        ok = sum_member(set, seats + first, next - first);
    }
    free(seats);
    return ok;
}

bool pyro_rank_find_lateness(pyro_rank_set *set)
{
    arrival *arrivals = pyro_arena_array(set->arena, set->count + 1, sizeof *arrivals);
    set->others_ns = pyro_arena_array(set->arena, set->cell_count + 1, sizeof *set->others_ns);
    set->last_ns = pyro_arena_array(set->arena, set->instance_count + 1, sizeof *set->last_ns);
    if (!arrivals || !set->others_ns || !set->last_ns)
        return false;
    for (size_t i = 0; i < set->lane_count; i++) {
        const pyro_rank_lane *lane = &set->lanes[i];
        for (size_t instance = 0; lane->is_usable && instance < lane->count; instance++)
            compare_arrivals(set, lane, instance, arrivals);
    }
    return sum_members(set);
}

const pyro_rank_lateness *pyro_rank_lateness_in(const pyro_rank_member *member, int64_t step)
{
    size_t low = 0, high = member->step_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (member->steps[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < member->step_count && member->steps[low].step == step;
    return found ? &member->steps[low] : NULL;
}
