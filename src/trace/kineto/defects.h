/* Defects of a trace that is still read: counted by kind, reported once at the end. */
#ifndef PYRO_TRACE_KINETO_DEFECTS_H
#define PYRO_TRACE_KINETO_DEFECTS_H

#include "trace/trace.h"

/* Name, text for one, text for several. */
#define PYRO_KINETO_DEFECTS(D) \
    D(NEGATIVE_DURATION, "event with negative duration (taken as 0)", \
      "events with negative duration (taken as 0)") \
    D(NO_DURATION, "complete event without a duration (taken as 0)", \
      "complete events without a duration (taken as 0)") \
    D(NO_TIME, "event without a usable time (left out)", \
      "events without a usable time (left out)") \
    D(FAR_TIME, "event dated far from all others (moved next to them)", \
      "events dated far from all others (moved next to them)") \
    D(HUGE_NUMBER, "event with a number too large for 64 bits (left out)", \
      "events with numbers too large for 64 bits (left out)") \
    D(NOT_JSON, "event with a value that is not JSON, such as NaN or N/A (left out)", \
      "events with values that are not JSON, such as NaN or N/A (left out)") \
    D(BAD_ESCAPE, "event with an invalid backslash escape (kept unchanged)", \
      "events with invalid backslash escapes (kept unchanged)") \
    D(RAW_CONTROL, "event with an unescaped control character in a text", \
      "events with unescaped control characters in texts") \
    D(NUL, "event with a NUL character in a text (replaced)", \
      "events with NUL characters in texts (replaced)") \
    D(BAD_UTF8, "event with a text that is not UTF-8 (bad bytes replaced)", \
      "events with texts that are not UTF-8 (bad bytes replaced)") \
    D(LONG_TEXT, "event with a text over 1 MiB (cut)", "events with texts over 1 MiB (cut)") \
    D(RECOVERED, "event with unescaped quotes or other damage (repaired)", \
      "events with unescaped quotes or other damage (repaired)") \
    D(DAMAGED, "place too damaged to read (skipped to the next event)", \
      "places too damaged to read (each skipped to the next event)") \
    D(LONG_EVENT, "event over 64 MiB (left out)", "events over 64 MiB (left out)") \
    D(NOT_EVENT, "entry of the event list that is not an event (skipped)", \
      "entries of the event list that are not events (skipped)") \
    D(BEGIN_END, "begin or end event (unsupported, skipped)", \
      "begin or end events (unsupported, skipped)") \
    D(TRACKS, "event beyond 65535 threads and streams (put into one track)", \
      "events beyond 65535 threads and streams (put into one track)") \
    D(METADATA, "damaged metadata value", "damaged metadata values")

typedef enum pyro_kineto_defect {
#define D(name, one, several) PYRO_DEFECT_##name,
    PYRO_KINETO_DEFECTS(D)
#undef D
        PYRO_DEFECT_COUNT
} pyro_kineto_defect;

typedef struct pyro_kineto_defects {
    int64_t count[PYRO_DEFECT_COUNT];
} pyro_kineto_defects;

#define PYRO_DEFECT_BIT(name) (UINT32_C(1) << PYRO_DEFECT_##name)

/* Counts one of each kind whose bit is set. */
void pyro_kineto_defects_count(pyro_kineto_defects *defects, uint32_t bits);
void pyro_kineto_defects_add(pyro_kineto_defects *defects, const pyro_kineto_defects *more);
/* Adds one warning per kind that occurred. False when memory is out. */
bool pyro_kineto_defects_say(const pyro_kineto_defects *defects, pyro_trace *trace);

/* Appends a warning to the trace, formatted like printf. False when memory is out. */
bool pyro_trace_warn(pyro_trace *trace, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
