/* The JSON writer. */
#include "base/json/write.h"

#include "base/text/printable.h"
#include "base/text/utf8.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pyro_json_writer_init(pyro_json_writer *writer, pyro_buf *buf, int indent)
{
    *writer = (pyro_json_writer){.buf = buf, .indent = indent, .first = true};
}

/* A level below an inline one is inline too, so a count of them is enough. */
static bool on_one_line(const pyro_json_writer *writer)
{
    return writer->indent == 0 || writer->compact_levels != 0;
}

/* pyro_buf_reserve, inlined for a buffer with room, as it usually has. */
static inline char *room_for(pyro_buf *buf, size_t size)
{
    return !buf->failed && buf->capacity - buf->length > size ? buf->data + buf->length
                                                              : pyro_buf_reserve(buf, size);
}

static void begin_line(pyro_json_writer *writer)
{
    pyro_buf_addc(writer->buf, '\n');
    pyro_buf_fill(writer->buf, ' ', (size_t)writer->indent * (size_t)writer->depth);
}

/* Writes what separates the next value or key from the last one. */
static inline void separate(pyro_json_writer *writer)
{
    if (writer->after_key) {
        writer->after_key = false;
        return;
    }
    if (!writer->first) {
        bool blank = writer->indent > 0 && (writer->depth == 0 || on_one_line(writer));
        char *room = room_for(writer->buf, 2);
        if (!room)
            return;
        room[0] = ',';
        room[1] = ' ';
        writer->buf->length += blank ? 2 : 1;
        writer->buf->data[writer->buf->length] = '\0';
    }
    if (writer->depth > 0 && !on_one_line(writer))
        begin_line(writer);
    writer->first = false;
}

static void begin_level(pyro_json_writer *writer, char bracket, bool one_line)
{
    separate(writer);
    pyro_buf_addc(writer->buf, bracket);
    writer->depth++;
    writer->first = true;
    if (writer->compact_levels != 0 || one_line)
        writer->compact_levels++;
}

static void end_level(pyro_json_writer *writer, char bracket)
{
    bool line = !writer->first && !on_one_line(writer);
    writer->depth--;
    if (line)
        begin_line(writer);
    pyro_buf_addc(writer->buf, bracket);
    writer->first = false;
    if (writer->compact_levels != 0)
        writer->compact_levels--;
}

void pyro_json_begin_object(pyro_json_writer *writer)
{
    begin_level(writer, '{', false);
}

void pyro_json_begin_array(pyro_json_writer *writer)
{
    begin_level(writer, '[', false);
}

void pyro_json_begin_object_inline(pyro_json_writer *writer)
{
    begin_level(writer, '{', true);
}

void pyro_json_begin_array_inline(pyro_json_writer *writer)
{
    begin_level(writer, '[', true);
}

void pyro_json_end_object(pyro_json_writer *writer)
{
    end_level(writer, '}');
}

void pyro_json_end_array(pyro_json_writer *writer)
{
    end_level(writer, ']');
}

static void write_escape(pyro_buf *buf, unsigned char c)
{
    static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                   ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
    char letter = c < sizeof letters ? letters[c] : '\0';
    if (letter) {
        char escape[2] = {'\\', letter};
        pyro_buf_add(buf, escape, sizeof escape);
    } else {
        pyro_buf_addf(buf, "\\u%04x", c);
    }
}

/* Escapes a character that is invisible in raw form: "\u202e". */
static void write_code_point(pyro_buf *buf, uint32_t code)
{
    if (code < 0x10000)
        pyro_buf_addf(buf, "\\u%04x", (unsigned)code);
    else
        pyro_buf_addf(buf, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((code - 0x10000) >> 10)),
                      (unsigned)(0xdc00 + ((code - 0x10000) & 0x3ff)));
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* A byte of each eight is 0x80 where the word has a zero byte. Others above it may be too. */
static uint64_t zero_bytes(uint64_t word)
{
    return (word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080);
}

/* Passes words of eight plain characters. */
static const char *skip_plain_words(const char *at, const char *end)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        uint64_t high = (word + each) | word; /* from 0x7f up */
        uint64_t low = (word - 0x20 * each) & ~word;
        if (((high | low) & 0x80 * each) || zero_bytes(word ^ '"' * each) ||
            zero_bytes(word ^ '\\' * each))
            break;
    }
    return at;
}

/* The length of the plain text at the start, exact where it is the whole text. */
static size_t plain_length(const char *text, size_t length)
{
    const char *at = skip_plain_words(text, text + length), *end = text + length;
    /* The last word may overlap the one before it. */
    if (at < end && length >= sizeof(uint64_t) && end - at < (ptrdiff_t)sizeof(uint64_t) &&
        skip_plain_words(end - sizeof(uint64_t), end) == end)
        return length;
    while (at < end && is_plain((unsigned char)*at))
        at++;
    return (size_t)(at - text);
}

/* Text that is plain throughout, as nearly all is, in one piece; then `after`. */
static void write_plain(pyro_buf *buf, const char *text, size_t length, const char *after,
                        size_t after_length)
{
    char *room = room_for(buf, length + 2 + after_length);
    if (!room)
        return;
    *room++ = '"';
    if (length)
        memcpy(room, text, length);
    room += length;
    *room++ = '"';
    memcpy(room, after, after_length);
    room[after_length] = '\0';
    buf->length += length + 2 + after_length;
}

