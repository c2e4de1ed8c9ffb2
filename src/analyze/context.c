/* Makes the data that analyses share: span, windows, device numbers; and finds what encloses an
 * event. */
#include "analyze/analyze.h"
#include "analyze/intervals.h"
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deeper chains of frames than any interpreter allows are not followed to their end. */
#define DEEPEST_CHAIN 1000

typedef struct time_span {
    int64_t start_ns, end_ns;
} time_span;

static inline void widen(time_span *span, int64_t start_ns, int64_t end_ns)
{
    span->start_ns = start_ns < span->start_ns ? start_ns : span->start_ns;
    span->end_ns = end_ns > span->end_ns ? end_ns : span->end_ns;
}

/* The span goes from the first to the last host event or device work; marks do not extend it. */
static void measure_span(pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    time_span work = {INT64_MAX, INT64_MIN}, marks = work;
    for (size_t i = 0; i < trace->count; i++) {
        uint8_t category = trace->category[i];
        context->category_count[category]++;
        if (category <= PYRO_EVENT_MEMSET)
            widen(&work, trace->start_ns[i], pyro_event_end_ns(trace, i));
        else
            widen(&marks, trace->start_ns[i], pyro_event_end_ns(trace, i));
    }
    time_span span = work.start_ns <= work.end_ns ? work : marks;
    if (span.start_ns > span.end_ns)
        return;
    context->result->start_ns = span.start_ns;
    context->result->span_ns = span.end_ns - span.start_ns;
}

/* Ranges that are steps are no ops, even where the trace holds them as ops. */
static void mark_step_names(pyro_analysis_context *context)
{
    const pyro_joins *joins = context->joins;
    for (size_t i = 0; i < joins->step_count; i++) {
        uint32_t event = joins->steps[i].event;
        if (event != PYRO_NO_EVENT && context->trace->name[event] != PYRO_NO_ID)
            context->name_traits[context->trace->name[event]] |= PYRO_TRAIT_STEP;
    }
}

static int make_windows(pyro_analysis_context *context)
{
    const pyro_joins *joins = context->joins;
    int64_t asked = context->options->step;
    context->windows_are_steps = joins->step_count > 0;
    size_t most = joins->step_count ? joins->step_count : 1;
    pyro_window *windows = pyro_arena_array(context->scratch, most, sizeof *windows);
    if (!windows)
        return pyro_fail_memory(context->error);
    context->windows = windows;
    context->result->step_source = joins->step_source;
    context->result->step_mark = joins->step_mark ? joins->step_mark : "";
    mark_step_names(context);
    if (!context->windows_are_steps) {
        if (asked >= 0)
            return pyro_fail(context->error, PYRO_ERROR_ARGUMENT,
                             "no step %lld: the trace has no steps", (long long)asked);
        windows[0] = (pyro_window){"(whole trace)", -1, context->result->start_ns,
                                   context->result->start_ns + context->result->span_ns};
        context->window_count = 1;
        return PYRO_OK;
    }
    for (size_t i = 0; i < joins->step_count; i++) {
        const pyro_step *step = &joins->steps[i];
        if (asked < 0 || step->number == asked)
            windows[context->window_count++] = (pyro_window){step->name, step->number,
                                                             step->start_ns, step->end_ns};
    }
    if (context->window_count)
        return PYRO_OK;
    return pyro_fail(context->error, PYRO_ERROR_ARGUMENT,
                     "no step %lld: the trace has steps %lld to %lld", (long long)asked,
                     (long long)joins->steps[0].number,
                     (long long)joins->steps[joins->step_count - 1].number);
}

static int compare_boundaries(const void *a, const void *b)
{
    const pyro_boundary *left = a, *right = b;
    if (left->time_ns != right->time_ns)
        return left->time_ns < right->time_ns ? -1 : 1;
    return (int)right->is_end - (int)left->is_end;
}

/* Steps that follow each other are in order already; qsort is for those that overlap. */
static void sort_boundaries(pyro_boundary *boundaries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (compare_boundaries(&boundaries[i - 1], &boundaries[i]) > 0) {
            qsort(boundaries, count, sizeof *boundaries, compare_boundaries);
            return;
        }
    }
}

/* The open windows form a stack by start; one that ends below the top is popped when it surfaces.
 * */
