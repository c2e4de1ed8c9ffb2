/* The reader of one input: a window, the scanner that works in it, and the state of the reading. */
#ifndef PYRO_TRACE_KINETO_WINDOW_H
#define PYRO_TRACE_KINETO_WINDOW_H

#include "trace/kineto/scanner.h"

#define PYRO_KINETO_KEY_BYTES 64

/* Sizes that tests make small; all are bytes. */
typedef struct pyro_kineto_sizes {
    size_t window;
    int64_t chunk; /* per thread at a time */
    int64_t parallel; /* shorter inputs are read by one thread */
} pyro_kineto_sizes;

#define PYRO_KINETO_SIZES {(size_t)256 << 10, (int64_t)1 << 20, (int64_t)4 << 20}

typedef struct pyro_kineto_reader {
    pyro_trace *trace;
    pyro_kineto_scanner *scanner;
    pyro_json_window window;
    pyro_error source_error; /* the error of the window's source */
    const pyro_trace_options *options;
    pyro_kineto_sizes sizes;
    pyro_source *source; /* of the whole input, borrowed */
    int threads;
    pyro_source *range; /* the window's source where the input is seekable; else NULL */
    char first_key[PYRO_KINETO_KEY_BYTES]; /* of events, with its quotes: "ph" */
    bool first_key_known;
    bool events_seen; /* an array of events began */
    char other_events; /* first character of traceEvents when it is not a list; 0 */
    bool events_ended; /* and the array's closing bracket was read */
    bool lost; /* damage, and no further event behind it */
    bool complete; /* the outermost bracket was closed */
    int64_t cut_at; /* where the last incomplete item began; -1 */
    char seen_keys[256]; /* first keys of the file, for the error when it is not a trace */
} pyro_kineto_reader;

int pyro_kineto_reader_open(pyro_kineto_reader *reader, pyro_trace *trace, pyro_intern *names,
                            pyro_source *source, const pyro_trace_options *options,
                            pyro_kineto_sizes sizes, pyro_error *error);
void pyro_kineto_reader_free(pyro_kineto_reader *reader);

/* pyro_kineto_read with other sizes than the default ones. */
int pyro_kineto_read_sized(pyro_trace *trace, pyro_source *source,
                           const pyro_trace_options *options, pyro_kineto_sizes sizes,
                           pyro_error *error);

/* Reads more, keeping what is behind window.token; false when nothing more came. */
bool pyro_kineto_more(pyro_kineto_reader *reader);
/* Brings `size` bytes from window.at on into the window; false at the end of the input. */
bool pyro_kineto_fill(pyro_kineto_reader *reader, ptrdiff_t size);
/* Moves to the next byte that is not white space; false at the end. */
bool pyro_kineto_next_byte(pyro_kineto_reader *reader);
/* Skips a value of any length in constant memory. */
bool pyro_kineto_pass_value(pyro_kineto_reader *reader);

/*
 * Reads events from inside their array up to its end, or until one begins at or after `stop`.
 * Repairs or skips what is damaged.
 */
void pyro_kineto_read_events(pyro_kineto_reader *reader, int64_t stop);

/* Moves to the next place before `stop` that looks like an event; false if none was found. */
bool pyro_kineto_find_next_event(pyro_kineto_reader *reader, int64_t stop);
/* Empties the window and continues at an offset; the reader must have a range. */
void pyro_kineto_seek(pyro_kineto_reader *reader, int64_t offset);
/* Looks ahead to learn how this file writes times. */
void pyro_kineto_learn_clock(pyro_kineto_reader *reader);
/* Learns the first key of the event that begins here, to recognise other events by it. */
void pyro_kineto_learn_first_key(pyro_kineto_reader *reader);

/*
 * Like pyro_kineto_read_events to the end of the array, in chunks by several threads. The reader
 * must have a range.
 */
void pyro_kineto_read_chunks(pyro_kineto_reader *reader);
/* Appends a batch's rows; texts become those of the trace by `texts` and `numbers`. */
typedef struct pyro_text_map {
    const pyro_intern_entry *texts;
    uint32_t *numbers; /* PYRO_NO_ID: not looked up yet; NULL: the texts are the trace's own */
} pyro_text_map;
bool pyro_kineto_append(pyro_kineto_scanner *scanner, const pyro_trace *batch, pyro_text_map map);

/* Finishes what needs the whole trace: wide ids, thread names, misdated events, warnings. */
int pyro_kineto_finish(pyro_kineto_reader *reader, pyro_error *error);

static inline int64_t pyro_kineto_offset(const pyro_kineto_reader *reader)
{
    return pyro_json_window_offset(&reader->window, reader->window.at);
}

#endif
