/*
 * Appends to the Chrome JSON. Most of the output repeats the same texts, so each is converted to
 * JSON once, and an event is then a few copies of known length.
 */
#ifndef PYRO_TRACE_CHROME_PUT_H
#define PYRO_TRACE_CHROME_PUT_H

#include "trace/chrome/chrome.h"
#include <string.h>

static inline void pyro_chrome_put(pyro_chrome *chrome, const char *text, size_t length)
{
    pyro_buf *buf = &chrome->buf;
    if (buf->capacity - buf->length > length && !buf->failed) {
        memcpy(buf->data + buf->length, text, length);
        buf->length += length;
    } else {
        pyro_buf_add(buf, text, length);
    }
}

/* A process or thread with a textual id is known by its hash; viewers expect 31 bits. */
static inline int64_t pyro_chrome_id(uint64_t id)
{
    return id >> 63 ? (int64_t)(id & 0x7fffffff) : (int64_t)id;
}

/* Appends a string literal. */
#define PUT(chrome, literal) pyro_chrome_put(chrome, literal, sizeof(literal) - 1)

static inline void pyro_chrome_put_integer(pyro_chrome *chrome, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        digits[--at] = '-';
    pyro_chrome_put(chrome, digits + at, sizeof digits - at);
}

/* Microseconds with three decimals, exactly. */
static inline void pyro_chrome_put_time(pyro_chrome *chrome, int64_t time_ns)
{
    uint64_t size = time_ns < 0 ? -(uint64_t)time_ns : (uint64_t)time_ns;
    unsigned rest = (unsigned)(size % 1000);
    char fraction[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
                        (char)('0' + rest % 10)};
    if (time_ns < 0)
        PUT(chrome, "-");
    pyro_chrome_put_integer(chrome, (int64_t)(size / 1000));
    pyro_chrome_put(chrome, fraction, sizeof fraction);
}

#endif
