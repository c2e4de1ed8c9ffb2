/*
 * Capacity: simulates servers that take requests in the order of arrival, with service times drawn
 * from recorded samples, and finds how many are needed.
 */
#include "history/history.h"

#include "base/error.h"
#include "bench/statistics/random.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>

enum { REQUESTS = 100000, SERVERS_MAX = 1000000, WARMUP_SHARE = 10, HEADROOM_STEPS = 10 };

/* One simulated queue. Times are in ms. */
typedef struct simulation {
    const pyro_service *services;
    size_t service_count;
    size_t batch, servers, requests;
    double gap_ms; /* mean time between arrivals */
    double *arrivals, *latencies;
    double *free_at; /* of each server: a heap, the earliest first */
    pyro_random random;
} simulation;

/* Moves the first server down after its time has grown. */
static void sift_down(double *heap, size_t count)
{
    double moved = heap[0];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= moved)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* The service with the smallest measured batch that holds this many requests. */
static const pyro_service *service_for(const simulation *s, size_t waiting)
{
    const pyro_service *best = NULL;

    for (size_t i = 0; i < s->service_count; i++) {
        const pyro_service *one = &s->services[i];

        if (one->batch >= waiting && one->batch <= s->batch && (!best || one->batch < best->batch))
            best = one;
    }
    return best;
}

static double run(simulation *s)
{
    double now_ms = 0, busy_ms = 0;

    for (size_t i = 0; i < s->requests; i++)
        s->arrivals[i] = now_ms += s->gap_ms * pyro_random_exponential(&s->random);
    for (size_t i = 0; i < s->servers; i++)
        s->free_at[i] = 0;
    for (size_t next = 0, end; next < s->requests; next = end) {
        double start_ms = fmax(s->free_at[0], s->arrivals[next]);

        for (end = next + 1;
             end < s->requests && end - next < s->batch && s->arrivals[end] <= start_ms;)
            end++;
        const pyro_service *service = service_for(s, end - next);
        double service_ms = service->samples_ms[pyro_random_below(&s->random, service->count)];
        for (size_t i = next; i < end; i++)
            s->latencies[i] = start_ms + service_ms - s->arrivals[i];
        busy_ms += service_ms;
        s->free_at[0] = start_ms + service_ms;
        sift_down(s->free_at, s->servers);
    }
    return busy_ms;
}

static void summarize(pyro_service_times *out, simulation *s, double busy_ms)
{
    size_t skipped = s->requests / WARMUP_SHARE, count = s->requests - skipped;
    double *sorted = s->latencies + skipped;

    out->mean_ms = pyro_mean(sorted, count);
    pyro_sort_samples(sorted, count);
    out->p50_ms = pyro_sample_quantile(sorted, count, 0.5);
    out->p95_ms = pyro_sample_quantile(sorted, count, 0.95);
    out->p99_ms = pyro_sample_quantile(sorted, count, 0.99);
    out->utilisation = busy_ms / (s->arrivals[s->requests - 1] * (double)s->servers);
}

static int check_queue(const pyro_service_queue *queue, pyro_error *error)
{
    bool has_batch = false;

    if (!(queue->rate_per_s > 0) || queue->servers == 0 || queue->servers > SERVERS_MAX ||
        queue->batch == 0 || queue->requests > 100000000)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "invalid rate, batch or number of servers");
    for (size_t i = 0; i < queue->service_count; i++) {
        const pyro_service *service = &queue->services[i];

        has_batch = has_batch || service->batch == queue->batch;
        for (size_t j = 0; j < service->count; j++)
            if (!(service->samples_ms[j] >= 0) || isinf(service->samples_ms[j]))
                return pyro_fail(error, PYRO_ERROR_ARGUMENT, "a service time is negative");
        if (service->count == 0)
            return pyro_fail(error, PYRO_ERROR_ARGUMENT, "a service has no samples");
    }
    return has_batch
               ? PYRO_OK
               : pyro_fail(error, PYRO_ERROR_ARGUMENT, "batch %zu was not measured", queue->batch);
}

int pyro_service_simulate(pyro_service_times *out, const pyro_service_queue *queue,
                          pyro_error *error)
{
    simulation s = {.services = queue->services,
                    .service_count = queue->service_count,
                    .batch = queue->batch,
                    .servers = queue->servers,
                    .requests = queue->requests > 0 ? queue->requests : REQUESTS,
                    .gap_ms = 1000 / queue->rate_per_s};
    int status = check_queue(queue, error);

    *out = (pyro_service_times){0};
    if (status != PYRO_OK)
        return status;
    s.arrivals = malloc(s.requests * sizeof *s.arrivals);
    s.latencies = malloc(s.requests * sizeof *s.latencies);
    s.free_at = malloc(s.servers * sizeof *s.free_at);
    if (s.arrivals && s.latencies && s.free_at) {
        pyro_random_seed(&s.random, queue->seed);
        double busy_ms = run(&s);
        summarize(out, &s, busy_ms);
    } else {
        status = pyro_fail_memory(error);
    }
    free(s.arrivals);
    free(s.latencies);
    free(s.free_at);
    return status;
}

