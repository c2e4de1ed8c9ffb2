/* The JSON pull reader: applies the grammar to a sliding window over the source. */
#include "base/json/json.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/json/scan.h"
#include "base/json/value.h"
#include "base/json/window.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_DEPTH 256
#define DEFAULT_TOKEN_BYTES ((size_t)64 << 20)
#define DEFAULT_WINDOW_BYTES ((size_t)256 << 10)

typedef enum expectation {
    EXPECT_VALUE,
    EXPECT_VALUE_OR_END,
    EXPECT_KEY_OR_END,
    EXPECT_COLON,
    EXPECT_COMMA_OR_END,
    EXPECT_NOTHING
} expectation;

struct pyro_json {
    pyro_json_token token; /* first: json.h reads it */
    pyro_json_window window;
    pyro_json_options options;

    expectation expect;
    char *levels; /* the open brackets */
    size_t depth, level_capacity;

    int64_t token_offset;
    bool is_integer;
    int64_t integer;
    char *ended_number; /* the byte behind a number that was made a NUL, and what it was */
    char ended_byte;
    bool skipping; /* texts need not stay in the window */
};

static pyro_json_kind fail_at(pyro_json *json, int code, int64_t offset, const char *message)
{
    pyro_json_window_fail(&json->window, code, offset, message);
    return json->token.kind = PYRO_JSON_ERROR;
}

static pyro_json_kind fail_format(pyro_json *json, const char *at, const char *message)
{
    return fail_at(json, PYRO_ERROR_FORMAT, pyro_json_window_offset(&json->window, at), message);
}

static pyro_json_kind fail_long_token(pyro_json *json)
{
    pyro_json_window_fail_long(&json->window, json->token_offset);
    return json->token.kind = PYRO_JSON_ERROR;
}

/* Fails with what is at `at` and what is expected there. */
static pyro_json_kind unexpected(pyro_json *json, const char *at, const char *expected)
{
    char message[128];
    unsigned char c = (unsigned char)*at;
    if (at == json->window.end)
        snprintf(message, sizeof message, "unexpected end of input: expected %s", expected);
    else if (c > 0x20 && c < 0x7f)
        snprintf(message, sizeof message, "expected %s, got '%c'", expected, c);
    else
        snprintf(message, sizeof message, "expected %s, got byte 0x%02x", expected, c);
    return fail_format(json, at, message);
}

/* Returns the next byte that is not white space; NUL (at `end`) at the end of input. */
static inline char peek(pyro_json *json)
{
    pyro_json_window *window = &json->window;
    for (;;) {
        window->at = (char *)pyro_json_scan_space(window->at);
        if (window->at != window->end)
            return *window->at;
        window->token = window->at;
        if (!pyro_json_window_refill(window))
            return '\0';
    }
}

static inline void begin_token(pyro_json *json)
{
    json->window.token = json->window.at;
    json->token_offset = pyro_json_window_offset(&json->window, json->window.at);
}

static inline pyro_json_kind end_value(pyro_json *json, pyro_json_kind kind)
{
    json->expect = json->depth ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
    return json->token.kind = kind;
}

/* Finds the closing quote and reads more input as needed; NULL on failure. */
static char *find_string_end(pyro_json *json, bool *beyond_ascii, bool *escapes)
{
    pyro_json_window *window = &json->window;
    char *at = window->at;
    for (;;) {
        at = (char *)pyro_json_scan_string(at, beyond_ascii);
        if ((size_t)(at - window->token) > json->options.max_token_bytes + 1 && !json->skipping) {
            fail_long_token(json);
            return NULL;
        }
        if (*at == '"')
            return at;
        if (*at == '\\') {
            *escapes = true;
            if (at + 1 < window->end) {
                at += 2;
                continue;
            }
        } else if (at < window->end) {
            fail_format(json, at, "unescaped control character in a string");
            return NULL;
        }
        if (json->skipping)
            window->token = window->at = at;
        size_t scanned = (size_t)(at - window->token);
        if (!pyro_json_window_refill(window)) {
            fail_format(json, window->end, "unexpected end of input inside a string");
            return NULL;
        }
        at = window->token + scanned;
    }
}

