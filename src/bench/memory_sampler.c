/* Samples the resident memory of this process in a thread. */
#include "base/error.h"
#include "base/thread.h"
#include "bench/clock.h"

#include <pyrometer/bench.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PERIOD_NS INT64_C(2000000)

struct pyro_memory_sampler {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopping;
    bool stop; /* guarded by `lock` */
    int64_t period_ns;
    double sum_bytes; /* of the thread alone while it runs */
    pyro_memory_samples samples;
};

static void take_sample(pyro_memory_sampler *sampler)
{
    int64_t bytes = pyro_resident_bytes();

    if (bytes < 0)
        return;
    sampler->sum_bytes += (double)bytes;
    sampler->samples.count++;
    if (bytes > sampler->samples.max_bytes)
        sampler->samples.max_bytes = bytes;
}

static struct timespec time_after(int64_t delay_ns)
{
    int64_t then_ns = pyro_now_ns() + delay_ns;

    return (struct timespec){.tv_sec = (time_t)(then_ns / PYRO_SECOND_NS),
                             .tv_nsec = (long)(then_ns % PYRO_SECOND_NS)};
}

static void *run_sampler(void *argument)
{
    pyro_memory_sampler *sampler = argument;

    pthread_mutex_lock(&sampler->lock);
    while (!sampler->stop) {
        struct timespec until = time_after(sampler->period_ns);

        if (pthread_cond_timedwait(&sampler->stopping, &sampler->lock, &until) != 0)
            take_sample(sampler);
    }
    pthread_mutex_unlock(&sampler->lock);
    return NULL;
}

static void free_sampler(pyro_memory_sampler *sampler)
{
    pthread_cond_destroy(&sampler->stopping);
    pthread_mutex_destroy(&sampler->lock);
    free(sampler);
}

int pyro_memory_sampler_start(pyro_memory_sampler **out, int64_t period_ns, pyro_error *error)
{
    pyro_memory_sampler *sampler = calloc(1, sizeof *sampler);
    pthread_condattr_t monotonic;

    *out = NULL;
    if (!sampler)
        return pyro_fail_memory(error);
    sampler->period_ns = period_ns > 0 ? period_ns : DEFAULT_PERIOD_NS;
    sampler->samples.max_bytes = -1;
    pthread_mutex_init(&sampler->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sampler->stopping, &monotonic);
    pthread_condattr_destroy(&monotonic);
    take_sample(sampler); /* even if it is stopped at once, there is one */
    int reason = pyro_thread_start(&sampler->thread, "pyro-memory", run_sampler, sampler);
    if (reason) {
        free_sampler(sampler);
        return pyro_fail(error, PYRO_ERROR_IO, "cannot start a thread: %s", strerror(reason));
    }
    *out = sampler;
    return PYRO_OK;
}

pyro_memory_samples pyro_memory_sampler_stop(pyro_memory_sampler *sampler)
{
    pthread_mutex_lock(&sampler->lock);
    sampler->stop = true;
    pthread_cond_signal(&sampler->stopping);
    pthread_mutex_unlock(&sampler->lock);
    pthread_join(sampler->thread, NULL);
    pyro_memory_samples samples = sampler->samples;
    samples.mean_bytes = samples.count > 0 ? sampler->sum_bytes / (double)samples.count : NAN;
    free_sampler(sampler);
    return samples;
}
