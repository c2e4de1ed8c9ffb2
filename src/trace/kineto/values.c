/* Reads values in rare forms: numbers of any shape, escaped and damaged texts, lists. */
#include "trace/kineto/values.h"

#include "base/checked.h"
#include "base/text/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD in UTF-8 */

/* mantissa * 10^power, rounded half away from zero; false when it does not fit. */
static bool scale_decimal(uint64_t mantissa, int64_t power, int64_t *value)
{
    while (power > 0 && mantissa > 0) {
        if (__builtin_mul_overflow(mantissa, (uint64_t)10, &mantissa))
            return false;
        power--;
    }
    if (power < -19)
        mantissa = 0;
    unsigned last = 0;
    for (; power < 0 && mantissa > 0; power++) {
        last = (unsigned)(mantissa % 10);
        mantissa /= 10;
    }
    if (power == 0 && last >= 5)
        mantissa++;
    *value = (int64_t)mantissa;
    return mantissa <= INT64_MAX;
}

/* Reads digits into the mantissa while they fit; the power makes up for the others. */
static const char *read_digits(const char *at, uint64_t *mantissa, int64_t *power, int step)
{
    for (; pyro_json_is_digit(*at); at++) {
        if (*mantissa <= (UINT64_MAX - 9) / 10) {
            *mantissa = *mantissa * 10 + (uint64_t)(*at - '0');
            *power += step;
        } else {
            *power += step + 1;
        }
    }
    return at;
}

/* Reads an optional exponent; its digits saturate. */
static const char *read_exponent(const char *at, int64_t *power)
{
    if (*at != 'e' && *at != 'E')
        return at;
    const char *digit = at + 1;
    bool negative = *digit == '-';
    digit += *digit == '-' || *digit == '+';
    if (!pyro_json_is_digit(*digit))
        return at;
    int64_t exponent = 0;
    for (; pyro_json_is_digit(*digit); digit++)
        if (exponent < 100000)
            exponent = exponent * 10 + (*digit - '0');
    *power += negative ? -exponent : exponent;
    return digit;
}

/* Reads a JSON number; NULL if there is no number. *fits as in scale_decimal. */
static const char *read_decimal(const pyro_kineto_scanner *scanner, const char *at, int power,
                                int64_t *value, bool *fits)
{
    bool negative = *at == '-';
    at += *at == '-' || *at == '+';
    if (!pyro_json_is_digit(*at) && !(*at == '.' && pyro_json_is_digit(at[1])))
        return NULL;
    uint64_t mantissa = 0;
    int64_t scale = power;
    at = read_digits(at, &mantissa, &scale, 0);
    if (*at == '.') {
        const char *point = at;
        at = read_digits(at + 1, &mantissa, &scale, -1);
        int64_t digits = at - point - 1;
        /* Not padded: the digits are a count of nanoseconds, not decimals. */
        if (scanner->fraction_is_ns && power == 3 && digits > 0 && digits < 3) {
            uint64_t fraction = 0;
            for (const char *digit = point + 1; digit < at; digit++)
                fraction = fraction * 10 + (uint64_t)(*digit - '0');
            mantissa = (mantissa - fraction) / (digits == 1 ? 10 : 100) * 1000 + fraction;
            scale = 0;
        }
    }
    at = read_exponent(at, &scale);
    *fits = scale_decimal(mantissa, scale, value);
    if (negative)
        *value = (int64_t)(0 - (uint64_t)*value);
    return at;
}

const char *pyro_kineto_skip_word(pyro_kineto_scanner *scanner, const char *at)
{
    const char *begin = at;
    while (!pyro_kineto_ends_number(*at) && *at != '"' && *at != '{' && *at != '[' && *at != ':')
        at++;
    if (at == begin || at >= scanner->end)
        return pyro_kineto_fail(scanner, at);
    size_t length = (size_t)(at - begin);
    bool known = pyro_json_is_digit(*begin) || (*begin == '-' && pyro_json_is_digit(begin[1])) ||
                 (length == 4 &&
                  (memcmp(begin, "null", 4) == 0 || memcmp(begin, "true", 4) == 0)) ||
                 (length == 5 && memcmp(begin, "false", 5) == 0);
    if (!known)
        scanner->event.defects |= PYRO_DEFECT_BIT(NOT_JSON);
    return at;
}

