/*
 * Summarises ops and labels by name, input shapes and innermost frames like torch.profiler's
 * key_averages: times and memory with and without callees, summed over calls. An op that only calls
 * another op of the same name counts as one call with it.
 */
#include "analyze/enclosing.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/containers/map.h"

#include <stdlib.h>
#include <string.h>

/* Deeper nests of ops than this are not followed to their outermost. */
enum { DEEPEST_NEST = 1000 };

/* The public part comes first, so that a pointer to it points to the whole. */
typedef struct whole_averages {
    pyro_averages result;
    pyro_arena arena;
    pyro_intern keys; /* name, shapes and frames in one text -> row */
    pyro_average_row *rows;
    size_t count, capacity;
} whole_averages;

typedef struct collector {
    whole_averages *whole;
    const pyro_trace *trace;
    const pyro_joins *joins;
    bool by_shapes;
    size_t frames;
    pyro_enclosing enclosing;
    uint32_t *children; /* by event: direct ones */
    uint32_t *row;      /* by event: its row; PYRO_NO_ID until it is known */
    pyro_buf key;
} collector;

static bool is_counted(const void *trace, uint32_t event)
{
    uint8_t category = ((const pyro_trace *)trace)->category[event];
    return category == PYRO_EVENT_OP || category == PYRO_EVENT_ANNOTATION ||
           category == PYRO_EVENT_RUNTIME || category == PYRO_EVENT_DRIVER;
}

/* The counted event around an event. */
static uint32_t around(collector *c, uint32_t event)
{
    return pyro_enclosing_find(&c->enclosing, c->joins, c->trace->count, event, is_counted,
                               c->trace);
}

static bool is_one_with_outer(collector *c, uint32_t event)
{
    uint32_t outer = around(c, event);
    return outer != PYRO_NO_EVENT && c->trace->name[outer] == c->trace->name[event] &&
           c->children[outer] == 1;
}

/* As above, but skips ops that are one call with the op around them. */
static uint32_t holder_of(collector *c, uint32_t event)
{
    uint32_t outer = around(c, event);
    for (int i = 0; i < DEEPEST_NEST && outer != PYRO_NO_EVENT && is_one_with_outer(c, outer); i++)
        outer = around(c, outer);
    return outer;
}

/* The first frames of a stack, innermost first as the text has them. */
static size_t frames_length(const char *stack, size_t frames)
{
    const char *end = stack;
    for (; frames > 0 && *end != '\0'; frames--) {
        end += strcspn(end, ";\n");
        if (frames > 1 && *end != '\0')
            end++;
    }
    return (size_t)(end - stack);
}

/* The row of an event, made when it is new; PYRO_NO_ID when memory is out. */
static uint32_t find_row(collector *c, uint32_t event)
{
    whole_averages *whole = c->whole;
    const pyro_trace *trace = c->trace;
    uint32_t detail = trace->category[event] == PYRO_EVENT_OP ? trace->detail[event] : PYRO_NO_ID;
    bool known = detail != PYRO_NO_ID;
    const char *name = pyro_event_name(trace, event);
    const char *shapes = c->by_shapes && known ? pyro_trace_text(trace, trace->ops[detail].dims)
                                               : "";
    const char *stack = c->frames && known ? pyro_trace_text(trace, trace->ops[detail].stack) : "";
    size_t stack_length = frames_length(stack, c->frames);

    if (c->row[event] != PYRO_NO_ID)
        return c->row[event];
    pyro_buf_reset(&c->key);
    pyro_buf_addf(&c->key, "%s%c%s%c%.*s", name, 1, shapes, 1, (int)stack_length, stack);
    if (c->key.failed)
        return PYRO_NO_ID;
    uint32_t row = pyro_intern_add(&whole->keys, c->key.data, c->key.length);
    if (row == PYRO_INTERN_NONE)
        return PYRO_NO_ID;
    if (row == whole->count) {
        const char *kept = pyro_arena_text(&whole->arena, stack, stack_length);
        if (!kept ||
            !pyro_grow(&whole->rows, &whole->capacity, whole->count + 1, sizeof *whole->rows))
            return PYRO_NO_ID;
        whole->rows[whole->count++] = (pyro_average_row){
            .name = name, .shapes = shapes, .stack = kept};
    }
    c->row[event] = row;
    return row;
}

static bool add_host(collector *c, uint32_t event)
{
    int64_t duration = c->trace->duration_ns[event];
    uint32_t holder = holder_of(c, event), row;

    if (is_one_with_outer(c, event))
        return true;
    row = find_row(c, event);
    if (row == PYRO_NO_ID)
        return false;
    c->whole->rows[row].calls++;
    c->whole->rows[row].host_total_ns += duration;
    c->whole->rows[row].host_self_ns += duration;
    if (holder == PYRO_NO_EVENT)
        return true;
    row = find_row(c, holder);
    if (row == PYRO_NO_ID)
        return false;
    c->whole->rows[row].host_self_ns -= duration;
    return true;
}

