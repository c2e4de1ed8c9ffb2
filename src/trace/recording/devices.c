/*
 * Adds the events of a torch.profiler trace to our recording of the same time. Both read the
 * system's time through the processor's counter, each with its own errors. Calls are nested within
 * microseconds, so the clock difference is measured on ops and marks that both saw: a line through
 * the differences of the first and the second half. A thread may lose the processor between the two
 * clock readings, so that line alone would move some of the profiler's ops into the next layer:
 * marks.c keeps them between the marks of their layer.
 */
#include "trace/recording/devices.h"

#include "base/containers/buf.h"
#include "base/checked.h"
#include "base/error.h"
#include "trace/kineto/scanner.h"
#include "trace/kineto/defects.h"
#include "trace/recording/marks.h"

#include <stdlib.h>
#include <string.h>

/* Clocks of one machine that differ by more were matched wrongly. */
#define LARGEST_DIFFERENCE_NS INT64_C(60000000000)
/* Halves that are closer than this say nothing about drift. */
#define SHORTEST_BASE_NS 10000000

typedef struct joining {
    pyro_trace *trace;
    const pyro_trace *from;
    uint32_t *name_of;      /* by id of a text in `from`: in `trace`; PYRO_NO_ID not looked up */
    uint32_t *track_of;     /* by track of `from`; PYRO_NO_ID as above */
    pyro_clock_line line;
    pyro_marks marks;
    bool takes_ops; /* the recording has no ops: there was no observer */
    bool takes_device_memory; /* the recording has none */
} joining;

/* An op by thread and name, with its number among equal ones. */
typedef struct op_key {
    uint64_t thread;
    uint32_t name, number;
    int64_t start_ns; /* wall clock */
} op_key;

typedef struct difference {
    int64_t at_ns, ns;
} difference;

static uint32_t name_in_trace(joining *j, uint32_t name, bool add)
{
    if (name == PYRO_NO_ID)
        return PYRO_NO_ID;
    if (j->name_of[name] == PYRO_NO_ID) {
        const pyro_intern_entry *entry = &j->from->names.entries[name];
        uint32_t id = add ? pyro_intern_add(&j->trace->names, entry->text, entry->length)
                          : pyro_intern_find(&j->trace->names, entry->text, entry->length);
        if (id == PYRO_INTERN_NONE)
            return PYRO_NO_ID;
        j->name_of[name] = id;
    }
    return j->name_of[name];
}

