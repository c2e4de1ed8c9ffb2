/* Piecewise linear map through the latest pairs; differences are exact integers. */
#include "device/clock_map.h"

#include <string.h>

#define READINGS 20
/* Pairs that are closer than this give no rate: the error of a reading would dominate. */
#define SHORTEST_BASE 10000000
/* A pair that lies further off the line than this share of the time since the last one: a jump. */
#define LARGEST_SHARE 8

bool pyro_clock_map_read(pyro_clock_map *map, uint64_t (*now)(void), pyro_clock_read_fn read,
                         void *user)
{
    pyro_clock_pair best = {.width = UINT64_MAX};
    for (int i = 0; i < READINGS; i++) {
        uint64_t device = 0, before = now();
        if (!read(user, &device))
            return false;
        uint64_t passed = now() - before;
        /* A coarse counter may not have moved: its tick counts too. */
        if (passed + 1 < best.width)
            best = (pyro_clock_pair){device, before + passed / 2, passed + 1};
    }
    pyro_clock_map_add(map, best);
    return true;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The time on the line through two pairs. */
static uint64_t on_line(const pyro_clock_pair *a, const pyro_clock_pair *b, uint64_t device)
{
    double rate = (double)(int64_t)(b->recorder - a->recorder) /
                  (double)(int64_t)(b->device - a->device);
    double offset = (double)(int64_t)(device - a->device) * rate;
    return a->recorder + (uint64_t)(int64_t)(offset + (offset < 0 ? -0.5 : 0.5));
}

/* Too close to the pair before: a longer base replaces it, unless the reading was disturbed. */
static bool replaces_last(const pyro_clock_map *map, const pyro_clock_pair *pair)
{
    return map->count > 1 && pair->device - map->pairs[map->count - 2].device < SHORTEST_BASE;
}

void pyro_clock_map_add(pyro_clock_map *map, pyro_clock_pair pair)
{
    uint64_t off = 0;
    if (map->count) {
        const pyro_clock_pair *last = &map->pairs[map->count - 1];
        bool went_back = pair.device <= last->device || pair.recorder <= last->recorder;
        if (!went_back && map->count > 1)
            off = distance(pyro_clock_map_time(map, pair.device), pair.recorder);
        /* The library replaced its clock, or somebody set it. */
        if (went_back || off > (pair.recorder - last->recorder) / LARGEST_SHARE + pair.width) {
            map->count = 0;
            map->widest = off = 0;
        }
    }
    if (replaces_last(map, &pair)) {
        if (pair.width > 4 * map->pairs[map->count - 1].width)
            return;
        map->count--;
    }
    if (map->count == PYRO_CLOCK_PAIRS) {
        memmove(map->pairs, map->pairs + 1, (PYRO_CLOCK_PAIRS - 1) * sizeof *map->pairs);
        map->count--;
    }
    map->pairs[map->count++] = pair;
    uint64_t error = (pair.width + 1) / 2 + off;
    map->widest = error > map->widest ? error : map->widest;
}

uint64_t pyro_clock_map_time(const pyro_clock_map *map, uint64_t device)
{
    if (map->is_recorder_clock || map->count == 0)
        return device;
    size_t i = map->count - 1;
    if (i == 0)
        return map->pairs[0].recorder + (device - map->pairs[0].device);
    while (i > 1 && device < map->pairs[i - 1].device)
        i--;
    return on_line(&map->pairs[i - 1], &map->pairs[i], device);
}

uint64_t pyro_clock_map_error(const pyro_clock_map *map)
{
    return map->is_recorder_clock ? 0 : map->widest;
}
