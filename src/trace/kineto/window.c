/* Moves through the input: slides the window, skips long values, reads events one by one. */
#include "trace/kineto/window.h"

#include "base/error.h"
#include "trace/kineto/values.h"

/*
 * The window's borders must not change what is read: all limits count from the start of the current
 * event or value.
 */

/* How far behind a damaged event the next one is searched. */
#define RECOVERY_BYTES ((ptrdiff_t)1 << 20)
/* An event that has not ended after this many bytes is searched for others, and then once again. */
#define LONG_BYTES ((ptrdiff_t)64 << 10)
#define VERY_LONG_BYTES ((ptrdiff_t)1 << 20)
/* A place to continue from may cross a window's border by less than this. */
#define OVERLAP_BYTES 256
#define LONGEST_WORD_BYTES 256

int pyro_kineto_reader_open(pyro_kineto_reader *reader, pyro_trace *trace, pyro_intern *names,
                            pyro_source *source, const pyro_trace_options *options,
                            pyro_kineto_sizes sizes, pyro_error *error)
{
    *reader = (pyro_kineto_reader){.trace = trace,
                                   .source = source,
                                   .options = options,
                                   .sizes = sizes,
                                   .threads = 1,
                                   .first_key = "\"ph\"",
                                   .cut_at = -1};
    pyro_error_clear(&reader->source_error);
    int status = pyro_kineto_scanner_open(&reader->scanner, trace, names, error);
    if (status == PYRO_OK && pyro_source_is_seekable(source))
        status = pyro_source_open_range(&reader->range, source, error);
    if (status == PYRO_OK)
        status = pyro_json_window_open(&reader->window, reader->range ? reader->range : source,
                                       sizes.window, SIZE_MAX / 8, &reader->source_error);
    if (status == PYRO_OK)
        reader->scanner->end = reader->window.end;
    else
        pyro_fail_memory(error);
    return status;
}

void pyro_kineto_reader_free(pyro_kineto_reader *reader)
{
    pyro_kineto_scanner_close(reader->scanner);
    pyro_json_window_free(&reader->window);
    pyro_source_close(reader->range);
}

bool pyro_kineto_more(pyro_kineto_reader *reader)
{
    pyro_json_window *window = &reader->window;
    int64_t before = pyro_json_window_offset(window, window->end);
    if (window->status != PYRO_OK || reader->scanner->no_memory)
        return false;
    pyro_json_window_refill(window);
    reader->scanner->end = window->end;
    int64_t now = pyro_json_window_offset(window, window->end);
    if (reader->options && reader->options->progress)
        reader->options->progress(reader->options->progress_user, now, window->source->size);
    return now > before;
}

bool pyro_kineto_next_byte(pyro_kineto_reader *reader)
{
    pyro_json_window *window = &reader->window;
    for (;;) {
        window->at = (char *)pyro_json_scan_space(window->at);
        window->token = window->at;
        if (window->at < window->end)
            return true;
        if (!pyro_kineto_more(reader))
            return false;
    }
}

static bool pass_nested(pyro_kineto_reader *reader)
{
    pyro_json_window *window = &reader->window;
    pyro_json_nesting nesting = {.depth = 1, .curly_depth = *window->at == '{'};
    window->at++;
    for (;;) {
        window->at = (char *)pyro_json_scan_nested(&nesting, window->at, window->end);
        window->token = window->at;
        if (nesting.depth == 0)
            return true;
        if (!pyro_kineto_more(reader))
            return false;
    }
}

static bool pass_string(pyro_kineto_reader *reader)
{
    pyro_json_window *window = &reader->window;
    bool unplain = false;
    window->at++;
    for (;;) {
        const char *end = pyro_kineto_string_end(reader->scanner, window->at, &unplain);
        if (end) {
            window->at = window->token = (char *)end + 1;
            return true;
        }
        /* A backslash as the last byte decides what the next one means. */
        size_t backslashes = 0;
        while (window->end - backslashes > window->at &&
               window->end[-1 - (ptrdiff_t)backslashes] == '\\')
            backslashes++;
        window->at = window->token = window->end - backslashes % 2;
        if (!pyro_kineto_more(reader))
            return false;
    }
}

