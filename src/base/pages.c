/* Requests large pages with madvise on Linux, and populates them on a thread; nothing elsewhere. */
#include "base/pages.h"

#include "base/processors.h"
#include "base/thread.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* A trace of 1.5 GB fills 300 MB of columns: 75,000 faults of small pages, on the one thread that
 * joins. Below a few large pages a block is not worth the system call. */
#define LARGE_PAGE ((uintptr_t)PYRO_LARGE_PAGE_BYTES)
/* What the C library puts before a block that it maps alone. */
#define HEADER_BYTES ((size_t)16)
#define WORTH_BYTES ((size_t)4 << 20)

static void advise(void *block, size_t size)
{
#ifdef MADV_HUGEPAGE
    uintptr_t begin = ((uintptr_t)block + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)block + size) & ~(LARGE_PAGE - 1);
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
    (void)block;
    (void)size;
#endif
}

void pyro_prefer_large_pages(void *block, size_t size)
{
    if (size >= WORTH_BYTES)
        advise(block, size);
}

size_t pyro_whole_large_pages(size_t size)
{
    return ((size + HEADER_BYTES + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1)) - HEADER_BYTES;
}

void *pyro_calloc_pages(size_t count, size_t size)
{
    void *block = calloc(count, size);
    if (block)
        pyro_prefer_large_pages(block, count * size);
    return block;
}

void *pyro_alloc_pages(size_t size)
{
    return pyro_alloc_pages_partly(size, size);
}

void *pyro_alloc_pages_partly(size_t size, size_t filled_bytes)
{
    if (size < LARGE_PAGE || size > SIZE_MAX / 2)
        return malloc(size);
    /* The rest after the last whole large page stays in small pages, so that nothing is wasted. */
    void *block = aligned_alloc(LARGE_PAGE, (size + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1));
    if (block)
        advise(block, filled_bytes);
    return block;
}

/* From Linux 5.14 on; headers may be older than the kernel. */
#if defined(__linux__) && !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

enum { MOST_RANGES = 16 };

typedef struct page_range {
    uintptr_t begin, end;
} page_range;

struct pyro_populator {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Guarded by the mutex. */
    page_range ranges[MOST_RANGES]; /* a ring */
    size_t first, count;
    bool stop;
};

/* Takes one large page from the system. The contents of memory never change, not even of memory
 * that was freed and allocated again in the meantime. */
static bool populate(uintptr_t page)
{
#ifdef MADV_POPULATE_WRITE
    return madvise((void *)page, LARGE_PAGE, MADV_POPULATE_WRITE) == 0;
#else
    (void)page;
    return false;
#endif
}

static void *run_populator(void *argument)
{
    pyro_populator *populator = argument;
    pthread_mutex_lock(&populator->mutex);
    while (!populator->stop) {
        if (populator->count == 0) {
            pthread_cond_wait(&populator->changed, &populator->mutex);
            continue;
        }
        page_range *range = &populator->ranges[populator->first];
        uintptr_t page = range->begin;
        pthread_mutex_unlock(&populator->mutex);
        bool good = populate(page);
        pthread_mutex_lock(&populator->mutex);
        range->begin = good ? page + LARGE_PAGE : range->end;
        if (range->begin >= range->end) {
            populator->first = (populator->first + 1) % MOST_RANGES;
            populator->count--;
        }
    }
    pthread_mutex_unlock(&populator->mutex);
    return NULL;
}

pyro_populator *pyro_populator_start(void)
{
    pyro_populator *populator = pyro_count_processors() > 1 ? calloc(1, sizeof *populator) : NULL;
    if (!populator)
        return NULL;
    pthread_mutex_init(&populator->mutex, NULL);
    pthread_cond_init(&populator->changed, NULL);
    if (!pyro_thread_start(&populator->thread, "pyrometer-pages", run_populator, populator))
        return populator;
    pthread_mutex_destroy(&populator->mutex);
    pthread_cond_destroy(&populator->changed);
    free(populator);
    return NULL;
}

void pyro_populator_add(pyro_populator *populator, void *block, size_t size)
{
    page_range range = {((uintptr_t)block + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1),
                        ((uintptr_t)block + size) & ~(LARGE_PAGE - 1)};
    if (!populator || !block || range.begin >= range.end)
        return;
    pthread_mutex_lock(&populator->mutex);
    if (populator->count < MOST_RANGES) {
        populator->ranges[(populator->first + populator->count++) % MOST_RANGES] = range;
        pthread_cond_signal(&populator->changed);
    }
    pthread_mutex_unlock(&populator->mutex);
}

void pyro_populator_add_page(pyro_populator *populator, void *items, size_t size, size_t capacity)
{
    /* The rest of the page that is being filled is there; the one after it must be. */
    if (size >= WORTH_BYTES && capacity - size >= 2 * LARGE_PAGE)
        pyro_populator_add(populator, (char *)items + size, 2 * LARGE_PAGE);
}

void pyro_populator_stop(pyro_populator *populator)
{
    if (!populator)
        return;
    pthread_mutex_lock(&populator->mutex);
    populator->stop = true;
    pthread_cond_signal(&populator->changed);
    pthread_mutex_unlock(&populator->mutex);
    pthread_join(populator->thread, NULL);
    pthread_mutex_destroy(&populator->mutex);
    pthread_cond_destroy(&populator->changed);
    free(populator);
}
