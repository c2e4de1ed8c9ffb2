/* The reader over one input: a window, the scanner that works in it, and how the reading went. */
#ifndef PYRO_TRACE_KINETO_WINDOW_H
#define PYRO_TRACE_KINETO_WINDOW_H

#include "trace/kineto/scanner.h"

#define PYRO_KINETO_KEY_BYTES 64

/* Sizes that tests make small; all are bytes. */
typedef struct pyro_kineto_sizes {
    size_t window;
    int64_t chunk;    /* that a thread reads at a time */
    int64_t parallel; /* shorter inputs are read by one thread */
} pyro_kineto_sizes;

#define PYRO_KINETO_SIZES {(size_t)256 << 10, (int64_t)1 << 20, (int64_t)4 << 20}

typedef struct pyro_kineto_reader {
    pyro_trace *trace;
    pyro_kineto_scanner *scanner;
    pyro_json_window window;
    pyro_error source_error; /* what the window's source failed with */
    const pyro_trace_options *options;
    pyro_kineto_sizes sizes;
    pyro_source *source; /* of the whole input, borrowed */
    int threads;
    pyro_source *range; /* the window's source where the input is seekable; else NULL */
    char first_key[PYRO_KINETO_KEY_BYTES]; /* of events, with its quotes: "ph" */
    bool first_key_known;
    bool events_seen;  /* an array of events began */
    char other_events; /* how the value of traceEvents begins where it is no list; 0 */
    bool events_ended; /* and its closing bracket was met */
    bool lost;         /* damage, and no further event behind it */
    bool complete;     /* the outermost bracket was closed */
    int64_t cut_at;    /* where the last thing that is incomplete began; -1 */
    char seen_keys[256]; /* first keys of the file, for the message when it is no trace */
} pyro_kineto_reader;

int pyro_kineto_reader_open(pyro_kineto_reader *reader, pyro_trace *trace, pyro_intern *names,
                            pyro_source *source, const pyro_trace_options *options,
                            pyro_kineto_sizes sizes, pyro_error *error);
void pyro_kineto_reader_free(pyro_kineto_reader *reader);

/* pyro_kineto_read with other sizes than the usual ones. */
int pyro_kineto_read_sized(pyro_trace *trace, pyro_source *source,
                           const pyro_trace_options *options, pyro_kineto_sizes sizes,
                           pyro_error *error);

/* Reads on, keeping what is behind window.token; false when nothing more came. */
bool pyro_kineto_more(pyro_kineto_reader *reader);
/* Brings so many bytes from window.at on into the window; false when there are not so many. */
bool pyro_kineto_fill(pyro_kineto_reader *reader, ptrdiff_t size);
/* Moves to the next byte that is no white space; false at the end. */
bool pyro_kineto_next_byte(pyro_kineto_reader *reader);
/* Passes over a value of any length, in memory that does not depend on it. */
bool pyro_kineto_pass_value(pyro_kineto_reader *reader);

/*
 * Reads events from inside their array up to its end or until one begins at `stop` or behind it.
 * What is damaged is mended or passed over.
 */
void pyro_kineto_read_events(pyro_kineto_reader *reader, int64_t stop);

/* Moves to the next place before `stop` that looks like an event; false when there is none. */
bool pyro_kineto_find_next_event(pyro_kineto_reader *reader, int64_t stop);
/* Empties the window and goes on at an offset; the reader must have a range. */
void pyro_kineto_seek(pyro_kineto_reader *reader, int64_t offset);
/* Looks at what comes next, to know how times are written in this file. */
void pyro_kineto_learn_clock(pyro_kineto_reader *reader);
/* Looks at the event that begins here, to recognise others by its first key. */
void pyro_kineto_learn_first_key(pyro_kineto_reader *reader);

/*
 * The same as pyro_kineto_read_events to the end of the array, in pieces by several threads. The
 * reader must have a range.
 */
void pyro_kineto_read_chunks(pyro_kineto_reader *reader);
/* Appends a batch's rows; texts become those of the trace by `texts` and `numbers`. */
typedef struct pyro_text_map {
    const pyro_intern_entry *texts;
    uint32_t *numbers; /* PYRO_NO_ID: not asked for yet; NULL: the texts are the trace's own */
} pyro_text_map;
bool pyro_kineto_append(pyro_kineto_scanner *scanner, const pyro_trace *batch, pyro_text_map map);

/* Joins what needs the whole: wide ids, names of threads, times far off; then says the defects. */
int pyro_kineto_finish(pyro_kineto_reader *reader, pyro_error *error);

static inline int64_t pyro_kineto_offset(const pyro_kineto_reader *reader)
{
    return pyro_json_window_offset(&reader->window, reader->window.at);
}

#endif