static pyro_json_kind read_string(pyro_json *json)
{
    bool beyond_ascii = false, escapes = false;
    begin_token(json);
    json->window.at++;
    char *end = find_string_end(json, &beyond_ascii, &escapes);
    if (!end)
        return PYRO_JSON_ERROR;
    json->window.at = end + 1;
    if (json->skipping)
        return PYRO_JSON_STRING;
    json->token.text = json->window.token + 1;
    json->token.length = (size_t)(end - json->token.text);
    const char *bad = NULL;
    if (beyond_ascii && !json->options.any_utf8 &&
        (bad = pyro_json_find_bad_utf8(json->token.text, json->token.length)))
        return fail_format(json, bad, "a string is not UTF-8");
    json->token.escapes = escapes;
    if (escapes && (bad = pyro_json_unescape(json->token.text, &json->token.length)))
        return fail_format(json, bad, "invalid escape in a string");
    json->token.text[json->token.length] = '\0';
    return PYRO_JSON_STRING;
}

static pyro_json_kind read_key(pyro_json *json)
{
    if (read_string(json) == PYRO_JSON_ERROR)
        return PYRO_JSON_ERROR;
    json->expect = EXPECT_COLON;
    return json->token.kind = PYRO_JSON_KEY;
}

static pyro_json_kind read_literal(pyro_json *json, const char *word, size_t length,
                                   pyro_json_kind kind)
{
    pyro_json_window *window = &json->window;
    begin_token(json);
    if ((size_t)(window->end - window->at) < length)
        pyro_json_window_refill(window);
    size_t same = 0;
    while (same < length && window->at[same] == word[same])
        same++;
    if (same < length)
        return window->at + same == window->end ? unexpected(json, window->end, word)
                                                : unexpected(json, window->at, "a value");
    json->token.text = window->at;
    json->token.length = length;
    json->is_integer = false;
    window->at += length;
    return end_value(json, kind);
}

static pyro_json_kind read_number(pyro_json *json)
{
    pyro_json_window *window = &json->window;
    begin_token(json);
    pyro_scanned_number number = pyro_json_scan_number(window->token);
    while (number.stop == window->end && !window->source_ended) {
        pyro_json_window_refill(window);
        number = pyro_json_scan_number(window->token);
    }
    if (window->status != PYRO_OK)
        return json->token.kind = PYRO_JSON_ERROR;
    if ((size_t)(number.stop - window->token) > json->options.max_token_bytes)
        return fail_long_token(json);
    if (!number.end) {
        if (*number.stop == 'I' && number.stop == window->token + 1 && json->options.nonfinite)
            return read_literal(json, "-Infinity", 9, PYRO_JSON_NUMBER);
        return unexpected(json, number.stop, "a digit");
    }
    json->token.text = window->token;
    json->token.length = (size_t)(number.end - window->token);
    window->at += json->token.length;
    json->is_integer = number.is_integer;
    json->integer = number.integer;
    return end_value(json, PYRO_JSON_NUMBER);
}

static pyro_json_kind open_level(pyro_json *json, char bracket)
{
    begin_token(json);
    if (json->depth >= json->options.max_depth) {
        char message[64];
        snprintf(message, sizeof message, "nested deeper than %zu", json->options.max_depth);
        return fail_at(json, PYRO_ERROR_LIMIT, json->token_offset, message);
    }
    if (json->depth >= json->level_capacity &&
        !pyro_grow(&json->levels, &json->level_capacity, json->depth + 1, 1))
        return fail_at(json, PYRO_ERROR_MEMORY, -1, "out of memory");
    json->levels[json->depth++] = bracket;
    json->window.at++;
    json->expect = bracket == '{' ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
    return json->token.kind = bracket == '{' ? PYRO_JSON_OBJECT : PYRO_JSON_ARRAY;
}

