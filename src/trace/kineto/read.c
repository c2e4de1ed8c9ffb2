/* Reads the whole file: an object with metadata around the events, or a bare array of events. */
#include "trace/kineto/window.h"

#include "base/error.h"
#include "base/parallel.h"
#include "base/processors.h"
#include "trace/kineto/values.h"
#include <stdio.h>

/* Metadata values are read as a whole; a longer one is skipped. */
#define MAX_METADATA_BYTES ((ptrdiff_t)16 << 20)
#define LONG_METADATA_BYTES ((ptrdiff_t)256 << 10)
#define OVERLAP_BYTES 256
/* An estimate of the file's bytes per row, on the safe side. */
#define BYTES_A_ROW 192
/* Few of these rows have details of ops where frames are recorded; else their table grows. */
#define ROWS_AN_OP 4
#define MOST_ROWS_AHEAD ((int64_t)64 << 20)
#define TRACE_EVENTS "traceEvents"

static void note_key(pyro_kineto_reader *reader, const char *key)
{
    size_t used = strlen(reader->seen_keys);
    if (used < 120)
        snprintf(reader->seen_keys + used, sizeof reader->seen_keys - used, "%s%s",
                 used ? ", " : "", key);
}

/* Reads a key and its colon; false without one. Cuts a long key. */
static bool read_key(pyro_kineto_reader *reader, char key[PYRO_KINETO_KEY_BYTES])
{
    pyro_json_window *window = &reader->window;
    for (;;) {
        const char *name;
        size_t length;
        const char *value = pyro_kineto_read_key(reader->scanner, window->at, true, &name, &length);
        if (value && name) {
            snprintf(key, PYRO_KINETO_KEY_BYTES, "%.*s", (int)(length < 4096 ? length : 4096),
                     name);
            note_key(reader, key);
            window->at = window->token = (char *)value;
            return true;
        }
        window->token = window->at;
        if (value || reader->scanner->damaged || window->end - window->at > MAX_METADATA_BYTES ||
            !pyro_kineto_more(reader))
            return false;
    }
}

/* The next quote from `at` on that begins one of the keys, or NULL. */
static char *find_key(char *at, char *end, const char *const *names, size_t count)
{
    for (; (at = memchr(at, '"', (size_t)(end - at))); at++) {
        for (size_t i = 0; i < count; i++) {
            size_t length = strlen(names[i]);
            if ((size_t)(end - at) < length + 3 || memcmp(at + 1, names[i], length) != 0 ||
                at[length + 1] != '"')
                continue;
            if (*pyro_json_scan_space(at + length + 2) == ':')
                return at;
        }
    }
    return NULL;
}

/*
 * The end of the current value, after bringing all of it into the window; NULL when it is too long
 * or damaged. A value that does not end and contains the events has lost a quote or bracket.
 */
static const char *whole_value(pyro_kineto_reader *reader)
{
    static const char *const events[] = {TRACE_EVENTS};
    pyro_json_window *window = &reader->window;
    for (;;) {
        window->token = window->at;
        const char *behind = pyro_kineto_skip_value(reader->scanner, window->at);
        ptrdiff_t size = window->end - window->at;
        if (behind && behind - window->at > MAX_METADATA_BYTES)
            return NULL;
        if (behind || reader->scanner->damaged)
            return behind;
        if (!reader->events_seen && size >= LONG_METADATA_BYTES)
            reader->scanner->damaged = find_key(window->at + 1, window->at + LONG_METADATA_BYTES,
                                                events, 1) != NULL;
        if (reader->scanner->damaged || size > MAX_METADATA_BYTES)
            return NULL;
        if (!pyro_kineto_more(reader)) {
            reader->scanner->damaged = true;
            return NULL;
        }
    }
}

/* Reads the value of a key other than the events'; false on damage. */
static bool read_metadata(pyro_kineto_reader *reader, const char *key)
{
    pyro_json_window *window = &reader->window;
    const char *behind = whole_value(reader);
    if (!behind)
        return !reader->scanner->damaged && pyro_kineto_pass_value(reader);
    pyro_error error;
    pyro_error_clear(&error);
    if (pyro_kineto_is_metadata(key, strlen(key)) &&
        pyro_kineto_metadata(reader->trace, &reader->scanner->defects, key, strlen(key), window->at,
                             (size_t)(behind - window->at), &error) != PYRO_OK)
        reader->scanner->no_memory = true;
    window->at = window->token = (char *)behind;
    return true;
}

