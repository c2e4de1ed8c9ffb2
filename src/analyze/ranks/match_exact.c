/*
 * Matches collectives by the numbers that torch gives them: "Comms Id", the same on all ranks of
 * one collective, or "Seq", its number in the process group. A series (kind and group) is matched
 * this way when all of its collectives have such a number on all ranks.
 */
#include "analyze/ranks/match.h"
#include "base/containers/buf.h"

#include <stdlib.h>
#include <string.h>

/* Calls inside one coalesced group share a number; more of them are not distinguished. */
#define MOST_SHARING 255

/* A collective that some member has. */
typedef struct instance {
    int64_t step, ordinal;
    uint32_t subgroup;
} instance;

/* A kind and group. */
typedef struct series {
    bool lacks_numbers;
    uint32_t subgroup; /* of the member that is looked at; UINT32_MAX: not known yet */
} series;

typedef struct exact {
    pyro_rank_set *set;
    pyro_map by_series, by_instance;
    pyro_map by_lane; /* (series, subgroup, step) to the next ordinal */
    series *series;
    size_t series_count, series_capacity;
    instance *instances;
    size_t instance_count, instance_capacity;
} exact;

static bool has_number(const pyro_rank_collective *collective)
{
    return collective->comms_id != PYRO_NO_ID || collective->number >= 0;
}

static uint32_t series_of(exact *exact, const pyro_rank_collective *collective)
{
    uint64_t key = (uint64_t)collective->group << 32 | collective->kind;
    uint32_t found = pyro_map_get(&exact->by_series, key);
    if (found != PYRO_MAP_NONE)
        return found;
    found = (uint32_t)exact->series_count;
    if (!pyro_grow(&exact->series, &exact->series_capacity, exact->series_count + 1,
                   sizeof *exact->series) ||
        !pyro_map_put(&exact->by_series, key, found))
        return PYRO_MAP_NONE;
    exact->series[exact->series_count++] = (series){0};
    return found;
}

static bool find_series(exact *exact)
{
    const pyro_rank_set *set = exact->set;
    for (size_t m = 0; m < set->count; m++) {
        const pyro_rank_part *part = set->members[m].part;
        for (size_t i = 0; part->rank >= 0 && i < part->collective_count; i++) {
            uint32_t number = series_of(exact, &part->collectives[i]);
            if (number == PYRO_MAP_NONE)
                return false;
            exact->series[number].lacks_numbers |= !has_number(&part->collectives[i]);
        }
    }
    return true;
}

/* The key of an instance without its place among those that share its number. */
static uint64_t key_of(const pyro_rank_collective *collective, uint32_t series)
{
    if (collective->comms_id != PYRO_NO_ID)
        return UINT64_C(1) << 63 | (uint64_t)collective->comms_id << 8;
    return UINT64_C(1) << 62 | (uint64_t)(series & 0x3FFFFF) << 40 |
           ((uint64_t)collective->number & UINT32_MAX) << 8;
}

/* The key with that place; `seen` counts. 0: no memory. */
static uint64_t next_key(pyro_map *seen, uint64_t key)
{
    uint32_t count = pyro_map_get(seen, key);
    count = count == PYRO_MAP_NONE ? 0 : count;
    if (!pyro_map_put(seen, key, count + 1))
        return 0;
    return key + (count < MOST_SHARING ? count : MOST_SHARING);
}

/* A group of one name may be several: members that share no collective are apart. */
static void find_subgroups(exact *exact, const pyro_rank_part *part)
{
    for (size_t s = 0; s < exact->series_count; s++)
        exact->series[s].subgroup = UINT32_MAX;
    for (size_t i = 0; i < part->collective_count; i++) {
        uint32_t number = series_of(exact, &part->collectives[i]);
        series *own = &exact->series[number];
        if (own->lacks_numbers || own->subgroup != UINT32_MAX)
            continue;
        uint32_t found = pyro_map_get(&exact->by_instance, key_of(&part->collectives[i], number));
        if (found != PYRO_MAP_NONE)
            own->subgroup = exact->instances[found].subgroup;
    }
}

/* A new instance, with the next ordinal of its lane; PYRO_MAP_NONE: no memory. */
static uint32_t add_instance(exact *exact, uint64_t key, uint32_t series, uint32_t subgroup,
                             int64_t step)
{
    uint32_t index = (uint32_t)exact->instance_count;
    uint64_t lane = ((uint64_t)(series & 0xFFFFF) << 44 | (uint64_t)(subgroup & 0xFFFFF) << 24) ^
                    ((uint64_t)step & 0xFFFFFF);
    uint32_t ordinal = pyro_map_get(&exact->by_lane, lane);
    ordinal = ordinal == PYRO_MAP_NONE ? 0 : ordinal;
    if (!pyro_grow(&exact->instances, &exact->instance_capacity, exact->instance_count + 1,
                   sizeof *exact->instances) ||
        !pyro_map_put(&exact->by_lane, lane, ordinal + 1) ||
        !pyro_map_put(&exact->by_instance, key, index))
        return PYRO_MAP_NONE;
    exact->instances[exact->instance_count++] = (instance){step, ordinal, subgroup};
    return index;
}

static bool match_member(exact *exact, uint32_t member, pyro_map *seen)
{
    pyro_rank_set *set = exact->set;
    const pyro_rank_part *part = set->members[member].part;
    find_subgroups(exact, part);
    for (size_t i = 0; i < part->collective_count; i++) {
        const pyro_rank_collective *collective = &part->collectives[i];
        uint32_t number = series_of(exact, collective);
        series *own = &exact->series[number];
        if (own->lacks_numbers)
            continue;
        if (own->subgroup == UINT32_MAX)
            own->subgroup = member;
        uint64_t key = next_key(seen, key_of(collective, number));
        uint32_t found = key ? pyro_map_get(&exact->by_instance, key) : PYRO_MAP_NONE;
        if (key && found == PYRO_MAP_NONE)
            found = add_instance(exact, key, number, own->subgroup, collective->step);
        if (found == PYRO_MAP_NONE)
            return false;
        const instance *matched = &exact->instances[found];
        set->members[member].keys[i] = (pyro_rank_key){.step = matched->step,
                                                       .ordinal = matched->ordinal,
                                                       .subgroup = matched->subgroup,
                                                       .is_exact = true};
    }
    return true;
}

bool pyro_rank_match_exactly(pyro_rank_set *set)
{
    exact exact = {.set = set};
    bool ok = find_series(&exact);
    for (uint32_t member = 0; ok && member < set->count; member++) {
        pyro_map seen = PYRO_MAP_INIT;
        ok = set->members[member].part->rank < 0 || match_member(&exact, member, &seen);
        pyro_map_free(&seen);
    }
    pyro_map_free(&exact.by_series);
    pyro_map_free(&exact.by_instance);
    pyro_map_free(&exact.by_lane);
    free(exact.series);
    free(exact.instances);
    return ok;
}
