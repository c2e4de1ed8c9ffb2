/*
 * The growing buffer that every writer fills. It remembers a failed allocation, so that callers
 * check once at the end.
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
/* Reserves `size` uninitialised bytes; NULL if memory runs out. Raise `length` to commit them. */
char *pyro_buf_reserve(pyro_buf *buf, size_t size);
void pyro_buf_reset(pyro_buf *buf); /* empty, memory kept */
void pyro_buf_free(pyro_buf *buf);
/* Detaches the bytes, which the caller frees; NULL if an addition failed. Empties the buffer. */
char *pyro_buf_detach(pyro_buf *buf, size_t *size);

/*
 * Grows an array from *capacity to at least `needed` items of `item_size` bytes. Returns false if
 * memory runs out, and leaves the array unchanged.
 */
bool pyro_grow_array(void *items_pointer, size_t *capacity, size_t needed, size_t item_size);
static inline bool pyro_grow(void *items_pointer, size_t *capacity, size_t needed, size_t item_size)
{
    return needed <= *capacity || pyro_grow_array(items_pointer, capacity, needed, item_size);
}

#endif
