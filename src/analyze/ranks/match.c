/* Matches collectives between ranks: those with one key, or the n-th of each kind, group, step. */
#include "analyze/ranks/match.h"
#include "base/containers/buf.h"

#include <stdlib.h>
#include <string.h>

typedef struct matcher {
    pyro_rank_set *set;
    pyro_map by_kind;   /* group and kind to a number */
    pyro_map by_series; /* that and the subgroup to a number */
    pyro_map by_step;   /* number of a step to an index */
    pyro_map by_lane;   /* series and step to a lane */
    pyro_map by_seat;   /* lane and member to a seat */
    uint32_t kind_count, series_count, step_count;
    size_t lane_capacity, seat_capacity;
    pyro_rank_lane *lanes;
    pyro_rank_seat *seats;
} matcher;

/* The value of a key, *next when it is new (*next is then incremented). PYRO_MAP_NONE: no memory. */
static uint32_t number_of(pyro_map *map, uint64_t key, uint32_t *next)
{
    uint32_t found = pyro_map_get(map, key);
    if (found != PYRO_MAP_NONE)
        return found;
    return pyro_map_put(map, key, *next) ? (*next)++ : PYRO_MAP_NONE;
}

static uint32_t lane_of(matcher *matcher, const pyro_rank_collective *collective,
                        const pyro_rank_key *key)
{
    pyro_rank_set *set = matcher->set;
    uint32_t kind = number_of(&matcher->by_kind,
                              (uint64_t)collective->group << 32 | collective->kind,
                              &matcher->kind_count);
    uint32_t series = kind == PYRO_MAP_NONE
                          ? kind
                          : number_of(&matcher->by_series, (uint64_t)kind << 32 | key->subgroup,
                                      &matcher->series_count);
    uint32_t step = number_of(&matcher->by_step, (uint64_t)key->step, &matcher->step_count);
    uint32_t next = (uint32_t)set->lane_count;
    if (series == PYRO_MAP_NONE || step == PYRO_MAP_NONE)
        return PYRO_MAP_NONE;
    uint32_t lane = number_of(&matcher->by_lane, (uint64_t)series << 32 | step, &next);
    if (lane == PYRO_MAP_NONE || next == set->lane_count)
        return lane;
    if (!pyro_grow(&matcher->lanes, &matcher->lane_capacity, next, sizeof *matcher->lanes))
        return PYRO_MAP_NONE;
    matcher->lanes[set->lane_count++] = (pyro_rank_lane){.kind = collective->kind,
                                                         .group = collective->group,
                                                         .step = key->step,
                                                         .is_exact = key->is_exact,
                                                         .group_size = collective->group_size};
    return lane;
}

static bool count_collective(matcher *matcher, uint32_t member, size_t index)
{
    pyro_rank_set *set = matcher->set;
    const pyro_rank_key *key = &set->members[member].keys[index];
    if (key->is_unmatched)
        return true;
    uint32_t lane = lane_of(matcher, &set->members[member].part->collectives[index], key);
    uint32_t next = (uint32_t)set->seat_count;
    if (lane == PYRO_MAP_NONE)
        return false;
    uint32_t seat = number_of(&matcher->by_seat, (uint64_t)lane << 32 | member, &next);
    if (seat == PYRO_MAP_NONE)
        return false;
    if (next != set->seat_count) {
        if (!pyro_grow(&matcher->seats, &matcher->seat_capacity, next, sizeof *matcher->seats))
            return false;
        matcher->seats[set->seat_count++] = (pyro_rank_seat){.lane = lane, .member = member};
    }
    matcher->seats[seat].count++;
    matcher->seats[seat].is_by_end |= key->is_by_end;
    if (key->is_exact && (size_t)key->ordinal >= matcher->seats[seat].most)
        matcher->seats[seat].most = (size_t)key->ordinal + 1;
    return true;
}

static int by_lane_and_member(const void *left, const void *right)
{
    const pyro_rank_seat *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return (a->member > b->member) - (a->member < b->member);
}