bool pyro_kineto_pass_value(pyro_kineto_reader *reader)
{
    pyro_json_window *window = &reader->window;
    if (*window->at == '"')
        return pass_string(reader);
    if (*window->at == '{' || *window->at == '[')
        return pass_nested(reader);
    for (;;) {
        window->token = window->at;
        const char *behind = pyro_kineto_skip_word(reader->scanner, window->at);
        if (behind && behind - window->at <= LONGEST_WORD_BYTES) {
            window->at = window->token = (char *)behind;
            return true;
        }
        if (behind || reader->scanner->damaged || window->end - window->at > LONGEST_WORD_BYTES ||
            !pyro_kineto_more(reader))
            return false;
    }
}

bool pyro_kineto_find_next_event(pyro_kineto_reader *reader, int64_t stop)
{
    pyro_json_window *window = &reader->window;
    for (;;) {
        const char *found = pyro_kineto_find_event(window->at, window->end, reader->first_key);
        if (found) {
            window->at = window->token = (char *)found;
            return pyro_kineto_offset(reader) < stop;
        }
        if (pyro_kineto_offset(reader) >= stop)
            return false;
        if (window->end - window->at > OVERLAP_BYTES)
            window->at = window->end - OVERLAP_BYTES;
        window->token = window->at;
        if (!pyro_kineto_more(reader))
            return false;
    }
}

bool pyro_kineto_fill(pyro_kineto_reader *reader, ptrdiff_t size)
{
    pyro_json_window *window = &reader->window;
    window->token = window->at;
    while (window->end - window->at < size)
        if (!pyro_kineto_more(reader))
            return false;
    return true;
}

/* The start of another event in the first bytes of the current one, or NULL. */
static const char *find_inside(pyro_kineto_reader *reader, ptrdiff_t size)
{
    const char *at = reader->window.at, *end = reader->window.end;
    if (end - at > size)
        end = at + size;
    return pyro_kineto_find_event(at + 1, end, reader->first_key);
}

/* The start of the next event within RECOVERY_BYTES, brought into the window; or NULL. */
static const char *look_for_event(pyro_kineto_reader *reader)
{
    for (ptrdiff_t size = OVERLAP_BYTES; size < RECOVERY_BYTES; size *= 4) {
        bool whole = pyro_kineto_fill(reader, size);
        const char *found = find_inside(reader, size);
        if (found || !whole)
            return found;
    }
    pyro_kineto_fill(reader, RECOVERY_BYTES);
    return find_inside(reader, RECOVERY_BYTES);
}

/* Recovers what it can of the event at the window's start; moves behind it. */
static void recover_event(pyro_kineto_reader *reader)
{
    pyro_json_window *window = &reader->window;
    pyro_kineto_scanner *scanner = reader->scanner;
    const char *next = look_for_event(reader);
    const char *stop = next ? next : window->end;
    if (stop - window->at > RECOVERY_BYTES)
        stop = window->at + RECOVERY_BYTES;
    const char *behind = pyro_kineto_recover_event(scanner, window->at, stop);
    scanner->defects.count[behind ? PYRO_DEFECT_RECOVERED : PYRO_DEFECT_DAMAGED]++;
    if (behind && (next || behind < stop)) {
        window->at = window->token = (char *)behind;
    } else if (next) {
        window->at = window->token = (char *)next;
    } else {
        window->at++;
        reader->lost = !pyro_kineto_find_next_event(reader, INT64_MAX);
    }
}

/*
 * Handles a window that ends inside an event: reads more bytes, or deals with the end of the input.
 * A long event that contains others has lost a quote or bracket.
 */
