/*
 * Detects copies that nothing needs: clones that nobody writes to, conversions to another type and
 * back, and tensors that go to the host and back. Each is seen from the ops that follow it.
 */
#include "analyze/findings/findings.h"
#include "analyze/findings/op_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NEEDLESS = 1, TO_HOST = 2, TO_DEVICE = 4 };

/* The last copy of a track, while only views came after it. */
typedef struct last_copy {
    uint32_t event; /* plus 1; 0: none */
    pyro_dtype from, to;
    uint8_t direction; /* TO_HOST or TO_DEVICE; 0: neither */
} last_copy;

/* The dtype that a conversion is asked for, the first whole number among its concrete inputs. */
static pyro_dtype target_of(const pyro_finder *finder, uint32_t op)
{
    const char *concrete = pyro_finder_concrete(finder, op);
    for (const char *at = concrete; (at = strchr(at, '"'));) {
        char *end;
        at++;
        uint64_t number = strtoull(at, &end, 10);
        if (end > at && *end == '"')
            return pyro_dtype_from_scalar_type(number);
        at += strcspn(at, "\"");
        at += *at == '"';
    }
    return PYRO_DTYPE_UNKNOWN;
}

/* Which outermost ops copy between host and device. */
static void mark_directions(const pyro_finder *finder, uint8_t *marks)
{
    const pyro_trace *trace = finder->context->trace;
    for (size_t i = 0; i < finder->work_count; i++) {
        uint32_t event = finder->work[i];
        if (trace->category[event] != PYRO_EVENT_MEMCPY)
            continue;
        const char *name = pyro_event_name(trace, event);
        uint8_t direction = strstr(name, "HtoD") ? TO_DEVICE : strstr(name, "DtoH") ? TO_HOST : 0;
        uint32_t op = pyro_finder_outermost(finder, finder->context->joins->op[event]);
        if (op != PYRO_NO_EVENT)
            marks[op] |= direction;
    }
}

static bool has_same_dims(const pyro_finder *finder, uint32_t a, uint32_t b)
{
    const char *left, *right;
    size_t length = pyro_argument_dims(pyro_finder_dims(finder, a), 0, &left);
    return length > 2 && length == pyro_argument_dims(pyro_finder_dims(finder, b), 0, &right) &&
           !memcmp(left, right, length);
}

static bool goes_back(const pyro_finder *finder, const last_copy *last, const last_copy *next)
{
    bool is_type = last->from != PYRO_DTYPE_UNKNOWN && last->to != last->from &&
                   next->from == last->to && next->to == last->from;
    bool is_device = (last->direction | next->direction) == (TO_HOST | TO_DEVICE) &&
                     last->direction != next->direction;
    return (is_type || is_device) && has_same_dims(finder, last->event - 1, next->event - 1);
}

/* An outermost op: decides about the copy before it, and becomes the last copy if it is one. */
static void take_op(pyro_finder *finder, last_copy *last, uint32_t event, uint8_t *marks)
{
    unsigned words = pyro_finder_words(finder, event);
    if (words & PYRO_WORD_VIEW)
        return;
    last_copy next = {0};
    if (words & PYRO_WORD_CONVERSION) {
        next = (last_copy){.event = event + 1,
                           .from = pyro_finder_dtype(finder, event),
                           .to = target_of(finder, event),
                           .direction = marks[event] & (TO_HOST | TO_DEVICE)};
        if (next.to == PYRO_DTYPE_UNKNOWN)
            next.to = next.from;
    }
    if (last->event && next.event && goes_back(finder, last, &next))
        marks[last->event - 1] = marks[event] = NEEDLESS;
    /* A clone that the next op writes to has a purpose. */
    else if (last->event && pyro_finder_words(finder, last->event - 1) & PYRO_WORD_CLONE &&
             !(words & PYRO_WORD_IN_PLACE))
        marks[last->event - 1] = NEEDLESS;
    if (words & PYRO_WORD_CLONE && finder->context->joins->phase[event] != PYRO_PHASE_BACKWARD)
        next = (last_copy){
            .event = event + 1, .from = PYRO_DTYPE_UNKNOWN, .to = PYRO_DTYPE_UNKNOWN};
    *last = next;
}

/* The longest of the marked ops on the host stands for all. */
static uint32_t count_marked(const pyro_finder *finder, const uint8_t *marks, int64_t *count)
{
    const pyro_trace *trace = finder->context->trace;
    uint32_t longest = PYRO_NO_EVENT;
    *count = 0;
    for (size_t i = 0; i < finder->op_count; i++) {
        uint32_t op = finder->ops[i];
        if (marks[op] != NEEDLESS)
            continue;
        ++*count;
        if (longest == PYRO_NO_EVENT || trace->duration_ns[op] > trace->duration_ns[longest])
            longest = op;
    }
    return longest;
}

DETECTOR(needless_copies)
{
    const pyro_trace *trace = finder->context->trace;
    last_copy *last = calloc(trace->track_count + 1, sizeof *last);
    uint8_t *marks = calloc(trace->count ? trace->count : 1, 1);
    finder->memory_out |= !last || !marks;
    if (!finder->memory_out)
        mark_directions(finder, marks);
    for (size_t i = 0; !finder->memory_out && i < finder->outer_op_count; i++) {
        uint32_t event = finder->outer_ops[i];
        take_op(finder, &last[trace->track[event]], event, marks);
    }
    int64_t count = 0;
    uint32_t longest = finder->memory_out ? PYRO_NO_EVENT : count_marked(finder, marks, &count);
    int64_t whole_ns = count ? pyro_finder_whole_ns(finder) : 0;
    if (whole_ns > 0) {
        int64_t needless_ns = pyro_finder_sum_marked(finder, marks, NEEDLESS);
        evidence->value = (double)needless_ns / (double)whole_ns;
        evidence->gain_ns = needless_ns;
        evidence->gain_basis = "time of these copies";
        evidence->place = pyro_finder_place(finder, longest);
        pyro_evidence_say(evidence,
                          "%" PRId64 " clones that nothing writes to, and conversions that are "
                          "undone at once, take %.1f%% of the %s time (%s)",
                          count, evidence->value * 100, finder->has_device_work ? "device" : "op",
                          pyro_evidence_time(evidence, needless_ns));
    }
    free(last);
    free(marks);
    return whole_ns > 0;
}
