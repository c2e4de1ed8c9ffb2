/* Threads that live for one piece of work. */
#include "base/parallel.h"

#include "base/processors.h"
#include <pthread.h>
#include <stdbool.h>

typedef struct part_call {
    pyro_task *task;
    void *data;
    unsigned part;
    pthread_t thread;
    bool is_started;
} part_call;

static void *run_part(void *argument)
{
    part_call *call = argument;
    call->task(call->data, call->part);
    return NULL;
}

void pyro_run_parts(pyro_task *task, void *data, unsigned parts)
{
    part_call calls[PYRO_MOST_PARTS];
    for (unsigned i = 1; i < parts; i++) {
        calls[i] = (part_call){.task = task, .data = data, .part = i};
        calls[i].is_started = pthread_create(&calls[i].thread, NULL, run_part, &calls[i]) == 0;
    }
    task(data, 0);
    for (unsigned i = 1; i < parts; i++) {
        if (calls[i].is_started)
            pthread_join(calls[i].thread, NULL);
        else
            run_part(&calls[i]);
    }
}

unsigned pyro_count_parts(int threads, size_t items, size_t least)
{
    size_t enough = least ? items / least : items;
    if (threads <= 0)
        threads = pyro_count_processors();
    if (threads > PYRO_MOST_PARTS)
        threads = PYRO_MOST_PARTS;
    if (enough < (size_t)threads)
        threads = (int)enough;
    return threads > 1 ? (unsigned)threads : 1;
}
