/*
 * Encodes protobuf messages into a buffer. A nested message has a length of four bytes, which is
 * filled in at its end.
 */
#ifndef PYRO_TRACE_PERFETTO_MESSAGE_H
#define PYRO_TRACE_PERFETTO_MESSAGE_H

#include "base/containers/buf.h"

void pyro_message_number(pyro_buf *buf, uint32_t field, uint64_t value);
void pyro_message_fixed(pyro_buf *buf, uint32_t field, uint64_t value);
void pyro_message_real(pyro_buf *buf, uint32_t field, double value);
/* Bytes that are not UTF-8 become question marks; long texts are cut. */
void pyro_message_text(pyro_buf *buf, uint32_t field, const char *text);
void pyro_message_bytes(pyro_buf *buf, uint32_t field, const char *bytes, size_t size);
/* Starts a nested message; the result goes to pyro_message_end. */
size_t pyro_message_begin(pyro_buf *buf, uint32_t field);
void pyro_message_end(pyro_buf *buf, size_t begun);

#endif
