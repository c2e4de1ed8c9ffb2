/* Makes curves of at most 2000 points, and finds which ops and layers hold the memory at the peak, or
 * where an allocation failed. */
#include "analyze/memory/memory.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define MOST_POINTS 2000
/* Each part of a long curve keeps its lowest, highest and last point. */
#define POINTS_PER_PART 3
#define FREED (PYRO_MAP_NONE - 1)

/* A curve while it is made. */
typedef struct curve {
    pyro_memory_point *points;
    size_t count;
    size_t events_per_part, in_part;
    pyro_memory_point lowest, highest, last;
    int64_t live_bytes;
} curve;

static void end_part(curve *curve)
{
    bool lowest_first = curve->lowest.time_ns <= curve->highest.time_ns;
    curve->points[curve->count++] = lowest_first ? curve->lowest : curve->highest;
    curve->points[curve->count++] = lowest_first ? curve->highest : curve->lowest;
    curve->points[curve->count++] = curve->last;
    curve->in_part = 0;
}

static void add_point(curve *curve, pyro_memory_point point)
{
    if (curve->events_per_part == 1) {
        curve->points[curve->count++] = point;
        return;
    }
    if (!curve->in_part || point.allocated_bytes < curve->lowest.allocated_bytes)
        curve->lowest = point;
    if (!curve->in_part || point.allocated_bytes > curve->highest.allocated_bytes)
        curve->highest = point;
    curve->last = point;
    if (++curve->in_part == curve->events_per_part)
        end_part(curve);
}

static int begin_curve(curve *curve, pyro_memory_track *device, pyro_arena *arena)
{
    size_t parts = MOST_POINTS / POINTS_PER_PART - 1;
    curve->events_per_part = device->points <= MOST_POINTS ? 1 : device->points / parts + 1;
    size_t room = device->points <= MOST_POINTS ? device->points : MOST_POINTS;
    curve->points = pyro_arena_array(arena, room, sizeof *curve->points);
    return curve->points ? PYRO_OK : PYRO_ERROR_MEMORY;
}

static void end_curve(curve *curve, pyro_memory_track *device)
{
    if (curve->in_part)
        end_part(curve);
    device->row.curve = curve->points;
    device->row.curve_count = curve->count;
}

int pyro_memory_make_curves(pyro_memory_state *state, pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    curve *curves = pyro_arena_array(context->scratch, state->device_count, sizeof *curves);
    if (!curves)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < state->device_count; i++) {
        if (begin_curve(&curves[i], &state->devices[i], context->arena) != PYRO_OK)
            return pyro_fail_memory(context->error);
    }
    for (size_t i = 0; i < state->count; i++) {
        const pyro_memory_event *entry = &state->events[i];
        const pyro_memory_detail *detail = &trace->memory[trace->detail[entry->event]];
        curve *curve = &curves[entry->device];
        int64_t time = trace->start_ns[entry->event];
        curve->live_bytes = pyro_memory_after(curve->live_bytes, detail);
        if (!pyro_context_in_step(context, time))
            continue;
        pyro_memory_point point = {.time_ns = time,
                                   .allocated_bytes = curve->live_bytes -
                                                      state->devices[entry->device].lowest_bytes,
                                   .reserved_bytes = detail->total_reserved};
        add_point(curve, point);
    }
    for (size_t i = 0; i < state->device_count; i++)
        end_curve(&curves[i], &state->devices[i]);
    return PYRO_OK;
}

/* Blocks of one device that a layer's op allocated and that live at that time. */
typedef struct holding {
    pyro_memory_holder row;
    uint32_t device;
    int64_t grown_bytes; /* allocated after the first step and never freed */
    uint32_t grown_event; /* one of these allocations */
} holding;

typedef struct holdings {
    pyro_map blocks; /* by device and address: index of the event that allocated it, or FREED */
    pyro_map by_key;
    holding *items;
    size_t count, capacity;
} holdings;

static holding *add_holding(holdings *all, uint64_t key, holding fresh)
{
    uint32_t index = pyro_map_get(&all->by_key, key);
    if (index != PYRO_MAP_NONE)
        return &all->items[index];
    index = (uint32_t)all->count;
    if (!pyro_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items) ||
        !pyro_map_put(&all->by_key, key, index))
        return NULL;
    all->items[all->count++] = fresh;
    return &all->items[index];
}