const char *pyro_kineto_slow_number(pyro_kineto_scanner *scanner, const char *at, int power,
                                    int64_t *value, bool *ok)
{
    bool quoted = *at == '"', fits = false;
    const char *behind = read_decimal(scanner, at + quoted, power, value, &fits);
    if (behind && (quoted ? *behind == '"' : pyro_kineto_ends_number(*behind))) {
        if (behind >= scanner->end)
            return pyro_kineto_fail(scanner, behind);
        if (!fits)
            scanner->event.defects |= PYRO_DEFECT_BIT(HUGE_NUMBER);
        *ok = fits;
        return behind + quoted;
    }
    *ok = false;
    return pyro_kineto_skip_value(scanner, at);
}

const char *pyro_kineto_slow_string_end(pyro_kineto_scanner *scanner, const char *at, bool *unplain)
{
    *unplain = true;
    while (*at != '"') {
        if (at + (*at == '\\') >= scanner->end)
            return pyro_kineto_fail(scanner, scanner->end);
        at += *at == '\\' ? 2 : 1;
        at = pyro_json_scan_string(at, unplain);
    }
    return at < scanner->end ? at : pyro_kineto_fail(scanner, scanner->end);
}

/* Four hexadecimal digits, or -1. */
static int32_t read_hex(const char *at, const char *end)
{
    int32_t value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = pyro_json_is_digit(c)  ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/*
 * Reads a \u escape from the `u` on; a surrogate pair is one character. Replaces a lone surrogate,
 * and NUL, which would end the text for later readers.
 */
static const char *add_code_point(pyro_kineto_scanner *scanner, const char *at, const char *end)
{
    int32_t code = read_hex(at + 1, end);
    if (code < 0)
        return NULL;
    at += 5;
    if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
        int32_t low = read_hex(at + 2, end);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
        }
    }
    if (code == 0)
        scanner->event.defects |= PYRO_DEFECT_BIT(NUL);
    if (code == 0 || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    char bytes[4];
    pyro_buf_add(&scanner->scratch, bytes, pyro_utf8_encode(bytes, (uint32_t)code));
    return at;
}

/* Adds the character of the escape at `at`, behind its backslash; returns what follows. */
static const char *add_escape(pyro_kineto_scanner *scanner, const char *at, const char *end)
{
    static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *found = at < end && *at ? strchr(plain, *at) : NULL;
    if (found) {
        pyro_buf_addc(&scanner->scratch, meant[found - plain]);
        return at + 1;
    }
    const char *behind = at < end && *at == 'u' ? add_code_point(scanner, at, end) : NULL;
    if (behind)
        return behind;
    scanner->event.defects |= PYRO_DEFECT_BIT(BAD_ESCAPE);
    pyro_buf_addc(&scanner->scratch, '\\');
    return at;
}

static void unescape(pyro_kineto_scanner *scanner, const char *at, const char *end)
{
    pyro_buf *text = &scanner->scratch;
    pyro_buf_reset(text);
    while (at < end) {
        unsigned char c = (unsigned char)*at;
        if (c == '\\') {
            at = add_escape(scanner, at + 1, end);
        } else if (c >= 0x80) {
            size_t length = pyro_utf8_sequence(at, end);
            if (length == 0) {
                scanner->event.defects |= PYRO_DEFECT_BIT(BAD_UTF8);
                pyro_buf_adds(text, REPLACEMENT);
                at++;
            } else {
                pyro_buf_add(text, at, length);
                at += length;
            }
        } else {
            if (c < 0x20)
                scanner->event.defects |= PYRO_DEFECT_BIT(RAW_CONTROL);
            if (c == 0) {
                scanner->event.defects |= PYRO_DEFECT_BIT(NUL);
                pyro_buf_adds(text, REPLACEMENT);
                at++;
                continue;
            }
            const char *begin = at;
            while (at < end && *at != '\\' && (unsigned char)*at < 0x80 &&
                   (at == begin || (unsigned char)*at >= 0x20))
                at++;
            pyro_buf_add(text, begin, (size_t)(at - begin));
        }
    }
}