/* Servers that would be busy all the time; fewer can never keep up. */
static double needed_servers(const pyro_service_queue *queue)
{
    for (size_t i = 0; i < queue->service_count; i++)
        if (queue->services[i].batch == queue->batch)
            return queue->rate_per_s / 1000 *
                   pyro_mean(queue->services[i].samples_ms, queue->services[i].count) /
                   (double)queue->batch;
    return 0;
}

/* With full batches; a server that takes small ones is busier, but could do more. */
static bool is_within(const pyro_service_times *result, const pyro_service_queue *queue,
                      const pyro_capacity_request *request)
{
    return result->p99_ms <= request->p99_ms &&
           needed_servers(queue) <= request->utilisation * (double)queue->servers;
}

static int try_replicas(pyro_service_queue *queue, const pyro_capacity_request *request,
                        size_t replicas, pyro_service_times *result, pyro_error *error)
{
    queue->servers = replicas * request->concurrency;
    return pyro_service_simulate(result, queue, error);
}

/* The smallest number of replicas within both limits; more replicas never make it worse. */
static int find_replicas(pyro_capacity *out, pyro_service_queue *queue,
                         const pyro_capacity_request *request, pyro_error *error)
{
    double load = needed_servers(queue) / (double)request->concurrency;
    size_t low = (size_t)floor(load), high = low + 1; /* `low` is too few */
    int status = load < SERVERS_MAX / 4 ? PYRO_OK
                                        : pyro_fail(error, PYRO_ERROR_LIMIT, "too many replicas");

    for (size_t step = 1; status == PYRO_OK; high += step, step *= 2) {
        status = try_replicas(queue, request, high, &out->queue, error);
        if (status != PYRO_OK || is_within(&out->queue, queue, request))
            break;
        low = high;
        /* With a server for everybody only the service time is left. */
        if ((double)high > 4 * load + 1000) {
            out->replicas = 0;
            return PYRO_OK;
        }
    }
    while (status == PYRO_OK && high - low > 1) {
        pyro_service_times result;
        size_t middle = low + (high - low) / 2;

        status = try_replicas(queue, request, middle, &result, error);
        if (status == PYRO_OK && is_within(&result, queue, request)) {
            high = middle;
            out->queue = result;
        } else {
            low = middle;
        }
    }
    out->replicas = high;
    return status;
}

/* By how much the rate may grow with these replicas. */
static int find_headroom(pyro_capacity *out, pyro_service_queue *queue,
                         const pyro_capacity_request *request, pyro_error *error)
{
    double low = 1, high = 4, rate = queue->rate_per_s;
    int status = PYRO_OK;

    for (int i = 0; i < HEADROOM_STEPS && status == PYRO_OK; i++) {
        pyro_service_times result;
        double middle = (low + high) / 2;

        queue->rate_per_s = rate * middle;
        status = try_replicas(queue, request, out->replicas, &result, error);
        if (status == PYRO_OK && is_within(&result, queue, request))
            low = middle;
        else
            high = middle;
    }
    out->headroom = low - 1;
    queue->rate_per_s = rate;
    return status;
}

int pyro_capacity_plan(pyro_capacity *out, const pyro_capacity_request *given, pyro_error *error)
{
    pyro_capacity_request request = *given;
    pyro_service_queue queue = {.services = given->services,
                                .service_count = given->service_count,
                                .batch = given->batch,
                                .rate_per_s = given->rate_per_s,
                                .seed = given->seed,
                                .servers = 1,
                                .requests = given->requests};

    *out = (pyro_capacity){.headroom = NAN};
    request.utilisation = given->utilisation > 0 ? given->utilisation : 0.7;
    request.concurrency = given->concurrency > 0 ? given->concurrency : 1;
    if (!(request.p99_ms > 0))
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the limit of p99 must be above 0");
    int status = check_queue(&queue, error);
    if (status == PYRO_OK)
        status = find_replicas(out, &queue, &request, error);
    if (out->replicas > 0)
        out->load = needed_servers(&queue) / (double)(out->replicas * request.concurrency);
    if (status == PYRO_OK && out->replicas > 0)
        status = find_headroom(out, &queue, &request, error);
    out->price_per_hour = (double)out->replicas * given->price_per_hour;
    return status;
}
