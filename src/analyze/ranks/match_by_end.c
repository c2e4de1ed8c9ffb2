/*
 * Matches collectives by end time, where the n-th collective of a step is not the same on all
 * ranks: a rank that runs ahead called some in the step before, or a file lacks some. All ranks
 * leave a collective together, so equal end times on aligned clocks mean the same collective.
 */
#include "analyze/ranks/match.h"
#include "base/containers/buf.h"

#include <stdlib.h>

/* How far along the order the search for the same collective goes. */
#define MOST_SHIFT 16
#define LEAST_SAMPLES 3
#define LEAST_SHARE 0.3
/* Ends that differ less are of the same collective. */
#define TOLERANCE_NS 1000000

/* Collectives of one kind and group of a member, in their order. */
typedef struct run {
    uint32_t member;
    const uint32_t *items; /* indices into the part's */
    size_t count;
    bool is_doubtful; /* the member that is looked at has another order */
} run;

typedef struct matching {
    pyro_rank_set *set;
    pyro_map by_series;
    uint32_t series_count;
    run *first; /* by series: of the first member that has it */
    size_t first_capacity;
    int64_t *values;
    size_t value_count, value_capacity;
    size_t wanted; /* pairs that there should be */
} matching;

static const pyro_rank_collective *item_of(const pyro_rank_set *set, const run *run, size_t i)
{
    return &set->members[run->member].part->collectives[run->items[i]];
}