static void continue_event(pyro_kineto_reader *reader)
{
    pyro_json_window *window = &reader->window;
    ptrdiff_t size = window->end - window->at;
    window->token = window->at;
    if ((size >= LONG_BYTES && find_inside(reader, LONG_BYTES)) ||
        (size >= VERY_LONG_BYTES && find_inside(reader, VERY_LONG_BYTES))) {
        recover_event(reader);
    } else if (size > (ptrdiff_t)PYRO_KINETO_MAX_EVENT_BYTES) {
        reader->scanner->defects.count[PYRO_DEFECT_LONG_EVENT]++;
        int64_t begin = pyro_kineto_offset(reader);
        if (!pass_nested(reader))
            reader->cut_at = begin;
    } else if (!pyro_kineto_more(reader)) {
        if (find_inside(reader, size)) {
            recover_event(reader);
        } else {
            reader->cut_at = pyro_kineto_offset(reader);
            window->at = window->token = window->end;
        }
    }
}

void pyro_kineto_seek(pyro_kineto_reader *reader, int64_t offset)
{
    pyro_json_window *window = &reader->window;
    pyro_source_seek_range(reader->range, offset);
    window->at = window->token = window->end = window->bytes;
    memset(window->end, 0, PYRO_JSON_PADDING);
    window->offset = offset;
    window->pause = 0;
    window->source_ended = false;
    reader->scanner->end = window->end;
}

void pyro_kineto_learn_first_key(pyro_kineto_reader *reader)
{
    if (reader->first_key_known)
        return;
    pyro_kineto_fill(reader, OVERLAP_BYTES);
    reader->first_key_known = true;
    const char *begin = reader->window.at, *at = pyro_json_scan_space(begin + 1);
    if (at - begin > OVERLAP_BYTES - PYRO_KINETO_KEY_BYTES || *at != '"')
        return;
    const char *end = memchr(at + 1, '"', PYRO_KINETO_KEY_BYTES - 2);
    if (!end || end >= reader->window.end)
        return;
    memcpy(reader->first_key, at, (size_t)(end + 1 - at));
    reader->first_key[end + 1 - at] = '\0';
}

/* Reads the event that begins here and those that follow it in the window. */
static void read_window(pyro_kineto_reader *reader, int64_t stop)
{
    pyro_json_window *window = &reader->window;
    int64_t left = stop - pyro_kineto_offset(reader);
    reader->scanner->first_key = reader->first_key;
    const char *last = left < window->end - window->at ? window->at + left : window->end;
    window->at = (char *)pyro_kineto_scan_events(reader->scanner, window->at, last);
    if (!reader->scanner->failed)
        return;
    if (reader->scanner->damaged)
        recover_event(reader);
    else
        continue_event(reader);
}

/* Skips an entry of the array that is not an object, or garbage. */
static void pass_other(pyro_kineto_reader *reader)
{
    pyro_kineto_defects *defects = &reader->scanner->defects;
    int64_t begin = pyro_kineto_offset(reader);
    if (pyro_kineto_pass_value(reader)) {
        defects->count[PYRO_DEFECT_NOT_EVENT]++;
        return;
    }
    defects->count[PYRO_DEFECT_DAMAGED]++;
    reader->lost = !pyro_kineto_find_next_event(reader, INT64_MAX);
    if (reader->lost)
        reader->cut_at = begin;
}

void pyro_kineto_read_events(pyro_kineto_reader *reader, int64_t stop)
{
    pyro_json_window *window = &reader->window;
    while (!reader->scanner->no_memory && !reader->lost) {
        if (!pyro_kineto_next_byte(reader))
            return;
        char c = *window->at;
        if (c == ',') {
            window->at++;
            continue;
        }
        if (c == ']') {
            window->at++;
            reader->events_ended = true;
            return;
        }
        if (pyro_kineto_offset(reader) >= stop)
            return;
        if (c == '{') {
            pyro_kineto_learn_first_key(reader);
            read_window(reader, stop);
        } else {
            pass_other(reader);
        }
    }
}
