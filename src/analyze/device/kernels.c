/*
 * Analyses kernels by name: calls, time, the op that launches them most, how well they fill the
 * chip, and outliers.
 */
#include "analyze/analyze.h"
#include "analyze/device/kernel_category.h"
#include "analyze/device/kernel_names.h"
#include "analyze/quantile.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define OUTLIER_FACTOR 3
#define OUTLIER_LEAST_NS 10000

typedef struct kernel_row {
    uint32_t name;
    uint32_t op; /* most frequent so far; PYRO_NO_ID */
    uint32_t dims; /* of a call of that op; PYRO_NO_ID */
    uint32_t op_calls;
    uint8_t category; /* pyro_kernel_category of the first call */
    bool has_sources;   /* some differ */
    const char *source; /* of all calls; NULL */
    int64_t calls, total_ns, min_ns, max_ns;
    double occupancy_sum, occupancy_weight; /* of percent times ns, and of ns */
    double waves_sum;
    int64_t waves_calls;
} kernel_row;

/* What a multiprocessor of a device holds. */
typedef struct device_limits {
    const pyro_device *device; /* NULL: not found yet */
    int64_t shared_bytes, blocks;
    bool is_amd; /* then these are unknown */
} device_limits;

typedef struct kernels_state {
    pyro_kernel_sorter sorter;
    kernel_row *rows;
    size_t count, capacity;
    pyro_map by_name;
    pyro_map op_index; /* (row, name of an op) -> index of its count */
    uint32_t *op_calls;
    size_t op_count, op_capacity;
    uint32_t *row_of;      /* of each kernel, in the order they came */
    int64_t *duration_ns;
    size_t kernel_count;
    device_limits limits; /* of the last kernel's device */
} kernels_state;

static int init_kernels(void *data, pyro_analysis_context *context)
{
    kernels_state *state = data;
    size_t kernels = context->category_count[PYRO_EVENT_KERNEL];
    state->row_of = pyro_arena_array(context->scratch, kernels ? kernels : 1, sizeof(uint32_t));
    state->duration_ns = pyro_arena_array(context->scratch, kernels ? kernels : 1, sizeof(int64_t));
    bool is_ready = pyro_kernel_sorter_init(&state->sorter, context);
    return is_ready && state->row_of && state->duration_ns ? PYRO_OK
                                                           : pyro_fail_memory(context->error);
}

static kernel_row *find_row(kernels_state *state, uint32_t name)
{
    uint32_t index = pyro_map_get(&state->by_name, name);
    if (index != PYRO_MAP_NONE)
        return &state->rows[index];
    if (!pyro_grow(&state->rows, &state->capacity, state->count + 1, sizeof *state->rows) ||
        !pyro_map_put(&state->by_name, name, (uint32_t)state->count))
        return NULL;
    state->rows[state->count] = (kernel_row){
        .name = name, .op = PYRO_NO_ID, .dims = PYRO_NO_ID, .min_ns = INT64_MAX};
    return &state->rows[state->count++];
}

/* Counts the op that launched; the most frequent stays in the row. */
static bool count_op(kernels_state *state, kernel_row *row, uint32_t op_name, uint32_t dims)
{
    uint64_t key = (uint64_t)(row - state->rows) << 32 | op_name;
    uint32_t index = pyro_map_get(&state->op_index, key);
    if (index == PYRO_MAP_NONE) {
        index = (uint32_t)state->op_count;
        if (!pyro_grow(&state->op_calls, &state->op_capacity, state->op_count + 1,
                       sizeof *state->op_calls) ||
            !pyro_map_put(&state->op_index, key, index))
            return false;
        state->op_calls[state->op_count++] = 0;
    }
    if (++state->op_calls[index] > row->op_calls) {
        row->op_calls = state->op_calls[index];
        row->dims = row->op == op_name ? row->dims : dims;
        row->op = op_name;
    }
    return true;
}

static const pyro_device *device_of(const pyro_trace *trace, uint32_t event)
{
    int32_t id = trace->tracks[trace->track[event]].device;
    for (size_t i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == id)
            return &trace->devices[i];
    return trace->device_count ? &trace->devices[0] : NULL;
}

static bool is_amd(const pyro_trace *trace, const pyro_device *device)
{
    const char *name = pyro_trace_text(trace, device->name);
    return strstr(name, "AMD") || strstr(name, "Instinct") || strstr(name, "gfx");
}