static int by_key(const void *left, const void *right)
{
    const op_key *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* Lists the ops of a trace by thread and name, in order of time; NULL when memory is out. */
static op_key *list_ops(joining *j, const pyro_trace *trace, size_t *count)
{
    op_key *keys = malloc((trace->count + 1) * sizeof *keys);
    *count = 0;
    for (size_t i = 0; keys && i < trace->count; i++) {
        uint32_t name = trace->name[i];
        if (trace->category[i] != PYRO_EVENT_OP || name == PYRO_NO_ID)
            continue;
        if (trace == j->from && (name = name_in_trace(j, name, false)) == PYRO_NO_ID)
            continue;
        keys[(*count)++] = (op_key){.thread = trace->tracks[trace->track[i]].tid,
                                    .name = name,
                                    .start_ns = trace->base_time_ns + trace->start_ns[i]};
    }
    if (keys)
        qsort(keys, *count, sizeof *keys, by_key);
    return keys;
}

static bool is_same_group(const op_key *a, const op_key *b)
{
    return a->thread == b->thread && a->name == b->name;
}

static size_t group_end(const op_key *keys, size_t start, size_t count)
{
    size_t end = start;
    while (end < count && is_same_group(&keys[start], &keys[end]))
        end++;
    return end;
}

/* Differences of ops that both saw equally often; other ops cannot be matched. */
static size_t match(const op_key *ours, size_t our_count, const op_key *theirs, size_t their_count,
                    difference *out)
{
    size_t count = 0, a = 0, b = 0;
    while (a < our_count && b < their_count) {
        if (!is_same_group(&ours[a], &theirs[b])) {
            op_key left = ours[a], right = theirs[b];
            left.start_ns = right.start_ns = 0;
            if (by_key(&left, &right) < 0)
                a = group_end(ours, a, our_count);
            else
                b = group_end(theirs, b, their_count);
            continue;
        }
        size_t a_end = group_end(ours, a, our_count), b_end = group_end(theirs, b, their_count);
        for (size_t i = 0; a_end - a == b_end - b && i < a_end - a; i++) {
            int64_t ns = ours[a + i].start_ns - theirs[b + i].start_ns;
            if (ns < LARGEST_DIFFERENCE_NS && ns > -LARGEST_DIFFERENCE_NS)
                out[count++] = (difference){theirs[b + i].start_ns, ns};
        }
        a = a_end;
        b = b_end;
    }
    return count;
}

static int by_time(const void *left, const void *right)
{
    const difference *a = left, *b = right;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static int by_size(const void *left, const void *right)
{
    const difference *a = left, *b = right;
    return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* The median difference and the median time. */
static difference median(difference *items, size_t count)
{
    difference middle = {.at_ns = items[count / 2].at_ns};
    qsort(items, count, sizeof *items, by_size);
    middle.ns = items[count / 2].ns;
    return middle;
}

static void fit_line(pyro_clock_line *line, difference *items, size_t count)
{
    qsort(items, count, sizeof *items, by_time);
    if (count < 4) {
        difference all = median(items, count);
        line->offset_ns = (double)all.ns;
        return;
    }
    difference first = median(items, count / 2);
    difference second = median(items + count / 2, count - count / 2);
    line->at_ns = (double)first.at_ns;
    line->offset_ns = (double)first.ns;
    if (second.at_ns - first.at_ns > SHORTEST_BASE_NS)
        line->drift = (double)(second.ns - first.ns) / (double)(second.at_ns - first.at_ns);
}

/* The recorder writes a layer's record and its mark one after the other. */
static size_t add_marks(const pyro_marks *marks, difference *out)
{
    size_t count = 0;
    for (size_t i = 0; i < marks->count; i++) {
        const pyro_mark *mark = &marks->items[i];
        int64_t ns;
        if (mark->begins && pyro_sub_i64(mark->ours_ns, mark->theirs_ns, &ns) &&
            ns < LARGEST_DIFFERENCE_NS && ns > -LARGEST_DIFFERENCE_NS)
            out[count++] = (difference){mark->theirs_ns, ns};
    }
    return count;
}

static int compare_clocks(joining *j, pyro_error *error)
{
    size_t our_count, their_count, matched = 0;
    op_key *ours = list_ops(j, j->trace, &our_count);
    op_key *theirs = ours ? list_ops(j, j->from, &their_count) : NULL;
    size_t most = our_count + j->marks.count + 1;
    difference *items = theirs ? malloc(most * sizeof *items) : NULL;
    if (items) {
        matched = match(ours, our_count, theirs, their_count, items);
        matched += add_marks(&j->marks, items + matched);
        if (matched)
            fit_line(&j->line, items, matched);
    }
    free(ours);
    free(theirs);
    free(items);
    if (!items)
        return pyro_fail_memory(error);
    if (!matched && !pyro_trace_warn(j->trace, "no op was recorded by both clocks, so they are "
                                               "not aligned: kernels may be in wrong layers"))
        return pyro_fail_memory(error);
    return PYRO_OK;
}

/* Drops the marks, which served to compare the clocks; returns whether ops remain. */
static bool has_ops(pyro_trace *trace)
{
    bool found = false;
    pyro_marks_forget(trace);
    for (size_t i = 0; i < trace->count && !found; i++)
        found = trace->category[i] == PYRO_EVENT_OP;
    return found;
}

static bool has_device_memory(const pyro_trace *trace)
{
    for (size_t i = 0; i < trace->memory_count; i++)
        if (trace->memory[i].device_type != 0)
            return true;
    return false;
}

static bool is_taken(const joining *j, size_t event)
{
    const pyro_trace *from = j->from;
    switch (from->category[event]) {
    case PYRO_EVENT_OP:
    case PYRO_EVENT_ANNOTATION:
        return j->takes_ops && !pyro_event_is_mark(from, event);
    case PYRO_EVENT_RUNTIME:
    case PYRO_EVENT_DRIVER:
    case PYRO_EVENT_KERNEL:
    case PYRO_EVENT_MEMCPY:
    case PYRO_EVENT_MEMSET:
    case PYRO_EVENT_SYNC:
        return true;
    case PYRO_EVENT_MEMORY:
        return from->detail[event] != PYRO_NO_ID &&
               (from->memory[from->detail[event]].device_type != 0 ? j->takes_device_memory
                                                                   : j->takes_ops);
    default:
        return false;
    }
}

/* Copies one row of a side table; returns its new index, or PYRO_NO_ID when memory is out. */
static uint32_t copy_side(void *table_pointer, size_t *count, size_t *capacity, const void *row,
                          size_t size)
{
    void **table = table_pointer;
    if (!pyro_grow(table, capacity, *count + 1, size))
        return PYRO_NO_ID;
    memcpy((char *)*table + *count * size, row, size);
    return (uint32_t)(*count)++;
}

/* The track of a process and thread, added if it is new; PYRO_NO_ID when memory is out. */
static uint32_t find_track(pyro_trace *trace, uint64_t process, uint64_t thread)
{
    for (size_t i = 0; i < trace->track_count; i++)
        if (trace->tracks[i].pid == process && trace->tracks[i].tid == thread)
            return (uint32_t)i;
    pyro_track track = {
        .pid = process, .tid = thread, .name = PYRO_NO_ID, .device = -1, .stream = -1};
    if (trace->track_count >= UINT16_MAX)
        return UINT16_MAX - 1; /* the last one stands for the rest */
    return copy_side(&trace->tracks, &trace->track_count, &trace->track_capacity, &track,
                     sizeof track);
}

static uint32_t track_in_trace(joining *j, uint16_t track)
{
    const pyro_track *theirs = &j->from->tracks[track];
    if (j->track_of[track] == PYRO_NO_ID) {
        uint32_t found = find_track(j->trace, theirs->pid, theirs->tid);
        if (found == PYRO_NO_ID)
            return PYRO_NO_ID;
        pyro_track *ours = &j->trace->tracks[found];
        if (theirs->is_device && !ours->is_device) {
            ours->is_device = true;
            ours->device = theirs->device;
            ours->stream = theirs->stream;
        }
        ours->has_work |= theirs->has_work;
        if (!ours->torch_thread)
            ours->torch_thread = theirs->torch_thread;
        if (ours->name == PYRO_NO_ID)
            ours->name = name_in_trace(j, theirs->name, true);
        j->track_of[track] = found;
    }
    return j->track_of[track];
}

static uint32_t copy_kernel(joining *j, const pyro_kernel_detail *detail)
{
    pyro_trace *trace = j->trace;
    pyro_kernel_detail copy = *detail;
    copy.occupancy = name_in_trace(j, copy.occupancy, true);
    copy.stack = name_in_trace(j, copy.stack, true);
    if (copy.collective != PYRO_NO_ID) {
        pyro_collective_detail collective = j->from->collectives[copy.collective];
        collective.name = name_in_trace(j, collective.name, true);
        collective.dtype = name_in_trace(j, collective.dtype, true);
        collective.group = name_in_trace(j, collective.group, true);
        collective.group_description = name_in_trace(j, collective.group_description, true);
        collective.comms_id = name_in_trace(j, collective.comms_id, true);
        copy.collective = copy_side(&trace->collectives, &trace->collective_count,
                                    &trace->collective_capacity, &collective, sizeof collective);
        if (copy.collective == PYRO_NO_ID)
            return PYRO_NO_ID;
    }
    return copy_side(&trace->kernels, &trace->kernel_count, &trace->kernel_capacity, &copy,
                     sizeof copy);
}

static uint32_t copy_op(joining *j, const pyro_op_detail *detail)
{
    pyro_trace *trace = j->trace;
    pyro_op_detail copy = *detail;
    pyro_op_extra extra = PYRO_NO_EXTRA;
    extra.outputs = name_in_trace(j, pyro_trace_op_extra(j->from, detail).outputs, true);
    copy.dims = name_in_trace(j, copy.dims, true);
    copy.types = name_in_trace(j, copy.types, true);
    copy.concrete = name_in_trace(j, copy.concrete, true);
    copy.strides = name_in_trace(j, copy.strides, true);
    copy.stack = copy.collective = PYRO_NO_ID;
    if (!pyro_trace_add_op_extra(trace, &extra, &copy.extra))
        return PYRO_NO_ID;
    trace->has_shapes = trace->has_shapes || copy.dims != PYRO_NO_ID;
    return copy_side(&trace->ops, &trace->op_count, &trace->op_capacity, &copy, sizeof copy);
}

static uint32_t copy_sync(joining *j, const pyro_sync_detail *detail)
{
    pyro_trace *trace = j->trace;
    pyro_sync_detail copy = *detail;
    copy.kind = name_in_trace(j, copy.kind, true);
    return copy_side(&trace->syncs, &trace->sync_count, &trace->sync_capacity, &copy, sizeof copy);
}

/* False when memory is out. */
static bool copy_detail(joining *j, size_t event, uint32_t *detail)
{
    pyro_trace *trace = j->trace;
    const pyro_trace *from = j->from;
    *detail = from->detail[event];
    if (*detail == PYRO_NO_ID)
        return true;
    switch (from->category[event]) {
    case PYRO_EVENT_OP:
    case PYRO_EVENT_ANNOTATION:
        *detail = copy_op(j, &from->ops[*detail]);
        break;
    case PYRO_EVENT_KERNEL:
        *detail = copy_kernel(j, &from->kernels[*detail]);
        break;
    case PYRO_EVENT_MEMCPY:
    case PYRO_EVENT_MEMSET:
        *detail = copy_side(&trace->transfer_bytes, &trace->transfer_count,
                            &trace->transfer_capacity, &from->transfer_bytes[*detail],
                            sizeof *from->transfer_bytes);
        break;
    case PYRO_EVENT_SYNC:
        *detail = copy_sync(j, &from->syncs[*detail]);
        break;
    case PYRO_EVENT_MEMORY:
        trace->has_memory = true;
        *detail = copy_side(&trace->memory, &trace->memory_count, &trace->memory_capacity,
                            &from->memory[*detail], sizeof *from->memory);
        break;
    default:
        *detail = PYRO_NO_ID;
        return true;
    }
    return *detail != PYRO_NO_ID;
}

/* Start and duration on the recording's clock. */
static void place_event(const joining *j, size_t event, int64_t *start_ns, int64_t *duration_ns)
{
    const pyro_trace *from = j->from;
    int64_t wall_ns = from->base_time_ns + from->start_ns[event], end_ns;
    if (j->takes_ops && pyro_marks_apply(&j->marks, from, event)) {
        pyro_marks_place(&j->marks, from, event, start_ns, &end_ns);
        *duration_ns = end_ns - *start_ns;
    } else {
        *start_ns = wall_ns + pyro_clock_shift(&j->line, wall_ns);
        *duration_ns = from->duration_ns[event];
    }
    *start_ns -= j->trace->base_time_ns;
}

static bool copy_event(joining *j, size_t event)
{
    pyro_trace *trace = j->trace;
    const pyro_trace *from = j->from;
    uint32_t detail, track = track_in_trace(j, from->track[event]);
    uint32_t name = name_in_trace(j, from->name[event], true);
    if (track == PYRO_NO_ID || (name == PYRO_NO_ID && from->name[event] != PYRO_NO_ID) ||
        !pyro_trace_reserve(trace, trace->count + 1) || !copy_detail(j, event, &detail))
        return false;
    size_t row = trace->count++;
    place_event(j, event, &trace->start_ns[row], &trace->duration_ns[row]);
    trace->name[row] = name;
    trace->correlation[row] = from->correlation[event];
    trace->external_id[row] = 0; /* an op's number in the other trace has no meaning here */
    trace->detail[row] = detail;
    trace->track[row] = (uint16_t)track;
    trace->category[row] = from->category[event];
    trace->file_events++;
    return true;
}

static bool copy_devices(joining *j)
{
    for (size_t i = 0; i < j->from->device_count; i++) {
        pyro_device device = j->from->devices[i];
        device.name = name_in_trace(j, device.name, true);
        if (copy_side(&j->trace->devices, &j->trace->device_count, &j->trace->device_capacity,
                      &device, sizeof device) == PYRO_NO_ID)
            return false;
    }
    return true;
}

static bool begin(joining *j)
{
    size_t names = (j->from->names.count + 1) * sizeof *j->name_of;
    size_t tracks = (j->from->track_count + 1) * sizeof *j->track_of;
    j->name_of = malloc(names);
    j->track_of = malloc(tracks);
    if (!j->name_of || !j->track_of)
        return false;
    memset(j->name_of, 0xff, names);
    memset(j->track_of, 0xff, tracks);
    return true;
}

static void settle_marks(joining *j)
{
    for (size_t i = 0; i < j->from->count; i++)
        if (is_taken(j, i) && pyro_marks_apply(&j->marks, j->from, i))
            pyro_marks_see(&j->marks, j->from, i);
    pyro_marks_settle(&j->marks, &j->line);
}

/* Reports which layers have no ops because the profiler did not see them. */
static int report_unseen(const joining *j, pyro_error *error)
{
    const pyro_marks *marks = &j->marks;
    pyro_buf text = PYRO_BUF_INIT;
    if (!j->takes_ops || !marks->layers_without)
        return PYRO_OK;
    const char *before = pyro_trace_note_text(j->trace, PYRO_NOTE_MISSING);
    pyro_buf_addf(&text,
                  "%s%sops of %zu of %zu layer calls, which torch.profiler did not see (it sees "
                  "the thread that started it, and its backward)",
                  before, before[0] ? ", " : "", marks->layers_without, marks->layers);
    bool fine = !text.failed && pyro_trace_property(j->trace, PYRO_NOTE_MISSING, text.data);
    pyro_buf_free(&text);
    return fine ? PYRO_OK : pyro_fail_memory(error);
}

int pyro_trace_add_devices(pyro_trace *trace, const pyro_trace *from, pyro_error *error)
{
    joining j = {.trace = trace, .from = from};
    bool fine = begin(&j) && pyro_marks_find(&j.marks, trace, from);
    int status = fine ? compare_clocks(&j, error) : pyro_fail_memory(error);
    j.takes_ops = !has_ops(trace);
    j.takes_device_memory = !has_device_memory(trace);
    if (status == PYRO_OK && j.takes_ops)
        settle_marks(&j);
    for (size_t i = 0; i < from->count && status == PYRO_OK; i++)
        if (is_taken(&j, i) && !copy_event(&j, i))
            status = pyro_fail_memory(error);
    if (status == PYRO_OK && !copy_devices(&j))
        status = pyro_fail_memory(error);
    if (status == PYRO_OK)
        status = report_unseen(&j, error);
    pyro_marks_free(&j.marks);
    free(j.name_of);
    free(j.track_of);
    return status;
}
