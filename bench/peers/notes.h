/* Memory for the floors that note times: one cache line per event, in order, filled in advance. */
#ifndef PYRO_BENCH_NOTES_H
#define PYRO_BENCH_NOTES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { MOST_NOTES = 1 << 20 };

typedef struct note {
    uint64_t begin, end, what, number, rest[4];
} note;

typedef struct note_memory {
    note *first, *next;
} note_memory;

/* 0, or 1 without memory. */
static inline int notes_begin(note_memory *memory)
{
    if (!memory->first)
        memory->first = mmap(NULL, MOST_NOTES * sizeof(note), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    memory->next = memory->first;
    return memory->first == MAP_FAILED;
}

static inline note *notes_next(note_memory *memory)
{
    note *next = memory->next++;
    if (memory->next == memory->first + MOST_NOTES)
        memory->next = memory->first;
    __builtin_prefetch(memory->next + 1, 1);
    return next;
}

static inline uint64_t notes_time(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

#endif