static inline bool in_object(const pyro_json *json)
{
    return json->levels[json->depth - 1] == '{';
}

static pyro_json_kind close_level(pyro_json *json)
{
    begin_token(json);
    pyro_json_kind kind = in_object(json) ? PYRO_JSON_OBJECT_END : PYRO_JSON_ARRAY_END;
    json->depth--;
    json->window.at++;
    return end_value(json, kind);
}

static pyro_json_kind read_value(pyro_json *json, char c)
{
    switch (c) {
    case '"':
        return read_string(json) == PYRO_JSON_ERROR ? PYRO_JSON_ERROR
                                                    : end_value(json, PYRO_JSON_STRING);
    case '{':
    case '[':
        return open_level(json, c);
    case 't':
        return read_literal(json, "true", 4, PYRO_JSON_TRUE);
    case 'f':
        return read_literal(json, "false", 5, PYRO_JSON_FALSE);
    case 'n':
        return read_literal(json, "null", 4, PYRO_JSON_NULL);
    case 'N':
        if (json->options.nonfinite)
            return read_literal(json, "NaN", 3, PYRO_JSON_NUMBER);
        break;
    case 'I':
        if (json->options.nonfinite)
            return read_literal(json, "Infinity", 8, PYRO_JSON_NUMBER);
        break;
    default:
        if (c == '-' || pyro_json_is_digit(c))
            return read_number(json);
    }
    return unexpected(json, json->window.at, "a value");
}

static pyro_json_kind read_end(pyro_json *json)
{
    if (json->window.at != json->window.end)
        return unexpected(json, json->window.at, "the end of the document");
    begin_token(json);
    return json->token.kind = json->window.status == PYRO_OK ? PYRO_JSON_END : PYRO_JSON_ERROR;
}

/* After a value: reads a comma and the next token, or the end of the object or array. */
static pyro_json_kind read_next_item(pyro_json *json, char c)
{
    bool object = in_object(json);
    if (c == ',') {
        json->window.at++;
        c = peek(json);
        if (!object)
            return read_value(json, c);
        return c == '"' ? read_key(json) : unexpected(json, json->window.at, "a key");
    }
    if (c == (object ? '}' : ']'))
        return close_level(json);
    return unexpected(json, json->window.at, object ? "',' or '}'" : "',' or ']'");
}

pyro_json_kind pyro_json_next(pyro_json *json)
{
    if (json->token.kind == PYRO_JSON_ERROR)
        return PYRO_JSON_ERROR;
    if (json->ended_number) {
        *json->ended_number = json->ended_byte;
        json->ended_number = NULL;
    }
    char c = peek(json);
    switch (json->expect) {
    case EXPECT_VALUE:
        break;
    case EXPECT_VALUE_OR_END:
        if (c == ']')
            return close_level(json);
        break;
    case EXPECT_KEY_OR_END:
        if (c == '"')
            return read_key(json);
        return c == '}' ? close_level(json) : unexpected(json, json->window.at, "a key or '}'");
    case EXPECT_COLON:
        if (c != ':')
            return unexpected(json, json->window.at, "':'");
        json->window.at++;
        c = peek(json);
        break;
    case EXPECT_COMMA_OR_END:
        return read_next_item(json, c);
    case EXPECT_NOTHING:
        return read_end(json);
    }
    return read_value(json, c);
}

static bool skip_rest(pyro_json *json)
{
    pyro_json_window *window = &json->window;
    pyro_json_nesting nesting = {.depth = 1, .curly_depth = in_object(json)};
    for (;;) {
        window->at = (char *)pyro_json_scan_nested(&nesting, window->at, window->end);
        if (nesting.depth == 0)
            break;
        window->token = window->at;
        if (!pyro_json_window_refill(window)) {
            fail_format(json, window->end, "unexpected end of input inside an object or array");
            return false;
        }
    }
    window->at--;
    if (nesting.curly_depth != 0 || *window->at != (in_object(json) ? '}' : ']')) {
        fail_format(json, window->at, "mismatched brackets");
        return false;
    }
    close_level(json);
    return true;
}

