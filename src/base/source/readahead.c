/* Reads a source in a separate thread, a few blocks ahead of the reader. */
#include "base/source/source.h"

#include "base/error.h"
#include "base/thread.h"
#include <stdlib.h>
#include <string.h>

#define BLOCKS 4
#define BLOCK_BYTES ((size_t)512 << 10)

typedef struct block {
    int64_t size; /* 0 at the end, negative: a failure */
    char *bytes;
} block;

typedef struct readahead_source {
    pyro_source head;
    pyro_source *inner;
    pthread_t thread;
    bool started;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Guarded by the mutex. */
    size_t written, taken; /* blocks, counted from the start */
    bool stop;
    pyro_error error; /* of the block that failed */
    /* The thread owns blocks[written]; the reader owns blocks[taken] and the position in it. */
    block blocks[BLOCKS];
    size_t position;
} readahead_source;

/* Fills one block as far as the source goes. */
static void fill_block(readahead_source *ahead, block *block, pyro_error *error)
{
    block->size = 0;
    while ((size_t)block->size < BLOCK_BYTES) {
        int64_t got = pyro_source_read(ahead->inner, block->bytes + block->size,
                                       BLOCK_BYTES - (size_t)block->size, error);
        if (got < 0 && block->size == 0)
            block->size = got;
        /* If a failure follows some bytes, the next block meets it again. */
        if (got <= 0)
            return;
        block->size += got;
    }
}

static void *run(void *argument)
{
    readahead_source *ahead = argument;
    int64_t size = 1;
    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->stop && size > 0) {
        if (ahead->written - ahead->taken == BLOCKS) {
            pthread_cond_wait(&ahead->changed, &ahead->mutex);
            continue;
        }
        block *block = &ahead->blocks[ahead->written % BLOCKS];
        pthread_mutex_unlock(&ahead->mutex);
        pyro_error error;
        pyro_error_clear(&error);
        fill_block(ahead, block, &error);
        size = block->size;
        pthread_mutex_lock(&ahead->mutex);
        if (error.code != PYRO_OK && ahead->error.code == PYRO_OK)
            ahead->error = error;
        ahead->written++;
        pthread_cond_signal(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

static int64_t readahead_read(pyro_source *source, void *bytes, size_t size, pyro_error *error)
{
    readahead_source *ahead = (readahead_source *)source;
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->taken == ahead->written)
        pthread_cond_wait(&ahead->changed, &ahead->mutex);
    block *block = &ahead->blocks[ahead->taken % BLOCKS];
    if (block->size < 0 && error && error->code == PYRO_OK)
        *error = ahead->error;
    pthread_mutex_unlock(&ahead->mutex);
    if (block->size <= 0)
        return block->size;
    size_t left = (size_t)block->size - ahead->position;
    if (size > left)
        size = left;
    memcpy(bytes, block->bytes + ahead->position, size);
    ahead->position += size;
    if (ahead->position == (size_t)block->size) {
        ahead->position = 0;
        pthread_mutex_lock(&ahead->mutex);
        ahead->taken++;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->mutex);
    }
    return (int64_t)size;
}

static void readahead_close(pyro_source *source)
{
    readahead_source *ahead = (readahead_source *)source;
    if (ahead->started) {
        pthread_mutex_lock(&ahead->mutex);
        ahead->stop = true;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->mutex);
        pthread_join(ahead->thread, NULL);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free(ahead->blocks[i].bytes);
    pthread_mutex_destroy(&ahead->mutex);
    pthread_cond_destroy(&ahead->changed);
    pyro_source_close(ahead->inner);
    free(ahead);
}

static const pyro_source_kind readahead_kind = {readahead_read, NULL, readahead_close};

int pyro_source_open_readahead(pyro_source **out, pyro_source *inner, pyro_error *error)
{
    *out = NULL;
    readahead_source *ahead = calloc(1, sizeof *ahead);
    if (!ahead) {
        pyro_source_close(inner);
        return pyro_fail_memory(error);
    }
    ahead->head = (pyro_source){&readahead_kind, inner->size, inner->checked};
    ahead->inner = inner;
    pyro_error_clear(&ahead->error);
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    bool ok = true;
    for (size_t i = 0; i < BLOCKS && ok; i++)
        ok = (ahead->blocks[i].bytes = malloc(BLOCK_BYTES)) != NULL;
    ahead->started = ok && pyro_thread_start(&ahead->thread, "pyrometer-read", run, ahead) == 0;
    if (!ahead->started) {
        readahead_close(&ahead->head);
        return ok ? pyro_fail(error, PYRO_ERROR_IO, "cannot start a thread")
                  : pyro_fail_memory(error);
    }
    *out = &ahead->head;
    return PYRO_OK;
}
