/*
 * Infers the steps of a trace without marks from a range that the program itself names, such as
 * record_function("request"), if it repeats and takes most of the time. The name may count: "step 1",
 * "step 2". A step lasts from one such range to the next.
 */
#include "trace/joins/internal.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_RANGES = 3, LEAST_PERCENT = 50, MOST_NAMES = 64, DEEPEST_LOOK = 1000 };

#define DIGITS "0123456789"

/* The outermost ranges with one name on one thread. */
typedef struct range_sum {
    uint32_t name, calls; /* of names that count: the first */
    uint16_t track;
    bool counts;      /* names differ in their digits */
    bool is_in_order; /* and their numbers grow */
    int64_t number;   /* the last one */
    int64_t total_ns, first_ns, last_ns;
} range_sum;

typedef struct range_sums {
    range_sum sums[MOST_NAMES];
    size_t count;
} range_sums;

/* Ranges that libraries name, not the program. */
static bool is_of_library(const char *name)
{
    static const char *const prefixes[] = {"gloo:",
                                           "nccl:",
                                           "mpi:",
                                           "ucc:",
                                           "xccl:",
                                           "## Call CompiledFxGraph",
                                           "Torch-Compiled Region",
                                           "TorchDynamo",
                                           "Optimizer.",
                                           "DistributedDataParallel.",
                                           "FSDP",
                                           "ProfilerStep",
                                           "PyTorch Profiler"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static bool is_range(pyro_join_state *state, uint32_t event)
{
    const pyro_trace *trace = state->trace;
    return trace->category[event] == PYRO_EVENT_ANNOTATION && trace->name[event] != PYRO_NO_ID &&
           pyro_join_name_class(state, event) == PYRO_NAME_PLAIN &&
           !is_of_library(pyro_event_name(trace, event));
}

/* Whether no other range is around a range. */
static bool is_outermost(pyro_join_state *state, uint32_t event)
{
    uint32_t parent = state->joins->parent[event];
    for (int i = 0; i < DEEPEST_LOOK && parent != PYRO_NO_EVENT; i++) {
        if (is_range(state, parent))
            return false;
        parent = state->joins->parent[parent];
    }
    return true;
}

/* The number in "step 1" or "batch_12"; -1: missing, or it counts something else, such as
 * layers. */
static int64_t number_in(const char *name)
{
    static const char *const words[] = {"step",   "iter",   "batch", "request", "token",  "turn",
                                        "sample", "prompt", "query", "example", "decode", "epoch"};
    bool is_counter = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && !is_counter; i++)
        is_counter = strcasestr(name, words[i]) != NULL;
    name += strcspn(name, DIGITS);
    return is_counter && *name ? strtoll(name, NULL, 10) : -1;
}

static bool differ_in_digits_only(const char *left, const char *right)
{
    for (;; left++, right++) {
        left += strspn(left, DIGITS);
        right += strspn(right, DIGITS);
        if (*left != *right)
            return false;
        if (!*left)
            return true;
    }
}

/* Whether a range belongs to a sum. */
static bool is_of_sum(const pyro_trace *trace, const range_sum *sum, uint32_t event)
{
    if (sum->track != trace->track[event])
        return false;
    return sum->name == trace->name[event] ||
           (sum->counts && differ_in_digits_only(pyro_trace_text(trace, sum->name),
                                                 pyro_event_name(trace, event)));
}

/* Adds a range to those with its name, or where the name has a number to those with such names. */
static void add_range(const pyro_trace *trace, range_sums *all, uint32_t event, int64_t number)
{
    size_t k = 0;
    while (k < all->count && !is_of_sum(trace, &all->sums[k], event))
        k++;
    if (k == MOST_NAMES)
        return;
    range_sum *sum = &all->sums[k];
    if (k == all->count) {
        all->count++;
        *sum = (range_sum){.name = trace->name[event],
                           .track = trace->track[event],
                           .counts = number >= 0,
                           .is_in_order = true,
                           .number = -1,
                           .first_ns = trace->start_ns[event],
                           .last_ns = trace->start_ns[event]};
    }
    int64_t end_ns = pyro_join_end_ns(trace, event);
    pyro_join_add_ns(&sum->total_ns, pyro_join_span_ns(trace->start_ns[event], end_ns));
    sum->last_ns = end_ns > sum->last_ns ? end_ns : sum->last_ns;
    sum->is_in_order &= !sum->counts || number > sum->number;
    sum->number = number;
    sum->calls++;
}

static bool is_loop(const range_sum *sum)
{
    return sum->calls >= LEAST_RANGES && sum->is_in_order &&
           sum->total_ns / LEAST_PERCENT >= pyro_join_span_ns(sum->first_ns, sum->last_ns) / 100;
}

static int add_step(pyro_join_state *state, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= start_ns)
        return PYRO_OK;
    return pyro_add_step(state, (pyro_step){.event = PYRO_NO_EVENT,
                                            .number = (int64_t)state->joins->step_count,
                                            .start_ns = start_ns,
                                            .end_ns = end_ns});
}