bool pyro_json_skip(pyro_json *json)
{
    json->skipping = true;
    pyro_json_kind kind = json->token.kind;
    if (kind != PYRO_JSON_OBJECT && kind != PYRO_JSON_ARRAY) {
        kind = pyro_json_next(json);
        if (kind == PYRO_JSON_KEY)
            kind = pyro_json_next(json);
    }
    bool fine = kind != PYRO_JSON_ERROR;
    if (kind == PYRO_JSON_OBJECT || kind == PYRO_JSON_ARRAY)
        fine = skip_rest(json);
    json->skipping = false;
    json->token.text = NULL;
    return fine;
}

/* The byte after `text` if that follows at `at` in the window; else NULL. */
static char *match(const pyro_json_window *window, char *at, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(window->end - at) >= length && !memcmp(at, text, length) ? at + length : NULL;
}

/* True at the start of an object in which that many levels may be opened. */
static bool may_take(const pyro_json *json, size_t levels)
{
    return json->token.kind == PYRO_JSON_OBJECT && json->expect == EXPECT_KEY_OR_END &&
           json->depth + levels <= json->options.max_depth;
}

/* Ends the object at `at` as close_level() does. */
static void take(pyro_json *json, char *at)
{
    json->window.at = at - 1;
    close_level(json);
}

/* The byte after `before`, a text without escapes, and `after`, or NULL. */
static char *match_text(const pyro_json *json, char *at, const char *before, const char *after,
                        const char **text, size_t *length)
{
    bool beyond_ascii = false;
    char *begin = match(&json->window, at, before);
    if (!begin)
        return NULL;
    char *stop = (char *)pyro_json_scan_string(begin, &beyond_ascii);
    *text = begin;
    *length = (size_t)(stop - begin);
    if (*stop != '"' || (beyond_ascii && !json->options.any_utf8) ||
        *length > json->options.max_token_bytes)
        return NULL;
    return match(&json->window, stop, after);
}

bool pyro_json_take_text(pyro_json *json, const char *before, const char *after, const char **text,
                         size_t *length)
{
    char *end = may_take(json, 1) ? match_text(json, json->window.at, before, after, text, length)
                                  : NULL;
    if (end)
        take(json, end);
    return end != NULL;
}

bool pyro_json_take_texts(pyro_json *json, const char *before, const char *between,
                          const char *after, const char *texts[2], size_t lengths[2])
{
    char *end = may_take(json, 2)
                    ? match_text(json, json->window.at, before, between, &texts[0], &lengths[0])
                    : NULL;
    end = end ? match_text(json, end, "", after, &texts[1], &lengths[1]) : NULL;
    if (!end)
        return false;
    json->window.at = end - 1;
    begin_token(json);
    json->window.at = end;
    end_value(json, PYRO_JSON_OBJECT_END);
    return true;
}

bool pyro_json_take_integer(pyro_json *json, const char *before, const char *after,
                            int64_t *integer)
{
    uint64_t value;
    char *begin = may_take(json, 1) ? match(&json->window, json->window.at, before) : NULL;
    const char *stop = begin ? pyro_json_scan_integer(begin, &value) : NULL;
    char *end = stop ? match(&json->window, (char *)stop, after) : NULL;
    if (!end || (*begin == '0' && stop > begin + 1))
        return false;
    *integer = (int64_t)value;
    take(json, end);
    return true;
}

int pyro_json_open(pyro_json **out, pyro_source *source, const pyro_json_options *options,
                   pyro_error *error)
{
    *out = NULL;
    pyro_json *json = calloc(1, sizeof *json);
    if (!json)
        return pyro_fail_memory(error);
    if (options)
        json->options = *options;
    if (json->options.max_depth == 0)
        json->options.max_depth = DEFAULT_DEPTH;
    if (json->options.max_token_bytes == 0)
        json->options.max_token_bytes = DEFAULT_TOKEN_BYTES;
    if (json->options.max_token_bytes > PTRDIFF_MAX)
        json->options.max_token_bytes = PTRDIFF_MAX;
    if (json->options.window_bytes == 0)
        json->options.window_bytes = DEFAULT_WINDOW_BYTES;
    json->token.kind = PYRO_JSON_NULL;
    int status = pyro_json_window_open(&json->window, source, json->options.window_bytes,
                                       json->options.max_token_bytes, error);
    if (status == PYRO_OK)
        *out = json;
    else
        free(json);
    return status;
}

