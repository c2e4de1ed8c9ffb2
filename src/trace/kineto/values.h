/*
 * Reads the values of an event: numbers to int64, microseconds to nanoseconds, texts to ids. This
 * file reads the frequent forms, values.c all others.
 */
#ifndef PYRO_TRACE_KINETO_VALUES_H
#define PYRO_TRACE_KINETO_VALUES_H

#include "trace/kineto/scanner.h"

/* Any form of number, scaled by 10^power and rounded; *ok is false if it is not a number. */
const char *pyro_kineto_slow_number(pyro_kineto_scanner *scanner, const char *at, int power,
                                    int64_t *value, bool *ok);
/* Skips a value that is neither a string nor nested. */
const char *pyro_kineto_skip_word(pyro_kineto_scanner *scanner, const char *at);
/* Continues behind a backslash or control character in a string; sets `unplain`. */
const char *pyro_kineto_slow_string_end(pyro_kineto_scanner *scanner, const char *at,
                                        bool *unplain);
/* Interns the text between a string's quotes, which may be escaped or damaged. */
uint32_t pyro_kineto_intern_text(pyro_kineto_scanner *scanner, const char *text, size_t length);
/*
 * Any value as a text: strings unescaped, null as no text, others unchanged. A text without escapes
 * becomes the next guess.
 */
const char *pyro_kineto_slow_text(pyro_kineto_scanner *scanner, const char *at, uint32_t *guess,
                                  uint32_t *id);
/* The same where a list is expected. */
const char *pyro_kineto_slow_list(pyro_kineto_scanner *scanner, const char *at, uint32_t *guess,
                                  uint32_t *id);
/*
 * A process or thread, a number or a text. `named` (or NULL) gets 'c' or 'g' for the legacy
 * exporter's "CPU functions" and "CUDA functions", `end_number` (or NULL) the 7 of "stream 7".
 */
const char *pyro_kineto_track_id(pyro_kineto_scanner *scanner, const char *at, uint64_t *id,
                                 char *named, int64_t *end_number);

static inline const char *pyro_kineto_fail(pyro_kineto_scanner *scanner, const char *at)
{
    scanner->damaged = at < scanner->end;
    return NULL;
}

static inline bool pyro_kineto_ends_number(char c)
{
    return c == ',' || (unsigned char)c <= ' ' || c == '}' || c == ']';
}

/* From behind the opening quote: the closing one, or NULL. */
static inline const char *pyro_kineto_string_end(pyro_kineto_scanner *scanner, const char *at,
                                                 bool *unplain)
{
    at = pyro_json_scan_string(at, unplain);
    return *at == '"' ? at : pyro_kineto_slow_string_end(scanner, at, unplain);
}

static inline const char *pyro_kineto_skip_nested(pyro_kineto_scanner *scanner, const char *at)
{
    const char *flat_end = *at == '{' ? pyro_json_scan_flat(at + 1, scanner->end) : NULL;
    if (flat_end)
        return flat_end;
    pyro_json_nesting nesting = {.depth = 1, .curly_depth = *at == '{'};
    const char *behind = pyro_json_scan_nested(&nesting, at + 1, scanner->end);
    if (nesting.depth != 0)
        return pyro_kineto_fail(scanner, scanner->end);
    return nesting.curly_depth == 0 ? behind : pyro_kineto_fail(scanner, at);
}

static inline const char *pyro_kineto_skip_string(pyro_kineto_scanner *scanner, const char *at)
{
    bool unplain = false;
    at = pyro_kineto_string_end(scanner, at + 1, &unplain);
    return at ? at + 1 : NULL;
}

static inline const char *pyro_kineto_skip_value(pyro_kineto_scanner *scanner, const char *at)
{
    if (*at == '"')
        return pyro_kineto_skip_string(scanner, at);
    if (*at == '{' || *at == '[')
        return pyro_kineto_skip_nested(scanner, at);
    uint64_t digits;
    unsigned count = pyro_json_count_digits(at, &digits);
    if (count > 0 && (at[count] == ',' || at[count] == '\n'))
        return at + count;
    return pyro_kineto_skip_word(scanner, at);
}

static inline const char *pyro_kineto_integer(pyro_kineto_scanner *scanner, const char *at,
                                              int64_t *value, bool *ok)
{
    bool negative = *at == '-';
    uint64_t digits;
    const char *behind = pyro_json_scan_integer(at + negative, &digits);
    if (!behind || !pyro_kineto_ends_number(*behind))
        return pyro_kineto_slow_number(scanner, at, 0, value, ok);
    *value = negative ? -(int64_t)digits : (int64_t)digits;
    *ok = true;
    return behind;
}

/* Microseconds, most often with three decimals, as nanoseconds. */
static inline const char *pyro_kineto_micros(pyro_kineto_scanner *scanner, const char *at,
                                             int64_t *ns, bool *ok)
{
    uint64_t whole;
    const char *behind = pyro_json_scan_integer(at, &whole);
    if (behind && whole < UINT64_C(9000000000000000)) {
        unsigned fraction = 0;
        if (*behind == '.' && pyro_json_three_digits(behind + 1, &fraction))
            behind += 4;
        if (pyro_kineto_ends_number(*behind)) {
            *ns = (int64_t)(whole * 1000 + fraction);
            *ok = true;
            return behind;
        }
    }
    return pyro_kineto_slow_number(scanner, at, 3, ns, ok);
}

/* The slot for a guess in a context of two numbers. */
static inline uint32_t *pyro_kineto_guess(pyro_kineto_scanner *scanner, uint32_t a, uint32_t b)
{
    uint32_t mixed = (a * UINT32_C(0x9e3779b1) ^ b) * UINT32_C(0x85ebca77);
    return &scanner->guesses[mixed >> 16 & (PYRO_GUESS_SLOTS - 1)];
}

/* Whether the bytes at `at` are the guessed text; sets its length. */
static inline bool pyro_kineto_guessed(const pyro_kineto_scanner *scanner, uint32_t id,
                                       const char *at, size_t *length)
{
    if (id == PYRO_NO_ID)
        return false;
    const pyro_intern_entry *entry = &scanner->names->entries[id];
    *length = entry->length;
    return entry->length > 0 && entry->length < (size_t)(scanner->end - at) &&
           pyro_same_bytes(entry->text, at, entry->length);
}

/* A text where a string is expected; `guess` is the slot of its context. */
static inline const char *pyro_kineto_text(pyro_kineto_scanner *scanner, const char *at,
                                           uint32_t *guess, uint32_t *id)
{
    size_t length;
    if (*at == '"' && pyro_kineto_guessed(scanner, *guess, at + 1, &length) &&
        at[length + 1] == '"') {
        *id = *guess;
        return at + length + 2;
    }
    return pyro_kineto_slow_text(scanner, at, guess, id);
}

/* A list where one is expected. */
static inline const char *pyro_kineto_list(pyro_kineto_scanner *scanner, const char *at,
                                           uint32_t *guess, uint32_t *id)
{
    size_t length;
    if (*at == '[' && pyro_kineto_guessed(scanner, *guess, at, &length)) {
        *id = *guess;
        return at + length;
    }
    return pyro_kineto_slow_list(scanner, at, guess, id);
}

#endif
