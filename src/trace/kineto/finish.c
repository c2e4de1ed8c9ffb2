/* Finishes what needs the whole trace: wide ids, thread names, misdated events, warnings. */
#include "trace/kineto/window.h"

#include "base/error.h"
#include "base/parallel.h"
#include <stdlib.h>

/* Events further than this from the median are misdated, not part of a long run. */
#define FAR_NS (INT64_C(7) * 24 * 3600 * 1000000000)
#define SAMPLES 1025

/* Wide ids get numbers from the top down, equal ones the same. */
static bool number_wide_ids(pyro_trace *trace, const pyro_kineto_scanner *scanner)
{
    pyro_map numbers[2] = {PYRO_MAP_INIT, PYRO_MAP_INIT};
    uint32_t next[2] = {UINT32_MAX - 1, UINT32_MAX - 1};
    bool ok = true;
    for (size_t i = 0; i < scanner->wide_count && ok; i++) {
        const pyro_wide_id *wide = &scanner->wide_ids[i];
        int space = wide->kind == PYRO_WIDE_EXTERNAL;
        uint32_t number = pyro_map_get(&numbers[space], wide->id);
        if (number == PYRO_MAP_NONE) {
            number = next[space]--;
            ok = pyro_map_put(&numbers[space], wide->id, number);
        }
        if (wide->kind == PYRO_WIDE_CORRELATION)
            trace->correlation[wide->index] = number;
        else if (wide->kind == PYRO_WIDE_EXTERNAL)
            trace->external_id[wide->index] = number;
        else
            trace->flows[wide->index].id = number;
    }
    pyro_map_free(&numbers[0]);
    pyro_map_free(&numbers[1]);
    return ok;
}

/* Ignores names of threads that have no events. */
static void name_tracks(pyro_trace *trace, const pyro_kineto_scanner *scanner)
{
    for (size_t i = 0; i < scanner->thread_name_count; i++) {
        const pyro_thread_name *named = &scanner->thread_names[i];
        uint32_t track = pyro_trace_find_track(trace, &scanner->tracks, named->process,
                                               named->thread);
        if (track != PYRO_NO_ID)
            trace->tracks[track].name = named->name;
    }
}

/* "Stack": ["outer", "inner"] becomes "inner;outer", the form of "Call stack". */
static uint32_t join_frames(pyro_trace *trace, const char *list, pyro_buf *buf)
{
    size_t length = strlen(list), end = length;
    pyro_buf_reset(buf);
    while (end > 1) {
        /* Frames from the last to the first, each between unescaped quotes. */
        size_t last = end - 1;
        while (last > 0 && list[last] != '"')
            last--;
        size_t first = last;
        do
            first = first > 0 ? first - 1 : 0;
        while (first > 0 && (list[first] != '"' || list[first - 1] == '\\'));
        if (first == 0 || last <= first)
            break;
        if (buf->length)
            pyro_buf_addc(buf, ';');
        for (size_t at = first + 1; at < last; at++)
            pyro_buf_addc(buf, list[at] == ';' ? ' ' : list[at]);
        end = first;
    }
    return buf->failed ? PYRO_INTERN_NONE
                       : pyro_intern_add(&trace->names, buf->data ? buf->data : "", buf->length);
}

static bool join_stacks(pyro_trace *trace)
{
    pyro_map known = PYRO_MAP_INIT;
    pyro_buf buf = PYRO_BUF_INIT;
    bool ok = true;
    for (size_t i = 0; ok && trace->has_frame_lists && i < trace->op_count; i++) {
        uint32_t *stack = &trace->ops[i].stack;
        if (*stack == PYRO_NO_ID || pyro_trace_text(trace, *stack)[0] != '[')
            continue;
        uint32_t text = pyro_map_get(&known, *stack);
        if (text == PYRO_MAP_NONE) {
            text = join_frames(trace, pyro_trace_text(trace, *stack), &buf);
            ok = text != PYRO_INTERN_NONE && pyro_map_put(&known, *stack, text);
        }
        *stack = ok ? text : PYRO_NO_ID;
    }
    trace->has_frame_lists = known.count > 0;
    pyro_map_free(&known);
    pyro_buf_free(&buf);
    return ok;
}

