/* Implements the growing buffer, the growing array, and pyro_free() for detached buffers. */
#include "base/containers/buf.h"

#include "base/pages.h"

#include <pyrometer/report.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_CAPACITY 64
/* From here on an array is in large pages, of 2 MB each. */
#define LARGE_BYTES ((size_t)4 << 20)
/*
 * The C library maps blocks above 32 MB one by one, and moves the mapping when such a block grows:
 * nothing is copied or cleared twice. A large array gets that much address space at once; pages are
 * taken from the system only when they are filled.
 */
#define MAPPED_BYTES ((size_t)48 << 20)

void pyro_free(void *memory)
{
    free(memory);
}

/* Moves items into large pages: realloc would fill small ones before anyone could ask for them. */
static void *move_items(void *items, size_t used_bytes, size_t bytes)
{
    void *larger = malloc(bytes);
    if (!larger)
        return NULL;
    pyro_prefer_large_pages(larger, bytes);
    if (items)
        memcpy(larger, items, used_bytes);
    free(items);
    return larger;
}

static void *grow_large(void *items, size_t used_bytes, size_t bytes)
{
    /* A caller that says nothing about the items it has may have some. */
    if (used_bytes < MAPPED_BYTES / 2 && (used_bytes || !items))
        return move_items(items, used_bytes, bytes);
    void *larger = realloc(items, bytes);
    if (larger)
        pyro_prefer_large_pages(larger, bytes);
    return larger;
}

/* Grows to *bytes, or more, which is then set; NULL if memory runs out. */
static void *grow_items(void *items, size_t used_bytes, size_t *bytes)
{
    if (*bytes < LARGE_BYTES)
        return realloc(items, *bytes);
    size_t whole = pyro_whole_large_pages(*bytes < MAPPED_BYTES ? MAPPED_BYTES : *bytes);
    void *larger = grow_large(items, used_bytes, whole);
    if (!larger) /* address space may be limited */
        return grow_large(items, used_bytes, *bytes);
    *bytes = whole;
    return larger;
}

bool pyro_grow_array(void *items_pointer, size_t *capacity, size_t needed, size_t item_size)
{
    size_t wanted = *capacity > SIZE_MAX / 2 ? needed : *capacity * 2;
    if (wanted < 8)
        wanted = 8;
    if (wanted < needed)
        wanted = needed;
    size_t bytes;
    if (__builtin_mul_overflow(wanted, item_size, &bytes) || bytes > PTRDIFF_MAX / 2)
        return false;
    /* The pointer's type is unknown here; copying its bytes is always allowed. */
    void *items;
    memcpy(&items, items_pointer, sizeof items);
    items = grow_items(items, *capacity * item_size, &bytes);
    if (!items)
        return false;
    memcpy(items_pointer, &items, sizeof items);
    *capacity = bytes / item_size;
    return true;
}

char *pyro_buf_reserve(pyro_buf *buf, size_t size)
{
    size_t needed;
    if (buf->failed)
        return NULL;
    if (__builtin_add_overflow(buf->length, size, &needed) ||
        __builtin_add_overflow(needed, 1, &needed)) {
        buf->failed = true;
        return NULL;
    }
    if (needed > buf->capacity) {
        if (needed < SMALLEST_CAPACITY)
            needed = SMALLEST_CAPACITY;
        if (!pyro_grow(&buf->data, &buf->capacity, needed, 1)) {
            buf->failed = true;
            return NULL;
        }
    }
    return buf->data + buf->length;
}

void pyro_buf_add(pyro_buf *buf, const void *bytes, size_t size)
{
    char *room = pyro_buf_reserve(buf, size);
    if (!room)
        return;
    if (size)
        memcpy(room, bytes, size);
    room[size] = '\0';
    buf->length += size;
}

void pyro_buf_adds(pyro_buf *buf, const char *text)
{
    pyro_buf_add(buf, text, strlen(text));
}

void pyro_buf_addc(pyro_buf *buf, char c)
{
    pyro_buf_add(buf, &c, 1);
}

void pyro_buf_add_integer(pyro_buf *buf, int64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    for (; rest >= 10; rest /= 100)
        memcpy(digits + (at -= 2), pairs + rest % 100 * 2, 2);
    if (rest > 0 || at == sizeof digits)
        digits[--at] = (char)('0' + rest);
    if (value < 0)
        digits[--at] = '-';
    pyro_buf_add(buf, digits + at, sizeof digits - at);
}

void pyro_buf_fill(pyro_buf *buf, char c, size_t count)
{
    char *room = pyro_buf_reserve(buf, count);
    if (!room)
        return;
    memset(room, c, count);
    room[count] = '\0';
    buf->length += count;
}

void pyro_buf_addf(pyro_buf *buf, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *room = length < 0 ? NULL : pyro_buf_reserve(buf, (size_t)length);
    if (room) {
        vsnprintf(room, (size_t)length + 1, format, again);
        buf->length += (size_t)length;
    } else {
        buf->failed = true;
    }
    va_end(again);
    va_end(arguments);
}

void pyro_buf_reset(pyro_buf *buf)
{
    buf->length = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = '\0';
}

void pyro_buf_free(pyro_buf *buf)
{
    free(buf->data);
    *buf = (pyro_buf)PYRO_BUF_INIT;
}

char *pyro_buf_detach(pyro_buf *buf, size_t *size)
{
    char *data = NULL;
    if (pyro_buf_reserve(buf, 0)) {
        data = buf->data;
        data[buf->length] = '\0';
        if (size)
            *size = buf->length;
        *buf = (pyro_buf)PYRO_BUF_INIT;
    } else {
        if (size)
            *size = 0;
        pyro_buf_free(buf);
    }
    return data;
}
