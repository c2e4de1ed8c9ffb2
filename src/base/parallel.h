/*
 * The thread pool of readers, joins, analyses and ranks. A pool lives for one job. Workers take
 * tasks from the job, one at a time, until it is done; the result must not depend on which worker
 * runs a task.
 */
#ifndef PYRO_BASE_PARALLEL_H
#define PYRO_BASE_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>

#define PYRO_MOST_WORKERS 16

/*
 * A job, as functions over its data. The pool holds its lock while it calls any of them but `run`,
 * so that the job needs no lock.
 */
typedef struct pyro_job {
    /* Takes the next task for a worker. NULL: none yet, the worker waits for other results. */
    void *(*take)(void *data, unsigned worker);
    void (*run)(void *data, void *task, unsigned worker);
    /* Stores the result. Returns true if waiting workers should try again. */
    bool (*finish)(void *data, void *task, unsigned worker);
    /* True if no work is left for the worker. */
    bool (*is_over)(const void *data, unsigned worker);
} pyro_job;

/*
 * Runs a job and returns when all workers (at most PYRO_MOST_WORKERS) are done. Worker 0 is the
 * calling thread; others are missing if threads cannot be started.
 */
void pyro_pool_run(const pyro_job *job, void *data, unsigned workers);

/* Runs part `part` of the work in `data`. */
typedef void pyro_part_fn(void *data, unsigned part);

/*
 * Runs the independent parts 0 to parts - 1 (at most PYRO_MOST_WORKERS) and returns when all are
 * done.
 */
void pyro_run_parts(pyro_part_fn *run, void *data, unsigned parts);

/*
 * Number of parts for `items` items: one per requested thread (0: one per processor), with at least
 * `least` items each.
 */
unsigned pyro_count_parts(int threads, size_t items, size_t least);

/* Index of the first item of a part of `count` items; for part `parts` it is `count`. */
static inline size_t pyro_part_begin(size_t count, unsigned part, unsigned parts)
{
    return count / parts * part + count % parts * part / parts;
}

#endif
