/* Decides which keys of args are fields and which events need them; reads rare kinds of values. */
#include "trace/kineto/fields.h"

enum {
    HOST = 1 << PYRO_GROUP_HOST,
    RUNTIME = 1 << PYRO_GROUP_RUNTIME,
    KERNEL = 1 << PYRO_GROUP_KERNEL,
    TRANSFER = 1 << PYRO_GROUP_TRANSFER,
    MEMORY = 1 << PYRO_GROUP_MEMORY,
    METADATA = 1 << PYRO_GROUP_METADATA
};

enum {
    INTEGER = PYRO_ACTION_INTEGER,
    REAL = PYRO_ACTION_REAL,
    TEXT = PYRO_ACTION_TEXT,
    LIST = PYRO_ACTION_LIST,
    TRIPLE = PYRO_ACTION_TRIPLE
};

static const struct {
    uint8_t action, groups;
} fields[PYRO_FIELD_COUNT] = {
#define F(name, key, kind, groups) {kind, groups},
#define A(name, key)
#include "trace/kineto/fields.def"
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
#include "trace/kineto/fields.def"
#undef F
#undef A
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].length == length && memcmp(names[i].name, name, length) == 0)
            return names[i].field;
    return PYRO_FIELD_COUNT;
}

unsigned pyro_kineto_arg(pyro_kineto_scanner *scanner, const char *name, size_t length)
{
    unsigned field = pyro_kineto_field(name, length);
    if (field < PYRO_FIELD_COUNT)
        return field;
    if (length >= PYRO_KINETO_ARG_NAME_BYTES)
        return PYRO_KINETO_ARG_OTHER;
    for (unsigned arg = PYRO_FIELD_COUNT; arg < scanner->arg_count; arg++)
        if (strlen(scanner->arg_names[arg]) == length &&
            memcmp(scanner->arg_names[arg], name, length) == 0)
            return arg;
    if (scanner->arg_count >= PYRO_KINETO_ARG_OTHER || memchr(name, 0, length))
        return PYRO_KINETO_ARG_OTHER;
    memcpy(scanner->arg_names[scanner->arg_count], name, length);
    return scanner->arg_count++;
}

unsigned pyro_kineto_arg_action(const pyro_kineto_event *event, unsigned field)
{
    /* Until the category is known, any field may be needed. */
    bool wanted = field < PYRO_FIELD_COUNT &&
                  (event->category == PYRO_KINETO_UNKNOWN ||
                   (fields[field].groups >> pyro_kineto_group(event) & 1));
    return wanted ? fields[field].action : PYRO_ACTION_SKIP;
}

const char *pyro_kineto_triple(pyro_kineto_scanner *scanner, const char *at, uint32_t *triple,
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

/* Billionths of the decimals from behind the point; NULL unless there are one to eight digits. */
static const char *read_decimals(const char *at, int64_t *billionths)
{
    uint64_t digits;
    const char *behind = pyro_json_scan_integer(at, &digits);
    if (!behind || behind - at > 8)
        return NULL;
    for (ptrdiff_t i = behind - at; i < 9; i++)
        digits *= 10;
    *billionths = (int64_t)digits;
    return behind;
}

const char *pyro_kineto_real(pyro_kineto_scanner *scanner, const char *at, float *real, bool *ok)
{
    int64_t billionths = 0;
    uint64_t whole;
    const char *behind = pyro_json_scan_integer(at, &whole);
    if (behind && pyro_kineto_ends_number(*behind)) {
        *real = (float)whole;
        *ok = true;
        return behind;
    }
    if (behind && *behind == '.' && whole < 1000000000)
        behind = read_decimals(behind + 1, &billionths);
    if (behind && billionths && pyro_kineto_ends_number(*behind)) {
        *real = (float)((double)((int64_t)whole * 1000000000 + billionths) * 1e-9);
        *ok = true;
        return behind;
    }
    at = pyro_kineto_slow_number(scanner, at, 9, &billionths, ok);
    *real = (float)((double)billionths * 1e-9);
    return at;
}