/* A step per range of the loop, each until the next one starts. */
static int add_steps(pyro_join_state *state, const range_sum *loop)
{
    const pyro_trace *trace = state->trace;
    int64_t start_ns = loop->first_ns;
    int status = PYRO_OK;
    for (size_t i = 0; i < trace->count && status == PYRO_OK; i++) {
        uint32_t event = state->joins->by_time[i];
        if (!is_range(state, event) || !is_of_sum(trace, loop, event) ||
            !is_outermost(state, event))
            continue;
        status = add_step(state, start_ns, trace->start_ns[event]);
        start_ns = trace->start_ns[event];
    }
    return status == PYRO_OK ? add_step(state, start_ns, loop->last_ns) : status;
}

/* The longest loop; NULL: not found. */
static const range_sum *find_loop(const range_sums *all)
{
    const range_sum *best = NULL;
    for (size_t i = 0; i < all->count; i++)
        if (is_loop(&all->sums[i]) && (!best || all->sums[i].total_ns > best->total_ns))
            best = &all->sums[i];
    return best;
}

/* "step #" for "step 1"; NULL when memory is out. */
static const char *mark_of(pyro_join_state *state, const range_sum *loop)
{
    const char *name = pyro_trace_text(state->trace, loop->name);
    char *mark = pyro_arena_text(&state->joins->arena, name, strlen(name));
    if (!loop->counts || !mark)
        return mark ? name : NULL;
    char *out = mark + strcspn(mark, DIGITS);
    for (const char *at = out; *at;) {
        size_t digits = strspn(at, DIGITS);
        *out++ = digits ? '#' : *at;
        at += digits ? digits : 1;
    }
    *out = '\0';
    return mark;
}

int pyro_infer_steps_of_ranges(pyro_join_state *state)
{
    range_sums by_name = {.count = 0}, by_number = {.count = 0};
    for (size_t i = 0; i < state->trace->count; i++) {
        uint32_t event = state->joins->by_time[i];
        if (!is_range(state, event) || !is_outermost(state, event))
            continue;
        int64_t number = number_in(pyro_event_name(state->trace, event));
        add_range(state->trace, &by_name, event, -1);
        if (number >= 0)
            add_range(state->trace, &by_number, event, number);
    }
    const range_sum *loop = find_loop(&by_name);
    loop = loop ? loop : find_loop(&by_number);
    if (!loop)
        return PYRO_OK;
    int status = add_steps(state, loop);
    if (status == PYRO_OK && state->joins->step_count) {
        const char *mark = mark_of(state, loop);
        state->joins->step_source = PYRO_STEPS_ANNOTATION;
        state->joins->step_mark = mark ? mark : "";
        status = mark ? PYRO_OK : pyro_fail_memory(state->error);
    }
    return status;
}
