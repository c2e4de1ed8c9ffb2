/* Finds the marks of layers in a torch.profiler trace, and converts the times between them to our clock. */
#include "trace/recording/marks.h"

#include "base/containers/buf.h"
#include "base/checked.h"
#include "base/containers/map.h"

#include <stdlib.h>
#include <string.h>

#define ANY_ORDER UINT32_MAX /* of events without a number: after a mark of the same time */

/* The number after a prefix; 0 if the name does not begin with it. */
static uint32_t number_behind(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0)
        return 0;
    char *end;
    unsigned long number = strtoul(name + length, &end, 10);
    return *end == '\0' && end != name + length && number <= INT32_MAX ? (uint32_t)number : 0;
}

static uint32_t mark_number(const pyro_trace *trace, size_t event, bool *begins)
{
    if (trace->category[event] != PYRO_EVENT_OP && trace->category[event] != PYRO_EVENT_ANNOTATION)
        return 0;
    const char *name = pyro_event_name(trace, event);
    uint32_t number = number_behind(name, PYRO_MARK_BEGIN);
    *begins = number != 0;
    return number ? number : number_behind(name, PYRO_MARK_END);
}

static bool is_clock_mark(const pyro_trace *trace, size_t event)
{
    return (trace->category[event] == PYRO_EVENT_OP ||
            trace->category[event] == PYRO_EVENT_ANNOTATION) &&
           strncmp(pyro_event_name(trace, event), PYRO_CLOCK_MARK, strlen(PYRO_CLOCK_MARK)) == 0;
}

bool pyro_event_is_mark(const pyro_trace *trace, size_t event)
{
    bool begins;
    return mark_number(trace, event, &begins) != 0 || is_clock_mark(trace, event);
}

static bool is_marked_layer(const pyro_trace *trace, size_t event)
{
    return trace->category[event] == PYRO_EVENT_PYTHON && trace->external_id[event] != 0;
}

/* Files may contain any time: sums and differences saturate at 64 bits. */
static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return pyro_add_i64(a, b, &sum) ? sum : (b < 0 ? INT64_MIN : INT64_MAX);
}

static int64_t minus(int64_t a, int64_t b)
{
    int64_t difference;
    return pyro_sub_i64(a, b, &difference) ? difference : (b < 0 ? INT64_MAX : INT64_MIN);
}

static int64_t wall_ns(const pyro_trace *trace, size_t event)
{
    return plus(trace->base_time_ns, trace->start_ns[event]);
}

static int64_t wall_end_ns(const pyro_trace *trace, size_t event)
{
    return plus(wall_ns(trace, event), trace->duration_ns[event]);
}

static uint64_t thread_of(const pyro_trace *trace, size_t event)
{
    return trace->tracks[trace->track[event]].tid;
}

static int compare(const pyro_mark *mark, uint64_t thread, int64_t theirs_ns, uint32_t order)
{
    if (mark->thread != thread)
        return mark->thread < thread ? -1 : 1;
    if (mark->theirs_ns != theirs_ns)
        return mark->theirs_ns < theirs_ns ? -1 : 1;
    return (mark->order > order) - (mark->order < order);
}

static int by_place(const void *left, const void *right)
{
    const pyro_mark *b = right;
    return compare(left, b->thread, b->theirs_ns, b->order);
}

static bool add_mark(pyro_marks *marks, pyro_mark mark)
{
    if (!pyro_grow(&marks->items, &marks->capacity, marks->count + 1, sizeof *marks->items))
        return false;
    mark.first_ns = INT64_MAX;
    mark.last_ns = INT64_MIN;
    marks->items[marks->count++] = mark;
    return true;
}

/* Adds to every thread a first stretch, which no mark begins. */
static bool add_starts(pyro_marks *marks)
{
    size_t count = marks->count;
    for (size_t i = 0; i < count; i++) {
        uint64_t thread = marks->items[i].thread;
        if (i > 0 && marks->items[i - 1].thread == thread)
            continue;
        if (!add_mark(marks,
                      (pyro_mark){.thread = thread, .theirs_ns = INT64_MIN, .ours_ns = INT64_MIN}))
            return false;
    }
    if (marks->count)
        qsort(marks->items, marks->count, sizeof *marks->items, by_place);
    return true;
}

/* Of two marks that contradict each other one is damaged: a thread's time only grows. */
static void drop_contradictions(pyro_marks *marks)
{
    size_t kept = 0;
    for (size_t i = 0; i < marks->count; i++) {
        const pyro_mark *before = kept ? &marks->items[kept - 1] : NULL;
        if (before && before->thread == marks->items[i].thread &&
            before->ours_ns > marks->items[i].ours_ns)
            continue;
        marks->items[kept++] = marks->items[i];
    }
    marks->count = kept;
}

static bool list_layers(pyro_map *rows, const pyro_trace *trace, size_t *count)
{
    for (size_t i = 0; i < trace->count; i++) {
        if (!is_marked_layer(trace, i))
            continue;
        if (!pyro_map_put(rows, trace->external_id[i], (uint32_t)i))
            return false;
        ++*count;
    }
    return true;
}

