/* One event: its keys in learned order, each value read or passed over, then the row is stored. */
#include "trace/kineto_values.h"

#include "base/error.h"
#include <stdlib.h>

int pyro_kineto_scanner_open(pyro_kineto_scanner **out, pyro_trace *trace, pyro_intern *names,
                             pyro_error *error)
{
    pyro_kineto_scanner *scanner = calloc(1, sizeof *scanner);
    *out = scanner;
    if (!scanner)
        return pyro_fail_memory(error);
    scanner->out = trace;
    scanner->names = names;
    scanner->arg_count = PYRO_FIELD_COUNT;
    scanner->last_track = PYRO_NO_ID;
    memset(scanner->guesses, 0xff, sizeof scanner->guesses);
    return PYRO_OK;
}

void pyro_kineto_scanner_close(pyro_kineto_scanner *scanner)
{
    if (!scanner)
        return;
    pyro_map_free(&scanner->tracks);
    pyro_buf_free(&scanner->scratch);
    free(scanner->wide_ids);
    free(scanner->thread_names);
    free(scanner);
}

unsigned pyro_kineto_key(const char *name, size_t length)
{
    static const struct {
        const char *name;
        unsigned key;
    } keys[] = {
        {"ph", PYRO_KEY_PHASE},   {"cat", PYRO_KEY_CATEGORY}, {"name", PYRO_KEY_NAME},
        {"pid", PYRO_KEY_PROCESS}, {"tid", PYRO_KEY_THREAD},   {"ts", PYRO_KEY_TIME},
        {"dur", PYRO_KEY_DURATION}, {"args", PYRO_KEY_ARGS},    {"id", PYRO_KEY_ID},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].name) == length && memcmp(keys[i].name, name, length) == 0)
            return keys[i].key;
    return PYRO_KEY_OTHER;
}

const char *pyro_kineto_read_key(pyro_kineto_scanner *scanner, const char *at, bool first,
                                 const char **name, size_t *length)
{
    bool unplain = false;
    *name = NULL;
    at = pyro_json_scan_space(at);
    if (!first && *at == ',')
        at = pyro_json_scan_space(at + 1);
    else if (!first && *at != '}')
        return pyro_kineto_fail(scanner, at);
    if (*at == '}')
        return at + 1;
    if (*at != '"')
        return pyro_kineto_fail(scanner, at);
    const char *end = pyro_kineto_string_end(scanner, at + 1, &unplain);
    if (!end)
        return NULL;
    *name = at + 1;
    *length = (size_t)(end - at - 1);
    at = pyro_json_scan_space(end + 1);
    if (*at != ':')
        return pyro_kineto_fail(scanner, at);
    at = pyro_json_scan_space(at + 1);
    return at < scanner->end ? at : pyro_kineto_fail(scanner, at);
}

static const char *next_key(pyro_kineto_scanner *scanner, const char *at, unsigned *state)
{
    const char *name;
    size_t length;
    unsigned from = *state;
    const char *value =
        pyro_kineto_read_key(scanner, at, from == PYRO_KEY_START, &name, &length);
    if (value) {
        *state = name ? pyro_kineto_key(name, length) : PYRO_KEY_END;
        pyro_literals_learn(&scanner->keys[from], at, (size_t)(value - at), *state);
    }
    return value;
}

static const char *scan_category(pyro_kineto_scanner *scanner, const char *at)
{
    unsigned category;
    const char *behind = pyro_literals_follow(&scanner->categories, at, &category);
    if (!behind) {
        behind = pyro_kineto_skip_value(scanner, at);
        if (!behind)
            return NULL;
        category = *at == '"' ? pyro_kineto_category(at + 1, (size_t)(behind - at - 2))
                              : PYRO_KINETO_UNKNOWN;
        if (*at == '"')
            pyro_literals_learn(&scanner->categories, at, (size_t)(behind - at), category);
    }
    scanner->event.category = (uint8_t)category;
    return behind;
}

static const char *scan_name(pyro_kineto_scanner *scanner, const char *at)
{
    uint32_t *guess = pyro_kineto_guess(scanner, scanner->last_name, scanner->event.category);
    at = pyro_kineto_text(scanner, at, guess, &scanner->event.name);
    return at;
}

static const char *scan_phase(pyro_kineto_scanner *scanner, const char *at)
{
    if (at[0] == '"' && at[1] > ' ' && at[1] != '\\' && at[2] == '"') {
        scanner->event.phase = at[1];
        return at + 3;
    }
    return pyro_kineto_skip_value(scanner, at);
}

