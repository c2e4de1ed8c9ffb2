/* The same task for several parts of some work, each in a thread of its own. */
#ifndef PYRO_BASE_PARALLEL_H
#define PYRO_BASE_PARALLEL_H

#include <stddef.h>

#define PYRO_MOST_PARTS 16

/* Does part `part` of the work that `data` describes. */
typedef void pyro_task(void *data, unsigned part);

/*
 * Does parts 0 to parts - 1 (at most PYRO_MOST_PARTS) and returns when all are done. The first is
 * done by the calling thread, and so is each whose thread cannot be started.
 */
void pyro_run_parts(pyro_task *task, void *data, unsigned parts);

/*
 * Into how many parts to divide work on `items` things: as many as threads are asked for (0: one a
 * processor), but none that would have fewer than `least` things.
 */
unsigned pyro_count_parts(int threads, size_t items, size_t least);

/* Where a part of `count` things begins; that of part `parts` is their end. */
static inline size_t pyro_part_begin(size_t count, unsigned part, unsigned parts)
{
    return count / parts * part + count % parts * part / parts;
}

#endif