/* Interns a text, cut to the maximum length. */
static uint32_t intern(pyro_kineto_scanner *scanner, const char *text, size_t length)
{
    if (length > PYRO_KINETO_MAX_TEXT_BYTES) {
        scanner->event.defects |= PYRO_DEFECT_BIT(LONG_TEXT);
        length = PYRO_KINETO_MAX_TEXT_BYTES;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    uint32_t id = pyro_intern_add(scanner->names, text, length);
    if (id == PYRO_INTERN_NONE)
        scanner->no_memory = true;
    return id;
}

static uint32_t intern_scratch(pyro_kineto_scanner *scanner)
{
    if (scanner->scratch.failed) {
        scanner->no_memory = true;
        return PYRO_NO_ID;
    }
    const char *text = scanner->scratch.data ? scanner->scratch.data : "";
    return intern(scanner, text, scanner->scratch.length);
}

uint32_t pyro_kineto_intern_text(pyro_kineto_scanner *scanner, const char *text, size_t length)
{
    unescape(scanner, text, text + length);
    return intern_scratch(scanner);
}

static bool is_null(const char *at, const char *behind)
{
    return behind - at == 4 && memcmp(at, "null", 4) == 0;
}

const char *pyro_kineto_slow_text(pyro_kineto_scanner *scanner, const char *at, uint32_t *guess,
                                  uint32_t *id)
{
    *id = PYRO_NO_ID;
    if (*at != '"') {
        const char *behind = pyro_kineto_skip_value(scanner, at);
        if (behind && !is_null(at, behind))
            *id = intern(scanner, at, (size_t)(behind - at));
        return behind;
    }
    bool unplain = false;
    const char *end = pyro_kineto_string_end(scanner, at + 1, &unplain);
    if (!end)
        return NULL;
    if (unplain) {
        *id = pyro_kineto_intern_text(scanner, at + 1, (size_t)(end - at - 1));
    } else {
        *id = intern(scanner, at + 1, (size_t)(end - at - 1));
        *guess = *id;
    }
    return end + 1;
}

/* Whether a list has Kineto's layout: on one line, with a blank behind each comma. */
static bool is_one_line(const char *at, const char *end)
{
    for (; at < end; at++)
        if ((unsigned char)*at < ' ' || (*at == ',' && at[1] != ' ') ||
            (*at == ' ' && at[1] == ' '))
            return false;
    return true;
}

/* Lays a list out on one line; strings in it are unchanged. */
static void straighten(pyro_buf *text, const char *at, const char *end)
{
    bool in_string = false;
    pyro_buf_reset(text);
    for (; at < end; at++) {
        if (in_string && *at == '\\' && at + 1 < end) {
            pyro_buf_add(text, at++, 2);
            continue;
        }
        if (*at == '"')
            in_string = !in_string;
        if (in_string || !pyro_json_is_space(*at))
            pyro_buf_addc(text, *at);
        if (!in_string && *at == ',')
            pyro_buf_addc(text, ' ');
    }
}

const char *pyro_kineto_slow_list(pyro_kineto_scanner *scanner, const char *at, uint32_t *guess,
                                  uint32_t *id)
{
    if (*at != '[')
        return pyro_kineto_slow_text(scanner, at, guess, id);
    *id = PYRO_NO_ID;
    const char *behind = pyro_kineto_skip_nested(scanner, at);
    if (!behind)
        return NULL;
    if ((size_t)(behind - at) > PYRO_KINETO_MAX_TEXT_BYTES) {
        scanner->event.defects |= PYRO_DEFECT_BIT(LONG_TEXT);
    } else if (is_one_line(at, behind)) {
        *id = intern(scanner, at, (size_t)(behind - at));
        *guess = *id;
    } else {
        straighten(&scanner->scratch, at, behind);
        *id = intern_scratch(scanner);
    }
    return behind;
}

/* A text that names a process or thread: "25738" is a number; others are hashed, may end in one. */
static uint64_t name_track(const char *text, size_t length, int64_t *end_number)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325), number = 0;
    size_t digits = 0;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
        bool digit = pyro_json_is_digit(text[i]);
        digits = digit ? digits + 1 : 0;
        number = digit ? (digits > 1 ? number * 10 : 0) + (uint64_t)(text[i] - '0') : 0;
    }
    bool fits = digits > 0 && digits <= 18;
    if (fits && digits == length)
        return number;
    *end_number = fits ? (int64_t)number : -1;
    return hash | UINT64_C(1) << 63;
}

const char *pyro_kineto_track_id(pyro_kineto_scanner *scanner, const char *at, uint64_t *id,
                                 char *named, int64_t *end_number)
{
    char kind = 0;
    int64_t number = -1;
    if (*at == '"') {
        bool unplain = false;
        const char *end = pyro_kineto_string_end(scanner, at + 1, &unplain);
        if (!end)
            return NULL;
        size_t length = (size_t)(end - at - 1);
        *id = name_track(at + 1, length, &number);
        if (length == 13 && memcmp(at + 1, "CPU functions", 13) == 0)
            kind = 'c';
        else if (length == 14 && memcmp(at + 1, "CUDA functions", 14) == 0)
            kind = 'g';
        at = end + 1;
    } else {
        bool ok;
        const char *begin = at;
        at = pyro_kineto_integer(scanner, at, &number, &ok);
        if (at && ok)
            *id = (uint64_t)number & INT64_MAX;
        else if (at)
            *id = name_track(begin, (size_t)(at - begin), &number);
        number = -1;
    }
    if (named)
        *named = kind;
    if (end_number)
        *end_number = number;
    return at;
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
