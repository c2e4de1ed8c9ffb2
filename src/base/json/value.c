/* Decodes escapes, UTF-8 and numbers of complete JSON tokens. */
#include "base/json/value.h"

#include "base/json/scan.h"
#include "base/text/utf8.h"
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT_CHARACTER 0xfffd
#define NO_CODE_UNIT UINT32_MAX

const char *pyro_json_find_bad_utf8(const char *text, size_t length)
{
    const char *end = text + length;
    while (text < end) {
        uint64_t word = ~UINT64_C(0);
        if (end - text >= (ptrdiff_t)sizeof word)
            memcpy(&word, text, sizeof word);
        if ((word & UINT64_C(0x8080808080808080)) == 0) {
            text += sizeof word;
            continue;
        }
        size_t size = pyro_utf8_sequence(text, end);
        if (size == 0)
            return text;
        text += size;
    }
    return NULL;
}

/* The four hexadecimal digits of "\uXXXX" at `at`, or NO_CODE_UNIT. */
static uint32_t code_unit(const char *at, const char *end)
{
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return NO_CODE_UNIT;
    uint32_t value = 0;
    for (int i = 2; i < 6; i++) {
        char c = at[i], lower = (char)(c | 0x20);
        if (pyro_json_is_digit(c))
            value = value << 4 | (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value << 4 | (uint32_t)(lower - 'a' + 10);
        else
            return NO_CODE_UNIT;
    }
    return value;
}

/* Decodes "\uXXXX" or a surrogate pair. Returns the bytes read, 0 if invalid. */
static size_t unescape_unicode(const char *at, const char *end, uint32_t *code_point)
{
    uint32_t first = code_unit(at, end);
    if (first == NO_CODE_UNIT)
        return 0;
    *code_point = first;
    if (first < 0xd800 || first > 0xdfff)
        return 6;
    *code_point = REPLACEMENT_CHARACTER;
    uint32_t second = first < 0xdc00 ? code_unit(at + 6, end) : NO_CODE_UNIT;
    if (second == NO_CODE_UNIT || second < 0xdc00 || second > 0xdfff)
        return 6;
    *code_point = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    return 12;
}

static char unescape_simple(char c)
{
    switch (c) {
    case '"':
    case '\\':
    case '/':
        return c;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return '\0';
    }
}

const char *pyro_json_unescape(char *text, size_t *length)
{
    const char *end = text + *length;
    const char *at = memchr(text, '\\', *length);
    char *out = (char *)at;
    while (at && at < end) {
        if (*at != '\\') {
            const char *next = memchr(at, '\\', (size_t)(end - at));
            size_t run = (size_t)((next ? next : end) - at);
            memmove(out, at, run);
            out += run;
            at += run;
            continue;
        }
        char simple = end - at < 2 ? '\0' : unescape_simple(at[1]);
        if (simple) {
            *out++ = simple;
            at += 2;
            continue;
        }
        uint32_t code_point;
        size_t size = unescape_unicode(at, end, &code_point);
        if (size == 0)
            return at;
        at += size;
        out += pyro_utf8_encode(out, code_point);
    }
    if (at)
        *length = (size_t)(out - text);
    return NULL;
}

static const char *skip_digits(const char *at)
{
    while (pyro_json_is_digit(*at))
        at++;
    return at;
}

/* Reads an integer of 19 digits or more; returns false if it does not fit. */
static bool parse_long_integer(const char *at, const char *end, bool negative, int64_t *out)
{
    int64_t value = 0;
    for (; at < end; at++) {
        int digit = *at - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *out = value;
    return true;
}

pyro_scanned_number pyro_json_scan_number(const char *at)
{
    pyro_scanned_number number = {NULL, at, true, 0};
    bool negative = *at == '-';
    const char *digits = at + negative;
    uint64_t value = 0;
    number.stop = digits;
    if (!pyro_json_is_digit(*digits))
        return number;
    const char *end = *digits == '0' ? digits + 1 : pyro_json_scan_integer(digits, &value);
    if (end) {
        number.integer = negative ? -(int64_t)value : (int64_t)value;
    } else {
        end = skip_digits(digits);
        number.is_integer = parse_long_integer(digits, end, negative, &number.integer);
    }
    if (*end == '.') {
        number.is_integer = false;
        number.stop = ++end;
        if (!pyro_json_is_digit(*end))
            return number;
        end = skip_digits(end);
    }
    if (*end == 'e' || *end == 'E') {
        number.is_integer = false;
        end++;
        if (*end == '+' || *end == '-')
            end++;
        number.stop = end;
        if (!pyro_json_is_digit(*end))
            return number;
        end = skip_digits(end);
    }
    number.end = number.stop = end;
    return number;
}

/* Digits and powers of ten that a double holds exactly give an exact quotient or product. */
static bool parse_short_double(const char *text, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    bool negative = *text == '-';
    uint64_t whole, fraction = 0;
    const char *at = pyro_json_scan_integer_scalar(text + negative, &whole);
    if (!at)
        return false;
    size_t decimals = 0;
    if (*at == '.') {
        const char *end = pyro_json_scan_integer_scalar(at + 1, &fraction);
        if (!end)
            return false;
        decimals = (size_t)(end - at - 1);
        at = end;
    }
    if (*at != '\0' || (size_t)(at - text) > 18)
        return false;
    for (size_t i = 0; i < decimals; i++)
        whole *= 10;
    whole += fraction;
    if (whole > UINT64_C(1) << 53)
        return false;
    double value = (double)whole / powers[decimals];
    *out = negative ? -value : value;
    return true;
}

bool pyro_json_parse_double(const char *text, double *out)
{
    if (parse_short_double(text, out))
        return true;
    /* The host program may have set a locale whose decimal point is a comma. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return false;
    *out = strtod_l(text, NULL, plain);
    freelocale(plain);
    return !isinf(*out) || strstr(text, "Inf");
}
