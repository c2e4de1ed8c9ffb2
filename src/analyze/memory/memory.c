/*
 * Analyses memory: live bytes of each device over time, their peak, and growth from step to step.
 */
#include "analyze/memory/memory.h"
#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>

static int init_memory(void *data, pyro_analysis_context *context)
{
    pyro_memory_state *state = data;
    size_t count = context->category_count[PYRO_EVENT_MEMORY];
    state->events = pyro_arena_array(context->scratch, count, sizeof *state->events);
    state->window_ends = pyro_arena_array(context->scratch, context->window_count, sizeof(int64_t));
    if (!state->events || !state->window_ends)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < context->boundary_count && context->windows_are_steps; i++) {
        if (context->boundaries[i].is_end)
            state->window_ends[state->window_end_count++] = context->boundaries[i].time_ns;
    }
    return PYRO_OK;
}

static const char *name_device(pyro_analysis_context *context, const pyro_memory_detail *detail)
{
    /* torch's c10::DeviceType */
    static const char *const types[] = {"cpu", "cuda", "mkldnn",       "opengl", "opencl", "ideep",
                                        "hip", "fpga", "maia",         "xla",    "vulkan", "metal",
                                        "xpu", "mps",  "meta",         "hpu",    "ve",     "lazy",
                                        "ipu", "mtia", "privateuseone"};
    int type = detail->device_type, index = detail->device_index;
    bool is_known = type >= 0 && (size_t)type < sizeof types / sizeof types[0];
    if (!is_known)
        return pyro_arena_format(context->arena, "device type %d:%d", type, index);
    if (type == 0 || index < 0)
        return types[type];
    return pyro_arena_format(context->arena, "%s:%d", types[type], index);
}

static pyro_memory_track *find_device(pyro_memory_state *state, pyro_analysis_context *context,
                                      const pyro_memory_detail *detail)
{
    int16_t number = detail->device_type == 0 ? 0 : detail->device_index;
    uint64_t key = (uint64_t)(uint16_t)detail->device_type << 16 | (uint16_t)number;
    uint32_t index = pyro_map_get(&state->by_device, key);
    if (index != PYRO_MAP_NONE)
        return &state->devices[index];
    index = (uint32_t)state->device_count;
    if (!pyro_grow(&state->devices, &state->device_capacity, state->device_count + 1,
                   sizeof *state->devices) ||
        !pyro_map_put(&state->by_device, key, index))
        return NULL;
    state->devices[index] = (pyro_memory_track){.row = {.peak_reserved_bytes = -1,
                                                        .growth_place = "",
                                                        .failed_bytes = -1,
                                                        .failed_live_bytes = -1},
                                                .first_end_ns = INT64_MAX};
    state->devices[index].row.device = name_device(context, detail);
    if (!state->devices[index].row.device)
        return NULL;
    state->device_count++;
    return &state->devices[index];
}

/* Samples the live bytes at the ends of finished steps. */
static void sample_ends(pyro_memory_state *state, pyro_memory_track *device, int64_t time_ns)
{
    const int64_t *ends = state->window_ends;
    size_t low = device->next_end, high = state->window_end_count;
    if (low == high || ends[low] > time_ns)
        return;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ends[middle] <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t passed = (int64_t)(low - device->next_end);
    device->next_end = low;
    if (!device->events)
        return; /* nothing is known of the time before the first event */
    if (!device->samples) {
        device->first_sample_bytes = device->live_bytes;
        device->first_end_ns = ends[low - 1];
    } else {
        device->growths += device->live_bytes > device->last_sample_bytes;
        device->last_end_ns = ends[low - 1];
    }
    device->last_sample_bytes = device->live_bytes;
    device->samples += passed;
}

/* A level that was reached before the time looked at counts as the one it begins with. */
static void update_peak(pyro_memory_state *state, pyro_memory_track *device,
                        const pyro_analysis_context *context, const pyro_memory_detail *detail,
                        int64_t time_ns)
{
    int64_t start = context->result->start_ns, end = start + context->result->span_ns;
    bool is_asked = context->options->step >= 0;
    bool is_before = is_asked && time_ns < start;
    if (is_asked && time_ns >= end)
        return;
    pyro_memory_device *row = &device->row;
    if (is_before || !device->events || device->live_bytes > row->peak_bytes) {
        row->peak_bytes = device->live_bytes;
        row->peak_time_ns = is_before ? start : time_ns;
        device->peak = state->count;
    }
    if (is_before || detail->total_reserved > row->peak_reserved_bytes)
        row->peak_reserved_bytes = detail->total_reserved;
}