/* Counts for the innermost enclosing event, and in the totals of all outer ones. */
static bool add_inside(collector *c, uint32_t event, size_t total, size_t self, int64_t amount)
{
    uint32_t holder = is_counted(c->trace, event) && !is_one_with_outer(c, event)
                          ? event
                          : holder_of(c, event);

    /* Memory outside all ops has a separate row. */
    if (holder == PYRO_NO_EVENT && c->trace->category[event] == PYRO_EVENT_MEMORY) {
        holder = event;
        uint32_t row = find_row(c, event);
        if (row == PYRO_NO_ID)
            return false;
        c->whole->rows[row].calls++;
    }
    for (int depth = 0; depth < DEEPEST_NEST && holder != PYRO_NO_EVENT; depth++) {
        uint32_t row = find_row(c, holder);
        char *base;

        if (row == PYRO_NO_ID)
            return false;
        base = (char *)&c->whole->rows[row];
        *(int64_t *)(base + total) += amount;
        if (depth == 0)
            *(int64_t *)(base + self) += amount;
        holder = holder_of(c, holder);
    }
    return true;
}

#define INSIDE(c, event, member, amount) \
    add_inside(c, event, offsetof(pyro_average_row, member##_total), \
               offsetof(pyro_average_row, member##_self), amount)

static bool add_event(collector *c, uint32_t event)
{
    const pyro_trace *trace = c->trace;
    uint8_t category = trace->category[event];

    if (is_counted(trace, event))
        return add_host(c, event);
    if (category == PYRO_EVENT_MEMORY && trace->detail[event] != PYRO_NO_ID) {
        const pyro_memory_detail *memory = &trace->memory[trace->detail[event]];
        int64_t bytes = memory->out_of_memory ? 0 : memory->bytes;

        return memory->device_type == 0 ? INSIDE(c, event, host_bytes, bytes)
                                        : INSIDE(c, event, device_bytes, bytes);
    }
    if (pyro_event_is_device_work(category) && c->joins->launch[event] != PYRO_NO_EVENT)
        return INSIDE(c, c->joins->launch[event], device_ns, trace->duration_ns[event]);
    return true;
}

static bool collect(collector *c)
{
    const pyro_trace *trace = c->trace;

    for (size_t event = 0; event < trace->count; event++)
        if (is_counted(trace, (uint32_t)event)) {
            uint32_t outer = around(c, (uint32_t)event);
            if (outer != PYRO_NO_EVENT)
                c->children[outer]++;
        }
    memset(c->row, 0xff, trace->count * sizeof *c->row);
    for (size_t i = 0; i < trace->count; i++)
        if (!add_event(c, c->joins->by_time[i]))
            return false;
    return true;
}

void pyro_averages_free(pyro_averages *averages)
{
    whole_averages *whole = (whole_averages *)averages;

    if (!whole)
        return;
    pyro_intern_free(&whole->keys);
    pyro_arena_free(&whole->arena);
    free(whole->rows);
    free(whole);
}

int pyro_trace_averages(pyro_averages **out, pyro_trace *trace, bool by_shapes, size_t frames,
                        pyro_error *error)
{
    pyro_analysis_options options = {.step = -1};
    pyro_joins joins;
    collector c = {.trace = trace, .joins = &joins, .by_shapes = by_shapes, .frames = frames};
    int status = pyro_joins_make(&joins, trace, &options, error);

    *out = NULL;
    if (status == PYRO_OK) {
        c.whole = calloc(1, sizeof *c.whole);
        c.children = calloc(trace->count + 1, sizeof *c.children);
        c.row = calloc(trace->count + 1, sizeof *c.row);
        if (c.whole) {
            pyro_arena_init(&c.whole->arena);
            pyro_intern_init(&c.whole->keys, &c.whole->arena);
        }
        if (!c.whole || !c.children || !c.row || !collect(&c))
            status = pyro_fail_memory(error);
    }
    if (status == PYRO_OK) {
        c.whole->result = (pyro_averages){c.whole->rows, c.whole->count};
        *out = &c.whole->result;
    } else {
        pyro_averages_free((pyro_averages *)c.whole);
    }
    pyro_buf_free(&c.key);
    free(c.children);
    pyro_enclosing_free(&c.enclosing);
    free(c.row);
    pyro_joins_free(&joins);
    return status;
}
