/* Lays the events of a trace out in rows, and merges what is too short to be kept. */
#include "analyze/timeline.h"

#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Rows of a track. What nests deeper shares the last one, so its slices may overlap there. */
enum { MAX_ROWS = 64 };
/* In `slice_of`, of an event that is not to be shown. */
#define HIDDEN (PYRO_NO_SLICE - 1)

/* Ends of the last slice in each row of a track. */
typedef struct track_rows {
    int64_t end_ns[MAX_ROWS];
    unsigned used;
} track_rows;

typedef struct layout {
    pyro_timeline *timeline;
    const pyro_trace *trace;
    const pyro_joins *joins;
    int64_t from_ns, to_ns; /* on the trace's clock */
    track_rows *tracks;
    uint32_t *slice_of; /* by event; PYRO_NO_SLICE or HIDDEN */
} layout;

/* Ranges on a device repeat what its work says, and the profiler's own span holds everything. */
static bool is_shown(const pyro_trace *trace, uint32_t event)
{
    uint8_t category = trace->category[event];

    if (category == PYRO_EVENT_MEMORY || category == PYRO_EVENT_SYNC ||
        category == PYRO_EVENT_DEVICE_ANNOTATION)
        return false;
    return category != PYRO_EVENT_OTHER ||
           strncmp(pyro_event_name(trace, event), "PyTorch Profiler", 16) != 0;
}

/* Steps have a row of their own; they need not nest in the frames of Python. */
static void hide_steps(layout *layout)
{
    for (size_t i = 0; i < layout->joins->step_count; i++) {
        if (layout->joins->steps[i].event != PYRO_NO_EVENT)
            layout->slice_of[layout->joins->steps[i].event] = HIDDEN;
    }
}

/* A row that is free from `start_ns` on. Nested host events keep below what encloses them. */
static uint8_t take_row(track_rows *rows, int64_t start_ns, int64_t end_ns, bool nested)
{
    unsigned row = 0;

    if (nested) {
        for (row = rows->used; row > 0 && rows->end_ns[row - 1] <= start_ns;)
            row--;
    } else {
        while (row < rows->used && rows->end_ns[row] > start_ns)
            row++;
    }
    if (row >= MAX_ROWS)
        row = MAX_ROWS - 1;
    if (nested || row >= rows->used)
        rows->used = row + 1;
    rows->end_ns[row] = end_ns;
    return (uint8_t)row;
}

static bool in_range(const layout *layout, uint32_t event)
{
    return layout->trace->start_ns[event] < layout->to_ns &&
           pyro_event_end_ns(layout->trace, event) >= layout->from_ns;
}

static void add_slice(layout *layout, uint32_t event)
{
    const pyro_trace *trace = layout->trace;
    pyro_timeline *timeline = layout->timeline;
    uint16_t track = trace->track[event];
    uint32_t call = layout->joins->call[event];
    uint8_t category = trace->category[event];

    timeline->slices[timeline->count] = (pyro_slice){
        .start_ns = trace->start_ns[event] - timeline->start_ns,
        .duration_ns = trace->duration_ns[event],
        .name = trace->name[event],
        .layer = call != PYRO_NO_LAYER ? layout->joins->calls[call].layer : PYRO_NO_LAYER,
        .launch = event, /* replaced once slices have their places */
        .events = 1,
        .track = track,
        .row = take_row(&layout->tracks[track], trace->start_ns[event],
                        pyro_event_end_ns(trace, event), pyro_event_is_host(category)),
        .category = category,
        .phase = layout->joins->phase[event],
    };
    timeline->count++;
}

static int by_place(const void *a, const void *b)
{
    const pyro_slice *left = a, *right = b;

    if (left->track != right->track)
        return left->track < right->track ? -1 : 1;
    if (left->row != right->row)
        return left->row < right->row ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return 0;
}

/* The duration from which on at most `wanted` slices remain: a power of two. */
static int64_t shortest_kept(const pyro_timeline *timeline, size_t wanted)
{
    size_t longer[64] = {0}, sum = 0;
    int bit;

    for (size_t i = 0; i < timeline->count; i++) {
        uint64_t duration = (uint64_t)timeline->slices[i].duration_ns | 1;
        longer[63 - __builtin_clzll(duration)]++;
    }
    for (bit = 63; bit > 0; bit--) {
        if (sum + longer[bit] > wanted)
            break;
        sum += longer[bit];
    }
    return (int64_t)1 << (bit < 62 ? bit + 1 : 62);
}

/* What is merged: slices shorter than this, unless the gap between two is longer. */
typedef struct merging {
    int64_t below_ns, gap_ns;
} merging;

/* Whether a short slice continues the merged one before it. */
static bool continues(const pyro_slice *merged, const pyro_slice *next, int64_t gap_ns)
{
    return merged->name == PYRO_NO_ID && merged->track == next->track && merged->row == next->row &&
           next->start_ns - (merged->start_ns + merged->duration_ns) < gap_ns;
}

static void extend(pyro_slice *merged, const pyro_slice *slice)
{
    int64_t end_ns = slice->start_ns + slice->duration_ns;
    int64_t merged_end_ns = merged->start_ns + merged->duration_ns;

    merged->duration_ns = (end_ns > merged_end_ns ? end_ns : merged_end_ns) - merged->start_ns;
    merged->events += slice->events;
}