static int find_owners(pyro_analysis_context *context, const pyro_window *windows,
                       pyro_boundary *boundaries, size_t count)
{
    uint32_t *open = pyro_arena_array(context->scratch, context->window_count, sizeof *open);
    bool *ended = pyro_arena_array(context->scratch, context->window_count, sizeof *ended);
    if (!open || !ended)
        return pyro_fail_memory(context->error);
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t window = boundaries[i].window;
        const pyro_window *limits = &windows[window];
        if (boundaries[i].is_end)
            ended[window] = true;
        else if (limits->end_ns > limits->start_ns)
            open[depth++] = window;
        while (depth && ended[open[depth - 1]])
            depth--;
        boundaries[i].owner = depth ? open[depth - 1] : PYRO_NO_EVENT;
    }
    return PYRO_OK;
}

static size_t part_of(const pyro_boundary_index *index, const pyro_boundary *boundaries,
                      int64_t time_ns)
{
    return (size_t)(((uint64_t)time_ns - (uint64_t)boundaries[0].time_ns) >> index->shift);
}

/* Every launch and kernel asks for its step, so that a search through all of them takes long. */
static int index_boundaries(pyro_analysis_context *context, const pyro_boundary *boundaries,
                            size_t count, pyro_boundary_index *index)
{
    enum { PARTS_PER_BOUNDARY = 4, MOST_PARTS = 1 << 16 };
    size_t passed = 0;
    index->parts = count < MOST_PARTS / PARTS_PER_BOUNDARY ? count * PARTS_PER_BOUNDARY
                                                           : MOST_PARTS;
    index->shift = 0;
    index->passed = pyro_arena_array(context->scratch, index->parts + 1, sizeof *index->passed);
    if (!index->passed)
        return pyro_fail_memory(context->error);
    while (part_of(index, boundaries, boundaries[count - 1].time_ns) >= index->parts)
        index->shift++;
    for (size_t part = 0; part <= index->parts; part++) {
        while (passed < count && part_of(index, boundaries, boundaries[passed].time_ns) < part)
            passed++;
        index->passed[part] = (uint32_t)passed;
    }
    return PYRO_OK;
}

static int make_boundaries(pyro_analysis_context *context, const pyro_window *windows,
                           const pyro_boundary **out, pyro_boundary_index *index)
{
    size_t count = context->window_count * 2;
    pyro_boundary *boundaries = pyro_arena_array(context->scratch, count, sizeof *boundaries);
    if (!boundaries)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < context->window_count; i++) {
        const pyro_window *window = &windows[i];
        boundaries[2 * i] = (pyro_boundary){window->start_ns, (uint32_t)i, PYRO_NO_EVENT, false};
        boundaries[2 * i + 1] = (pyro_boundary){window->end_ns, (uint32_t)i, PYRO_NO_EVENT, true};
    }
    sort_boundaries(boundaries, count);
    *out = boundaries;
    context->boundary_count = count;
    int status = find_owners(context, windows, boundaries, count);
    return status == PYRO_OK ? index_boundaries(context, boundaries, count, index) : status;
}

static int number_devices(pyro_analysis_context *context)
{
    const pyro_trace *trace = context->trace;
    pyro_map numbers = PYRO_MAP_INIT;
    int status = PYRO_OK;
    context->device_of_track = pyro_arena_array(context->scratch, trace->track_count, 2);
    context->devices = pyro_arena_array(context->scratch, trace->track_count, sizeof(int));
    if (!context->device_of_track || !context->devices)
        return pyro_fail_memory(context->error);
    for (size_t i = 0; i < trace->track_count; i++) {
        /* A row of synchronisations alone does not make a device that could have worked. */
        if (!trace->tracks[i].has_work)
            continue;
        int device = trace->tracks[i].device;
        uint32_t number = pyro_map_get(&numbers, (uint32_t)device);
        if (number == PYRO_MAP_NONE) {
            number = (uint32_t)context->device_count;
            if (!pyro_map_put(&numbers, (uint32_t)device, number)) {
                status = pyro_fail_memory(context->error);
                break;
            }
            context->devices[context->device_count++] = device;
        }
        context->device_of_track[i] = (uint16_t)number;
    }
    pyro_map_free(&numbers);
    return status;
}

