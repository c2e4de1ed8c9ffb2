/*
 * Places what torch.profiler recorded into the layers that the recorder saw. The profiler's events
 * hold a mark at both ends of every layer. What lies between two marks there lies between the same
 * ends here, whatever the clocks say; the clocks only place it within that stretch.
 */
#ifndef PYRO_TRACE_RECORDING_MARKS_H
#define PYRO_TRACE_RECORDING_MARKS_H

#include "trace/trace.h"

/* Names of marks: these with a number behind them. python/extension/hook_marks.c writes them. */
#define PYRO_MARK_BEGIN "pyrometer: begin "
#define PYRO_MARK_END "pyrometer: end "
/* A span that both recorders saw only to compare their clocks. _capture/torch_profiler.py writes them. */
#define PYRO_CLOCK_MARK "pyrometer: clock"

/* Added to a time t of the other clock: offset + drift * (t - at). */
typedef struct pyro_clock_line {
    double at_ns, offset_ns, drift;
} pyro_clock_line;

/* A mark, and the stretch of time up to the next one of its thread. Times are wall clock. */
typedef struct pyro_mark {
    uint64_t thread;
    int64_t theirs_ns; /* INT64_MIN: the start of the thread */
    uint32_t order;    /* the profiler's number of the event: says which of one time came first */
    bool begins;
    int64_t ours_ns;
    int64_t first_ns, last_ns; /* of what lies in the stretch, on the other clock */
    int64_t shift_ns;
} pyro_mark;

typedef struct pyro_marks {
    pyro_mark *items; /* by thread, then time */
    size_t count, capacity;
    size_t layers, layers_without; /* calls that were to be marked; those without both marks */
} pyro_marks;

static inline int64_t pyro_clock_shift(const pyro_clock_line *line, int64_t wall_ns)
{
    double ns = line->offset_ns + line->drift * ((double)wall_ns - line->at_ns);
    return ns > -9e18 && ns < 9e18 ? (int64_t)ns : 0;
}

bool pyro_event_is_mark(const pyro_trace *trace, size_t event);
/* Marks that both traces know. False when memory is out. */
bool pyro_marks_find(pyro_marks *marks, const pyro_trace *trace, const pyro_trace *from);
/* Whether the times of an event of `from` are to be found by marks. */
bool pyro_marks_apply(const pyro_marks *marks, const pyro_trace *from, size_t event);
/* First every event that marks apply to, then the line, then their times. */
void pyro_marks_see(pyro_marks *marks, const pyro_trace *from, size_t event);
void pyro_marks_settle(pyro_marks *marks, const pyro_clock_line *line);
void pyro_marks_place(const pyro_marks *marks, const pyro_trace *from, size_t event,
                      int64_t *start_ns, int64_t *end_ns);
void pyro_marks_free(pyro_marks *marks);
/* What is there only for marks leaves a recording: numbers of layers, spans of the clock. */
void pyro_marks_forget(pyro_trace *trace);

#endif
