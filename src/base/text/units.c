/* Formats numbers with integer arithmetic, independent of the locale and of double rounding. */
#include "base/text/units.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_COUNT 7

typedef struct unit_system {
    uint64_t step;
    size_t count;
    const char *names[UNIT_COUNT];
} unit_system;

static const unit_system decimal_units = {
    1000, UNIT_COUNT, {"", " k", " M", " G", " T", " P", " E"}};
static const unit_system binary_units = {
    1024, UNIT_COUNT, {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}};
static const unit_system time_units = {1000, 4, {" ns", " us", " ms", " s"}};

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* value / unit in hundredths or tenths, rounded half up. */
static uint64_t divide_rounded(uint64_t value, uint64_t unit, unsigned parts)
{
    uint64_t whole = value / unit, rest = value % unit;
    /* With the largest units the product below would overflow; the dropped bits are not visible. */
    if (unit > UINT64_C(1) << 50) {
        rest >>= 10;
        unit >>= 10;
    }
    return whole * parts + (rest * parts + unit / 2) / unit;
}

/*
 * Two decimals below `two_decimals_below`, else one. A value that would round up to a whole step
 * ("1000.0 k") uses the next unit.
 */
static char *format_scaled(char text[PYRO_UNIT_TEXT], const char *sign, uint64_t value,
                           const unit_system *units, unsigned two_decimals_below)
{
    if (value < units->step) {
        snprintf(text, PYRO_UNIT_TEXT, "%s%u%s", sign, (unsigned)value, units->names[0]);
        return text;
    }
    uint64_t unit = units->step;
    size_t index = 1;
    while (index + 1 < units->count && divide_rounded(value, unit, 10) >= units->step * 10) {
        unit *= units->step;
        index++;
    }
    uint64_t hundredths = divide_rounded(value, unit, 100);
    if (hundredths < two_decimals_below * 100) {
        snprintf(text, PYRO_UNIT_TEXT, "%s%u.%02u%s", sign, (unsigned)(hundredths / 100),
                 (unsigned)(hundredths % 100), units->names[index]);
    } else {
        uint64_t tenths = divide_rounded(value, unit, 10);
        snprintf(text, PYRO_UNIT_TEXT, "%s%llu.%u%s", sign, (unsigned long long)(tenths / 10),
                 (unsigned)(tenths % 10), units->names[index]);
    }
    return text;
}

static const char *change_sign(int64_t value)
{
    return value > 0 ? "+" : value < 0 ? "-" : "";
}

char *pyro_format_count(char text[PYRO_UNIT_TEXT], int64_t value)
{
    return format_scaled(text, value < 0 ? "-" : "", magnitude(value), &decimal_units, 100);
}

char *pyro_format_count_signed(char text[PYRO_UNIT_TEXT], int64_t value)
{
    return format_scaled(text, change_sign(value), magnitude(value), &decimal_units, 10);
}

char *pyro_format_bytes(char text[PYRO_UNIT_TEXT], int64_t bytes)
{
    return format_scaled(text, bytes < 0 ? "-" : "", magnitude(bytes), &binary_units, 10);
}

char *pyro_format_bytes_signed(char text[PYRO_UNIT_TEXT], int64_t bytes)
{
    return format_scaled(text, change_sign(bytes), magnitude(bytes), &binary_units, 10);
}

char *pyro_format_duration(char text[PYRO_UNIT_TEXT], int64_t duration_ns)
{
    return format_scaled(text, duration_ns < 0 ? "-" : "", magnitude(duration_ns), &time_units, 10);
}

char *pyro_format_exact(char text[PYRO_UNIT_TEXT], int64_t value)
{
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)magnitude(value));
    char *out = text;
    if (value < 0)
        *out++ = '-';
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

char *pyro_format_share(char text[PYRO_UNIT_TEXT], double part, double whole)
{
    double share = whole == 0 ? NAN : part / whole;
    const char *sign = share < 0 ? "-" : "";
    double tenths = fabs(share) * 1000;
    if (isnan(share)) {
        snprintf(text, PYRO_UNIT_TEXT, "-");
    } else if (tenths > 0 && tenths < 1) {
        snprintf(text, PYRO_UNIT_TEXT, share < 0 ? ">-0.1%%" : "<0.1%%");
    } else if (tenths < 1e15) {
        long long rounded = llround(tenths);
        snprintf(text, PYRO_UNIT_TEXT, "%s%lld.%lld%%", sign, rounded / 10, rounded % 10);
    } else {
        snprintf(text, PYRO_UNIT_TEXT, share < 0 ? "<-1e14%%" : ">1e14%%");
    }
    return text;
}

bool pyro_parse_duration(const char *text, int64_t *duration_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3},   {"ms", 1e6},  {"s", 1e9},
                 {"m", 6e10}, {"min", 6e10}, {"h", 3.6e12}};
    const double longest_ns = 3.2e16;
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;
    double value = strtod(text, &end);
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].name) != 0)
            continue;
        value *= units[i].ns;
        *duration_ns = value < longest_ns ? (int64_t)(value + 0.5) : 0;
        return *duration_ns > 0;
    }
    return false;
}

bool pyro_parse_size(const char *text, uint64_t *bytes)
{
    static const char letters[] = "KMGT";
    char *end;

    errno = 0;
    double value = strtod(text, &end);
    if (end == text || errno != 0 || !(value > 0))
        return false;
    const char *letter = *end != '\0' ? strchr(letters, *end >= 'a' ? *end - 'a' + 'A' : *end)
                                      : NULL;
    if (letter) {
        for (const char *step = letters; step <= letter; step++)
            value *= 1024;
        end++;
        if (*end == 'i')
            end++;
    }
    if (*end == 'B')
        end++;
    if (*end != '\0' || value > 1e18)
        return false;
    *bytes = (uint64_t)value;
    return true;
}
