/* Encodes the wire format of protobuf: varints, 64-bit numbers, texts and nested messages. */
#include "trace/perfetto/message.h"

#include "base/text/utf8.h"

#include <string.h>

#define WIRE_VARINT 0
#define WIRE_FIXED64 1
#define WIRE_BYTES 2
#define LENGTH_BYTES 4
/* A name of a megabyte helps nobody; viewers cut far earlier. */
#define LONGEST_TEXT 65536

static void put_varint(pyro_buf *buf, uint64_t value)
{
    char bytes[10];
    size_t count = 0;

    do {
        bytes[count++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    pyro_buf_add(buf, bytes, count);
}

static void put_tag(pyro_buf *buf, uint32_t field, uint32_t wire)
{
    put_varint(buf, (uint64_t)field << 3 | wire);
}

void pyro_message_number(pyro_buf *buf, uint32_t field, uint64_t value)
{
    put_tag(buf, field, WIRE_VARINT);
    put_varint(buf, value);
}

void pyro_message_fixed(pyro_buf *buf, uint32_t field, uint64_t value)
{
    char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(value >> (8 * i));
    put_tag(buf, field, WIRE_FIXED64);
    pyro_buf_add(buf, bytes, sizeof bytes);
}

void pyro_message_real(pyro_buf *buf, uint32_t field, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    pyro_message_fixed(buf, field, bits);
}

void pyro_message_bytes(pyro_buf *buf, uint32_t field, const char *bytes, size_t size)
{
    put_tag(buf, field, WIRE_BYTES);
    put_varint(buf, size);
    pyro_buf_add(buf, bytes, size);
}

void pyro_message_text(pyro_buf *buf, uint32_t field, const char *text)
{
    const char *end = text + strlen(text), *at = text;
    size_t begun = pyro_message_begin(buf, field);

    while (at < end) {
        size_t length = pyro_utf8_sequence(at, end);

        if ((size_t)(at - text) + length > LONGEST_TEXT)
            break;
        if (length > 0)
            pyro_buf_add(buf, at, length);
        else
            pyro_buf_addc(buf, '?');
        at += length > 0 ? length : 1;
    }
    pyro_message_end(buf, begun);
}

size_t pyro_message_begin(pyro_buf *buf, uint32_t field)
{
    put_tag(buf, field, WIRE_BYTES);
    pyro_buf_add(buf, "\0\0\0\0", LENGTH_BYTES);
    return buf->length;
}

/* A varint may have more bytes than it needs. */
void pyro_message_end(pyro_buf *buf, size_t begun)
{
    if (buf->failed)
        return;
    size_t length = buf->length - begun;
    char *bytes = buf->data + begun - LENGTH_BYTES;

    for (int i = 0; i < LENGTH_BYTES; i++)
        bytes[i] = (char)((length >> (7 * i) & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}