static const char *scan_args(pyro_kineto_scanner *scanner, const char *at)
{
    if (*at != '{')
        return pyro_kineto_skip_value(scanner, at);
    if (pyro_kineto_group(&scanner->event) == PYRO_GROUP_NONE)
        return pyro_kineto_skip_nested(scanner, at);
    return pyro_kineto_scan_args(scanner, at);
}

/* A process or thread; those that are texts, negative or long are rare. */
static const char *scan_track_id(pyro_kineto_scanner *scanner, const char *at, uint64_t *id)
{
    uint64_t number;
    const char *behind = pyro_json_scan_integer(at, &number);
    if (!behind || !pyro_kineto_ends_number(*behind))
        return pyro_kineto_slow_track_id(scanner, at, id);
    *id = number;
    return behind;
}

static const char *scan_process(pyro_kineto_scanner *scanner, const char *at)
{
    pyro_kineto_event *event = &scanner->event;
    int64_t thread_number = event->thread_number;
    at = scan_track_id(scanner, at, &event->process);
    event->thread_number = thread_number;
    return at;
}

static const char *scan_thread(pyro_kineto_scanner *scanner, const char *at)
{
    pyro_kineto_event *event = &scanner->event;
    char process_named = event->named;
    at = scan_track_id(scanner, at, &event->thread);
    event->named = process_named;
    return at;
}

/* An id of a flow is a number, also as a text of base 16. */
static const char *scan_id(pyro_kineto_scanner *scanner, const char *at)
{
    pyro_kineto_event *event = &scanner->event;
    int64_t number = 0;
    if (*at == '"' && at[1] == '0' && (at[2] == 'x' || at[2] == 'X')) {
        const char *behind = pyro_kineto_skip_string(scanner, at);
        event->has_id = behind != NULL;
        event->id = behind ? strtoull(at + 3, NULL, 16) : 0;
        return behind;
    }
    at = pyro_kineto_integer(scanner, at, &number, &event->has_id);
    event->id = (uint64_t)number;
    return at;
}

const char *pyro_kineto_scan_value(pyro_kineto_scanner *scanner, const char *at, unsigned key)
{
    pyro_kineto_event *event = &scanner->event;
    switch (key) {
    case PYRO_KEY_PHASE:
        return scan_phase(scanner, at);
    case PYRO_KEY_CATEGORY:
        return scan_category(scanner, at);
    case PYRO_KEY_NAME:
        return scan_name(scanner, at);
    case PYRO_KEY_PROCESS:
        return scan_process(scanner, at);
    case PYRO_KEY_THREAD:
        return scan_thread(scanner, at);
    case PYRO_KEY_TIME:
        return pyro_kineto_micros(scanner, at, &event->start_ns, &event->has_start);
    case PYRO_KEY_DURATION:
        return pyro_kineto_micros(scanner, at, &event->duration_ns, &event->has_duration);
    case PYRO_KEY_ARGS:
        return scan_args(scanner, at);
    case PYRO_KEY_ID:
        return scan_id(scanner, at);
    default:
        return pyro_kineto_skip_value(scanner, at);
    }
}

void pyro_kineto_begin_event(pyro_kineto_scanner *scanner)
{
    pyro_kineto_event *event = &scanner->event;
    event->start_ns = event->duration_ns = 0;
    event->process = event->thread = event->id = 0;
    event->thread_number = -1;
    event->name = PYRO_NO_ID;
    event->defects = 0;
    event->phase = event->named = 0;
    event->category = PYRO_KINETO_UNKNOWN;
    event->has_start = event->has_duration = event->has_id = false;
    event->present = 0;
    scanner->damaged = false;
}

const char *pyro_kineto_scan_event(pyro_kineto_scanner *scanner, const char *at)
{
    unsigned key = PYRO_KEY_START;
    pyro_kineto_begin_event(scanner);
    at++;
    for (;;) {
        const char *value = pyro_literals_follow(&scanner->keys[key], at, &key);
        if (!value)
            value = next_key(scanner, at, &key);
        if (!value)
            return NULL;
        if (key == PYRO_KEY_END) {
            at = value;
            break;
        }
        at = pyro_kineto_scan_value(scanner, value, key);
        if (!at)
            return NULL;
    }
    if (!pyro_kineto_store(scanner))
        scanner->no_memory = true;
    return at;
}