bool pyro_marks_find(pyro_marks *marks, const pyro_trace *trace, const pyro_trace *from)
{
    pyro_map rows = PYRO_MAP_INIT;
    size_t found = 0;
    *marks = (pyro_marks){0};
    bool ok = list_layers(&rows, trace, &marks->layers);
    for (size_t i = 0; ok && marks->layers && i < from->count; i++) {
        bool begins;
        uint32_t number = mark_number(from, i, &begins);
        uint32_t row = number ? pyro_map_get(&rows, number) : PYRO_MAP_NONE;
        if (row == PYRO_MAP_NONE || thread_of(trace, row) != thread_of(from, i))
            continue;
        int64_t ours_ns = begins ? wall_ns(trace, row) : wall_end_ns(trace, row);
        found++;
        ok = add_mark(marks, (pyro_mark){.thread = thread_of(from, i),
                                         .theirs_ns = wall_ns(from, i),
                                         .order = from->external_id[i],
                                         .begins = begins,
                                         .ours_ns = ours_ns});
    }
    pyro_map_free(&rows);
    if (ok && marks->count)
        qsort(marks->items, marks->count, sizeof *marks->items, by_place);
    ok = ok && add_starts(marks);
    if (ok)
        drop_contradictions(marks);
    found = found < 2 * marks->layers ? found : 2 * marks->layers;
    marks->layers_without = marks->layers - found / 2;
    return ok;
}

/* The last mark of a thread at or before a time; NULL if the thread has no mark. */
static pyro_mark *find_mark(const pyro_marks *marks, uint64_t thread, int64_t theirs_ns,
                            uint32_t order)
{
    size_t low = 0, high = marks->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&marks->items[middle], thread, theirs_ns, order) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && marks->items[low - 1].thread == thread ? &marks->items[low - 1] : NULL;
}

bool pyro_marks_apply(const pyro_marks *marks, const pyro_trace *from, size_t event)
{
    uint8_t category = from->category[event];
    return (pyro_event_is_host(category) || category == PYRO_EVENT_MEMORY) &&
           !from->tracks[from->track[event]].is_device &&
           find_mark(marks, thread_of(from, event), INT64_MAX, ANY_ORDER);
}

/* The stretches in which an event begins and ends; it may contain layers itself. */
static void find_stretches(const pyro_marks *marks, const pyro_trace *from, size_t event,
                           pyro_mark **first, pyro_mark **last)
{
    uint64_t thread = thread_of(from, event);
    int64_t start_ns = wall_ns(from, event);
    uint32_t order = from->external_id[event] ? from->external_id[event] : ANY_ORDER;
    *first = find_mark(marks, thread, start_ns, order);
    /* A mark at the very end of an event came after it. */
    *last = find_mark(marks, thread, wall_end_ns(from, event), 0);
    if (*last < *first)
        *last = *first;
}

static void see_time(pyro_mark *stretch, int64_t time_ns)
{
    stretch->first_ns = time_ns < stretch->first_ns ? time_ns : stretch->first_ns;
    stretch->last_ns = time_ns > stretch->last_ns ? time_ns : stretch->last_ns;
}

void pyro_marks_see(pyro_marks *marks, const pyro_trace *from, size_t event)
{
    pyro_mark *first, *last;
    find_stretches(marks, from, event, &first, &last);
    see_time(first, wall_ns(from, event));
    see_time(last, wall_end_ns(from, event));
}

/* Our time of the thread's next mark; nothing in the stretch reaches it. */
static int64_t limit_of(const pyro_marks *marks, const pyro_mark *mark)
{
    const pyro_mark *next = mark + 1;
    return next < marks->items + marks->count && next->thread == mark->thread
               ? minus(next->ours_ns, 1)
               : INT64_MAX;
}

void pyro_marks_settle(pyro_marks *marks, const pyro_clock_line *line)
{
    for (size_t i = 0; i < marks->count; i++) {
        pyro_mark *mark = &marks->items[i];
        int64_t limit_ns = limit_of(marks, mark);
        if (mark->first_ns > mark->last_ns)
            continue;
        int64_t shift_ns = pyro_clock_shift(line, mark->first_ns);
        if (limit_ns != INT64_MAX && shift_ns > minus(limit_ns, mark->last_ns))
            shift_ns = minus(limit_ns, mark->last_ns);
        if (mark->ours_ns != INT64_MIN && shift_ns < minus(mark->ours_ns, mark->first_ns))
            shift_ns = minus(mark->ours_ns, mark->first_ns);
        mark->shift_ns = shift_ns;
    }
}

static int64_t place(const pyro_marks *marks, const pyro_mark *mark, int64_t theirs_ns)
{
    int64_t time_ns = plus(theirs_ns, mark->shift_ns), limit_ns = limit_of(marks, mark);
    time_ns = time_ns > limit_ns ? limit_ns : time_ns;
    return time_ns < mark->ours_ns ? mark->ours_ns : time_ns;
}

void pyro_marks_place(const pyro_marks *marks, const pyro_trace *from, size_t event,
                      int64_t *start_ns, int64_t *end_ns)
{
    pyro_mark *first, *last;
    find_stretches(marks, from, event, &first, &last);
    *start_ns = place(marks, first, wall_ns(from, event));
    *end_ns = place(marks, last, wall_end_ns(from, event));
    if (*end_ns < *start_ns)
        *end_ns = *start_ns;
}

void pyro_marks_free(pyro_marks *marks)
{
    free(marks->items);
    *marks = (pyro_marks){0};
}

void pyro_marks_forget(pyro_trace *trace)
{
    for (size_t i = 0; i < trace->count; i++) {
        if (is_marked_layer(trace, i))
            trace->external_id[i] = 0;
        else if (is_clock_mark(trace, i))
            trace->category[i] = PYRO_EVENT_OTHER;
    }
}