static void write_text(pyro_buf *buf, const char *text, size_t length)
{
    const char *at = text + plain_length(text, length), *end = text + length, *plain = text;
    if (at == end) {
        write_plain(buf, text, length, "", 0);
        return;
    }
    pyro_buf_addc(buf, '"');
    for (;;) {
        while (at < end && is_plain((unsigned char)*at))
            at++;
        if (at == end)
            break;
        unsigned char c = (unsigned char)*at;
        size_t size = pyro_utf8_sequence(at, end);
        bool printable = false;
        if (size > 0 && c >= 0x80)
            pyro_next_character(at, end, &printable);
        if (printable) {
            at += size;
            continue;
        }
        pyro_buf_add(buf, plain, (size_t)(at - plain));
        if (size == 0)
            pyro_buf_adds(buf, "\xef\xbf\xbd");
        else if (size == 1)
            write_escape(buf, c);
        else
            write_code_point(buf, pyro_code_point(at, size));
        at += size > 0 ? size : 1;
        plain = at;
    }
    pyro_buf_add(buf, plain, (size_t)(at - plain));
    pyro_buf_addc(buf, '"');
}

void pyro_json_quote(pyro_buf *buf, const char *text, size_t length)
{
    write_text(buf, text, length);
}

void pyro_json_key(pyro_json_writer *writer, const char *key)
{
    size_t length = strlen(key);
    separate(writer);
    if (plain_length(key, length) == length) {
        write_plain(writer->buf, key, length, ": ", writer->indent > 0 ? 2 : 1);
    } else {
        write_text(writer->buf, key, length);
        pyro_buf_adds(writer->buf, writer->indent > 0 ? ": " : ":");
    }
    writer->after_key = true;
}

void pyro_json_string_n(pyro_json_writer *writer, const char *text, size_t length)
{
    separate(writer);
    write_text(writer->buf, text, length);
}

void pyro_json_string(pyro_json_writer *writer, const char *text)
{
    if (text)
        pyro_json_string_n(writer, text, strlen(text));
    else
        pyro_json_null(writer);
}

void pyro_json_integer(pyro_json_writer *writer, int64_t value)
{
    separate(writer);
    pyro_buf_add_integer(writer->buf, value);
}

/* printf writes the locale's decimal point, which may be several bytes; JSON has only the dot. */
static void restore_decimal_point(char *text)
{
    char *out = text;
    for (const char *at = text; *at;) {
        if (strchr("0123456789+-e", *at)) {
            *out++ = *at++;
            continue;
        }
        *out++ = '.';
        while (*at && !strchr("0123456789+-e", *at))
            at++;
    }
    *out = '\0';
}

static void format_number(pyro_json_written_number *out, double value)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out->text, sizeof out->text, "%.*g", digits, value);
        if (strtod(out->text, NULL) == value)
            break;
    }
    restore_decimal_point(out->text);
    out->value = value;
}

/* Formatting a number takes longer than the rest of its row; blocks of a model have equal ones. */
static const char *number_text(pyro_json_writer *writer, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    size_t place = (size_t)((bits * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % PYRO_JSON_RECENT_NUMBERS;
    pyro_json_written_number *recent = &writer->recent[place];
    if (!recent->text[0] || memcmp(&recent->value, &value, sizeof value))
        format_number(recent, value);
    return recent->text;
}

void pyro_json_number(pyro_json_writer *writer, double value)
{
    if (!isfinite(value)) {
        pyro_json_null(writer);
        return;
    }
    const char *text = number_text(writer, value);
    separate(writer);
    pyro_buf_adds(writer->buf, text);
}

void pyro_json_boolean(pyro_json_writer *writer, bool value)
{
    separate(writer);
    pyro_buf_adds(writer->buf, value ? "true" : "false");
}

void pyro_json_null(pyro_json_writer *writer)
{
    separate(writer);
    pyro_buf_adds(writer->buf, "null");
}

void pyro_json_raw(pyro_json_writer *writer, const char *text)
{
    separate(writer);
    pyro_buf_adds(writer->buf, text);
}

void pyro_json_member_string(pyro_json_writer *writer, const char *key, const char *text)
{
    pyro_json_key(writer, key);
    pyro_json_string(writer, text);
}

void pyro_json_member_integer(pyro_json_writer *writer, const char *key, int64_t value)
{
    pyro_json_key(writer, key);
    pyro_json_integer(writer, value);
}

void pyro_json_member_amount(pyro_json_writer *writer, const char *key, int64_t amount)
{
    pyro_json_key(writer, key);
    if (amount < 0)
        pyro_json_null(writer);
    else
        pyro_json_integer(writer, amount);
}

void pyro_json_member_number(pyro_json_writer *writer, const char *key, double value)
{
    pyro_json_key(writer, key);
    pyro_json_number(writer, value);
}

void pyro_json_member_boolean(pyro_json_writer *writer, const char *key, bool value)
{
    pyro_json_key(writer, key);
    pyro_json_boolean(writer, value);
}

void pyro_json_member_strings(pyro_json_writer *writer, const char *key, const char *const *texts,
                              size_t count)
{
    pyro_json_key(writer, key);
    pyro_json_begin_array(writer);
    for (size_t i = 0; i < count; i++)
        pyro_json_string(writer, texts[i]);
    pyro_json_end_array(writer);
}
