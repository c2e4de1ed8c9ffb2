/* Parses options by GNU conventions, reading argv once. */
#include "cli/options/options.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/text/suggest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const pyro_option_group *groups;
    char *values;
    int argc, next;
    char **argv;
    pyro_error *error;
} parser;

/* An option and the group whose values hold its target. */
typedef struct found_option {
    const pyro_option *option;
    const pyro_option_group *group;
} found_option;

bool pyro_words_add(pyro_words *words, const char *word)
{
    if (!pyro_grow(&words->items, &words->capacity, words->count + 1, sizeof *words->items))
        return false;
    words->items[words->count++] = word;
    return true;
}

void pyro_words_free(pyro_words *words)
{
    free(words->items);
    memset(words, 0, sizeof *words);
}

bool pyro_parse_integer(const char *text, int64_t *out)
{
    char *end;
    bool digits = text[0] >= '0' && text[0] <= '9';
    bool negative = text[0] == '-' && text[1] >= '0' && text[1] <= '9';

    if (!digits && !negative)
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0;
}

bool pyro_parse_number(const char *text, double *out)
{
    char *end;

    if (text[0] == '\0' || !strchr("+-.0123456789", text[0]))
        return false;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

static found_option find_long(const parser *p, const char *name, size_t length)
{
    for (const pyro_option_group *group = p->groups; group->title; group++) {
        for (const pyro_option *option = group->options; option->long_name; option++)
            if (strlen(option->long_name) == length && memcmp(option->long_name, name, length) == 0)
                return (found_option){option, group};
    }
    return (found_option){NULL, NULL};
}

static found_option find_short(const parser *p, char name)
{
    for (const pyro_option_group *group = p->groups; group->title; group++) {
        for (const pyro_option *option = group->options; option->long_name; option++)
            if (option->short_name != 0 && option->short_name == name)
                return (found_option){option, group};
    }
    return (found_option){NULL, NULL};
}

static int fail_unknown(parser *p, const char *name, size_t length)
{
    char word[128];

    if (length >= sizeof word)
        return pyro_fail(p->error, PYRO_ERROR_ARGUMENT, "unknown option --%.40s...", name);
    memcpy(word, name, length);
    word[length] = '\0';
    pyro_suggestion suggestion = PYRO_SUGGESTION(word);
    for (const pyro_option_group *group = p->groups; group->title; group++)
        for (const pyro_option *option = group->options; option->long_name; option++)
            pyro_suggestion_offer(&suggestion, option->long_name);
    if (suggestion.nearest) {
        return pyro_fail(p->error, PYRO_ERROR_ARGUMENT, "unknown option --%s; did you mean --%s?",
                         word, suggestion.nearest);
    }
    return pyro_fail(p->error, PYRO_ERROR_ARGUMENT, "unknown option --%s", word);
}

int pyro_options_fail_choice(pyro_error *error, const char *option, const char *const *choices,
                             const char *value)
{
    pyro_buf names = PYRO_BUF_INIT;
    pyro_suggestion suggestion = PYRO_SUGGESTION(value);
    int status;

    for (size_t i = 0; choices[i]; i++) {
        pyro_suggestion_offer(&suggestion, choices[i]);
        pyro_buf_addf(&names, "%s%s", i == 0 ? "" : ", ", choices[i]);
    }
    if (suggestion.nearest) {
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT,
                           "--%s: unknown value \"%.60s\"; did you mean %s? (one of: %s)", option,
                           value, suggestion.nearest, names.failed ? "" : names.data);
    } else {
        status = pyro_fail(error, PYRO_ERROR_ARGUMENT, "--%s: unknown value \"%.60s\" (one of: %s)",
                           option, value, names.failed ? "" : names.data);
    }
    pyro_buf_free(&names);
    return status;
}