/* Shared memory and most blocks of a multiprocessor, as NVIDIA's programming guide lists them. */
static device_limits find_limits(const pyro_trace *trace, const pyro_device *device)
{
    static const struct {
        int capability, shared_kib, blocks;
    } limits[] = {{60, 64, 32},   {61, 96, 32},   {70, 96, 32},  {72, 96, 32},  {75, 64, 16},
                  {80, 164, 32},  {86, 100, 16},  {87, 164, 16}, {89, 100, 24}, {90, 228, 32},
                  {100, 228, 32}, {103, 228, 32}, {120, 100, 24}};
    int64_t capability = pyro_device_capability(device);
    device_limits found = {device, 64 * 1024, 32, is_amd(trace, device)};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].capability <= capability) {
            found.shared_bytes = limits[i].shared_kib * INT64_C(1024);
            found.blocks = limits[i].blocks;
        }
    return found;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many blocks of a kernel one multiprocessor holds at a time. */
static int64_t resident_blocks(const device_limits *limits, const pyro_kernel_detail *kernel,
                               int64_t threads)
{
    enum { WARP = 32, REGISTERS = 65536, REGISTER_UNIT = 256 };
    int64_t warps = (threads + WARP - 1) / WARP;
    int64_t blocks = limits->device->max_threads_per_multiprocessor / (warps * WARP);
    if (limits->is_amd)
        return blocks > 0 ? blocks : 1;
    blocks = smaller(blocks, limits->blocks);
    if (kernel->registers) {
        int64_t a_warp = ((int64_t)kernel->registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT *
                         REGISTER_UNIT;
        blocks = smaller(blocks, REGISTERS / a_warp / warps);
    }
    if (kernel->shared_memory_bytes)
        blocks = smaller(blocks, limits->shared_bytes / kernel->shared_memory_bytes);
    return blocks > 0 ? blocks : 1;
}

/* How a kernel fills the chip; negative when unknown. */
typedef struct kernel_fill {
    double waves;             /* grid over what the whole chip holds at a time */
    double occupancy_percent; /* threads that a multiprocessor holds, of those that it could */
} kernel_fill;

static kernel_fill fill_of(kernels_state *state, const pyro_trace *trace, uint32_t event,
                           const pyro_kernel_detail *kernel)
{
    const pyro_device *device = device_of(trace, event);
    double grid = (double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
    double threads = (double)kernel->block[0] * kernel->block[1] * kernel->block[2];
    kernel_fill fill = {-1, kernel->occupancy_percent};
    if (!device || device->multiprocessors <= 0 || device->max_threads_per_multiprocessor <= 0 ||
        grid <= 0 || threads <= 0 || threads > 65536)
        return fill;
    if (state->limits.device != device)
        state->limits = find_limits(trace, device);
    double resident = (double)resident_blocks(&state->limits, kernel, (int64_t)threads);
    fill.waves = grid / ((double)device->multiprocessors * resident);
    /* Kineto writes its own estimate; recordings have none. */
    if (trace->is_recording && fill.occupancy_percent < 0)
        fill.occupancy_percent = (fill.waves < 1 ? fill.waves : 1) * resident * threads /
                                 (double)device->max_threads_per_multiprocessor * 100;
    return fill;
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    kernels_state *state = data;
    const pyro_trace *trace = context->trace;
    kernel_row *row = find_row(state, trace->name[event]);
    int64_t duration = trace->duration_ns[event];
    if (!row)
        return pyro_fail_memory(context->error);
    if (!row->calls)
        row->category = (uint8_t)pyro_kernel_sorter_find(&state->sorter, event);
    state->row_of[state->kernel_count] = (uint32_t)(row - state->rows);
    state->duration_ns[state->kernel_count++] = duration;
    row->calls++;
    row->total_ns += duration;
    row->min_ns = duration < row->min_ns ? duration : row->min_ns;
    row->max_ns = duration > row->max_ns ? duration : row->max_ns;
    const char *source = pyro_joins_source(context->joins, event);
    row->has_sources |= row->source && row->source != source; /* interned: equal if they are one */
    row->source = source;
    uint32_t op = context->joins->op[event];
    uint32_t detail = op == PYRO_NO_EVENT ? PYRO_NO_ID : trace->detail[op];
    uint32_t dims = detail == PYRO_NO_ID ? PYRO_NO_ID : trace->ops[detail].dims;
    if (op != PYRO_NO_EVENT && !count_op(state, row, trace->name[op], dims))
        return pyro_fail_memory(context->error);
    if (trace->detail[event] == PYRO_NO_ID)
        return PYRO_OK;
    const pyro_kernel_detail *kernel = &trace->kernels[trace->detail[event]];
    kernel_fill fill = fill_of(state, trace, event, kernel);
    if (fill.occupancy_percent >= 0) {
        row->occupancy_sum += fill.occupancy_percent * (double)duration;
        row->occupancy_weight += (double)duration;
    }
    if (fill.waves >= 0) {
        row->waves_sum += fill.waves;
        row->waves_calls++;
    }
    return PYRO_OK;
}

/* Durations grouped by row: the median of each, and the outliers above it. */
static int find_medians(const kernels_state *state, pyro_analysis_context *context,
                        int64_t *medians, int64_t *outliers)
{
    size_t *ends = pyro_arena_array(context->scratch, state->count + 1, sizeof *ends);
    int64_t *grouped = pyro_arena_array(context->scratch, state->kernel_count + 1, sizeof *grouped);
    if (!ends || !grouped)
        return pyro_fail_memory(context->error);
    for (size_t r = 0; r < state->count; r++)
        ends[r + 1] = ends[r] + (size_t)state->rows[r].calls;
    for (size_t k = 0; k < state->kernel_count; k++)
        grouped[ends[state->row_of[k]]++] = state->duration_ns[k];
    for (size_t r = 0; r < state->count; r++) {
        size_t count = (size_t)state->rows[r].calls;
        int64_t *durations = grouped + ends[r] - count;
        medians[r] = pyro_median(durations, count);
        for (size_t i = 0; i < count; i++)
            outliers[r] += durations[i] > OUTLIER_LEAST_NS &&
                           durations[i] / OUTLIER_FACTOR > medians[r];
    }
    return PYRO_OK;
}

static int compare_rows(const void *a, const void *b)
{
    const pyro_kernel_row *left = a, *right = b;
    if (left->total_ns != right->total_ns)
        return left->total_ns < right->total_ns ? 1 : -1;
    return strcmp(left->name, right->name);
}

static bool publish_row(pyro_analysis_context *context, const kernel_row *row, pyro_kernel_row *out)
{
    char short_name[PYRO_KERNEL_SHORT_NAME];
    const char *name = pyro_trace_text(context->trace, row->name);
    pyro_kernel_short_name(name, short_name);
    *out = (pyro_kernel_row){
        .name = name,
        .short_name = pyro_arena_text(context->arena, short_name, strlen(short_name)),
        .op = pyro_trace_text(context->trace, row->op),
        .shapes = pyro_trace_text(context->trace, row->dims),
        .category = pyro_kernel_category_name((pyro_kernel_category)row->category),
        .source = row->source && !row->has_sources ? row->source : "",
        .calls = row->calls,
        .total_ns = row->total_ns,
        .min_ns = row->min_ns,
        .max_ns = row->max_ns,
        .tensor_core = pyro_kernel_uses_tensor_cores(name),
        .occupancy_percent = row->occupancy_weight > 0 ? row->occupancy_sum / row->occupancy_weight
                                                       : -1,
        .waves = row->waves_calls ? row->waves_sum / (double)row->waves_calls : -1};
    return out->short_name != NULL;
}

static int finish_kernels(void *data, pyro_analysis_context *context)
{
    kernels_state *state = data;
    int64_t *medians = pyro_arena_array(context->scratch, state->count + 1, sizeof *medians);
    int64_t *outliers = pyro_arena_array(context->scratch, state->count + 1, sizeof *outliers);
    pyro_kernel_row *rows = pyro_arena_array(context->arena, state->count + 1, sizeof *rows);
    if (!medians || !outliers || !rows)
        return pyro_fail_memory(context->error);
    int status = find_medians(state, context, medians, outliers);
    size_t count = 0;
    for (size_t r = 0; r < state->count && status == PYRO_OK; r++) {
        if (!pyro_context_shows(context, pyro_trace_text(context->trace, state->rows[r].name)))
            continue;
        if (!publish_row(context, &state->rows[r], &rows[count]))
            return pyro_fail_memory(context->error);
        rows[count].median_ns = medians[r];
        rows[count++].outliers = outliers[r];
    }
    qsort(rows, count, sizeof *rows, compare_rows);
    context->result->kernels = rows;
    context->result->kernel_row_count = count;
    return status;
}

static void clear_kernels(void *data)
{
    kernels_state *state = data;
    pyro_kernel_sorter_free(&state->sorter);
    free(state->rows);
    free(state->op_calls);
    pyro_map_free(&state->by_name);
    pyro_map_free(&state->op_index);
}

const pyro_analyzer pyro_analyze_kernels = {
    .name = "kernels",
    .state_size = sizeof(kernels_state),
    .init = init_kernels,
    .event = add_event,
    .finish = finish_kernels,
    .clear = clear_kernels,
    .categories = 1u << PYRO_EVENT_KERNEL,
};
