/*
 * Chooses the parts of each rank. A profiler that records in cycles writes several files per rank,
 * one after the other in time: they become one part. A file that overlaps an earlier one of its
 * rank is another run, or a copy, and is skipped.
 */
#include "analyze/ranks/match.h"
#include "analyze/ranks/summarize.h"
#include "analyze/intervals.h"

#include <string.h>

static int64_t end_of(const pyro_rank_part *part)
{
    return pyro_rank_clamp(part->start_ns + part->span_ns);
}

static bool follows(const pyro_rank_part *earlier, const pyro_rank_part *later)
{
    return later->start_ns >= end_of(earlier) && later->on_device == earlier->on_device &&
           later->world_size == earlier->world_size;
}

/* Numbers the collectives of each kind, group and step again, in order of time. */
static bool number_again(pyro_rank_part *part)
{
    pyro_map counts = PYRO_MAP_INIT;
    bool ok = true;
    for (size_t i = 0; ok && i < part->collective_count; i++) {
        pyro_rank_collective *collective = &part->collectives[i];
        uint64_t key = (((uint64_t)collective->step + 1) & 0xFFFFF) << 44 |
                       ((uint64_t)collective->group & 0x3FFFFF) << 22 |
                       ((uint64_t)collective->kind & 0x3FFFFF);
        uint32_t count = pyro_map_get(&counts, key);
        collective->ordinal = count == PYRO_MAP_NONE ? 0 : count;
        ok = pyro_map_put(&counts, key, (uint32_t)collective->ordinal + 1);
    }
    pyro_map_free(&counts);
    return ok;
}

static void *join_rows(pyro_arena *arena, const void *left, size_t left_count, const void *right,
                       size_t right_count, size_t size)
{
    char *rows = pyro_arena_array(arena, left_count + right_count + 1, size);
    if (rows && left_count)
        memcpy(rows, left, left_count * size);
    if (rows && right_count)
        memcpy(rows + left_count * size, right, right_count * size);
    return rows;
}

static int64_t weigh(int64_t left, size_t left_steps, int64_t right, size_t right_steps)
{
    size_t steps = left_steps + right_steps;
    if (!steps)
        return left;
    return (int64_t)(((double)left * (double)left_steps + (double)right * (double)right_steps) /
                     (double)steps);
}

static uint64_t layer_key(const pyro_rank_layer *layer)
{
    return (uint64_t)layer->path << 8 | (uint64_t)(layer->phase & 0xFF);
}

/* Times of layers are per step; the ops are those of the first file. */
static bool join_layers(pyro_rank_part *whole, const pyro_rank_part *later)
{
    pyro_map by_key = PYRO_MAP_INIT;
    bool ok = true;
    for (size_t i = 0; ok && i < later->layer_count; i++)
        ok = pyro_map_put(&by_key, layer_key(&later->layers[i]), (uint32_t)i);
    for (size_t i = 0; ok && i < whole->layer_count; i++) {
        pyro_rank_layer *layer = &whole->layers[i];
        uint32_t found = pyro_map_get(&by_key, layer_key(layer));
        if (found == PYRO_MAP_NONE)
            continue;
        layer->host_ns = weigh(layer->host_ns, whole->step_count, later->layers[found].host_ns,
                               later->step_count);
        layer->device_ns = weigh(layer->device_ns, whole->step_count,
                                 later->layers[found].device_ns, later->step_count);
    }
    pyro_map_free(&by_key);
    return ok;
}

static void join_totals(pyro_rank_part *whole, const pyro_rank_part *later)
{
    whole->span_ns = pyro_rank_clamp(end_of(later) - whole->start_ns);
    whole->events += later->events;
    whole->warnings += later->warnings;
    whole->left_out += later->left_out;
    if (later->memory_peak_bytes > whole->memory_peak_bytes)
        whole->memory_peak_bytes = later->memory_peak_bytes;
    if (whole->flops >= 0 && later->flops >= 0)
        whole->flops = pyro_add_ns(whole->flops, later->flops);
}

/* `whole` with a later part behind it; NULL when memory is out. */
static const pyro_rank_part *join_parts(pyro_arena *arena, const pyro_rank_part *whole,
                                        const pyro_rank_part *later)
{
    pyro_rank_part *joined = pyro_arena_array(arena, 1, sizeof *joined);
    if (!joined)
        return NULL;
    *joined = *whole;
    joined->layers = join_rows(arena, whole->layers, whole->layer_count, NULL, 0,
                               sizeof *whole->layers);
    joined->steps = join_rows(arena, whole->steps, whole->step_count, later->steps,
                              later->step_count, sizeof *whole->steps);
    joined->collectives = join_rows(arena, whole->collectives, whole->collective_count,
                                    later->collectives, later->collective_count,
                                    sizeof *whole->collectives);
    if (!joined->layers || !joined->steps || !joined->collectives || !join_layers(joined, later))
        return NULL;
    joined->step_count += later->step_count;
    joined->collective_count += later->collective_count;
    join_totals(joined, later);
    return number_again(joined) ? joined : NULL;
}

bool pyro_rank_choose_parts(pyro_rank_set *set, pyro_rank_skipped *skipped)
{
    const pyro_rank_summary *summary = set->summary;
    set->members = pyro_arena_array(set->arena, summary->count + 1, sizeof *set->members);
    if (!set->members)
        return false;
    for (size_t i = 0; i < summary->count; i++) {
        const pyro_rank_part *part = &summary->parts[i];
        pyro_rank_member *last = set->count ? &set->members[set->count - 1] : NULL;
        if (part->rank < 0 || !last || last->part->rank != part->rank) {
            set->members[set->count].files = 1;
            set->members[set->count++].part = part;
        } else if (follows(last->part, part)) {
            last->part = join_parts(set->arena, last->part, part);
            last->files++;
            if (!last->part)
                return false;
        } else {
            skipped->example = skipped->count++ ? skipped->example : part;
        }
    }
    return true;
}