static int check_range(parser *p, const pyro_option *option, double value, const char *text)
{
    if ((option->minimum == 0 && option->maximum == 0) ||
        (value >= option->minimum && value <= option->maximum)) {
        return PYRO_OK;
    }
    if (value < option->minimum) {
        return pyro_fail(p->error, PYRO_ERROR_ARGUMENT, "--%s: %.60s is too small (at least %.15g)",
                         option->long_name, text, option->minimum);
    }
    return pyro_fail(p->error, PYRO_ERROR_ARGUMENT, "--%s: %.60s is too large (at most %.15g)",
                     option->long_name, text, option->maximum);
}

static int set_choice(parser *p, const pyro_option *option, int *target, const char *value)
{
    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], value) == 0) {
            *target = i;
            return PYRO_OK;
        }
    }
    return pyro_options_fail_choice(p->error, option->long_name, option->choices, value);
}

static int add_choice(parser *p, const pyro_option *option, unsigned *target, const char *value)
{
    int index = 0, status = set_choice(p, option, &index, value);

    if (status == PYRO_OK)
        *target |= 1U << index;
    return status;
}

/* Stores a value in the option's target; `value` is NULL for a flag. */
static int set_value(parser *p, found_option found, const char *value)
{
    const pyro_option *option = found.option;
    void *target = p->values + found.group->offset + option->offset;

    switch (option->kind) {
    case PYRO_OPTION_FLAG:
        *(bool *)target = true;
        return PYRO_OK;
    case PYRO_OPTION_STRING:
    case PYRO_OPTION_FORMAT:
        *(const char **)target = value;
        return PYRO_OK;
    case PYRO_OPTION_INTEGER:
        if (!pyro_parse_integer(value, target)) {
            return pyro_fail(p->error, PYRO_ERROR_ARGUMENT, "--%s: \"%.60s\" is not a whole number",
                             option->long_name, value);
        }
        return check_range(p, option, (double)*(int64_t *)target, value);
    case PYRO_OPTION_NUMBER:
        if (!pyro_parse_number(value, target)) {
            return pyro_fail(p->error, PYRO_ERROR_ARGUMENT, "--%s: \"%.60s\" is not a number",
                             option->long_name, value);
        }
        return check_range(p, option, *(double *)target, value);
    case PYRO_OPTION_CHOICE:
        return set_choice(p, option, target, value);
    case PYRO_OPTION_CHOICES:
        return add_choice(p, option, target, value);
    case PYRO_OPTION_LIST:
    case PYRO_OPTION_LIMITS:
        return pyro_words_add(target, value) ? PYRO_OK : pyro_fail_memory(p->error);
    }
    return PYRO_OK;
}

/*
 * Takes an option's value from the next argument. Rejects one that looks like an option: the value
 * was probably forgotten.
 */
static int take_next(parser *p, const pyro_option *option, const char **value)
{
    int64_t number;

    if (option->is_value && (p->next >= p->argc || !option->is_value(p->argv[p->next]))) {
        *value = "";
        return PYRO_OK;
    }
    if (p->next >= p->argc) {
        return pyro_fail(p->error, PYRO_ERROR_ARGUMENT, "--%s needs a value: --%s %s",
                         option->long_name, option->long_name, option->metavar);
    }
    *value = p->argv[p->next];
    if ((*value)[0] == '-' && (*value)[1] != '\0' && !pyro_parse_integer(*value, &number)) {
        return pyro_fail(p->error, PYRO_ERROR_ARGUMENT,
                         "--%s needs a value, not %.60s (write --%s=%.60s if it is meant)",
                         option->long_name, *value, option->long_name, *value);
    }
    p->next++;
    return PYRO_OK;
}

/* "latency:100ms": a lower-case name, a colon and a number. */
static bool looks_like_limit(const char *word)
{
    size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_.");

    return length > 0 && word[length] == ':' && strchr("0123456789.", word[length + 1]) &&
           word[length + 1] != '\0';
}