static const pyro_device *device_of(const pyro_trace *trace, uint16_t track)
{
    for (size_t i = 0; i < trace->device_count; i++)
        if (trace->devices[i].id == trace->tracks[track].device)
            return &trace->devices[i];
    return NULL;
}

/* Blocks that fit on a multiprocessor, from {"activeBlocksPerMultiprocessor": 2, ...}; 0 unknown. */
static long active_blocks(const char *occupancy)
{
    static const char key[] = "\"activeBlocksPerMultiprocessor\"";
    const char *at = strstr(occupancy, key);
    at = at ? strchr(at + sizeof key - 1, ':') : NULL;
    long blocks = at ? strtol(at + 1, NULL, 10) : 0;
    return blocks > 0 && blocks <= UINT16_MAX ? blocks : 0;
}

/* Files with the occupancy object need not have the estimate that older ones have. */
static void estimate_occupancy(pyro_trace *trace)
{
    for (size_t i = pyro_trace_next(trace, 0, PYRO_EVENT_KERNEL); i < trace->count;
         i = pyro_trace_next(trace, i + 1, PYRO_EVENT_KERNEL)) {
        uint32_t detail = trace->detail[i];
        if (detail == PYRO_NO_ID)
            continue;
        pyro_kernel_detail *kernel = &trace->kernels[detail];
        const pyro_device *device = device_of(trace, trace->track[i]);
        if (kernel->occupancy == PYRO_NO_ID || kernel->occupancy_percent >= 0 || !device ||
            device->max_threads_per_multiprocessor <= 0)
            continue;
        double threads = (double)kernel->block[0] * kernel->block[1] * kernel->block[2] *
                         (double)active_blocks(pyro_trace_text(trace, kernel->occupancy));
        double percent = 100 * threads / (double)device->max_threads_per_multiprocessor;
        if (percent > 0)
            kernel->occupancy_percent = percent < 100 ? (float)percent : 100;
    }
}

