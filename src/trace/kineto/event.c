/* Reads one event: its keys in learned order, each value read or skipped; then stores the row. */
#include "trace/kineto/fields.h"

#include "base/error.h"
#include <stdlib.h>

#define SET(name) (1u << PYRO_KEY_##name)
/* Words up to this length that are skipped are expected to stay the same. */
#define SHORT_BYTES 5
#define SUSPICIOUS_BYTES 4096
/* The context for guessing a name is the four names before it, in 32 bits. */
#define NAME_SHIFT 8
/* That for guessing an event's first step is the categories of the events before it. */
#define CATEGORY_SHIFT 2

int pyro_kineto_scanner_open(pyro_kineto_scanner **out, pyro_trace *trace, pyro_intern *names,
                             pyro_error *error)
{
    pyro_kineto_scanner *scanner = calloc(1, sizeof *scanner);
    *out = scanner;
    if (scanner)
        scanner->steps = calloc(PYRO_KEY_STEPS, sizeof *scanner->steps);
    if (!scanner || !scanner->steps)
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
    free(scanner->steps);
    free(scanner->wide_ids);
    free(scanner->thread_names);
    free(scanner->series);
    free(scanner);
}

unsigned pyro_kineto_key(const char *name, size_t length)
{
    static const struct {
        const char *name;
        unsigned key;
    } keys[] = {
        {"ph", PYRO_KEY_PHASE},     {"cat", PYRO_KEY_CATEGORY}, {"name", PYRO_KEY_NAME},
        {"pid", PYRO_KEY_PROCESS},  {"tid", PYRO_KEY_THREAD},   {"ts", PYRO_KEY_TIME},
        {"dur", PYRO_KEY_DURATION}, {"args", PYRO_KEY_ARGS},    {"id", PYRO_KEY_ID},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].name) == length && memcmp(keys[i].name, name, length) == 0)
            return keys[i].key;
    return PYRO_KEY_OTHER;
}

static bool is_phase(const char *at)
{
    return at[0] == '"' && at[1] > ' ' && at[1] != '\\' && at[2] == '"';
}

static const char *scan_category(pyro_kineto_scanner *scanner, const char *at)
{
    const char *behind = pyro_kineto_skip_value(scanner, at);
    if (behind && *at == '"')
        scanner->event.category = pyro_kineto_category(at + 1, (size_t)(behind - at - 2));
    return behind;
}

static inline const char *scan_name(pyro_kineto_scanner *scanner, const char *at)
{
    uint8_t category = scanner->event.category;
    uint32_t *last = &scanner->last_names[category];
    at = pyro_kineto_text(scanner, at, pyro_kineto_guess(scanner, *last, category),
                          &scanner->event.name);
    *last = *last << NAME_SHIFT ^ scanner->event.name * UINT32_C(0x9e3779b1);
    /* The entry of the name that will be guessed next is not in the nearest cache. */
    uint32_t next = *pyro_kineto_guess(scanner, *last, category);
    if (next != PYRO_NO_ID)
        __builtin_prefetch(&scanner->names->entries[next]);
    return at;
}

static const char *scan_phase(pyro_kineto_scanner *scanner, const char *at)
{
    if (is_phase(at)) {
        scanner->event.phase = at[1];
        return at + 3;
    }
    return pyro_kineto_skip_value(scanner, at);
}

/* The id of a flow: a number, or a hexadecimal number as a string. */
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

static const char *scan_steady(pyro_kineto_scanner *scanner, const char *at, unsigned key)
{
    pyro_kineto_event *event = &scanner->event;
    switch (key) {
    case PYRO_KEY_PHASE:
        return scan_phase(scanner, at);
    case PYRO_KEY_CATEGORY:
        return scan_category(scanner, at);
    case PYRO_KEY_PROCESS:
        return pyro_kineto_track_id(scanner, at, &event->process, &event->named, NULL);
    default:
        return pyro_kineto_track_id(scanner, at, &event->thread, NULL, &event->thread_number);
    }
}

