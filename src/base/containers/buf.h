/*
 * The growing buffer that every writer fills. Failure to grow is remembered, not returned: write
 * freely and ask once at the end.
 */
#ifndef PYRO_BASE_CONTAINERS_BUF_H
#define PYRO_BASE_CONTAINERS_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pyro_buf {
    char *data; /* always NUL-terminated once anything was added */
    size_t length, capacity;
    bool failed;
} pyro_buf;

#define PYRO_BUF_INIT {NULL, 0, 0, false}

void pyro_buf_add(pyro_buf *buf, const void *bytes, size_t size);
void pyro_buf_adds(pyro_buf *buf, const char *text);
void pyro_buf_addc(pyro_buf *buf, char c);
void pyro_buf_add_integer(pyro_buf *buf, int64_t value); /* in decimal */
void pyro_buf_fill(pyro_buf *buf, char c, size_t count);
void pyro_buf_addf(pyro_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Room for `size` more bytes, uninitialised; NULL when memory is out. Commit by raising length. */
char *pyro_buf_reserve(pyro_buf *buf, size_t size);
void pyro_buf_reset(pyro_buf *buf); /* empty, memory kept */
void pyro_buf_free(pyro_buf *buf);
/* Hands the bytes over (free() them); NULL when something failed. The buffer is empty then. */
char *pyro_buf_detach(pyro_buf *buf, size_t *size);

/*
 * Makes room in a plain growing array: `items` has room for *capacity things of `item_size`, and
 * shall have room for `needed`. Returns false when memory is out; the array is then as it was.
 */
bool pyro_grow(void *items_pointer, size_t *capacity, size_t needed, size_t item_size);

#endif
