/* An event's args: fields of kineto_fields.def are read where their group wants them. */
#include "trace/kineto_values.h"

enum { HOST = 1 << PYRO_GROUP_HOST,
       RUNTIME = 1 << PYRO_GROUP_RUNTIME,
       KERNEL = 1 << PYRO_GROUP_KERNEL,
       TRANSFER = 1 << PYRO_GROUP_TRANSFER,
       MEMORY = 1 << PYRO_GROUP_MEMORY,
       METADATA = 1 << PYRO_GROUP_METADATA };

typedef enum field_kind { SKIP, INTEGER, REAL, TEXT, LIST, TRIPLE } field_kind;

static const struct {
    uint8_t kind, groups;
} fields[PYRO_FIELD_COUNT] = {
#define F(name, key, kind, groups) {kind, groups},
#define A(name, key)
#include "trace/kineto_fields.def"
#undef F
#undef A
};

unsigned pyro_kineto_field(const char *name, size_t length)
{
    static const struct {
        const char *name;
        uint8_t length, field;
    } names[] = {
#define F(name, key, kind, groups) {key, sizeof(key) - 1, PYRO_FIELD_##name},
#define A(name, key) {key, sizeof(key) - 1, PYRO_FIELD_##name},
#include "trace/kineto_fields.def"
#undef F
#undef A
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].length == length && memcmp(names[i].name, name, length) == 0)
            return names[i].field;
    return PYRO_FIELD_COUNT;
}

/* The state of a key: its field, or a state of its own among those that are passed over. */
static unsigned state_of(pyro_kineto_scanner *scanner, const char *name, size_t length)
{
    unsigned field = pyro_kineto_field(name, length);
    if (field < PYRO_FIELD_COUNT)
        return field;
    if (length >= PYRO_ARG_NAME_BYTES)
        return PYRO_ARG_OTHER;
    for (unsigned state = PYRO_FIELD_COUNT; state < scanner->arg_count; state++)
        if (strlen(scanner->arg_names[state]) == length &&
            memcmp(scanner->arg_names[state], name, length) == 0)
            return state;
    if (scanner->arg_count >= PYRO_ARG_OTHER || memchr(name, 0, length))
        return PYRO_ARG_OTHER;
    memcpy(scanner->arg_names[scanner->arg_count], name, length);
    return scanner->arg_count++;
}

static const char *next_key(pyro_kineto_scanner *scanner, const char *at, unsigned group,
                            unsigned *state)
{
    const char *name;
    size_t length;
    unsigned from = *state;
    const char *value =
        pyro_kineto_read_key(scanner, at, from == PYRO_ARG_START, &name, &length);
    if (value) {
        *state = name ? state_of(scanner, name, length) : PYRO_ARG_END;
        pyro_literals_learn(&scanner->args[group][from], at, (size_t)(value - at), *state);
    }
    return value;
}

/* Three numbers, `[2, 3, 4]`; what is none of them counts as 0. */
static const char *scan_triple(pyro_kineto_scanner *scanner, const char *at, uint32_t *triple,
                               bool *ok)
{
    triple[0] = triple[1] = triple[2] = 0;
    *ok = *at == '[';
    if (*at != '[')
        return pyro_kineto_skip_value(scanner, at);
    const char *begin = at;
    at = pyro_json_scan_space(at + 1);
    for (int i = 0; i < 3 && *at != ']'; i++) {
        int64_t number = 0;
        bool integer = false;
        at = pyro_kineto_integer(scanner, at, &number, &integer);
        if (!at)
            return NULL;
        triple[i] = integer && number >= 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
        at = pyro_json_scan_space(at);
        if (*at == ',')
            at = pyro_json_scan_space(at + 1);
    }
    return *at == ']' ? at + 1 : pyro_kineto_skip_nested(scanner, begin);
}

static const char *scan_real(pyro_kineto_scanner *scanner, const char *at, float *real, bool *ok)
{
    int64_t billionths = 0;
    uint64_t whole;
    const char *behind = pyro_json_scan_integer(at, &whole);
    if (behind && pyro_kineto_ends_number(*behind)) {
        *real = (float)whole;
        *ok = true;
        return behind;
    }
    at = pyro_kineto_slow_number(scanner, at, 9, &billionths, ok);
    *real = (float)((double)billionths * 1e-9);
    return at;
}

static const char *scan_list(pyro_kineto_scanner *scanner, const char *at, unsigned field,
                             int64_t *id)
{
    uint32_t list = PYRO_NO_ID, *last = &scanner->last_list[field - PYRO_FIELD_DIMS];
    uint32_t *guess = pyro_kineto_guess(scanner, scanner->event.name + (field << 24), *last);
    at = pyro_kineto_list(scanner, at, guess, &list);
    *last = list;
    *id = list;
    return at;
}

static const char *scan_field(pyro_kineto_scanner *scanner, const char *at, unsigned field)
{
    pyro_kineto_event *event = &scanner->event;
    bool ok = true;
    switch ((field_kind)fields[field].kind) {
    case INTEGER:
        at = pyro_kineto_integer(scanner, at, &event->number[field], &ok);
        break;
    case REAL:
        at = scan_real(scanner, at, &event->real[field], &ok);
        break;
    case LIST:
        at = scan_list(scanner, at, field, &event->number[field]);
        break;
    case TRIPLE:
        at = scan_triple(scanner, at, field == PYRO_FIELD_GRID ? event->grid : event->block, &ok);
        break;
    case TEXT: {
        uint32_t id = PYRO_NO_ID;
        at = pyro_kineto_text(scanner, at, pyro_kineto_guess(scanner, event->name, field), &id);
        event->number[field] = id;
        ok = id != PYRO_NO_ID;
        break;
    }
    default:
        return pyro_kineto_skip_value(scanner, at);
    }
    event->present |= (uint64_t)ok << field;
    return at;
}

/* Whether the event wants the field; before its category is known, every one may be wanted. */
static inline bool wants(const pyro_kineto_event *event, unsigned group, unsigned field)
{
    return field < PYRO_FIELD_COUNT && (event->category == PYRO_KINETO_UNKNOWN ||
                                        (fields[field].groups >> group & 1));
}

const char *pyro_kineto_scan_arg(pyro_kineto_scanner *scanner, const char *at, unsigned field)
{
    if (wants(&scanner->event, pyro_kineto_group(&scanner->event), field))
        return scan_field(scanner, at, field);
    return pyro_kineto_skip_value(scanner, at);
}

const char *pyro_kineto_scan_args(pyro_kineto_scanner *scanner, const char *at)
{
    unsigned state = PYRO_ARG_START, group = pyro_kineto_group(&scanner->event);
    at++;
    for (;;) {
        const char *value = pyro_literals_follow(&scanner->args[group][state], at, &state);
        if (!value)
            value = next_key(scanner, at, group, &state);
        if (!value || state == PYRO_ARG_END)
            return value;
        if (wants(&scanner->event, group, state))
            at = scan_field(scanner, value, state);
        else
            at = pyro_kineto_skip_value(scanner, value);
        if (!at)
            return NULL;
    }
}