/* No rank leaves these before all have arrived. */
static bool makes_all_wait(const char *kind)
{
    static const char *const kinds[] = {"allreduce", "allgather", "reduce_scatter", "alltoall",
                                        "barrier"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

/* Seats become lanes' runs; a lane that members do not have equally often cannot be matched. */
static void arrange_lanes(pyro_rank_set *set)
{
    size_t seat = 0;
    for (size_t i = 0; i < set->lane_count; i++) {
        pyro_rank_lane *lane = &set->lanes[i];
        bool is_even = true;
        size_t most = 0;
        lane->first_seat = seat;
        for (; seat < set->seat_count && set->seats[seat].lane == i; seat++) {
            const pyro_rank_seat *own = &set->seats[seat];
            is_even &= lane->is_exact || own->is_by_end ||
                       own->count == set->seats[lane->first_seat].count;
            most = own->most > most ? own->most : most;
        }
        lane->seat_count = seat - lane->first_seat;
        bool is_crowded = lane->group_size > 0 && (int64_t)lane->seat_count > lane->group_size;
        set->uneven_lanes += !is_even;
        set->crowded_lanes += is_crowded;
        lane->is_usable = is_even && !is_crowded && lane->seat_count > 1 &&
                          makes_all_wait(pyro_rank_text(set->summary, lane->kind));
        if (!lane->is_usable)
            continue;
        lane->count = lane->is_exact ? most : set->seats[lane->first_seat].count;
        lane->first_cell = set->cell_count;
        lane->first_instance = set->instance_count;
        set->cell_count += lane->count * lane->seat_count;
        set->instance_count += lane->count;
    }
}

/* Ordinals of a file from elsewhere need not be what they should. */
static void fill_cell(matcher *matcher, uint32_t member, size_t index)
{
    pyro_rank_set *set = matcher->set;
    const pyro_rank_collective *collective = &set->members[member].part->collectives[index];
    const pyro_rank_key *key = &set->members[member].keys[index];
    if (key->is_unmatched)
        return;
    uint32_t number = lane_of(matcher, collective, key);
    const pyro_rank_lane *lane = &set->lanes[number];
    uint32_t seat = pyro_map_get(&matcher->by_seat, (uint64_t)number << 32 | member);
    if (lane->is_usable && key->ordinal >= 0 && (uint64_t)key->ordinal < lane->count)
        set->cells[lane->first_cell + (size_t)key->ordinal * lane->seat_count + seat] = collective;
}

static bool fill_cells(matcher *matcher)
{
    pyro_rank_set *set = matcher->set;
    set->cells = pyro_arena_array(set->arena, set->cell_count + 1, sizeof *set->cells);
    for (uint32_t member = 0; set->cells && member < set->count; member++)
        for (size_t i = 0; i < set->members[member].part->collective_count; i++)
            fill_cell(matcher, member, i);
    return set->cells != NULL;
}

/* After the seats were sorted, the map says the place inside of the lane. */
static bool renumber_seats(matcher *matcher)
{
    pyro_rank_set *set = matcher->set;
    for (size_t i = 0; i < set->seat_count; i++) {
        const pyro_rank_seat *seat = &set->seats[i];
        if (!pyro_map_put(&matcher->by_seat, (uint64_t)seat->lane << 32 | seat->member,
                          (uint32_t)(i - set->lanes[seat->lane].first_seat)))
            return false;
    }
    return true;
}

/* Drops instances that a member lacks, and moves the rest together. */
static void drop_holes(pyro_rank_set *set)
{
    for (size_t i = 0; i < set->lane_count; i++) {
        pyro_rank_lane *lane = &set->lanes[i];
        size_t kept = 0;
        for (size_t instance = 0; lane->is_usable && instance < lane->count; instance++) {
            const pyro_rank_collective **row =
                &set->cells[lane->first_cell + instance * lane->seat_count];
            bool is_whole = true;
            for (size_t seat = 0; seat < lane->seat_count; seat++)
                is_whole &= row[seat] != NULL;
            if (is_whole)
                memmove(&set->cells[lane->first_cell + kept++ * lane->seat_count], row,
                        lane->seat_count * sizeof *row);
        }
        lane->count = kept;
        lane->is_usable &= kept > 0;
    }
}

static bool match(matcher *matcher)
{
    pyro_rank_set *set = matcher->set;
    for (uint32_t member = 0; member < set->count; member++) {
        const pyro_rank_part *part = set->members[member].part;
        for (size_t i = 0; i < part->collective_count; i++)
            if (!count_collective(matcher, member, i))
                return false;
    }
    set->lanes = pyro_arena_array(set->arena, set->lane_count + 1, sizeof *set->lanes);
    set->seats = pyro_arena_array(set->arena, set->seat_count + 1, sizeof *set->seats);
    if (!set->lanes || !set->seats)
        return false;
    if (set->lane_count) {
        memcpy(set->lanes, matcher->lanes, set->lane_count * sizeof *set->lanes);
        memcpy(set->seats, matcher->seats, set->seat_count * sizeof *set->seats);
        qsort(set->seats, set->seat_count, sizeof *set->seats, by_lane_and_member);
    }
    arrange_lanes(set);
    if (!renumber_seats(matcher) || !fill_cells(matcher))
        return false;
    drop_holes(set);
    return true;
}

bool pyro_rank_match(pyro_rank_set *set)
{
    matcher matcher = {.set = set};
    bool ok = match(&matcher);
    pyro_map_free(&matcher.by_kind);
    pyro_map_free(&matcher.by_series);
    pyro_map_free(&matcher.by_step);
    pyro_map_free(&matcher.by_lane);
    pyro_map_free(&matcher.by_seat);
    free(matcher.lanes);
    free(matcher.seats);
    return ok;
}
