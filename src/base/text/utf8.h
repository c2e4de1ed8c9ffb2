/* Validates and encodes UTF-8 sequences, for readers of untrusted text. */
#ifndef PYRO_BASE_TEXT_UTF8_H
#define PYRO_BASE_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Length (1 to 4) of the valid sequence at `at`, which is before `end`, or 0. Overlong forms,
 * surrogates, code points above U+10FFFF and sequences that reach past `end` are invalid.
 */
static inline size_t pyro_utf8_sequence(const char *at, const char *end)
{
    const unsigned char *bytes = (const unsigned char *)at;
    size_t available = (size_t)(end - at);
    if (bytes[0] < 0x80)
        return 1;
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || available < 2)
        return 0;
    unsigned char lowest = 0x80, highest = 0xbf;
    if (bytes[0] == 0xe0)
        lowest = 0xa0;
    else if (bytes[0] == 0xed)
        highest = 0x9f;
    else if (bytes[0] == 0xf0)
        lowest = 0x90;
    else if (bytes[0] == 0xf4)
        highest = 0x8f;
    if (bytes[1] < lowest || bytes[1] > highest)
        return 0;
    size_t length = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    if (available < length)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* Writes a code point (up to U+10FFFF) and returns the bytes written, at most 4. */
static inline size_t pyro_utf8_encode(char *out, uint32_t code_point)
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xc0 | code_point >> 6);
        out[1] = (char)(0x80 | (code_point & 0x3f));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xe0 | code_point >> 12);
        out[1] = (char)(0x80 | (code_point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code_point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code_point >> 18);
    out[1] = (char)(0x80 | (code_point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code_point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code_point & 0x3f));
    return 4;
}

#endif