/* How the value of one of the event's own keys is handled. */
static unsigned action_of(unsigned key)
{
    static const uint8_t actions[PYRO_KEY_COUNT] = {[PYRO_KEY_PHASE] = PYRO_ACTION_STEADY,
                                                    [PYRO_KEY_CATEGORY] = PYRO_ACTION_STEADY,
                                                    [PYRO_KEY_PROCESS] = PYRO_ACTION_STEADY,
                                                    [PYRO_KEY_THREAD] = PYRO_ACTION_STEADY,
                                                    [PYRO_KEY_NAME] = PYRO_ACTION_NAME,
                                                    [PYRO_KEY_TIME] = PYRO_ACTION_TIME,
                                                    [PYRO_KEY_DURATION] = PYRO_ACTION_DURATION,
                                                    [PYRO_KEY_ID] = PYRO_ACTION_ID,
                                                    [PYRO_KEY_END] = PYRO_ACTION_END};
    return actions[key];
}

static inline const char *scan_action(pyro_kineto_scanner *scanner, const char *at, unsigned action,
                                      unsigned field)
{
    pyro_kineto_event *event = &scanner->event;
    switch (action) {
    case PYRO_ACTION_NAME:
        return scan_name(scanner, at);
    case PYRO_ACTION_TIME:
        return pyro_kineto_micros(scanner, at, &event->start_ns, &event->has_start);
    case PYRO_ACTION_DURATION:
        return pyro_kineto_micros(scanner, at, &event->duration_ns, &event->has_duration);
    case PYRO_ACTION_SKIP_NESTED:
        return *at == '{' ? pyro_kineto_skip_nested(scanner, at)
                          : pyro_kineto_skip_value(scanner, at);
    case PYRO_ACTION_ID:
        return scan_id(scanner, at);
    case PYRO_ACTION_COUNTER:
        return pyro_kineto_counter_values(scanner, at);
    case PYRO_ACTION_STEADY:
        return scan_steady(scanner, at, field);
    default:
        return pyro_kineto_field_value(scanner, at, action, field);
    }
}

const char *pyro_kineto_scan_value(pyro_kineto_scanner *scanner, const char *at, unsigned key)
{
    return scan_action(scanner, at, action_of(key), key);
}

const char *pyro_kineto_scan_arg(pyro_kineto_scanner *scanner, const char *at, unsigned field)
{
    return scan_action(scanner, at, pyro_kineto_arg_action(&scanner->event, field), field);
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
    scanner->series_count = 0;
    scanner->damaged = false;
}

/* Applies to the event what the values inside a step set. */
static inline void apply_step(pyro_kineto_event *event, const pyro_key_step *step)
{
    unsigned sets = step->sets;
    if (sets & SET(PHASE))
        event->phase = step->phase;
    if (sets & SET(CATEGORY))
        event->category = step->category;
    if (sets & SET(PROCESS)) {
        event->process = step->process;
        event->named = step->named;
    }
    if (sets & SET(THREAD)) {
        event->thread = step->thread;
        event->thread_number = step->thread_number;
    }
}

/* Where the scan is: in the event itself or in its args, and behind which value. */
typedef struct scan_position {
    const char *at;
    bool first, in_args;
    bool rare; /* a value has a form that must not be expected next time: null for args */
    unsigned key; /* of args, if inside them */
    unsigned action, sets;
} scan_position;

/* Moves to the value of the next key, into args and out of them. False on failure. */
static bool next_value(pyro_kineto_scanner *scanner, scan_position *place)
{
    const char *name;
    size_t length;
    for (;;) {
        place->at = pyro_kineto_read_key(scanner, place->at, place->first, &name, &length);
        if (!place->at)
            return false;
        place->first = false;
        if (place->in_args && name) {
            place->key = pyro_kineto_arg(scanner, name, length);
            place->action = pyro_kineto_arg_action(&scanner->event, place->key);
            return true;
        }
        if (place->in_args) {
            place->in_args = false;
            continue;
        }
        place->key = name ? pyro_kineto_key(name, length) : PYRO_KEY_END;
        place->action = action_of(place->key);
        if (place->key != PYRO_KEY_ARGS)
            return true;
        unsigned group = pyro_kineto_group(&scanner->event);
        if (group == PYRO_GROUP_COUNTER) {
            place->action = PYRO_ACTION_COUNTER;
            return true;
        }
        bool wanted = group != PYRO_GROUP_NONE;
        bool is_object = *place->at == '{';
        place->rare |= wanted && !is_object;
        if (!wanted || !is_object) {
            place->action = PYRO_ACTION_SKIP_NESTED;
            return true;
        }
        place->in_args = place->first = true;
        place->at++;
    }
}

/* Whether a skipped value is likely to be the same next time: 0, false, "e". */
static bool is_steady(const char *at, const char *behind)
{
    if (pyro_json_is_digit(*at) || *at == '-')
        return behind - at == 1 && *at == '0';
    return behind - at <= SHORT_BYTES;
}

