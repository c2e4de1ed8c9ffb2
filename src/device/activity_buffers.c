/* Keeps buffers: the header of each lies in front of its bytes. */
#include "device/activity_buffers.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64 /* also the room for a buffer's header */

_Static_assert(sizeof(pyro_activity_buffer) <= ALIGNMENT, "the header fits in front");

/* Writing zeros also maps the pages, so that the program's threads do not wait for them. */
static pyro_activity_buffer *make_buffer(void)
{
    char *memory = aligned_alloc(ALIGNMENT, ALIGNMENT + PYRO_ACTIVITY_BUFFER_BYTES);
    if (!memory)
        return NULL;
    memset(memory, 0, ALIGNMENT + PYRO_ACTIVITY_BUFFER_BYTES);
    pyro_activity_buffer *buffer = (pyro_activity_buffer *)(void *)memory;
    buffer->bytes = (uint8_t *)memory + ALIGNMENT;
    return buffer;
}

static void free_list(pyro_activity_buffer *buffer)
{
    while (buffer) {
        pyro_activity_buffer *next = buffer->next;
        free(buffer);
        buffer = next;
    }
}

/* With the lock; pyro_activity_buffers_count() needs none. */
static void count_more(pyro_activity_buffers *buffers, int number)
{
    __atomic_store_n(&buffers->count, buffers->count + (size_t)number, __ATOMIC_RELAXED);
}

size_t pyro_activity_buffers_count(const pyro_activity_buffers *buffers)
{
    return __atomic_load_n(&buffers->count, __ATOMIC_RELAXED);
}

static void add_ready(pyro_activity_buffers *buffers, pyro_activity_buffer *buffer)
{
    buffer->next = buffers->ready;
    buffers->ready = buffer;
    buffers->ready_count++;
}

void pyro_activity_buffers_refill(pyro_activity_buffers *buffers, size_t ahead)
{
    for (;;) {
        pthread_mutex_lock(&buffers->lock);
        bool is_enough = buffers->ready_count >= ahead || buffers->count >= buffers->most;
        count_more(buffers, !is_enough);
        pthread_mutex_unlock(&buffers->lock);
        pyro_activity_buffer *buffer = is_enough ? NULL : make_buffer();
        if (!buffer && !is_enough) {
            pthread_mutex_lock(&buffers->lock);
            count_more(buffers, -1);
            pthread_mutex_unlock(&buffers->lock);
        }
        if (!buffer)
            return;
        pthread_mutex_lock(&buffers->lock);
        add_ready(buffers, buffer);
        pthread_mutex_unlock(&buffers->lock);
    }
}

bool pyro_activity_buffers_begin(pyro_activity_buffers *buffers, size_t ahead, size_t most)
{
    *buffers = (pyro_activity_buffers){.most = most};
    pthread_mutex_init(&buffers->lock, NULL);
    buffers->discard = aligned_alloc(ALIGNMENT, PYRO_ACTIVITY_BUFFER_BYTES);
    if (!buffers->discard)
        return false;
    memset(buffers->discard, 0, PYRO_ACTIVITY_BUFFER_BYTES);
    pyro_activity_buffers_refill(buffers, ahead);
    return true;
}

void pyro_activity_buffers_end(pyro_activity_buffers *buffers)
{
    free_list(buffers->ready);
    free_list(buffers->first_full);
    free(buffers->discard);
    pthread_mutex_destroy(&buffers->lock);
    *buffers = (pyro_activity_buffers){0};
}

uint8_t *pyro_activity_buffers_take(pyro_activity_buffers *buffers)
{
    pthread_mutex_lock(&buffers->lock);
    pyro_activity_buffer *buffer = buffers->ready;
    bool may_make = false;
    if (buffer) {
        buffers->ready = buffer->next;
        buffers->ready_count--;
    } else {
        may_make = buffers->count < buffers->most;
        count_more(buffers, may_make);
    }
    pthread_mutex_unlock(&buffers->lock);
    if (may_make && !(buffer = make_buffer())) {
        pthread_mutex_lock(&buffers->lock);
        count_more(buffers, -1);
        pthread_mutex_unlock(&buffers->lock);
    }
    return buffer ? buffer->bytes : buffers->discard;
}

void pyro_activity_buffers_complete(pyro_activity_buffers *buffers, uint8_t *bytes, size_t valid)
{
    /* A header of its own stands for the records of the discarded buffer. */
    bool is_discarded = bytes == buffers->discard;
    pyro_activity_buffer *buffer = is_discarded
                                       ? calloc(1, sizeof *buffer)
                                       : (pyro_activity_buffer *)(void *)(bytes - ALIGNMENT);
    if (!buffer)
        return;
    buffer->next = NULL;
    buffer->valid = valid < PYRO_ACTIVITY_BUFFER_BYTES ? valid : PYRO_ACTIVITY_BUFFER_BYTES;
    buffer->is_discarded = is_discarded;
    pthread_mutex_lock(&buffers->lock);
    if (buffers->last_full)
        buffers->last_full->next = buffer;
    else
        buffers->first_full = buffer;
    buffers->last_full = buffer;
    pthread_mutex_unlock(&buffers->lock);
}

pyro_activity_buffer *pyro_activity_buffers_next(pyro_activity_buffers *buffers)
{
    pthread_mutex_lock(&buffers->lock);
    pyro_activity_buffer *buffer = buffers->first_full;
    if (buffer)
        buffers->first_full = buffer->next;
    if (!buffers->first_full)
        buffers->last_full = NULL;
    pthread_mutex_unlock(&buffers->lock);
    return buffer;
}

void pyro_activity_buffers_recycle(pyro_activity_buffers *buffers, pyro_activity_buffer *buffer)
{
    if (buffer->is_discarded) {
        free(buffer);
        return;
    }
    memset(buffer->bytes, 0, PYRO_ACTIVITY_BUFFER_BYTES);
    buffer->valid = 0;
    pthread_mutex_lock(&buffers->lock);
    add_ready(buffers, buffer);
    pthread_mutex_unlock(&buffers->lock);
}
