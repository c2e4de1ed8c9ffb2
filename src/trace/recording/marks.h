/*
 * Places the events of torch.profiler into the layers that the recorder saw. The profiler's trace
 * has a mark at both ends of every layer. Events between two marks there are placed between the
 * same ends here; the clocks only decide the place within that stretch.
 */
#ifndef PYRO_TRACE_RECORDING_MARKS_H
#define PYRO_TRACE_RECORDING_MARKS_H

#include "trace/trace.h"

/* Names of marks: each is followed by a number. python/extension/hooks/marks.c writes them. */
#define PYRO_MARK_BEGIN "pyrometer: begin "
#define PYRO_MARK_END "pyrometer: end "
/* A span that both recorders see, to compare clocks. _capture/torch_profiler.py writes it. */
#define PYRO_CLOCK_MARK "pyrometer: clock"

/* Added to a time t of the other clock: offset + drift * (t - at). */
typedef struct pyro_clock_line {
    double at_ns, offset_ns, drift;
} pyro_clock_line;

/* A mark, and the stretch of time up to the thread's next mark. Times are wall clock. */
typedef struct pyro_mark {
    uint64_t thread;
    int64_t theirs_ns; /* INT64_MIN: the start of the thread */
    uint32_t order;    /* the profiler's number of the event: orders marks with equal times */
    bool begins;
    int64_t ours_ns;
    int64_t first_ns, last_ns; /* of the events in the stretch, on the other clock */
    int64_t shift_ns;
} pyro_mark;

typedef struct pyro_marks {
    pyro_mark *items; /* by thread, then time */
    size_t count, capacity;
    size_t layers, layers_without; /* calls that should have marks; those without both marks */
} pyro_marks;

static inline int64_t pyro_clock_shift(const pyro_clock_line *line, int64_t wall_ns)
{
    double ns = line->offset_ns + line->drift * ((double)wall_ns - line->at_ns);
    return ns > -9e18 && ns < 9e18 ? (int64_t)ns : 0;
}

bool pyro_event_is_mark(const pyro_trace *trace, size_t event);
/* Finds the marks that both traces have. False when memory is out. */
bool pyro_marks_find(pyro_marks *marks, const pyro_trace *trace, const pyro_trace *from);
/* Whether marks give the times of an event of `from`. */
bool pyro_marks_apply(const pyro_marks *marks, const pyro_trace *from, size_t event);
/* Call order: every event that marks apply to, then the line, then the times. */
void pyro_marks_see(pyro_marks *marks, const pyro_trace *from, size_t event);
void pyro_marks_settle(pyro_marks *marks, const pyro_clock_line *line);
void pyro_marks_place(const pyro_marks *marks, const pyro_trace *from, size_t event,
                      int64_t *start_ns, int64_t *end_ns);
void pyro_marks_free(pyro_marks *marks);
/* Removes from a recording what only serves marks: numbers of layers, spans of the clock. */
void pyro_marks_forget(pyro_trace *trace);

#endif
