/*
 * Writes a trace, or a part of it, as Chrome JSON: chrome.c writes the file around them, event.c
 * an event, counters.c writes the counter curves.
 */
#ifndef PYRO_TRACE_CHROME_CHROME_H
#define PYRO_TRACE_CHROME_CHROME_H

#include "base/json/write.h"
#include "trace/export/selection.h"

/* A piece of JSON that is formatted once and reused. */
typedef struct pyro_chrome_text {
    const char *text; /* NULL: not formatted yet */
    uint32_t length;
} pyro_chrome_text;

typedef struct pyro_chrome {
    const pyro_trace *trace;
    const pyro_joins *joins;
    const pyro_selection *selection;
    pyro_write_fn write;
    void *user;
    pyro_error *error;
    pyro_buf buf; /* not yet written */
    pyro_json_writer json;
    pyro_chrome_text *quoted; /* by interned text: as a JSON string */
    pyro_chrome_text *lists;  /* the same for texts that are already lists, and for stacks */
    pyro_chrome_text *layers; /* paths by layer, as JSON strings */
    pyro_arena arena;      /* owns these texts */
    int64_t written;       /* events */
} pyro_chrome;

/* Writes the buffer out when it is large enough, or `all`; PYRO_OK or a status. */
int pyro_chrome_flush(pyro_chrome *chrome, bool all);

/* Starts an event with the keys that every event has. */
void pyro_chrome_begin_event(pyro_chrome *chrome, const char *kind, const char *name);
void pyro_chrome_place(pyro_chrome *chrome, const pyro_track *track);
void pyro_chrome_time(pyro_chrome *chrome, const char *key, int64_t time_ns);

/* Writes an event with its arguments, and for device work the arrow from its launch. */
void pyro_chrome_event(pyro_chrome *chrome, uint32_t event);

/* Writes counters of queue length, copy bandwidth and memory for the time range that is kept. */
int pyro_chrome_counters(pyro_chrome *chrome);

#endif