/* Whether a steady value leaves the event unchanged, so that the step has nothing to set. */
static bool says_nothing(const scan_position *place)
{
    return (place->key == PYRO_KEY_CATEGORY && *place->at != '"') ||
           (place->key == PYRO_KEY_PHASE && !is_phase(place->at));
}

/* Skips values that can be part of a step, and their keys, up to another. False on failure. */
static bool pass_steady(pyro_kineto_scanner *scanner, scan_position *place)
{
    for (;;) {
        if (!next_value(scanner, place))
            return false;
        const char *behind;
        if (place->action == PYRO_ACTION_STEADY) {
            behind = scan_steady(scanner, place->at, place->key);
            place->sets |= 1u << place->key;
            place->rare |= says_nothing(place);
        } else if (place->action == PYRO_ACTION_SKIP) {
            behind = pyro_kineto_skip_value(scanner, place->at);
            if (behind && !is_steady(place->at, behind))
                return true;
        } else {
            return true;
        }
        if (!behind)
            return false;
        place->at = behind;
    }
}

static unsigned state_at(const pyro_kineto_scanner *scanner, const scan_position *place)
{
    return pyro_kineto_group(&scanner->event) * PYRO_GROUP_STATES + place->key +
           (place->in_args ? PYRO_KEY_COUNT : 0);
}

/* A step from `from` with the bytes between `begin` and the place, when there is room for one. */
static pyro_key_step *learn_step(pyro_kineto_scanner *scanner, unsigned from, const char *begin,
                                 const scan_position *place)
{
    const pyro_kineto_event *event = &scanner->event;
    size_t length = (size_t)(place->at - begin);
    pyro_key_steps *steps = &scanner->states[from];
    if (length > PYRO_KEY_STEP_BYTES || scanner->step_count == PYRO_KEY_STEPS ||
        steps->count == PYRO_MOST_KEY_STEPS_PER_STATE)
        return NULL;
    pyro_key_step *step = &scanner->steps[scanner->step_count++];
    *step = (pyro_key_step){.sibling = steps->first,
                            .state = (uint16_t)state_at(scanner, place),
                            .length = (uint8_t)length,
                            .action = (uint8_t)place->action,
                            .field = (uint8_t)place->key,
                            .least = place->action == PYRO_ACTION_END ? 0 : ' ' + 1,
                            .head = pyro_key_head(length),
                            .sets = (uint8_t)place->sets,
                            .category = event->category,
                            .phase = event->phase,
                            .named = event->named,
                            .process = event->process,
                            .thread = event->thread,
                            .thread_number = event->thread_number};
    memcpy(step->text, begin, length);
    steps->first = step;
    steps->count++;
    return step;
}

/*
 * From behind the value of a state: reads keys, and values that seldom change, up to a value that
 * does change; learns all of that as one step. `step` is the step that was read, even when there is
 * no room to keep it.
 */
static const char *read_step(pyro_kineto_scanner *scanner, const char *at, unsigned from,
                             pyro_key_step **step)
{
    unsigned key = from % PYRO_GROUP_STATES;
    uint32_t defects = scanner->event.defects;
    scan_position place = {.at = at,
                           .first = key == PYRO_KEY_START,
                           .in_args = key >= PYRO_KEY_COUNT,
                           .action = PYRO_ACTION_SKIP};
    bool merge = scanner->states[from].count < PYRO_KEY_STEPS_PER_STATE;
    if (merge ? !pass_steady(scanner, &place) : !next_value(scanner, &place))
        return NULL;
    *step = NULL;
    if (scanner->event.defects == defects && !place.rare)
        *step = learn_step(scanner, from, at, &place);
    if (!*step) {
        scanner->unlearned = (pyro_key_step){.state = (uint16_t)state_at(scanner, &place),
                                             .action = (uint8_t)place.action,
                                             .field = (uint8_t)place.key};
        *step = &scanner->unlearned;
    }
    return place.at;
}

/* Forgets all steps: the file has changed its key order, or has too many steps. */
static void forget_steps(pyro_kineto_scanner *scanner)
{
    memset(scanner->states, 0, sizeof scanner->states);
    scanner->step_count = 0;
    memset(scanner->likely_firsts, 0, sizeof scanner->likely_firsts);
    for (unsigned group = 0; group < PYRO_GROUP_COUNT; group++)
        scanner->categories[group].likely = NULL;
}