/* Takes the words after the first, for options with several. */
static int take_more(parser *p, found_option found)
{
    int status = PYRO_OK;

    if (found.option->kind == PYRO_OPTION_LIMITS) {
        while (status == PYRO_OK && p->next < p->argc && looks_like_limit(p->argv[p->next]))
            status = set_value(p, found, p->argv[p->next++]);
    } else if (found.option->kind == PYRO_OPTION_LIST) {
        for (int i = 1; i < found.option->words && status == PYRO_OK; i++) {
            const char *value = NULL;

            status = take_next(p, found.option, &value);
            if (status == PYRO_OK)
                status = set_value(p, found, value);
        }
    }
    return status;
}

static int parse_long(parser *p, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    found_option found = find_long(p, text, length);
    const char *value = equals ? equals + 1 : NULL;
    int status = PYRO_OK;

    if (!found.option)
        return fail_unknown(p, text, length);
    if (found.option->kind == PYRO_OPTION_FLAG && value) {
        return pyro_fail(p->error, PYRO_ERROR_ARGUMENT, "--%s takes no value",
                         found.option->long_name);
    }
    if (found.option->kind != PYRO_OPTION_FLAG && !value)
        status = take_next(p, found.option, &value);
    status = status != PYRO_OK ? status : set_value(p, found, value);
    return status != PYRO_OK ? status : take_more(p, found);
}

/* "-v", "-qv", "-oFILE", "-o FILE": flags may share one dash, a value ends the cluster. */
static int parse_short(parser *p, const char *text)
{
    for (; *text != '\0'; text++) {
        found_option found = find_short(p, *text);
        const char *value = NULL;
        int status = PYRO_OK;

        if (!found.option)
            return pyro_fail(p->error, PYRO_ERROR_ARGUMENT, "unknown option -%c", *text);
        bool takes_value = found.option->kind != PYRO_OPTION_FLAG;
        if (takes_value && text[1] != '\0')
            value = text + 1;
        else if (takes_value)
            status = take_next(p, found.option, &value);
        status = status != PYRO_OK ? status : set_value(p, found, value);
        status = status != PYRO_OK ? status : take_more(p, found);
        if (status != PYRO_OK || takes_value)
            return status;
    }
    return PYRO_OK;
}

static bool is_option(const char *argument)
{
    return argument[0] == '-' && argument[1] != '\0';
}

static int parse_option(parser *p, const char *argument)
{
    return argument[1] == '-' ? parse_long(p, argument + 2) : parse_short(p, argument + 1);
}

int pyro_options_parse(const pyro_option_group *groups, void *values, int argc, char **argv,
                       pyro_words *operands, pyro_error *error)
{
    parser p = {groups, values, argc, 0, argv, error};
    bool only_operands = false;

    while (p.next < argc) {
        const char *argument = argv[p.next++];
        int status = PYRO_OK;

        if (only_operands || !is_option(argument))
            status = pyro_words_add(operands, argument) ? PYRO_OK : pyro_fail_memory(error);
        else if (strcmp(argument, "--") == 0)
            only_operands = true;
        else
            status = parse_option(&p, argument);
        if (status != PYRO_OK)
            return status;
    }
    return PYRO_OK;
}

int pyro_options_parse_leading(const pyro_option_group *groups, void *values, int argc, char **argv,
                               bool (*is_foreign)(const char *argument), int *used,
                               pyro_error *error)
{
    parser p = {groups, values, argc, 0, argv, error};
    int status = PYRO_OK;

    while (status == PYRO_OK && p.next < argc && is_option(argv[p.next]) &&
           !is_foreign(argv[p.next])) {
        const char *argument = argv[p.next++];

        if (strcmp(argument, "--") == 0)
            break;
        status = parse_option(&p, argument);
    }
    *used = p.next;
    return status;
}

void pyro_options_free(const pyro_option_group *groups, void *values)
{
    for (const pyro_option_group *group = groups; group->title; group++) {
        for (const pyro_option *option = group->options; option->long_name; option++)
            if (option->kind == PYRO_OPTION_LIST || option->kind == PYRO_OPTION_LIMITS)
                pyro_words_free((pyro_words *)((char *)values + group->offset + option->offset));
    }
}
