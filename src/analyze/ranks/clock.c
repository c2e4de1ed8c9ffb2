/*
 * Aligns the clocks of ranks by collectives, which all members leave at nearly the same time. The
 * offset of a clock is the median of the differences, bounded by causality (no rank leaves before
 * all have arrived), and 0 where noise explains it. Ranks of one host read one clock.
 */
#include "analyze/quantile.h"
#include "analyze/ranks/summarize.h"
#include "analyze/ranks/match.h"
#include "base/containers/buf.h"

#include <math.h>
#include <stdlib.h>

/* Fewest collectives for estimating the drift of a clock. */
#define LEAST_FOR_DRIFT 16
#define LEAST_DRIFT_NS 10000
/* A collective that ends this much before a rank arrives was not timed by the same clock. */
#define SAME_CLOCK_NS 1000000
/* No clock is off by this much, but a damaged file may be. */
#define MOST_DRIFT 0.01

/* One collective that two members have: the reference's end less the other's. */
typedef struct sample {
    uint32_t member;
    int64_t time_ns; /* of the other */
    int64_t difference_ns;
    int64_t least_ns, most_ns; /* bounds of the offset */
} sample;

typedef struct aligner {
    pyro_rank_set *set;
    sample *samples;
    size_t count, capacity;
    int64_t *values;
    size_t value_capacity;
    bool *is_known;
} aligner;

int64_t pyro_rank_align(const pyro_rank_clock *clock, int64_t time_ns)
{
    double drift = clock->drift == 0 ? 0 : clock->drift * (double)(time_ns - clock->pivot_ns);
    return pyro_rank_clamp(time_ns + clock->offset_ns + (int64_t)drift);
}

static bool add_samples(aligner *aligner, const pyro_rank_lane *lane, size_t reference_seat)
{
    const pyro_rank_set *set = aligner->set;
    const pyro_rank_seat *seats = &set->seats[lane->first_seat];
    const pyro_rank_clock *clock = &set->members[seats[reference_seat].member].clock;
    for (size_t seat = 0; seat < lane->seat_count; seat++) {
        if (aligner->is_known[seats[seat].member])
            continue;
        if (!pyro_grow(&aligner->samples, &aligner->capacity, aligner->count + lane->count,
                       sizeof *aligner->samples))
            return false;
        for (size_t i = 0; i < lane->count; i++) {
            size_t first = lane->first_cell + i * lane->seat_count;
            const pyro_rank_collective *from = set->cells[first + reference_seat];
            const pyro_rank_collective *to = set->cells[first + seat];
            int64_t end = pyro_rank_align(clock, from->end_ns);
            aligner->samples[aligner->count++] = (sample){
                .member = seats[seat].member,
                .time_ns = to->end_ns,
                .difference_ns = end - to->end_ns,
                .least_ns = pyro_rank_align(clock, from->arrival_ns) - to->end_ns,
                .most_ns = end - to->arrival_ns};
        }
    }
    return true;
}

static int by_member_and_time(const void *left, const void *right)
{
    const sample *a = left, *b = right;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->difference_ns > b->difference_ns) - (a->difference_ns < b->difference_ns);
}

static int64_t median_difference(aligner *aligner, const sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        aligner->values[i] = samples[i].difference_ns;
    return pyro_quantile(aligner->values, count, 1, 2);
}

static int64_t residual_of(aligner *aligner, const pyro_rank_clock *clock, const sample *samples,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t left = samples[i].difference_ns -
                       (pyro_rank_align(clock, samples[i].time_ns) - samples[i].time_ns);
        aligner->values[i] = left < 0 ? -left : left;
    }
    return pyro_quantile(aligner->values, count, 1, 2);
}

/* Two halves of the time whose offsets differ by far more than each scatters. */
static void find_drift(aligner *aligner, pyro_rank_clock *clock, const sample *samples,
                       size_t count)
{
    size_t half = count / 2;
    pyro_rank_clock halves[2] = {{0}, {0}};
    int64_t times[2], scatter = 0;
    for (int i = 0; i < 2; i++) {
        const sample *part = samples + (i ? count - half : 0);
        halves[i].offset_ns = median_difference(aligner, part, half);
        times[i] = part[half / 2].time_ns;
        int64_t residual = residual_of(aligner, &halves[i], part, half);
        scatter = residual > scatter ? residual : scatter;
    }
    int64_t change = halves[1].offset_ns - halves[0].offset_ns;
    int64_t size = change < 0 ? -change : change;
    if (times[1] <= times[0] || size < LEAST_DRIFT_NS || size / 4 < scatter)
        return;
    double drift = (double)change / (double)(times[1] - times[0]);
    if (fabs(drift) > MOST_DRIFT)
        return;
    clock->drift = drift;
    clock->pivot_ns = times[0] + (times[1] - times[0]) / 2;
    clock->offset_ns = halves[0].offset_ns + change / 2;
}

