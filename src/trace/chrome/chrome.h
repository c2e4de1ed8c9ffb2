/*
 * Writing a trace, or a part of it, as Chrome JSON: chrome.c says what goes into the file,
 * chrome_event.c how an event looks, chrome_counters.c what is drawn as curves.
 */
#ifndef PYRO_TRACE_CHROME_CHROME_H
#define PYRO_TRACE_CHROME_CHROME_H

#include "base/json/write.h"
#include "trace/joins/joins.h"

/* A piece of JSON that was made once. */
typedef struct pyro_chrome_text {
    const char *text; /* NULL: not yet */
    uint32_t length;
} pyro_chrome_text;

typedef struct pyro_chrome {
    const pyro_trace *trace;
    const pyro_joins *joins;
    pyro_write_fn write;
    void *user;
    pyro_error *error;
    pyro_buf buf; /* what is not yet written */
    pyro_json_writer json;
    uint8_t *keep;        /* by event: whether it is written */
    pyro_chrome_text *quoted; /* by interned text: as a JSON string */
    pyro_chrome_text *lists;  /* the same for what is a list already, or frames of a stack */
    pyro_chrome_text *layers; /* paths by layer, as JSON strings */
    pyro_arena arena;      /* of these */
    int64_t written;       /* events */
    int64_t start_ns, end_ns; /* of what is kept */
} pyro_chrome;

/* Hands the buffer over when it has grown; PYRO_OK or a status. */
int pyro_chrome_flush(pyro_chrome *chrome, bool all);

/* Keys that every event has. */
void pyro_chrome_begin_event(pyro_chrome *chrome, const char *kind, const char *name);
void pyro_chrome_place(pyro_chrome *chrome, const pyro_track *track);
void pyro_chrome_time(pyro_chrome *chrome, const char *key, int64_t time_ns);

/* An event with its arguments, and for device work the arrow from its launch. */
void pyro_chrome_event(pyro_chrome *chrome, uint32_t event);

/* Counters of queue length, copy bandwidth and memory over the time of what is kept. */
int pyro_chrome_counters(pyro_chrome *chrome);

#endif