void pyro_json_close(pyro_json *json)
{
    if (!json)
        return;
    pyro_json_window_free(&json->window);
    free(json->levels);
    free(json);
}

int pyro_json_status(const pyro_json *json)
{
    return json->window.status;
}

static bool has_text(const pyro_json *json)
{
    return (json->token.kind == PYRO_JSON_KEY || json->token.kind == PYRO_JSON_STRING) &&
           json->token.text;
}

const char *pyro_json_text(pyro_json *json, size_t *length)
{
    if (length)
        *length = has_text(json) ? json->token.length : 0;
    return has_text(json) ? json->token.text : "";
}

const char *pyro_json_number_text(pyro_json *json, size_t *length)
{
    bool number = json->token.kind == PYRO_JSON_NUMBER && json->token.text;
    if (length)
        *length = number ? json->token.length : 0;
    if (!number)
        return "";
    if (!json->ended_number) {
        json->ended_number = json->token.text + json->token.length;
        json->ended_byte = *json->ended_number;
        *json->ended_number = '\0';
    }
    return json->token.text;
}

bool pyro_json_int(pyro_json *json, int64_t *out)
{
    if (json->token.kind != PYRO_JSON_NUMBER || !json->is_integer)
        return false;
    *out = json->integer;
    return true;
}

bool pyro_json_double(pyro_json *json, double *out)
{
    if (json->token.kind != PYRO_JSON_NUMBER || !json->token.text)
        return false;
    return pyro_json_parse_double(pyro_json_number_text(json, NULL), out);
}

int64_t pyro_json_offset(const pyro_json *json)
{
    return json->token_offset;
}

size_t pyro_json_depth(const pyro_json *json)
{
    return json->depth;
}

/* The current token, for a message. */
static void describe(pyro_json *json, char *out, size_t size)
{
    static const char *const names[] = {
        [PYRO_JSON_END] = "the end of the document",
        [PYRO_JSON_OBJECT] = "an object",
        [PYRO_JSON_OBJECT_END] = "the end of an object",
        [PYRO_JSON_ARRAY] = "an array",
        [PYRO_JSON_ARRAY_END] = "the end of an array",
        [PYRO_JSON_TRUE] = "true",
        [PYRO_JSON_FALSE] = "false",
        [PYRO_JSON_NULL] = "null",
    };
    size_t length = 0;
    const char *text = "";
    switch (json->token.kind) {
    case PYRO_JSON_KEY:
    case PYRO_JSON_STRING:
        text = pyro_json_text(json, &length);
        snprintf(out, size, "%s \"%.40s%s\"", json->token.kind == PYRO_JSON_KEY ? "key" : "string",
                 text, length > 40 ? "..." : "");
        break;
    case PYRO_JSON_NUMBER:
        text = pyro_json_number_text(json, &length);
        snprintf(out, size, "%.40s%s", text, length > 40 ? "..." : "");
        break;
    default:
        snprintf(out, size, "%s", names[json->token.kind]);
    }
}

int pyro_json_fail(pyro_json *json, const char *format, ...)
{
    if (json->window.status != PYRO_OK)
        return json->window.status;
    char what[400], got[64], message[sizeof what + sizeof got + 8];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    describe(json, got, sizeof got);
    bool expectation = !strncmp(what, "expected ", 9);
    snprintf(message, sizeof message, "%s%s%s", what, expectation ? ", got " : "",
             expectation ? got : "");
    fail_at(json, PYRO_ERROR_FORMAT, json->token_offset, message);
    return json->window.status;
}
