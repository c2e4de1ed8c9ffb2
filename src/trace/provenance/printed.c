/* Reads what all printed graphs have: lines, and types of values. */
#include "trace/provenance/compilation.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool pyro_next_line(const char **text, const char *end, const char **line, size_t *length)
{
    if (*text >= end)
        return false;
    const char *newline = memchr(*text, '\n', (size_t)(end - *text));
    *line = *text;
    *length = (size_t)((newline ? newline : end) - *text);
    *text = newline ? newline + 1 : end;
    return true;
}

int64_t pyro_bytes_of_type(const char *text, const char *end)
{
    const char *digits = text;
    while (digits < end && isalpha((unsigned char)*digits))
        digits++;
    char *behind;
    long bits = digits < end && isdigit((unsigned char)*digits) ? strtol(digits, &behind, 10) : 0;
    if (bits < 1 || bits > 256 || digits == text)
        return -1;
    const char *at = memchr(behind, '[', (size_t)(end - behind));
    int64_t bytes = bits < 8 ? 1 : bits / 8;
    for (at = at ? at + 1 : NULL; at && at < end && *at != ']';) {
        long long size = strtoll(at, &behind, 10);
        if (behind == at || size < 0 || __builtin_mul_overflow(bytes, (int64_t)size, &bytes))
            return -1;
        at = behind + strspn(behind, ", ");
        if (*behind != ',' && *behind != ']')
            return -1;
    }
    return at ? bytes : -1;
}
