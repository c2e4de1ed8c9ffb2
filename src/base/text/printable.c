/* Decides which characters are printable. */
#include "base/text/printable.h"

#include "base/text/utf8.h"
#include <string.h>

/* Ranges of characters that are controls, reorder their neighbours, or are invisible. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x0000, 0x001f},   /* C0 */
    {0x007f, 0x009f},   /* delete, C1 */
    {0x00ad, 0x00ad},   /* soft hyphen */
    {0x034f, 0x034f},   /* grapheme joiner */
    {0x061c, 0x061c},   /* Arabic letter mark */
    {0x115f, 0x1160},   /* Hangul fillers */
    {0x17b4, 0x17b5},   /* Khmer inherent vowels */
    {0x180b, 0x180f},   /* Mongolian selectors and separator */
    {0x200b, 0x200f},   /* zero-width space and joiners, direction marks */
    {0x2028, 0x202e},   /* line and paragraph separators, embeddings, overrides */
    {0x2060, 0x206f},   /* word joiner, invisible operators, isolates */
    {0x3164, 0x3164},   /* Hangul filler */
    {0xfe00, 0xfe0f},   /* variation selectors */
    {0xfeff, 0xfeff},   /* byte order mark */
    {0xffa0, 0xffa0},   /* halfwidth Hangul filler */
    {0xfff0, 0xfffb},   /* interlinear annotations */
    {0xfffe, 0xffff},   /* noncharacters */
    {0x1bca0, 0x1bca3}, /* shorthand controls */
    {0x1d173, 0x1d17a}, /* musical controls */
    {0xe0000, 0xe0fff}, /* tags, further variation selectors */
};

uint32_t pyro_code_point(const char *at, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)at;
    uint32_t code = size == 1 ? bytes[0] : bytes[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++)
        code = code << 6 | (bytes[i] & 0x3f);
    return code;
}

size_t pyro_next_character(const char *at, const char *end, bool *printable)
{
    unsigned char first = (unsigned char)*at;
    *printable = first >= 0x20 && first < 0x7f;
    if (first < 0x80)
        return 1;
    size_t size = pyro_utf8_sequence(at, end);
    if (size == 0)
        return 1;
    uint32_t code = pyro_code_point(at, size);
    *printable = true;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden && code >= hidden[i].first; i++)
        if (code <= hidden[i].last)
            *printable = false;
    return size;
}

void pyro_buf_add_printable(pyro_buf *buf, const char *text)
{
    const char *end = text + strlen(text);
    while (text < end) {
        bool printable;
        size_t size = pyro_next_character(text, end, &printable);
        if (printable)
            pyro_buf_add(buf, text, size);
        else
            pyro_buf_addc(buf, '?');
        text += size;
    }
}

void pyro_make_printable(char *text)
{
    const char *end = text + strlen(text);
    char *out = text;
    for (const char *at = text; at < end;) {
        bool printable;
        size_t size = pyro_next_character(at, end, &printable);
        if (printable) {
            memmove(out, at, size);
            out += size;
        } else {
            *out++ = '?';
        }
        at += size;
    }
    *out = '\0';
}