int pyro_context_measure(pyro_analysis_context *context)
{
    size_t names = context->trace->names.count;
    context->name_traits = pyro_arena_array(context->scratch, names ? names : 1,
                                            sizeof *context->name_traits);
    if (!context->name_traits)
        return pyro_fail_memory(context->error);
    measure_span(context);
    return number_devices(context);
}

int pyro_context_prepare(pyro_analysis_context *context)
{
    int status = make_windows(context);
    if (status == PYRO_OK)
        status = pyro_context_find_spans(context);
    if (status == PYRO_OK)
        status = make_boundaries(context, context->windows, &context->boundaries,
                                 &context->boundary_index);
    if (status == PYRO_OK)
        status = make_boundaries(context, context->spans, &context->span_boundaries,
                                 &context->span_boundary_index);
    if (status == PYRO_OK)
        status = pyro_context_bound_launches(context);
    if (status == PYRO_OK && context->options->step >= 0) {
        context->result->start_ns = context->spans[0].start_ns;
        context->result->span_ns = context->spans[0].end_ns - context->spans[0].start_ns;
    }
    return status;
}

bool pyro_context_in_step(const pyro_analysis_context *context, int64_t start_ns)
{
    return context->options->step < 0 || pyro_context_window_at(context, start_ns) != PYRO_NO_EVENT;
}

bool pyro_context_chooses(const pyro_analysis_context *context, uint32_t event)
{
    const pyro_analysis_options *options = context->options;
    uint8_t category = context->trace->category[event];
    bool is_work = pyro_event_is_device_work(category);
    if (options->phase != PYRO_PHASE_OTHER && (is_work || pyro_event_is_host(category)) &&
        context->joins->phase[event] != options->phase)
        return false;
    return pyro_context_in_step(context, is_work ? pyro_context_launch_ns(context, event)
                                                 : context->trace->start_ns[event]);
}

static uint32_t owner_at(const pyro_boundary_index *index, const pyro_boundary *boundaries,
                         size_t count, int64_t time_ns)
{
    if (!count || time_ns < boundaries[0].time_ns)
        return PYRO_NO_EVENT;
    size_t part = part_of(index, boundaries, time_ns);
    size_t low = part < index->parts ? index->passed[part] : count;
    size_t high = part < index->parts ? index->passed[part + 1] : count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (boundaries[middle].time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return boundaries[low - 1].owner;
}

uint32_t pyro_context_window_at(const pyro_analysis_context *context, int64_t time_ns)
{
    return context->windows_are_steps ? owner_at(&context->boundary_index, context->boundaries,
                                                 context->boundary_count, time_ns)
                                      : 0;
}

uint32_t pyro_context_span_at(const pyro_analysis_context *context, int64_t time_ns)
{
    return context->windows_are_steps
               ? owner_at(&context->span_boundary_index, context->span_boundaries,
                          context->boundary_count, time_ns)
               : 0;
}

/* cudaMemcpy, hipMemcpyWithStream, cuMemcpyDtoH_v2: copies that return when they are done. */
static bool is_blocking_copy(const char *name)
{
    static const char *const prefixes[] = {"cudaMemcpy", "hipMemcpy", "cuMemcpy"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return !strstr(name, "Async");
    }
    return false;
}

static bool is_sync(const char *name)
{
    static const char *const calls[] = {"urEventWait", "urQueueFinish", "zeEventHostSynchronize"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(name, calls[i]) == 0)
            return true;
    }
    return strstr(name, "Synchronize") || is_blocking_copy(name);
}

static bool is_step(const char *name)
{
    return strncmp(name, "ProfilerStep", strlen("ProfilerStep")) == 0;
}

