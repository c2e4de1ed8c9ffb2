/* The JSON writer: adds commas, escapes and indentation. The caller decides the order. */
#ifndef PYRO_BASE_JSON_WRITE_H
#define PYRO_BASE_JSON_WRITE_H

#include "base/containers/buf.h"
#include <stdint.h>

enum { PYRO_JSON_RECENT_NUMBERS = 8 };

/* A number and its text; an empty text: none yet. */
typedef struct pyro_json_written_number {
    double value;
    char text[32];
} pyro_json_written_number;

typedef struct pyro_json_writer {
    pyro_buf *buf;
    int indent; /* spaces per level; 0 writes one line */
    int depth;
    uint64_t compact_levels; /* internal: levels that are written on one line */
    bool first, after_key;
    pyro_json_written_number recent[PYRO_JSON_RECENT_NUMBERS]; /* internal: rows repeat numbers */
} pyro_json_writer;

void pyro_json_writer_init(pyro_json_writer *writer, pyro_buf *buf, int indent);
void pyro_json_begin_object(pyro_json_writer *writer);
void pyro_json_begin_array(pyro_json_writer *writer);
/* An object or array that is written on one line, with everything in it. */
void pyro_json_begin_object_inline(pyro_json_writer *writer);
void pyro_json_begin_array_inline(pyro_json_writer *writer);
void pyro_json_end_object(pyro_json_writer *writer);
void pyro_json_end_array(pyro_json_writer *writer);
void pyro_json_key(pyro_json_writer *writer, const char *key);
/* Escapes; bytes that are not UTF-8 become U+FFFD. NULL writes null. */
void pyro_json_string(pyro_json_writer *writer, const char *text);
void pyro_json_string_n(pyro_json_writer *writer, const char *text, size_t length);
void pyro_json_integer(pyro_json_writer *writer, int64_t value);
/* Writes the shortest text that reads back as the same double; null if it is not finite. */
void pyro_json_number(pyro_json_writer *writer, double value);
void pyro_json_boolean(pyro_json_writer *writer, bool value);
void pyro_json_null(pyro_json_writer *writer);
/* Writes a value that is already JSON. */
void pyro_json_raw(pyro_json_writer *writer, const char *text);

/* Writes item `index` of an array, at the place of the writer. */
typedef void pyro_json_item_fn(pyro_json_writer *writer, const void *user, size_t index);
/*
 * Writes `count` items into the array that was begun last, on several threads if there are many
 * (write_items.c): the function must not change what it writes. The result is the same.
 */
void pyro_json_items(pyro_json_writer *writer, size_t count, pyro_json_item_fn *write,
                     const void *user);

/* Writes a quoted string to any buffer. */
void pyro_json_quote(pyro_buf *buf, const char *text, size_t length);

/* A key and its value. */
void pyro_json_member_string(pyro_json_writer *writer, const char *key, const char *text);
void pyro_json_member_integer(pyro_json_writer *writer, const char *key, int64_t value);
/* Writes null for an unknown amount (below 0). */
void pyro_json_member_amount(pyro_json_writer *writer, const char *key, int64_t amount);
void pyro_json_member_number(pyro_json_writer *writer, const char *key, double value);
void pyro_json_member_boolean(pyro_json_writer *writer, const char *key, bool value);
void pyro_json_member_strings(pyro_json_writer *writer, const char *key, const char *const *texts,
                              size_t count);

#endif