/* The recorder itself named the owner of a block from before the first event. */
static holding *find_held(holdings *all, const pyro_trace *trace, const pyro_memory_event *entry,
                          const pyro_memory_detail *detail)
{
    const uint64_t is_held = 1ull << 55;
    uint64_t layer = detail->holder_layer + UINT64_C(1), op = detail->holder_op + UINT64_C(1);
    holding fresh = {.row.layer = pyro_trace_text(trace, detail->holder_layer),
                     .row.op = pyro_trace_text(trace, detail->holder_op),
                     .device = entry->device};
    return add_holding(all, (uint64_t)entry->device << 56 ^ is_held ^ layer << 28 ^ op, fresh);
}

static holding *find_holding(holdings *all, const pyro_analysis_context *context,
                             const pyro_memory_event *entry)
{
    const pyro_joins *joins = context->joins;
    const pyro_memory_detail *detail =
        &context->trace->memory[context->trace->detail[entry->event]];
    if (detail->is_held)
        return find_held(all, context->trace, entry, detail);
    uint32_t op = joins->op[entry->event], call = joins->call[entry->event];
    uint64_t layer = call == PYRO_NO_LAYER ? 0 : joins->calls[call].layer + 1u;
    uint64_t name = op == PYRO_NO_EVENT ? 0 : context->trace->name[op] + 1u;
    /* devices are few, layers and names below 2^28 in any trace that fits in memory */
    uint64_t key = (uint64_t)entry->device << 56 ^ layer << 28 ^ name;
    holding fresh = {.row.layer = pyro_context_layer(context, entry->event),
                     .row.op = pyro_context_op(context, entry->event),
                     .device = entry->device};
    return add_holding(all, key, fresh);
}

/* Number of events until the time that is looked at. */
static size_t events_until(const pyro_memory_track *device)
{
    return device->row.failed_bytes >= 0 ? device->failed_at : device->peak + 1;
}

static int64_t live_then(const pyro_memory_track *device)
{
    return device->row.failed_bytes >= 0 ? device->row.failed_live_bytes : device->row.peak_bytes;
}

/* Whether a block is a part of what the memory grew by from step to step. */
static bool is_growth(const pyro_memory_track *device, int64_t time_ns, size_t freed)
{
    return freed == SIZE_MAX && device->row.growth_bytes_per_step > 0 &&
           time_ns >= device->first_end_ns && time_ns < device->last_end_ns;
}

/* Counts a block for its holder if it was allocated by then and freed later, or never. */
static bool count_block(holdings *all, const pyro_memory_state *state,
                        const pyro_analysis_context *context, size_t allocated, size_t freed)
{
    const pyro_memory_event *entry = &state->events[allocated];
    const pyro_memory_track *device = &state->devices[entry->device];
    size_t until = events_until(device);
    bool is_in_peak = allocated < until && freed >= until;
    bool has_grown = is_growth(device, context->trace->start_ns[entry->event], freed);
    if (!is_in_peak && !has_grown)
        return true;
    int64_t bytes = context->trace->memory[context->trace->detail[entry->event]].bytes;
    holding *holding = find_holding(all, context, entry);
    if (!holding)
        return false;
    holding->row.bytes += is_in_peak ? bytes : 0;
    holding->row.blocks += is_in_peak;
    holding->grown_bytes += has_grown ? bytes : 0;
    holding->grown_event = has_grown ? entry->event : holding->grown_event;
    return true;
}

/* The key of a block: its address, or its size in traces without addresses (2021). */
static uint64_t block_key(const pyro_memory_event *entry, const pyro_memory_detail *detail)
{
    uint64_t device = (uint64_t)entry->device << 56;
    if (detail->address)
        return (uint64_t)detail->address ^ device;
    return (uint64_t)(detail->bytes < 0 ? -detail->bytes : detail->bytes) ^ device ^ 1ull << 63;
}

/* Of blocks without an address the last one is freed first, as temporaries and gradients are. */
static bool follow_block(holdings *all, const pyro_memory_state *state,
                         const pyro_analysis_context *context, size_t index)
{
    pyro_memory_event *entry = &state->events[index];
    const pyro_memory_detail *detail =
        &context->trace->memory[context->trace->detail[entry->event]];
    uint64_t key = block_key(entry, detail);
    uint32_t held = pyro_map_get(&all->blocks, key);
    bool is_held = held != PYRO_MAP_NONE && held != FREED;
    entry->below = FREED;
    if (detail->bytes < 0) {
        if (!is_held)
            return true;
        return count_block(all, state, context, held, index) &&
               pyro_map_put(&all->blocks, key, state->events[held].below);
    }
    /* An address that is given out again was freed, whether the trace holds that or not. */
    if (is_held && detail->address && !count_block(all, state, context, held, index))
        return false;
    if (is_held && !detail->address)
        entry->below = held;
    return pyro_map_put(&all->blocks, key, (uint32_t)index);
}

