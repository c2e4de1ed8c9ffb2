/*
 * Infers the steps of a trace without marks from what a loop repeats: updates of the optimizer,
 * batches of a data loader, or calls of the outermost module. The steps follow each other without
 * gaps; what lies before the first is start-up. Counts of outermost ops tell where the first step
 * begins and where the last one ends.
 */
#include "trace/joins/internal.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_UPDATES = 2, /* an optimizer that ran once proves no loop */
    LEAST_REPEATS = 3, /* of batches and of modules, which may be called twice in one step */
    LEAST_MODULE_PERCENT = 10 /* of the time between its first and last call */
};

typedef struct mark {
    int64_t start_ns, end_ns;
    uint32_t event;
} mark;

typedef struct marks {
    mark *items;
    size_t count, capacity;
} marks;

/* The loop that is being looked at. */
typedef struct loop {
    pyro_join_state *state;
    uint16_t track;
    marks captures; /* of graphs, on all threads: what runs in them only records */
    marks loads; /* of its thread, like the others */
    marks ops; /* outermost ops other than those of the optimizer */
    int64_t *starts; /* of its steps, and the end of the last */
    size_t start_count, start_capacity;
    bool memory_out;
} loop;

typedef bool(event_test)(const loop *loop, uint32_t event);

static void add_mark(loop *loop, marks *marks, uint32_t event)
{
    const pyro_trace *trace = loop->state->trace;
    if (!pyro_grow(&marks->items, &marks->capacity, marks->count + 1, sizeof *marks->items)) {
        loop->memory_out = true;
        return;
    }
    marks->items[marks->count++] = (mark){trace->start_ns[event], pyro_join_end_ns(trace, event),
                                          event};
}

/* The events of the loop's thread that pass the test; of nested ones the outermost. */
static void collect(loop *loop, marks *marks, event_test *test)
{
    const pyro_trace *trace = loop->state->trace;
    for (size_t i = 0; i < trace->count && !loop->memory_out; i++) {
        uint32_t event = loop->state->joins->by_time[i];
        if (trace->track[event] != loop->track || trace->category[event] > PYRO_EVENT_PYTHON ||
            (marks->count && trace->start_ns[event] < marks->items[marks->count - 1].end_ns))
            continue;
        if (test(loop, event))
            add_mark(loop, marks, event);
    }
}

static void add_start(loop *loop, int64_t time_ns)
{
    if (loop->start_count && time_ns < loop->starts[loop->start_count - 1])
        return;
    if (!pyro_grow(&loop->starts, &loop->start_capacity, loop->start_count + 1,
                   sizeof *loop->starts)) {
        loop->memory_out = true;
        return;
    }
    loop->starts[loop->start_count++] = time_ns;
}