/* What was live then is what a user asks for; a later failure replaces an earlier one. */
static int note_failure(pyro_memory_state *state, pyro_analysis_context *context,
                        const pyro_memory_detail *detail)
{
    pyro_memory_track *device = find_device(state, context, detail);
    if (!device)
        return pyro_fail_memory(context->error);
    state->out_of_memory++;
    int64_t bytes = detail->bytes;
    if (bytes == INT64_MIN || bytes > PYRO_MEMORY_LARGEST_BYTES)
        return PYRO_OK;
    device->row.failed_bytes = bytes < 0 ? -bytes : bytes;
    device->row.failed_live_bytes = detail->total_allocated > device->live_bytes &&
                                            detail->total_allocated <= PYRO_MEMORY_LARGEST_BYTES
                                        ? detail->total_allocated
                                        : device->live_bytes;
    device->failed_at = state->count;
    return PYRO_OK;
}

static int add_event(void *data, pyro_analysis_context *context, uint32_t event)
{
    pyro_memory_state *state = data;
    const pyro_trace *trace = context->trace;
    uint32_t index = trace->detail[event];
    const pyro_memory_detail *detail = index == PYRO_NO_ID ? NULL : &trace->memory[index];
    if (detail && detail->out_of_memory)
        return note_failure(state, context, detail);
    if (!detail || !detail->bytes || detail->bytes > PYRO_MEMORY_LARGEST_BYTES ||
        detail->bytes < -PYRO_MEMORY_LARGEST_BYTES ||
        detail->total_allocated > PYRO_MEMORY_LARGEST_BYTES)
        return PYRO_OK;
    pyro_memory_track *device = find_device(state, context, detail);
    if (!device)
        return pyro_fail_memory(context->error);
    int64_t time = trace->start_ns[event];
    sample_ends(state, device, time);
    device->live_bytes = pyro_memory_after(device->live_bytes, detail);
    if (device->live_bytes < device->lowest_bytes)
        device->lowest_bytes = device->live_bytes;
    update_peak(state, device, context, detail, time);
    bool is_in_step = pyro_context_in_step(context, time);
    device->points += is_in_step;
    if (is_in_step && !detail->is_held) {
        device->row.allocations += detail->bytes > 0;
        device->row.frees += detail->bytes < 0;
        if (detail->bytes > 0 && device->row.allocated_bytes <= INT64_MAX - detail->bytes)
            device->row.allocated_bytes += detail->bytes;
    }
    device->events++;
    state->events[state->count++] = (pyro_memory_event){
        .event = event, .device = (uint32_t)(device - state->devices)};
    return PYRO_OK;
}

static void finish_growth(pyro_memory_state *state, pyro_memory_track *device)
{
    sample_ends(state, device, INT64_MAX);
    /* Two steps make one difference, and the first step often allocates what then stays. */
    if (device->samples < 3)
        return;
    int64_t growth = device->last_sample_bytes - device->first_sample_bytes;
    device->row.growth_bytes_per_step = growth > 0 ? growth / (device->samples - 1) : 0;
    device->row.growth_confidence = (double)device->growths / (double)(device->samples - 1);
}

static int finish_memory(void *data, pyro_analysis_context *context)
{
    pyro_memory_state *state = data;
    pyro_memory_device *rows = pyro_arena_array(context->arena, state->device_count, sizeof *rows);
    if (!rows)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < state->device_count; i++) {
        finish_growth(state, &state->devices[i]);
        state->devices[i].row.peak_bytes -= state->devices[i].lowest_bytes;
        if (state->devices[i].row.failed_bytes >= 0)
            state->devices[i].row.failed_live_bytes -= state->devices[i].lowest_bytes;
    }
    int status = pyro_memory_make_curves(state, context);
    if (status == PYRO_OK)
        status = pyro_memory_find_holders(state, context);
    if (status == PYRO_OK && state->out_of_memory)
        status = pyro_context_note(context, "memory ran out %lld time%s",
                                   (long long)state->out_of_memory,
                                   state->out_of_memory == 1 ? "" : "s");
    for (size_t i = 0; i < state->device_count; i++)
        rows[i] = state->devices[i].row;
    context->result->memory = rows;
    context->result->memory_count = state->device_count;
    return status;
}

static void clear_memory(void *data)
{
    pyro_memory_state *state = data;
    pyro_map_free(&state->by_device);
    free(state->devices);
}

const pyro_analyzer pyro_analyze_memory = {
    .name = "memory",
    .state_size = sizeof(pyro_memory_state),
    .init = init_memory,
    .event = add_event,
    .finish = finish_memory,
    .clear = clear_memory,
    .categories = 1u << PYRO_EVENT_MEMORY,
    .whole_trace = true,
};