static void begin_events(pyro_kineto_reader *reader)
{
    reader->window.at++;
    reader->events_seen = true;
    reader->lost = false;
    reader->events_ended = false;
    pyro_kineto_learn_clock(reader);
    /* Untouched memory costs nothing, and columns that do not grow are not copied. */
    int64_t left = reader->range ? reader->source->size - pyro_kineto_offset(reader) : 0;
    int64_t rows = left / BYTES_A_ROW < MOST_ROWS_AHEAD ? left / BYTES_A_ROW : MOST_ROWS_AHEAD;
    if (left > reader->sizes.parallel &&
        (!pyro_trace_reserve(reader->trace, (size_t)rows) ||
         !pyro_trace_reserve_ops(reader->trace, (size_t)rows / ROWS_AN_OP)))
        reader->scanner->no_memory = true;
    if (reader->threads > 1 && left > reader->sizes.parallel)
        pyro_kineto_read_chunks(reader);
    else
        pyro_kineto_read_events(reader, INT64_MAX);
}

/* Reads one key and its value; false on damage or at the end of the input. */
static bool read_member(pyro_kineto_reader *reader)
{
    pyro_json_window *window = &reader->window;
    char key[PYRO_KINETO_KEY_BYTES];
    if (!read_key(reader, key))
        return false;
    if (strcmp(key, TRACE_EVENTS) == 0 && *window->at == '[') {
        begin_events(reader);
        return reader->events_ended;
    }
    if (strcmp(key, TRACE_EVENTS) == 0 && !reader->other_events)
        reader->other_events = *window->at;
    return read_metadata(reader, key);
}

/* After damage outside the events: moves to the next known key. */
static bool find_next_member(pyro_kineto_reader *reader)
{
    static const char *const known[] = {TRACE_EVENTS, "deviceProperties", "distributedInfo",
                                        "baseTimeNanoseconds"};
    pyro_json_window *window = &reader->window;
    for (;;) {
        char *found = find_key(window->at, window->end, known, sizeof known / sizeof *known);
        if (found) {
            window->at = window->token = found;
            return true;
        }
        if (window->end - window->at > OVERLAP_BYTES)
            window->at = window->end - OVERLAP_BYTES;
        window->token = window->at;
        if (!pyro_kineto_more(reader))
            return false;
    }
}

static void read_object(pyro_kineto_reader *reader)
{
    pyro_json_window *window = &reader->window;
    window->at++;
    while (pyro_kineto_next_byte(reader) && !reader->scanner->no_memory) {
        char c = *window->at;
        int64_t begin = pyro_kineto_offset(reader);
        if (c == ',') {
            window->at++;
        } else if (c == '}') {
            window->at++;
            /* A bracket that closes before the events is left over from damage. */
            reader->complete = reader->events_seen || !find_next_member(reader);
            if (reader->complete)
                return;
            reader->scanner->defects.count[PYRO_DEFECT_METADATA]++;
        } else if (c != '"' || !read_member(reader)) {
            /* Damage among the events was already counted. */
            bool in_events = reader->events_seen && !reader->events_ended;
            if (pyro_kineto_next_byte(reader)) {
                reader->scanner->defects.count[PYRO_DEFECT_METADATA] += !in_events;
                window->at++;
            }
            if (!find_next_member(reader)) {
                if (reader->cut_at < 0)
                    reader->cut_at = begin;
                return;
            }
        }
    }
}

/* Names a JSON value by its first character. */
static const char *name_value(char first)
{
    return first == '{'                   ? "an object"
           : first == '"'                 ? "a text"
           : first == 'n'                 ? "null"
           : first == 't' || first == 'f' ? "a boolean"
                                          : "a number";
}