/* Ranges of the process groups: "gloo:all_reduce", "c10d::allreduce_". */
bool pyro_is_communication(const char *name)
{
    static const char *const prefixes[] = {"c10d::",
                                           "_c10d_functional::",
                                           "c10d_functional::",
                                           "record_param_comms",
                                           "gloo:",
                                           "nccl:",
                                           "mpi:",
                                           "ucc:",
                                           "xccl:"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* "train.py(12): step" of `length` bytes, but no built-in function and no layer. */
static bool is_line(const char *text, size_t length)
{
    const char *mark = length ? memchr(text, '(', length) : NULL;
    if (!mark || mark + 1 >= text + length || text[0] == '<')
        return false;
    return mark[1] >= '0' && mark[1] <= '9';
}

/* Frames of Python's own library, which the program calls: they say little about where it is. Files
 * in site-packages have a folder around them. */
static bool is_of_python(const char *text, size_t length)
{
    static const char *const files[] = {
        "multiprocessing/", "concurrent/",   "asyncio/",       "threading.py(",
        "queue.py(",        "selectors.py(", "contextlib.py(", "functools.py(",
        "socket.py(",       "ssl.py(",       "subprocess.py(", "collections/__init__",
        "copy.py(",         "random.py(",    "enum.py(",       "json/",
        "logging/",         "pickle.py(",    "tempfile.py(",   "weakref.py(",
        "abc.py("};
    const char *library = NULL;
    for (const char *p = text; (p = memchr(p, '/', (size_t)(text + length - p))); p++)
        if (text + length - p > 13 && memcmp(p, "/lib/python3.", 13) == 0)
            library = p + 13;
    if (library) { /* "/usr/lib/python3.11/threading.py(1): run" */
        const char *slash = memchr(library, '/', (size_t)(text + length - library));
        const char *rest = slash ? slash + 1 : text + length;
        return text + length - rest < 14 || memcmp(rest, "site-packages/", 14) != 0;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (length > strlen(files[i]) && memcmp(text, files[i], strlen(files[i])) == 0)
            return true;
    return false;
}

/* Code that torch.compile generates: its files say nothing to their reader. */
static bool is_generated(const char *text, size_t length)
{
    static const char folder[] = "torchinductor_";
    size_t folder_length = sizeof folder - 1;
    for (const char *p = text; (p = memchr(p, 't', (size_t)(text + length - p))); p++)
        if ((size_t)(text + length - p) > folder_length && memcmp(p, folder, folder_length) == 0)
            return true;
    return false;
}

static bool is_of_torch(const char *text, size_t length)
{
    if (is_generated(text, length))
        return true;
    if (length > 6 && memcmp(text, "torch/", 6) == 0)
        return true;
    const char *end = text + length;
    for (const char *p = text; (p = memchr(p, '/', (size_t)(end - p))); p++) {
        if (end - p > 7 && memcmp(p, "/torch/", 7) == 0)
            return true;
    }
    return false;
}

/* Whether a frame is of the program itself. */
static bool is_own(const char *text, size_t length)
{
    return !is_of_torch(text, length) && !is_of_python(text, length);
}

bool pyro_is_own_line(const char *line)
{
    size_t length = strlen(line);
    return is_line(line, length) && is_own(line, length);
}

static uint16_t traits_of_line(const char *name, size_t length)
{
    if (!is_line(name, length) || is_generated(name, length))
        return 0;
    return PYRO_TRAIT_LINE | (is_own(name, length) ? PYRO_TRAIT_OWN_LINE : 0);
}

/* CUPTI's own work while the program waits for it. Loading modules is no part of it: programs do that
 * without a profiler too. */
static bool is_profiling(const char *name)
{
    static const char *const names[] = {"Activity Buffer Request", "Instrumentation", "Resource"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static uint16_t traits_of_host_name(const char *name)
{
    /* Work.wait() of torch.distributed */
    static const char blocking[] = "<built-in method wait of ";
    uint16_t traits = 0;
    if (is_sync(name))
        traits |= PYRO_TRAIT_SYNC;
    if (strcmp(name, "aten::item") == 0 || strcmp(name, "aten::_local_scalar_dense") == 0)
        traits |= PYRO_TRAIT_ITEM;
    if (pyro_is_loader_name(name))
        traits |= PYRO_TRAIT_LOADER;
    if (is_step(name))
        traits |= PYRO_TRAIT_STEP;
    if (pyro_is_communication(name))
        traits |= PYRO_TRAIT_COMMUNICATION;
    if (name[0] == '<')
        traits |= PYRO_TRAIT_BUILTIN;
    if (strncmp(name, blocking, sizeof blocking - 1) == 0)
        traits |= PYRO_TRAIT_BLOCKED;
    if (strstr(name, "GraphLaunch"))
        traits |= PYRO_TRAIT_GRAPH_LAUNCH;
    if (pyro_is_compiling_name(name))
        traits |= PYRO_TRAIT_COMPILING;
    if (is_profiling(name))
        traits |= PYRO_TRAIT_PROFILING;
    return traits | traits_of_line(name, strlen(name));
}

uint16_t pyro_context_find_traits(pyro_analysis_context *context, uint32_t name, uint16_t known)
{
    const char *text = pyro_trace_text(context->trace, name);
    uint16_t *traits = &context->name_traits[name];
    *traits |= known;
    if (known != PYRO_TRAIT_KERNEL_KNOWN)
        *traits |= traits_of_host_name(text);
    else if (pyro_is_collective_kernel(text))
        *traits |= PYRO_TRAIT_COLLECTIVE;
    return *traits;
}

const char *pyro_context_layer(const pyro_analysis_context *context, uint32_t event)
{
    const pyro_joins *joins = context->joins;
    uint32_t call = event == PYRO_NO_EVENT ? PYRO_NO_LAYER : joins->call[event];
    uint32_t layer = call == PYRO_NO_LAYER ? PYRO_NO_LAYER : joins->calls[call].layer;
    while (layer != PYRO_NO_LAYER && joins->layers[layer].is_graph)
        layer = joins->layers[layer].parent;
    return layer == PYRO_NO_LAYER ? "" : joins->layers[layer].path;
}

const char *pyro_context_op(const pyro_analysis_context *context, uint32_t event)
{
    uint32_t op = event == PYRO_NO_EVENT ? PYRO_NO_EVENT : context->joins->op[event];
    const char *name = op == PYRO_NO_EVENT ? "" : pyro_event_name(context->trace, op);
    return is_step(name) ? "" : name;
}

static const char *line_of_frames(pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    const char *innermost = NULL;
    for (int i = 0; i < DEEPEST_CHAIN && event != PYRO_NO_EVENT; i++) {
        uint16_t traits = trace->category[event] == PYRO_EVENT_PYTHON
                              ? pyro_context_host_traits(context, event)
                              : 0;
        if (traits & PYRO_TRAIT_OWN_LINE)
            return pyro_event_name(trace, event);
        if (traits & PYRO_TRAIT_LINE && !innermost)
            innermost = pyro_event_name(trace, event);
        event = context->joins->parent[event];
    }
    return innermost;
}

/* A stack holds frames, innermost first, with ';' or newlines between. */
static const char *line_of_stack(pyro_analysis_context *context, const char *stack)
{
    const char *best = NULL;
    size_t best_length = 0;
    while (*stack) {
        size_t length = strcspn(stack, ";\n");
        if (is_line(stack, length)) {
            bool is_found = is_own(stack, length);
            if (is_found || !best) {
                best = stack;
                best_length = length;
            }
            if (is_found)
                break;
        }
        stack += length + (stack[length] != '\0');
    }
    if (!best)
        return "";
    uint32_t id = pyro_intern_add(context->texts, best, best_length);
    return id == PYRO_INTERN_NONE ? NULL : pyro_intern_text(context->texts, id);
}

const char *pyro_context_line(pyro_analysis_context *context, uint32_t event)
{
    const pyro_trace *trace = context->trace;
    const char *line = line_of_frames(context, event);
    if (line)
        return line;
    for (int i = 0; i < DEEPEST_CHAIN && event != PYRO_NO_EVENT; i++) {
        uint32_t detail = trace->detail[event];
        if (trace->category[event] == PYRO_EVENT_OP && detail != PYRO_NO_ID) {
            const char *stack = pyro_trace_text(trace, trace->ops[detail].stack);
            if (*stack)
                return line_of_stack(context, stack);
        }
        event = context->joins->parent[event];
    }
    return "";
}

bool pyro_context_shows(const pyro_analysis_context *context, const char *text)
{
    return !context->filter || regexec(context->filter, text, 0, NULL, 0) == 0;
}

int pyro_context_note(pyro_analysis_context *context, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t count = context->note_count;
    /* Notes are few: each allocates a new array. */
    const char **notes = pyro_arena_array(context->arena, count + 1, sizeof *notes);
    char *note = pyro_arena_text(context->arena, text, strlen(text));
    if (!notes || !note)
        return pyro_fail_memory(context->error);
    if (count)
        memcpy(notes, context->notes, count * sizeof *notes);
    notes[count] = note;
    context->notes = notes;
    context->note_count = count + 1;
    return PYRO_OK;
}
