/*
 * Memory that the profiling library fills with records. Buffers have one size, are filled with
 * zeros and mapped before they are handed out, and are used again. Full ones wait in a queue, in
 * the order of their completion. The lock is never held while the library is called.
 */
#ifndef PYRO_DEVICE_ACTIVITY_BUFFERS_H
#define PYRO_DEVICE_ACTIVITY_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PYRO_ACTIVITY_BUFFER_BYTES ((size_t)1 << 20)
#define PYRO_MOST_ACTIVITY_BUFFERS 128

typedef struct pyro_activity_buffer {
    struct pyro_activity_buffer *next;
    uint8_t *bytes;
    size_t valid; /* bytes that the library has written */
    bool is_discarded; /* its records are counted as dropped */
} pyro_activity_buffer;

typedef struct pyro_activity_buffers {
    pthread_mutex_t lock;
    pyro_activity_buffer *ready;               /* empty */
    pyro_activity_buffer *first_full, *last_full;
    size_t ready_count, count;
    size_t most;              /* allocated at once; tests set less */
    uint8_t *discard; /* handed out when there are too many; may be written concurrently */
} pyro_activity_buffers;

/* Makes `ahead` buffers; false when memory is out. */
bool pyro_activity_buffers_begin(pyro_activity_buffers *buffers, size_t ahead, size_t most);
void pyro_activity_buffers_end(pyro_activity_buffers *buffers);
/* A buffer for the library to fill; never NULL, because old versions crash on that. */
uint8_t *pyro_activity_buffers_take(pyro_activity_buffers *buffers);
/* The library has filled `valid` bytes of a buffer that it took. */
void pyro_activity_buffers_complete(pyro_activity_buffers *buffers, uint8_t *bytes, size_t valid);
/* The next full buffer, or NULL. */
pyro_activity_buffer *pyro_activity_buffers_next(pyro_activity_buffers *buffers);
/* Empties a buffer for the next use. */
void pyro_activity_buffers_recycle(pyro_activity_buffers *buffers, pyro_activity_buffer *buffer);
/* How many there are, for statistics. */
size_t pyro_activity_buffers_count(const pyro_activity_buffers *buffers);
/* Makes empty buffers until `ahead` are ready. */
void pyro_activity_buffers_refill(pyro_activity_buffers *buffers, size_t ahead);

#endif