/* The step at `at` that is not the one that followed last time; moves `at` behind it. NULL on
 * failure. */
static pyro_key_step *find_step(pyro_kineto_scanner *scanner, pyro_key_step **likely,
                                unsigned state, const char **at)
{
    pyro_key_step *step = pyro_key_steps_find(&scanner->states[state], *at);
    if (step)
        *at += step->length;
    else if (!(*at = read_step(scanner, *at, state, &step)))
        return NULL;
    if (step != &scanner->unlearned)
        *likely = step;
    return step;
}

/* Whether a value that is not part of a step says which args are needed. */
static bool decides_group(const pyro_kineto_scanner *scanner, unsigned key)
{
    return key == PYRO_KEY_CATEGORY || (key == PYRO_KEY_PHASE && scanner->event.phase == 'C');
}

/* The step behind a category or phase that is not part of steps: it decides which args are needed. */
static pyro_key_step *step_of_group(pyro_kineto_scanner *scanner, unsigned key)
{
    unsigned group = pyro_kineto_group(&scanner->event);
    scanner->categories[group].state = (uint16_t)(group * PYRO_GROUP_STATES + key);
    return &scanner->categories[group];
}

/* Reads the event whose bracket is at `at`; returns what follows, or NULL. What follows a step is most
 * often the same as last time; what follows an event depends on several before it. */
static const char *scan_event(pyro_kineto_scanner *scanner, const char *at)
{
    pyro_key_step **likely = &scanner->likely_firsts[scanner->path % PYRO_LIKELY_FIRSTS];
    unsigned state = PYRO_GROUP_METADATA * PYRO_GROUP_STATES + PYRO_KEY_START;
    pyro_kineto_begin_event(scanner);
    at++;
    for (;;) {
        pyro_key_step *step = *likely;
        if (step && pyro_key_step_stands(step, at))
            at += step->length;
        else if (!(step = find_step(scanner, likely, state, &at)))
            return NULL;
        if (step->sets)
            apply_step(&scanner->event, step);
        unsigned action = step->action;
        if (action == PYRO_ACTION_END) {
            scanner->path = scanner->path << CATEGORY_SHIFT ^ scanner->event.category;
            return at;
        }
        at = scan_action(scanner, at, action, step->field);
        if (!at)
            return NULL;
        if (action == PYRO_ACTION_STEADY && decides_group(scanner, step->field))
            step = step_of_group(scanner, step->field);
        likely = &step->likely;
        state = step->state;
    }
}

/*
 * Whether damage has merged several events: a long event has the start of another one inside. If
 * "ph" is not the first key, an event's contents may look like an event without being one.
 */
static bool is_several(const pyro_kineto_scanner *scanner, const char *at, const char *behind)
{
    return behind - at > SUSPICIOUS_BYTES && strcmp(scanner->first_key, "\"ph\"") == 0 &&
           pyro_kineto_find_event(at + 1, behind, scanner->first_key);
}

/* From behind an event's comma to the next event. The bytes between are most often the same as last
 * time. */
static inline const char *pass_gap(pyro_kineto_scanner *scanner, const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    if ((word & scanner->gap_mask) == scanner->gap && scanner->gap_bytes)
        return at + scanner->gap_bytes;
    const char *next = pyro_json_scan_space(at);
    size_t length = (size_t)(next - at);
    scanner->gap_bytes = 0;
    /* With the bracket behind it, a gap that is longer than this one differs from it. */
    if (*next == '{' && length > 0 && length < sizeof word) {
        memset(&scanner->gap_mask, 0, sizeof scanner->gap_mask);
        memset(&scanner->gap_mask, 0xff, length + 1);
        scanner->gap = word & scanner->gap_mask;
        scanner->gap_bytes = (uint8_t)length;
    }
    return next;
}

const char *pyro_kineto_scan_events(pyro_kineto_scanner *scanner, const char *at, const char *stop)
{
    scanner->failed = false;
    while (at < stop && *at == '{') {
        const char *behind = scan_event(scanner, at);
        if (behind && is_several(scanner, at, behind)) {
            scanner->damaged = true;
            behind = NULL;
        }
        scanner->failed = !behind;
        if (!behind)
            return at;
        if (!pyro_kineto_store(scanner))
            scanner->no_memory = true;
        if (scanner->step_count == PYRO_KEY_STEPS)
            forget_steps(scanner);
        if (*behind != ',')
            return behind;
        at = pass_gap(scanner, behind + 1);
    }
    return at;
}
