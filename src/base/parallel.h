/*
 * The scheduler of everything that runs on several threads: readers, joins, analyses and ranks. A
 * pool of workers lives for one job. Workers take tasks from the job, one at a time, until it is
 * over; which worker does a task must not matter to the result.
 */
#ifndef PYRO_BASE_PARALLEL_H
#define PYRO_BASE_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>

#define PYRO_MOST_WORKERS 16

/*
 * What a pool works on, as functions of the job's data. All but `run` are called with the pool's
 * lock held, so that the job needs none of its own.
 */
typedef struct pyro_job {
    /* Takes the next task for a worker. NULL: none now, and the worker waits for others' results. */
    void *(*take)(void *data, unsigned worker);
    void (*run)(void *data, void *task, unsigned worker);
    /* Enters the result. True: workers that wait may find a task now, or the end. */
    bool (*finish)(void *data, void *task, unsigned worker);
    /* Whether the worker has nothing to do any more. */
    bool (*is_over)(const void *data, unsigned worker);
} pyro_job;

/*
 * Runs a job and returns when it is over for all workers (at most PYRO_MOST_WORKERS). Worker 0 is
 * the calling thread; others may be missing where no thread can be started.
 */
void pyro_pool_run(const pyro_job *job, void *data, unsigned workers);

/* Does part `part` of the work that `data` describes. */
typedef void pyro_part_fn(void *data, unsigned part);

/*
 * A job of parts 0 to parts - 1 (at most PYRO_MOST_WORKERS) that need nothing of each other; returns
 * when all are done.
 */
void pyro_run_parts(pyro_part_fn *run, void *data, unsigned parts);

/*
 * Into how many parts to divide work on `items` things: as many as threads are asked for (0: one per
 * processor), but none that would have fewer than `least` things.
 */
unsigned pyro_count_parts(int threads, size_t items, size_t least);

/* Where a part of `count` things begins; that of part `parts` is their end. */
static inline size_t pyro_part_begin(size_t count, unsigned part, unsigned parts)
{
    return count / parts * part + count % parts * part / parts;
}

#endif