static void estimate(aligner *aligner, pyro_rank_clock *clock, const sample *samples, size_t count)
{
    int64_t least = INT64_MIN, most = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        least = samples[i].least_ns > least ? samples[i].least_ns : least;
        most = samples[i].most_ns < most ? samples[i].most_ns : most;
    }
    clock->samples = count;
    clock->offset_ns = median_difference(aligner, samples, count);
    clock->residual_ns = residual_of(aligner, clock, samples, count);
    if (count >= LEAST_FOR_DRIFT)
        find_drift(aligner, clock, samples, count);
    if (clock->drift != 0) {
        clock->residual_ns = residual_of(aligner, clock, samples, count);
        return;
    }
    bool has_bounds = least <= most;
    if (has_bounds && clock->offset_ns < least)
        clock->offset_ns = least;
    if (has_bounds && clock->offset_ns > most)
        clock->offset_ns = most;
    double doubt = 3 * (double)clock->residual_ns / sqrt((double)count);
    if (has_bounds && least <= 0 && most >= 0 && fabs((double)clock->offset_ns) <= doubt)
        clock->offset_ns = 0;
    clock->residual_ns = residual_of(aligner, clock, samples, count);
}

/* A member of the same host whose clock is known, or NULL. */
static const pyro_rank_member *host_mate(const aligner *aligner, uint32_t member)
{
    const pyro_rank_set *set = aligner->set;
    uint32_t host = set->members[member].part->host;
    for (uint32_t i = 0; host != PYRO_NO_ID && i < set->count; i++)
        if (aligner->is_known[i] && set->members[i].part->host == host)
            return &set->members[i];
    return NULL;
}

/* Takes over the clock of the host, unless the collectives contradict that. */
static bool adopt(aligner *aligner, pyro_rank_clock *clock, const pyro_rank_clock *host,
                  const sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t shift = pyro_rank_align(host, samples[i].time_ns) - samples[i].time_ns;
        if (shift < samples[i].least_ns - SAME_CLOCK_NS ||
            shift > samples[i].most_ns + SAME_CLOCK_NS)
            return false;
    }
    clock->offset_ns = host->offset_ns;
    clock->drift = host->drift;
    clock->pivot_ns = host->pivot_ns;
    clock->samples = count;
    clock->is_of_host = true;
    clock->residual_ns = residual_of(aligner, clock, samples, count);
    return true;
}

static bool take_samples(aligner *aligner, uint32_t component, uint32_t *queue, size_t *queued)
{
    pyro_rank_set *set = aligner->set;
    if (!pyro_grow(&aligner->values, &aligner->value_capacity, aligner->count + 1,
                   sizeof *aligner->values))
        return false;
    if (aligner->count)
        qsort(aligner->samples, aligner->count, sizeof *aligner->samples, by_member_and_time);
    for (size_t first = 0, next; first < aligner->count; first = next) {
        uint32_t member = aligner->samples[first].member;
        for (next = first; next < aligner->count && aligner->samples[next].member == member;)
            next++;
        set->members[member].clock.component = component;
        pyro_rank_clock *clock = &set->members[member].clock;
        const pyro_rank_member *mate = host_mate(aligner, member);
        if (!mate || mate->clock.component != component ||
            !adopt(aligner, clock, &mate->clock, aligner->samples + first, next - first))
            estimate(aligner, clock, aligner->samples + first, next - first);
        aligner->is_known[member] = true;
        queue[(*queued)++] = member;
    }
    return true;
}

/* Aligns all members that share a collective with a member whose clock is known. */
static bool align_around(aligner *aligner, uint32_t member, uint32_t component, uint32_t *queue,
                         size_t *queued)
{
    const pyro_rank_set *set = aligner->set;
    aligner->count = 0;
    for (size_t i = 0; i < set->lane_count; i++) {
        const pyro_rank_lane *lane = &set->lanes[i];
        size_t seat = 0;
        if (!lane->is_usable)
            continue;
        while (seat < lane->seat_count && set->seats[lane->first_seat + seat].member != member)
            seat++;
        if (seat < lane->seat_count && !add_samples(aligner, lane, seat))
            return false;
    }
    return take_samples(aligner, component, queue, queued);
}

bool pyro_rank_align_clocks(pyro_rank_set *set)
{
    aligner aligner = {.set = set};
    uint32_t *queue = pyro_arena_array(set->arena, set->count + 1, sizeof *queue);
    bool ok = true;
    aligner.is_known = pyro_arena_array(set->arena, set->count + 1, sizeof *aligner.is_known);
    if (!queue || !aligner.is_known)
        return false;
    size_t known = 0;
    for (uint32_t root = 0; root < set->count && ok; root++) {
        size_t queued = 0;
        if (aligner.is_known[root])
            continue;
        aligner.is_known[root] = true;
        set->members[root].clock = (pyro_rank_clock){.residual_ns = -1, .component = root};
        queue[queued++] = root;
        known++;
        /* All clocks are known: done. */
        for (size_t i = 0; i < queued && ok && known < set->count; i++) {
            size_t before = queued;
            ok = align_around(&aligner, queue[i], root, queue, &queued);
            known += queued - before;
        }
        if (queued > 1)
            set->members[root].clock.residual_ns = 0;
    }
    free(aligner.samples);
    free(aligner.values);
    return ok;
}