static int compare_times(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The median start of evenly spaced events. */
static int64_t median_start(const pyro_trace *trace)
{
    int64_t samples[SAMPLES];
    size_t count = 0, step = trace->count / SAMPLES + 1;
    for (size_t event = 0; event < trace->count && count < SAMPLES; event += step)
        samples[count++] = trace->start_ns[event];
    qsort(samples, count, sizeof *samples, compare_times);
    return samples[count / 2];
}

static bool is_far(int64_t time_ns, int64_t median_ns)
{
    int64_t distance;
    return __builtin_sub_overflow(time_ns, median_ns, &distance) || distance > FAR_NS ||
           distance < -FAR_NS;
}

/* The earliest and latest start and the longest duration of each part of the events. */
typedef struct time_limits {
    const pyro_trace *trace;
    unsigned parts;
    int64_t first_ns[PYRO_MOST_WORKERS], last_ns[PYRO_MOST_WORKERS], longest_ns[PYRO_MOST_WORKERS];
} time_limits;

static void find_limits(void *data, unsigned part)
{
    time_limits *limits = data;
    const pyro_trace *trace = limits->trace;
    int64_t first = INT64_MAX, last = INT64_MIN, longest = 0;
    size_t end = pyro_part_begin(trace->count, part + 1, limits->parts);
    for (size_t event = pyro_part_begin(trace->count, part, limits->parts); event < end; event++) {
        int64_t start = trace->start_ns[event], duration = trace->duration_ns[event];
        first = start < first ? start : first;
        last = start > last ? start : last;
        longest = duration > longest ? duration : longest;
    }
    limits->first_ns[part] = first;
    limits->last_ns[part] = last;
    limits->longest_ns[part] = longest;
}

/* Whether all times are near the median: the usual case, in one quick pass. */
static bool has_only_near_times(const pyro_trace *trace, int64_t median_ns, int threads)
{
    enum { LEAST_EVENTS = 100000 }; /* with fewer events a thread costs more than it saves */
    time_limits limits = {.trace = trace};
    int64_t last = INT64_MIN, longest = 0;
    bool is_near = true;
    limits.parts = pyro_count_parts(threads, trace->count, LEAST_EVENTS);
    pyro_run_parts(find_limits, &limits, limits.parts);
    for (unsigned part = 0; part < limits.parts; part++) {
        is_near = is_near && !is_far(limits.first_ns[part], median_ns) &&
                  !is_far(limits.last_ns[part], median_ns);
        last = limits.last_ns[part] > last ? limits.last_ns[part] : last;
        longest = limits.longest_ns[part] > longest ? limits.longest_ns[part] : longest;
    }
    return is_near && longest <= FAR_NS && (last <= 0 || longest <= INT64_MAX - last);
}

/*
 * A single event dated 1970 or 2262, or one that never ends, would stretch the run over all that
 * time. After this, sums and differences of times do not overflow.
 */
static void move_far_events(pyro_trace *trace, pyro_kineto_defects *defects, int threads)
{
    if (!trace->count)
        return;
    int64_t median = median_start(trace), first = INT64_MAX, last = INT64_MIN;
    if (has_only_near_times(trace, median, threads))
        return;
    for (size_t event = 0; event < trace->count; event++) {
        int64_t start = trace->start_ns[event];
        if (is_far(start, median))
            continue;
        first = start < first ? start : first;
        last = start > last ? start : last;
    }
    for (size_t event = 0; event < trace->count; event++) {
        int64_t *start = &trace->start_ns[event], *duration = &trace->duration_ns[event];
        bool is_moved = is_far(*start, median);
        if (is_moved)
            *start = *start < median ? first : last;
        bool is_cut = *duration > FAR_NS || *duration > INT64_MAX - (*start > 0 ? *start : 0);
        if (is_cut)
            *duration = last - *start;
        defects->count[PYRO_DEFECT_FAR_TIME] += is_moved || is_cut;
    }
}

static bool warn_of_end(pyro_kineto_reader *reader)
{
    pyro_trace *trace = reader->trace;
    const pyro_error *failure = &reader->source_error;
    int64_t cut = reader->cut_at >= 0 ? reader->cut_at : pyro_kineto_offset(reader);
    if (reader->window.status != PYRO_OK)
        return pyro_trace_warn(trace, "%s: everything before byte %lld was read", failure->message,
                               (long long)cut);
    if (reader->complete)
        return true;
    if (trace->file_bytes <= 0)
        return pyro_trace_warn(trace, "file truncated at byte %lld", (long long)cut);
    return pyro_trace_warn(trace, "file truncated at byte %lld: %.1f%% read", (long long)cut,
                           100.0 * (double)cut / (double)trace->file_bytes);
}

/* Counted here, because the threads that read parts of the file do not share their tracks. */
static void count_beyond_tracks(const pyro_trace *trace, pyro_kineto_defects *defects)
{
    int64_t *count = &defects->count[PYRO_DEFECT_TRACKS];
    if (trace->track_count <= PYRO_LAST_TRACK)
        return;
    for (size_t i = 0; i < trace->count; i++)
        *count += trace->track[i] == PYRO_LAST_TRACK;
    for (size_t i = 0; i < trace->flow_count; i++)
        *count += trace->flows[i].track == PYRO_LAST_TRACK;
}

int pyro_kineto_finish(pyro_kineto_reader *reader, pyro_error *error)
{
    pyro_trace *trace = reader->trace;
    pyro_kineto_scanner *scanner = reader->scanner;
    if (!number_wide_ids(trace, scanner) || !join_stacks(trace) || !pyro_trace_trim(trace))
        return pyro_fail_memory(error);
    name_tracks(trace, scanner);
    estimate_occupancy(trace);
    count_beyond_tracks(trace, &scanner->defects);
    move_far_events(trace, &scanner->defects, reader->threads);
    if (!warn_of_end(reader) || !pyro_kineto_defects_say(&scanner->defects, trace))
        return pyro_fail_memory(error);
    return PYRO_OK;
}
