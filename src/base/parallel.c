/* Implements the thread pool: workers take tasks of one job under one lock. */
#include "base/parallel.h"

#include "base/processors.h"
#include "base/thread.h"

typedef struct pool {
    const pyro_job *job;
    void *data;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} pool;

typedef struct worker {
    pool *pool;
    unsigned index;
    pthread_t thread;
    bool is_started;
} worker;

static void *run_worker(void *argument)
{
    const worker *worker = argument;
    pool *pool = worker->pool;
    const pyro_job *job = pool->job;
    pthread_mutex_lock(&pool->lock);
    while (!job->is_over(pool->data, worker->index)) {
        void *task = job->take(pool->data, worker->index);
        if (!task) {
            pthread_cond_wait(&pool->changed, &pool->lock);
            continue;
        }
        pthread_mutex_unlock(&pool->lock);
        job->run(pool->data, task, worker->index);
        pthread_mutex_lock(&pool->lock);
        if (job->finish(pool->data, task, worker->index))
            pthread_cond_broadcast(&pool->changed);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

void pyro_pool_run(const pyro_job *job, void *data, unsigned workers)
{
    pool pool = {.job = job, .data = data};
    worker all[PYRO_MOST_WORKERS];
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.changed, NULL);
    for (unsigned i = 0; i < workers; i++) {
        all[i] = (worker){.pool = &pool, .index = i};
        if (i > 0)
            all[i].is_started = pyro_thread_start(&all[i].thread, "pyrometer-pool", run_worker,
                                                  &all[i]) == 0;
    }
    run_worker(&all[0]);
    for (unsigned i = 1; i < workers; i++)
        if (all[i].is_started)
            pthread_join(all[i].thread, NULL);
    pthread_mutex_destroy(&pool.lock);
    pthread_cond_destroy(&pool.changed);
}

typedef struct parts_job {
    pyro_part_fn *run;
    void *data;
    unsigned count, next;
    unsigned numbers[PYRO_MOST_WORKERS];
} parts_job;

static void *take_part(void *data, unsigned worker)
{
    parts_job *parts = data;
    unsigned part = parts->next++;
    (void)worker;
    parts->numbers[part] = part;
    return &parts->numbers[part];
}

static void run_part(void *data, void *task, unsigned worker)
{
    const parts_job *parts = data;
    (void)worker;
    parts->run(parts->data, *(unsigned *)task);
}

/* Parts never wait for each other. */
static bool finish_part(void *data, void *task, unsigned worker)
{
    (void)data, (void)task, (void)worker;
    return false;
}

static bool are_parts_taken(const void *data, unsigned worker)
{
    const parts_job *parts = data;
    (void)worker;
    return parts->next == parts->count;
}

void pyro_run_parts(pyro_part_fn *run, void *data, unsigned parts)
{
    static const pyro_job job = {take_part, run_part, finish_part, are_parts_taken};
    parts_job state = {.run = run, .data = data, .count = parts};
    pyro_pool_run(&job, &state, parts);
}

unsigned pyro_count_parts(int threads, size_t items, size_t least)
{
    size_t enough = least ? items / least : items;
    if (threads <= 0)
        threads = pyro_count_processors();
    if (threads > PYRO_MOST_WORKERS)
        threads = PYRO_MOST_WORKERS;
    if (enough < (size_t)threads)
        threads = (int)enough;
    return threads > 1 ? (unsigned)threads : 1;
}