static bool follow_blocks(holdings *all, const pyro_memory_state *state,
                          const pyro_analysis_context *context)
{
    for (size_t i = 0; i < state->count; i++) {
        if (!follow_block(all, state, context, i))
            return false;
    }
    for (size_t i = 0; i < all->blocks.capacity; i++) {
        uint32_t held = all->blocks.slots[i].value;
        for (; held != PYRO_MAP_NONE && held != FREED; held = state->events[held].below) {
            if (!count_block(all, state, context, held, SIZE_MAX))
                return false;
        }
    }
    return true;
}

static int compare_holdings(const void *a, const void *b)
{
    const holding *left = a, *right = b;
    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    if (left->row.bytes != right->row.bytes)
        return left->row.bytes < right->row.bytes ? 1 : -1;
    int order = strcmp(left->row.layer, right->row.layer);
    return order ? order : strcmp(left->row.op, right->row.op);
}

/* Bytes that no event explains were allocated before the trace; a negative rest was freed unseen.
 * */
static bool add_rest(holdings *all, const pyro_memory_state *state)
{
    size_t counted = all->count;
    int64_t *held = calloc(state->device_count ? state->device_count : 1, sizeof *held);
    bool is_fine = held != NULL;
    for (size_t i = 0; is_fine && i < counted; i++)
        held[all->items[i].device] += all->items[i].row.bytes;
    for (size_t i = 0; is_fine && i < state->device_count; i++) {
        int64_t rest = live_then(&state->devices[i]) - held[i];
        if (rest == 0)
            continue;
        is_fine = pyro_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items);
        if (is_fine)
            all->items[all->count++] = (holding){
                .row = {.layer = "",
                        .op = rest > 0 ? "(before the trace)" : "(freed unseen)",
                        .bytes = rest},
                .device = (uint32_t)i};
    }
    free(held);
    return is_fine;
}

/* Where most of the growth of each device was allocated. */
static bool name_growth(const holdings *all, pyro_memory_state *state,
                        pyro_analysis_context *context)
{
    for (size_t i = 0; i < state->device_count; i++) {
        const holding *most = NULL;
        for (size_t k = 0; k < all->count; k++)
            if (all->items[k].device == i && all->items[k].grown_bytes > 0 &&
                (!most || all->items[k].grown_bytes > most->grown_bytes))
                most = &all->items[k];
        if (!most)
            continue;
        const char *line = pyro_context_line(context, most->grown_event);
        if (!line)
            return false;
        state->devices[i].row.growth_place = line[0]              ? line
                                             : most->row.layer[0] ? most->row.layer
                                                                  : most->row.op;
    }
    return true;
}

static int compare_owners(const void *a, const void *b)
{
    const holding *left = a, *right = b;
    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    int order = strcmp(left->row.layer, right->row.layer);
    return order ? order : strcmp(left->row.op, right->row.op);
}

/* One row per layer and op, whether their blocks are from before the first event or not. */
static void merge_owners(holdings *all)
{
    size_t kept = 0;
    if (all->count)
        qsort(all->items, all->count, sizeof *all->items, compare_owners);
    for (size_t i = 0; i < all->count; i++) {
        if (kept > 0 && compare_owners(&all->items[kept - 1], &all->items[i]) == 0) {
            all->items[kept - 1].row.bytes += all->items[i].row.bytes;
            all->items[kept - 1].row.blocks += all->items[i].row.blocks;
        } else {
            all->items[kept++] = all->items[i];
        }
    }
    all->count = kept;
}

static bool hand_out(holdings *all, pyro_memory_state *state, pyro_arena *arena)
{
    pyro_memory_holder *rows = pyro_arena_array(arena, all->count, sizeof *rows);
    if (!rows)
        return false;
    if (all->count)
        qsort(all->items, all->count, sizeof *all->items, compare_holdings);
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        pyro_memory_device *row = &state->devices[all->items[i].device].row;
        if (!all->items[i].row.bytes)
            continue; /* what grew after the peak alone */
        if (!row->holder_count++)
            row->holders = &rows[count];
        rows[count++] = all->items[i].row;
    }
    return true;
}

int pyro_memory_find_holders(pyro_memory_state *state, pyro_analysis_context *context)
{
    holdings all = {.blocks = PYRO_MAP_INIT, .by_key = PYRO_MAP_INIT};
    bool is_fine = follow_blocks(&all, state, context) && name_growth(&all, state, context) &&
                   add_rest(&all, state);
    if (is_fine)
        merge_owners(&all);
    is_fine = is_fine && hand_out(&all, state, context->arena);
    pyro_map_free(&all.blocks);
    pyro_map_free(&all.by_key);
    free(all.items);
    return is_fine ? PYRO_OK : pyro_fail_memory(context->error);
}