static int fail_no_event(pyro_kineto_reader *reader, pyro_error *error)
{
    if (reader->window.status != PYRO_OK && reader->window.status != PYRO_ERROR_MEMORY) {
        if (error && error->code == PYRO_OK)
            *error = reader->source_error;
        return reader->window.status;
    }
    if (reader->events_seen && reader->scanner->defects.count[PYRO_DEFECT_NOT_EVENT] > 0)
        return pyro_fail(error, PYRO_ERROR_FORMAT,
                         "JSON, but not a trace: the entries of its list are not events");
    if (reader->events_seen && reader->events_ended)
        return pyro_fail(error, PYRO_ERROR_FORMAT, "the trace contains no events");
    if (reader->events_seen)
        return pyro_fail(error, PYRO_ERROR_FORMAT, "the file ends before its first event");
    if (reader->other_events && reader->complete)
        return pyro_fail(error, PYRO_ERROR_FORMAT,
                         "JSON, but not a trace: its traceEvents is %s, where a list of events is "
                         "expected",
                         name_value(reader->other_events));
    if (reader->seen_keys[0] && reader->complete)
        return pyro_fail(error, PYRO_ERROR_FORMAT,
                         "JSON, but not a trace: it has no traceEvents (it has %s)",
                         reader->seen_keys);
    if (reader->complete)
        return pyro_fail(error, PYRO_ERROR_FORMAT, "JSON, but not a trace: it has no traceEvents");
    return pyro_fail(error, PYRO_ERROR_FORMAT,
                     "the file is damaged before its first event: no traceEvents found");
}

static int read_document(pyro_kineto_reader *reader, pyro_error *error)
{
    pyro_json_window *window = &reader->window;
    bool any = pyro_kineto_next_byte(reader);
    while (any && window->end - window->at < 3 && !window->source_ended && pyro_kineto_more(reader))
        continue;
    if (any && window->end - window->at >= 3 && memcmp(window->at, "\xef\xbb\xbf", 3) == 0) {
        window->at += 3;
        any = pyro_kineto_next_byte(reader);
    }
    if (!any && window->status == PYRO_OK)
        return pyro_fail(error, PYRO_ERROR_FORMAT, "the file is empty");
    if (any && *window->at == '{') {
        read_object(reader);
    } else if (any && *window->at == '[') {
        begin_events(reader);
        reader->complete = reader->events_ended;
    } else if (any) {
        return pyro_fail(error, PYRO_ERROR_FORMAT, "not a trace: neither a JSON object nor a list");
    }
    if (reader->complete && pyro_kineto_next_byte(reader) &&
        !pyro_trace_warn(reader->trace, "data after the end at byte %lld was ignored",
                         (long long)pyro_kineto_offset(reader)))
        reader->scanner->no_memory = true;
    if (reader->scanner->no_memory || window->status == PYRO_ERROR_MEMORY)
        return pyro_fail_memory(error);
    if (reader->trace->file_events == 0)
        return fail_no_event(reader, error);
    return PYRO_OK;
}

static size_t skip_space(const unsigned char *head, size_t at, size_t size)
{
    while (at < size && pyro_json_is_space((char)head[at]))
        at++;
    return at;
}

bool pyro_kineto_recognise(const unsigned char *head, size_t size)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    size_t at = skip_space(head, 0, size), mark = size - at < 3 ? size - at : 3;
    if (memcmp(head + at, byte_order_mark, mark) == 0)
        at = skip_space(head, at + mark, size);
    return at == size || head[at] == '{' || head[at] == '[';
}

int pyro_kineto_read_sized(pyro_trace *trace, pyro_source *source,
                           const pyro_trace_options *options, pyro_kineto_sizes sizes,
                           pyro_error *error)
{
    pyro_kineto_reader reader;
    int threads = options && options->threads > 0 ? options->threads : pyro_count_processors();
    int status = pyro_kineto_reader_open(&reader, trace, &trace->names, source, options, sizes,
                                         error);
    reader.threads = threads < PYRO_MOST_WORKERS ? threads : PYRO_MOST_WORKERS;
    if (status == PYRO_OK)
        status = read_document(&reader, error);
    if (status == PYRO_OK)
        status = pyro_kineto_finish(&reader, error);
    pyro_kineto_reader_free(&reader);
    return status;
}

int pyro_kineto_read(pyro_trace *trace, pyro_source *source, const pyro_trace_options *options,
                     pyro_error *error)
{
    return pyro_kineto_read_sized(trace, source, options, (pyro_kineto_sizes)PYRO_KINETO_SIZES,
                                  error);
}
