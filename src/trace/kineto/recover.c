/* Recovers damaged events: finds where a string really ends and where the next event begins. */
#include "trace/kineto/values.h"

/* Most blanks between an event's bracket and its first key. */
#define MOST_BLANKS 128

const char *pyro_kineto_find_event(const char *at, const char *end, const char *first_key)
{
    size_t length = strlen(first_key);
    for (const char *begin = at;; at++) {
        at = memmem(at, (size_t)(end - at), first_key, length);
        if (!at)
            return NULL;
        const char *before = at;
        while (before > begin && at - before < MOST_BLANKS && pyro_json_is_space(before[-1]))
            before--;
        if (before > begin && before[-1] == '{')
            return before - 1;
    }
}

/* Whether a quote ends a string, judged by what follows: the end, or the next key. */
static bool ends_string(const char *at, const char *end)
{
    at = pyro_json_scan_space(at);
    if (at >= end || *at == '}' || *at == ']')
        return true;
    if (*at != ',')
        return false;
    at = pyro_json_scan_space(at + 1);
    if (*at != '"')
        return false;
    const char *quote = memchr(at + 1, '"', (size_t)(end - at - 1));
    if (!quote)
        return false;
    quote = pyro_json_scan_space(quote + 1);
    return quote < end && *quote == ':';
}

/* The quote that ends the string that begins at `at`, whatever the string contains; or NULL. */
static const char *find_string_end(const char *at, const char *end)
{
    while (at < end) {
        at = memchr(at, '"', (size_t)(end - at));
        if (!at || ends_string(at + 1, end))
            return at;
        at++;
    }
    return NULL;
}

/* Reads a string value of a known key; ignores others. */
static void take_text(pyro_kineto_scanner *scanner, unsigned key, const char *text, size_t length)
{
    pyro_kineto_event *event = &scanner->event;
    if (key == PYRO_KEY_PHASE && length == 1)
        event->phase = *text;
    else if (key == PYRO_KEY_CATEGORY)
        event->category = pyro_kineto_category(text, length);
    else if (key == PYRO_KEY_NAME)
        event->name = pyro_kineto_intern_text(scanner, text, length);
}

/* Reads one value of the event itself; returns what follows, or NULL if that makes no sense. */
static const char *recover_value(pyro_kineto_scanner *scanner, const char *at, const char *end,
                                 unsigned key)
{
    bool text = key == PYRO_KEY_PHASE || key == PYRO_KEY_CATEGORY || key == PYRO_KEY_NAME ||
                key == PYRO_KEY_OTHER;
    if (text && *at == '"') {
        const char *quote = find_string_end(at + 1, end);
        if (!quote)
            return NULL;
        take_text(scanner, key, at + 1, (size_t)(quote - at - 1));
        return quote + 1;
    }
    return pyro_kineto_scan_value(scanner, at, key);
}

/* Reads one value of args; a string in it ends where another key follows. */
static const char *recover_arg(pyro_kineto_scanner *scanner, const char *at, const char *end,
                               unsigned field)
{
    if (*at != '"')
        return pyro_kineto_scan_arg(scanner, at, field);
    const char *quote = find_string_end(at + 1, end);
    if (!quote)
        return NULL;
    if (field == PYRO_FIELD_STACK || field == PYRO_FIELD_COLLECTIVE || field == PYRO_FIELD_LABEL) {
        scanner->event.number[field] = pyro_kineto_intern_text(scanner, at + 1,
                                                               (size_t)(quote - at - 1));
        scanner->event.present |= UINT64_C(1) << field;
    }
    return quote + 1;
}

static const char *recover_args(pyro_kineto_scanner *scanner, const char *at, const char *end)
{
    bool first = true;
    for (at++;; first = false) {
        const char *name;
        size_t length;
        const char *value = pyro_kineto_read_key(scanner, at, first, &name, &length);
        if (!value || !name)
            return value;
        at = recover_arg(scanner, value, end, pyro_kineto_field(name, length));
        if (!at)
            return NULL;
    }
}

/* The comma that seems to precede the next key of an event, or NULL. */
static const char *find_key(const char *at, const char *end)
{
    for (; (at = memchr(at, ',', (size_t)(end - at))); at++) {
        const char *quote = pyro_json_scan_space(at + 1);
        if (quote >= end || *quote != '"')
            continue;
        const char *close = memchr(quote + 1, '"', (size_t)(end - quote - 1));
        const char *colon = close ? pyro_json_scan_space(close + 1) : end;
        if (colon >= end || *colon != ':')
            continue;
        unsigned key = pyro_kineto_key(quote + 1, (size_t)(close - quote - 1));
        if (key != PYRO_KEY_OTHER && key != PYRO_KEY_NAME && key != PYRO_KEY_ID)
            return at;
    }
    return NULL;
}

/* Reads one key and its value. NULL on damage; `ended` when the event ended instead. */
static const char *recover_member(pyro_kineto_scanner *scanner, const char *at, const char *end,
                                  bool first, bool *ended)
{
    const char *name;
    size_t length;
    const char *value = pyro_kineto_read_key(scanner, at, first, &name, &length);
    if (!value || value > end)
        return NULL;
    *ended = !name;
    if (!name)
        return value;
    unsigned key = pyro_kineto_key(name, length);
    at = key == PYRO_KEY_ARGS && *value == '{' ? recover_args(scanner, value, end)
                                               : recover_value(scanner, value, end, key);
    return at && at <= end ? at : NULL;
}

const char *pyro_kineto_recover_event(pyro_kineto_scanner *scanner, const char *at, const char *end)
{
    const char *window_end = scanner->end;
    bool first = true, ended = false;
    pyro_kineto_begin_event(scanner);
    scanner->end = end;
    at++;
    while (at && !ended) {
        const char *behind = recover_member(scanner, at, end, first, &ended);
        at = behind ? behind : find_key(at + 1 < end ? at + 1 : end, end);
        first = false;
    }
    scanner->end = window_end;
    const pyro_kineto_event *event = &scanner->event;
    if (!event->phase || !event->has_start || (event->phase == 'X' && !event->has_duration))
        return NULL;
    if (!pyro_kineto_store(scanner))
        scanner->no_memory = true;
    return at ? at : end;
}