/* Index of the first mark that starts at or after a time. */
static size_t first_from(const marks *marks, int64_t time_ns)
{
    size_t low = 0, high = marks->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (marks->items[middle].start_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t count_between(const marks *marks, int64_t start_ns, int64_t end_ns)
{
    return first_from(marks, end_ns) - first_from(marks, start_ns);
}

static bool is_captured(const loop *loop, uint32_t event)
{
    const pyro_trace *trace = loop->state->trace;
    for (size_t i = 0; i < loop->captures.count; i++) {
        const mark *capture = &loop->captures.items[i];
        if (trace->track[capture->event] == trace->track[event] &&
            trace->start_ns[event] >= capture->start_ns && trace->start_ns[event] < capture->end_ns)
            return true;
    }
    return false;
}

static void end_capture(loop *loop, uint32_t event)
{
    const pyro_trace *trace = loop->state->trace;
    for (size_t i = loop->captures.count; i-- > 0;) {
        mark *capture = &loop->captures.items[i];
        if (trace->track[capture->event] == trace->track[event] && capture->end_ns == INT64_MAX) {
            capture->end_ns = trace->start_ns[event];
            return;
        }
    }
}

/* A program captures few graphs; of more the rest is ignored. */
static void find_captures(loop *loop)
{
    enum { MOST_CAPTURES = 256 };
    static const char *const begins[] = {"cudaStreamBeginCapture", "hipStreamBeginCapture"};
    static const char *const ends[] = {"cudaStreamEndCapture", "hipStreamEndCapture"};
    const pyro_trace *trace = loop->state->trace;
    uint32_t begin = PYRO_NO_ID, end = PYRO_NO_ID;
    for (size_t i = 0; i < 2 && begin == PYRO_NO_ID; i++) {
        begin = pyro_intern_find(&trace->names, begins[i], strlen(begins[i]));
        end = pyro_intern_find(&trace->names, ends[i], strlen(ends[i]));
    }
    for (size_t i = 0; i < trace->count && begin != PYRO_NO_ID && !loop->memory_out; i++) {
        uint32_t event = loop->state->joins->by_time[i];
        if (trace->name[event] == end)
            end_capture(loop, event);
        if (trace->name[event] != begin || loop->captures.count == MOST_CAPTURES)
            continue;
        add_mark(loop, &loop->captures, event);
        if (!loop->memory_out)
            loop->captures.items[loop->captures.count - 1].end_ns = INT64_MAX;
    }
}

static bool is_load(const loop *loop, uint32_t event)
{
    return pyro_join_name_class(loop->state, event) == PYRO_NAME_LOADER;
}

static bool is_outer_op(const loop *loop, uint32_t event)
{
    const pyro_joins *joins = loop->state->joins;
    return loop->state->trace->category[event] == PYRO_EVENT_OP &&
           joins->phase[event] != PYRO_PHASE_OPTIMIZER;
}

static void collect_surroundings(loop *loop)
{
    collect(loop, &loop->loads, is_load);
    collect(loop, &loop->ops, is_outer_op);
}

/* End of the last step: as many ops as the step before it had, from `start_ns` on. */
static int64_t end_by_ops(const loop *loop, int64_t start_ns, size_t ops)
{
    size_t first = first_from(&loop->ops, start_ns), last = first + ops;
    last = last < loop->ops.count ? last : loop->ops.count;
    return last > first ? loop->ops.items[last - 1].end_ns : start_ns;
}

/* How many ops right before two updates have the same names, at most `most`. */
static size_t count_same(const loop *loop, size_t before, size_t next_before, size_t most)
{
    const uint32_t *names = loop->state->trace->name;
    size_t same = 0;
    while (same < most && same < before &&
           names[loop->ops.items[before - same - 1].event] ==
               names[loop->ops.items[next_before - same - 1].event])
        same++;
    return same;
}

/*
 * Start of the first step, whose update begins at `update_ns`: as many loads as the next step has
 * before its update, else as many ops. Ops of the start-up differ in name from what follows the
 * update of the step before.
 */
static int64_t start_by_counts(const loop *loop, int64_t update_ns, int64_t next_start_ns,
                               int64_t next_update_ns)
{
    size_t loads = count_between(&loop->loads, next_start_ns, next_update_ns);
    size_t before = first_from(&loop->loads, update_ns);
    if (loads && before)
        return loop->loads.items[before > loads ? before - loads : 0].start_ns;
    size_t ops = count_between(&loop->ops, next_start_ns, next_update_ns);
    before = first_from(&loop->ops, update_ns);
    size_t same = count_same(loop, before, first_from(&loop->ops, next_update_ns), ops);
    ops = same * 2 >= ops ? same : ops;
    if (!ops || !before)
        return update_ns;
    return loop->ops.items[before > ops ? before - ops : 0].start_ns;
}

static int finish_steps(loop *loop, pyro_step_source source, const char *mark_name)
{
    pyro_joins *joins = loop->state->joins;
    int64_t number = 0;
    for (size_t i = 0; i + 1 < loop->start_count; i++) {
        int64_t start_ns = loop->starts[i], end_ns = loop->starts[i + 1];
        /* The end of an epoch asks the data loader twice, with nothing in between. */
        if (end_ns == start_ns ||
            (source == PYRO_STEPS_LOADER && !count_between(&loop->ops, start_ns, end_ns)))
            continue;
        int status = pyro_add_step(loop->state, (pyro_step){.event = PYRO_NO_EVENT,
                                                            .number = number++,
                                                            .start_ns = start_ns,
                                                            .end_ns = end_ns});
        if (status)
            return status;
    }
    if (joins->step_count) {
        joins->step_source = source;
        joins->step_mark = mark_name;
    }
    return PYRO_OK;
}

/* Steps that begin with each of the marks. A data loader is also asked when it is empty: its last
 * batch counts if at least half the ops of the step before it follow. */
static void start_with_each(loop *loop, const marks *marks, bool last_counts)
{
    const mark *last = &marks->items[marks->count - 1];
    for (size_t i = 0; i < marks->count; i++)
        add_start(loop, marks->items[i].start_ns);
    size_t ops = count_between(&loop->ops, last[-1].start_ns, last->start_ns);
    size_t left = loop->ops.count - first_from(&loop->ops, last->start_ns);
    if (!last_counts && (!ops || left * 2 < ops))
        return;
    int64_t end_ns = end_by_ops(loop, last->start_ns, ops);
    add_start(loop, end_ns > last->end_ns ? end_ns : last->end_ns);
}

/* Updates of one optimizer; the name decides, because a step may have several optimizers. */
typedef struct updates {
    uint32_t name, count;
    int64_t until_ns, end_ns; /* of the latest outermost call; of the last one */
    uint16_t track;
} updates;

static bool is_update(const loop *loop, uint32_t event, bool is_frame)
{
    pyro_join_state *state = loop->state;
    const pyro_joins *joins = state->joins;
    uint32_t parent = joins->parent[event];
    if (state->trace->category[event] > PYRO_EVENT_PYTHON ||
        (state->trace->category[event] == PYRO_EVENT_PYTHON) != is_frame ||
        pyro_join_name_class(state, event) != PYRO_NAME_OPTIMIZER)
        return false;
    /* An optimizer that runs in hooks of the backward updates one parameter at a time. */
    if ((parent != PYRO_NO_EVENT && joins->phase[parent] == PYRO_PHASE_BACKWARD) ||
        is_captured(loop, event))
        return false;
    const char *name = pyro_event_name(state->trace, event);
    return is_frame ? strstr(name, "): step") != NULL : !strncmp(name, "Optimizer.step#", 15);
}

/* The optimizer with the fewest updates, at least two; of several the one that ends last. */
static bool find_optimizer(loop *loop, bool is_frame, updates *best)
{
    enum { MOST_OPTIMIZERS = 32 };
    const pyro_trace *trace = loop->state->trace;
    updates found[MOST_OPTIMIZERS];
    size_t count = 0, k;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t event = loop->state->joins->by_time[i];
        if (!is_update(loop, event, is_frame))
            continue;
        uint32_t name = trace->name[event];
        uint16_t track = trace->track[event];
        for (k = 0; k < count && (found[k].name != name || found[k].track != track); k++)
            continue;
        if (k == MOST_OPTIMIZERS)
            continue;
        if (k == count)
            found[count++] = (updates){.name = name, .track = track, .until_ns = INT64_MIN};
        if (trace->start_ns[event] < found[k].until_ns)
            continue;
        found[k].until_ns = pyro_join_end_ns(trace, event);
        found[k].count++;
    }
    *best = (updates){.count = 0};
    for (k = 0; k < count; k++)
        if (found[k].count >= LEAST_UPDATES &&
            (!best->count || found[k].count < best->count ||
             (found[k].count == best->count && found[k].until_ns > best->until_ns)))
            *best = found[k];
    return best->count > 0;
}

static void collect_updates(loop *loop, marks *marks, const updates *optimizer, bool is_frame)
{
    const pyro_trace *trace = loop->state->trace;
    for (size_t i = 0; i < trace->count && !loop->memory_out; i++) {
        uint32_t event = loop->state->joins->by_time[i];
        if (trace->name[event] == optimizer->name && trace->track[event] == optimizer->track &&
            is_update(loop, event, is_frame) &&
            (!marks->count || trace->start_ns[event] >= marks->items[marks->count - 1].end_ns))
            add_mark(loop, marks, event);
    }
}

/* Where the step after update `i` begins: at its first load if every step has one. */
static int64_t start_after(const loop *loop, const marks *updates, size_t i, bool at_loads)
{
    int64_t end_ns = updates->items[i].end_ns;
    size_t load = first_from(&loop->loads, end_ns);
    return at_loads && load < loop->loads.count ? loop->loads.items[load].start_ns : end_ns;
}

static bool every_step_loads(const loop *loop, const marks *updates)
{
    for (size_t i = 0; i + 1 < updates->count; i++)
        if (!count_between(&loop->loads, updates->items[i].end_ns, updates->items[i + 1].start_ns))
            return false;
    return true;
}

static void start_after_updates(loop *loop, const marks *updates)
{
    bool at_loads = every_step_loads(loop, updates);
    size_t last = updates->count - 1;
    int64_t second_ns = start_after(loop, updates, 0, at_loads);
    add_start(loop, start_by_counts(loop, updates->items[0].start_ns, second_ns,
                                    updates->items[1].start_ns));
    for (size_t i = 0; i < last; i++)
        add_start(loop, start_after(loop, updates, i, at_loads));
    int64_t end_ns = updates->items[last].end_ns;
    size_t load = first_from(&loop->loads, end_ns);
    if (at_loads && load < loop->loads.count) {
        add_start(loop, loop->loads.items[load].start_ns);
        return;
    }
    size_t behind = at_loads ? count_between(&loop->ops, updates->items[last - 1].end_ns,
                                             loop->starts[loop->start_count - 1])
                             : 0;
    int64_t behind_ns = end_by_ops(loop, end_ns, behind);
    add_start(loop, behind_ns > end_ns ? behind_ns : end_ns);
}

/* Several updates per batch, as when two networks are trained in turn: the batch is the step. */
static bool batch_has_updates(const loop *loop, const marks *updates)
{
    size_t loads = loop->loads.count;
    if (loads < LEAST_UPDATES || updates->count < 2 * (loads - 1))
        return false;
    return updates->count % loads == 0 || updates->count % (loads - 1) == 0;
}

static int infer_from_optimizer(loop *loop)
{
    updates optimizer;
    marks updates = {0};
    bool is_frame = false;
    if (!find_optimizer(loop, false, &optimizer)) {
        is_frame = true;
        if (!find_optimizer(loop, true, &optimizer))
            return PYRO_OK;
    }
    loop->track = optimizer.track;
    collect_surroundings(loop);
    collect_updates(loop, &updates, &optimizer, is_frame);
    int status = PYRO_OK;
    if (!loop->memory_out && updates.count >= LEAST_UPDATES && !batch_has_updates(loop, &updates)) {
        start_after_updates(loop, &updates);
        status = finish_steps(loop, PYRO_STEPS_OPTIMIZER,
                              pyro_trace_text(loop->state->trace, optimizer.name));
    }
    free(updates.items);
    return status;
}

/* The thread with most events of a class; false if none has enough. */
static bool find_track(loop *loop, pyro_name_class name_class)
{
    const pyro_trace *trace = loop->state->trace;
    uint32_t *counts = calloc(trace->track_count + 1, sizeof *counts), most = 0;
    loop->memory_out |= !counts;
    for (size_t i = 0; i < trace->count && counts; i++) {
        uint16_t track = trace->track[i];
        if (trace->category[i] <= PYRO_EVENT_PYTHON &&
            pyro_join_name_class(loop->state, (uint32_t)i) == name_class &&
            ++counts[track] > most) {
            most = counts[track];
            loop->track = track;
        }
    }
    free(counts);
    return most >= LEAST_REPEATS;
}

static void forget_surroundings(loop *loop)
{
    loop->loads.count = loop->ops.count = loop->start_count = 0;
}

static int infer_from_loader(loop *loop)
{
    forget_surroundings(loop);
    if (!find_track(loop, PYRO_NAME_LOADER))
        return PYRO_OK;
    collect_surroundings(loop);
    if (loop->memory_out || loop->loads.count < LEAST_REPEATS || !loop->ops.count)
        return PYRO_OK;
    start_with_each(loop, &loop->loads, false);
    return finish_steps(loop, PYRO_STEPS_LOADER,
                        pyro_event_name(loop->state->trace, loop->loads.items[0].event));
}

/* Forward calls of a layer that no other layer called, on the thread of the first. */
typedef struct root {
    int64_t total_ns, until_ns;
    uint32_t calls, first; /* event */
} root;

static bool is_root_call(const loop *loop, const pyro_layer_call *call)
{
    const pyro_joins *joins = loop->state->joins;
    uint32_t parent = joins->parent[call->event];
    return call->parent == PYRO_NO_LAYER && call->layer < joins->layer_count &&
           (parent == PYRO_NO_EVENT || joins->phase[parent] != PYRO_PHASE_BACKWARD) &&
           !is_captured(loop, call->event);
}

static bool count_root_call(const pyro_trace *trace, root *root, uint32_t event)
{
    if (!root->calls) {
        root->first = event;
        root->until_ns = INT64_MIN;
    }
    if (trace->track[event] != trace->track[root->first] || trace->start_ns[event] < root->until_ns)
        return false;
    root->until_ns = pyro_join_end_ns(trace, event);
    int64_t span_ns = pyro_join_span_ns(trace->start_ns[event], root->until_ns);
    if (__builtin_add_overflow(root->total_ns, span_ns, &root->total_ns))
        root->total_ns = INT64_MAX;
    root->calls++;
    return true;
}

/* The root with most time among those that repeat; PYRO_NO_LAYER. */
static uint32_t find_root(loop *loop)
{
    const pyro_joins *joins = loop->state->joins;
    root *roots = calloc(joins->layer_count + 1, sizeof *roots);
    uint32_t best = PYRO_NO_LAYER;
    loop->memory_out |= !roots;
    for (size_t i = 0; i < joins->call_count && roots; i++)
        if (is_root_call(loop, &joins->calls[i]))
            count_root_call(loop->state->trace, &roots[joins->calls[i].layer],
                            joins->calls[i].event);
    for (uint32_t i = 0; i < joins->layer_count && roots; i++) {
        const root *root = &roots[i];
        if (root->calls >= LEAST_REPEATS &&
            (best == PYRO_NO_LAYER || root->total_ns > roots[best].total_ns))
            best = i;
    }
    if (best != PYRO_NO_LAYER) {
        const pyro_trace *trace = loop->state->trace;
        int64_t span_ns = pyro_join_span_ns(trace->start_ns[roots[best].first],
                                            roots[best].until_ns);
        loop->track = trace->track[roots[best].first];
        if (roots[best].total_ns < span_ns / 100 * LEAST_MODULE_PERCENT)
            best = PYRO_NO_LAYER;
    }
    free(roots);
    return best;
}

static int infer_from_module(loop *loop)
{
    const pyro_joins *joins = loop->state->joins;
    root known = {0};
    marks calls = {0};
    forget_surroundings(loop);
    uint32_t layer = find_root(loop);
    if (layer == PYRO_NO_LAYER)
        return PYRO_OK;
    collect_surroundings(loop);
    for (size_t i = 0; i < joins->call_count && !loop->memory_out; i++)
        if (joins->calls[i].layer == layer && is_root_call(loop, &joins->calls[i]) &&
            count_root_call(loop->state->trace, &known, joins->calls[i].event))
            add_mark(loop, &calls, joins->calls[i].event);
    int status = PYRO_OK;
    if (!loop->memory_out && calls.count >= LEAST_REPEATS) {
        start_with_each(loop, &calls, true);
        const pyro_layer *root = &joins->layers[layer];
        status = finish_steps(loop, PYRO_STEPS_MODULE,
                              root->path[0] ? root->path : root->class_name);
    }
    free(calls.items);
    return status;
}

static int compare_spans(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* A first step that takes far longer than the others compiles, tunes and allocates: it belongs to
 * the start-up. */
static void drop_warmup(pyro_joins *joins)
{
    enum { FEWEST = 3, MOST_SPANS = 99, TIMES = 3 };
    int64_t spans[MOST_SPANS];
    size_t count = 0;
    const pyro_step *steps = joins->steps;
    for (size_t i = 1; i < joins->step_count && count < MOST_SPANS; i++)
        spans[count++] = pyro_join_span_ns(steps[i].start_ns, steps[i].end_ns);
    if (count + 1 < FEWEST)
        return;
    qsort(spans, count, sizeof *spans, compare_spans);
    int64_t first_ns = pyro_join_span_ns(steps[0].start_ns, steps[0].end_ns);
    if (first_ns / TIMES <= spans[count / 2])
        return;
    joins->warmup_ns = first_ns;
    joins->step_count--;
    memmove(joins->steps, joins->steps + 1, joins->step_count * sizeof *joins->steps);
}

int pyro_infer_steps(pyro_join_state *state)
{
    static int (*const sources[])(loop *) = {infer_from_optimizer, infer_from_loader,
                                             infer_from_module};
    loop loop = {.state = state};
    int status = PYRO_OK;
    size_t count = sizeof sources / sizeof *sources;
    if (state->joins->step_count)
        return PYRO_OK;
    find_captures(&loop);
    for (size_t i = 0; i < count && !status && !state->joins->step_count; i++) {
        status = sources[i](&loop);
        if (!status && loop.memory_out)
            status = pyro_fail_memory(state->error);
    }
    free(loop.captures.items);
    free(loop.loads.items);
    free(loop.ops.items);
    free(loop.starts);
    if (!status && !state->joins->step_count)
        status = pyro_infer_steps_of_ranges(state);
    if (!status && !state->joins->step_count)
        status = pyro_infer_steps_of_kernels(state);
    if (!status && pyro_steps_are_inferred(state->joins->step_source))
        drop_warmup(state->joins);
    return status;
}