static int compare_keys(const pyro_rank_collective *a, const pyro_rank_collective *b)
{
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

/* True when a run has a collective beside its item i in this step. */
static bool has_step(const matching *matching, const run *run, size_t i, int64_t step)
{
    return (i < run->count && item_of(matching->set, run, i)->step == step) ||
           (i > 0 && item_of(matching->set, run, i - 1)->step == step);
}

/*
 * The n-th of a step can be the n-th of the other: as many in every step that both have, and some
 * offset of the clocks lets nobody leave before both have come.
 */
static bool fits_by_order(const matching *matching, const run *a, const run *b)
{
    int64_t least = INT64_MIN, most = INT64_MAX;
    for (size_t i = 0, j = 0; i < a->count || j < b->count;) {
        const pyro_rank_collective *from = i < a->count ? item_of(matching->set, a, i) : NULL;
        const pyro_rank_collective *to = j < b->count ? item_of(matching->set, b, j) : NULL;
        int order = !from ? 1 : !to ? -1 : compare_keys(from, to);
        if (order == 0) {
            int64_t lower = from->arrival_ns - to->end_ns, upper = from->end_ns - to->arrival_ns;
            least = lower > least ? lower : least;
            most = upper < most ? upper : most;
        } else if (order < 0 ? has_step(matching, b, j, from->step)
                             : has_step(matching, a, i, to->step)) {
            return false;
        }
        i += order <= 0;
        j += order >= 0;
    }
    return least <= most;
}

/* Differences between ends that may be of the same collective. */
static bool add_differences(matching *matching, const run *a, const run *b)
{
    for (size_t i = 0; i < b->count; i++) {
        size_t from = i > MOST_SHIFT ? i - MOST_SHIFT : 0;
        if (!pyro_grow(&matching->values, &matching->value_capacity,
                       matching->value_count + 2 * MOST_SHIFT + 1, sizeof *matching->values))
            return false;
        for (size_t j = from; j < a->count && j <= i + MOST_SHIFT; j++)
            matching->values[matching->value_count++] = item_of(matching->set, a, j)->end_ns -
                                                        item_of(matching->set, b, i)->end_ns;
    }
    matching->wanted += a->count < b->count ? a->count : b->count;
    return true;
}

static int by_value(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The difference that most pairs have; false when too few agree. */
static bool find_offset(matching *matching, int64_t *offset_ns)
{
    const int64_t *values = matching->values;
    size_t first = 0, most = 0;
    int64_t least_distance = INT64_MAX;
    if (matching->value_count)
        qsort(matching->values, matching->value_count, sizeof *values, by_value);
    for (size_t i = 0; i < matching->value_count; i++) {
        while (values[i] - values[first] > TOLERANCE_NS)
            first++;
        int64_t middle = values[first + (i - first) / 2];
        int64_t distance = middle < 0 ? -middle : middle;
        size_t count = i - first + 1;
        if (count < most || (count == most && distance >= least_distance))
            continue;
        most = count;
        least_distance = distance;
        *offset_ns = middle;
    }
    return most >= LEAST_SAMPLES && (double)most >= LEAST_SHARE * (double)matching->wanted;
}

/* Gives items of `b` the keys of the items of `a` that ended with them; others match nothing. */
static void match_by_ends(pyro_rank_set *set, const run *a, const run *b, int64_t offset_ns)
{
    size_t next = 0;
    for (size_t i = 0; i < b->count; i++) {
        pyro_rank_key *key = &set->members[b->member].keys[b->items[i]];
        int64_t end = item_of(set, b, i)->end_ns + offset_ns;
        while (next < a->count && item_of(set, a, next)->end_ns < end - TOLERANCE_NS)
            next++;
        key->is_unmatched = next >= a->count || item_of(set, a, next)->end_ns > end + TOLERANCE_NS;
        key->is_by_end = true;
        if (key->is_unmatched)
            continue;
        key->step = set->members[a->member].keys[a->items[next]].step;
        key->ordinal = set->members[a->member].keys[a->items[next]].ordinal;
        next++;
    }
    set->runs_by_end++;
}

/* The number of a kind and group, with room for its first run. */
static uint32_t series_of(matching *matching, const pyro_rank_collective *collective)
{
    uint64_t key = (uint64_t)collective->group << 32 | collective->kind;
    uint32_t series = pyro_map_get(&matching->by_series, key);
    if (series != PYRO_MAP_NONE)
        return series;
    series = matching->series_count;
    if (!pyro_grow(&matching->first, &matching->first_capacity, series + 1,
                   sizeof *matching->first) ||
        !pyro_map_put(&matching->by_series, key, series))
        return PYRO_MAP_NONE;
    matching->first[matching->series_count++] = (run){0};
    return series;
}

/* A member's collectives sorted by series, each in its order; `ends` of each run. */
static bool sort_by_series(matching *matching, uint32_t index, uint32_t **items, size_t **ends)
{
    const pyro_rank_part *part = matching->set->members[index].part;
    size_t count = part->collective_count;
    uint32_t *series = malloc((count + 1) * sizeof *series);
    bool ok = series != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        series[i] = series_of(matching, &part->collectives[i]);
        ok = series[i] != PYRO_MAP_NONE;
    }
    *items = pyro_arena_array(matching->set->arena, count + 1, sizeof **items);
    *ends = calloc(matching->series_count + 2, sizeof **ends);
    ok = ok && *items && *ends;
    for (size_t i = 0; ok && i < count; i++)
        (*ends)[series[i] + 1]++;
    for (uint32_t s = 0; ok && s < matching->series_count; s++)
        (*ends)[s + 1] += (*ends)[s];
    for (size_t i = 0; ok && i < count; i++)
        (*items)[(*ends)[series[i]]++] = (uint32_t)i;
    free(series);
    return ok;
}

static run run_of(uint32_t member, const uint32_t *items, const size_t *ends, uint32_t series)
{
    size_t begin = series ? ends[series - 1] : 0;
    return (run){.member = member, .items = items + begin, .count = ends[series] - begin};
}

static bool is_exact(const pyro_rank_set *set, const run *run)
{
    return set->members[run->member].keys[run->items[0]].is_exact;
}

/* All runs of a member have one clock in common; those that do not fit by order go by it. */
static bool compare_member(matching *matching, uint32_t index)
{
    uint32_t *items;
    size_t *ends;
    bool ok = sort_by_series(matching, index, &items, &ends), has_doubt = false;
    int64_t offset = 0;
    matching->value_count = matching->wanted = 0;
    for (uint32_t s = 0; ok && s < matching->series_count; s++) {
        run own = run_of(index, items, ends, s), *first = &matching->first[s];
        first->is_doubtful = false;
        if (!own.count || is_exact(matching->set, &own))
            continue;
        if (!first->items)
            *first = own;
        first->is_doubtful = first->member != index && !fits_by_order(matching, first, &own);
        has_doubt |= first->is_doubtful;
    }
    for (uint32_t s = 0; ok && s < matching->series_count; s++) {
        run own = run_of(index, items, ends, s);
        ok = !has_doubt || !own.count || !matching->first[s].items ||
             matching->first[s].member == index ||
             add_differences(matching, &matching->first[s], &own);
    }
    bool is_found = ok && find_offset(matching, &offset);
    for (uint32_t s = 0; is_found && s < matching->series_count; s++) {
        run own = run_of(index, items, ends, s);
        if (matching->first[s].is_doubtful)
            match_by_ends(matching->set, &matching->first[s], &own, offset);
    }
    free(ends);
    return ok;
}

static bool name_collectives(pyro_rank_set *set)
{
    for (size_t m = 0; m < set->count; m++) {
        pyro_rank_member *member = &set->members[m];
        size_t count = member->part->collective_count;
        member->keys = pyro_arena_array(set->arena, count + 1, sizeof *member->keys);
        for (size_t i = 0; member->keys && i < count; i++)
            member->keys[i] = (pyro_rank_key){.step = member->part->collectives[i].step,
                                              .ordinal = member->part->collectives[i].ordinal,
                                              .is_unmatched = member->part->rank < 0};
        if (!member->keys)
            return false;
    }
    return true;
}

bool pyro_rank_name_collectives(pyro_rank_set *set)
{
    matching matching = {.set = set};
    bool ok = name_collectives(set) && pyro_rank_match_exactly(set);
    /* Files that do not say a rank may be of any run. */
    for (uint32_t i = 0; i < set->count && ok; i++)
        ok = set->members[i].part->rank < 0 || compare_member(&matching, i);
    pyro_map_free(&matching.by_series);
    free(matching.first);
    free(matching.values);
    return ok;
}