/* Joins short slices that lie close together into stretches without a name. */
static void merge_short(pyro_timeline *timeline, merging rule)
{
    size_t kept = 0;

    for (size_t i = 0; i < timeline->count; i++) {
        pyro_slice *slice = &timeline->slices[i];
        bool is_short = slice->name == PYRO_NO_ID || slice->duration_ns < rule.below_ns;

        if (is_short && kept > 0 && continues(&timeline->slices[kept - 1], slice, rule.gap_ns)) {
            extend(&timeline->slices[kept - 1], slice);
            continue;
        }
        if (is_short) {
            slice->name = PYRO_NO_ID;
            slice->layer = PYRO_NO_LAYER;
        }
        timeline->slices[kept++] = *slice;
    }
    timeline->count = kept;
}

/* Keeps the longest slices, up to half of the limit. Stretches take the rest: the gaps in them grow
 * until they are few enough. */
static void limit_slices(pyro_timeline *timeline, size_t max_slices)
{
    if (max_slices == 0 || timeline->count <= max_slices)
        return;
    merging rule = {.below_ns = shortest_kept(timeline, max_slices / 2)};

    rule.gap_ns = rule.below_ns;
    timeline->merged_below_ns = rule.below_ns;
    do {
        merge_short(timeline, rule);
        rule.gap_ns *= 4;
    } while (timeline->count > max_slices && rule.gap_ns <= timeline->span_ns * 4);
    for (size_t i = 0; i < timeline->count; i++) {
        if (timeline->slices[i].name == PYRO_NO_ID)
            timeline->merged_events += timeline->slices[i].events;
    }
}

/* Replaces the event that each slice still holds in `launch` by the slice of its launch. */
static void find_launches(layout *layout)
{
    pyro_timeline *timeline = layout->timeline;

    for (size_t i = 0; i < timeline->count; i++) {
        if (timeline->slices[i].name != PYRO_NO_ID)
            layout->slice_of[timeline->slices[i].launch] = (uint32_t)i;
    }
    for (size_t i = 0; i < timeline->count; i++) {
        pyro_slice *slice = &timeline->slices[i];
        uint32_t launch = slice->name != PYRO_NO_ID && pyro_event_is_device_work(slice->category)
                              ? layout->joins->launch[slice->launch]
                              : PYRO_NO_EVENT;

        slice->launch = launch != PYRO_NO_EVENT ? layout->slice_of[launch] : PYRO_NO_SLICE;
    }
}

static bool list_rows(pyro_timeline *timeline)
{
    size_t capacity = 0;

    for (size_t i = 0; i < timeline->count; i++) {
        const pyro_slice *slice = &timeline->slices[i];
        pyro_slice_row *last = timeline->row_count > 0 ? &timeline->rows[timeline->row_count - 1]
                                                       : NULL;

        if (last && last->track == slice->track && last->row == slice->row) {
            last->count++;
            continue;
        }
        if (!pyro_grow(&timeline->rows, &capacity, timeline->row_count + 1, sizeof *timeline->rows))
            return false;
        timeline->rows[timeline->row_count++] = (pyro_slice_row){slice->track, slice->row,
                                                                 (uint32_t)i, 1};
    }
    return true;
}

/* The range of all shown events. */
static void find_span(layout *layout)
{
    const pyro_trace *trace = layout->trace;
    int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;

    for (uint32_t event = 0; event < trace->count; event++) {
        int64_t event_end_ns = pyro_event_end_ns(trace, event);
        if (!is_shown(trace, event))
            continue;
        start_ns = trace->start_ns[event] < start_ns ? trace->start_ns[event] : start_ns;
        end_ns = event_end_ns > end_ns ? event_end_ns : end_ns;
    }
    layout->timeline->start_ns = start_ns <= end_ns ? start_ns : 0;
    layout->timeline->span_ns = start_ns <= end_ns ? end_ns - start_ns : 0;
}

static void lay_out(layout *layout, const pyro_timeline_options *options)
{
    pyro_timeline *timeline = layout->timeline;

    find_span(layout);
    hide_steps(layout);
    layout->from_ns = timeline->start_ns + options->from_ns;
    layout->to_ns = options->to_ns > 0 ? timeline->start_ns + options->to_ns : INT64_MAX;
    for (size_t i = 0; i < layout->trace->count; i++) {
        uint32_t event = layout->joins->by_time[i];
        if (layout->slice_of[event] != HIDDEN && is_shown(layout->trace, event) &&
            in_range(layout, event))
            add_slice(layout, event);
    }
    qsort(timeline->slices, timeline->count, sizeof *timeline->slices, by_place);
    limit_slices(timeline, options->max_slices);
    find_launches(layout);
}

int pyro_timeline_make(pyro_timeline *timeline, const pyro_trace *trace, const pyro_joins *joins,
                       const pyro_timeline_options *options, pyro_error *error)
{
    layout layout = {.timeline = timeline, .trace = trace, .joins = joins};
    bool good;

    memset(timeline, 0, sizeof *timeline);
    timeline->slices = malloc((trace->count + 1) * sizeof *timeline->slices);
    layout.tracks = calloc(trace->track_count + 1, sizeof *layout.tracks);
    layout.slice_of = malloc((trace->count + 1) * sizeof *layout.slice_of);
    good = timeline->slices && layout.tracks && layout.slice_of;
    if (good) {
        memset(layout.slice_of, 0xff, (trace->count + 1) * sizeof *layout.slice_of);
        lay_out(&layout, options);
        good = list_rows(timeline);
    }
    free(layout.tracks);
    free(layout.slice_of);
    if (!good) {
        pyro_timeline_free(timeline);
        return pyro_fail_memory(error);
    }
    return PYRO_OK;
}

void pyro_timeline_free(pyro_timeline *timeline)
{
    free(timeline->slices);
    free(timeline->rows);
    memset(timeline, 0, sizeof *timeline);
}
