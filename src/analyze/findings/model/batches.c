/* Finds the knee of throughput over batch sizes, in a sweep or among a few measured batches. */
#include "analyze/findings/model/batches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int compare_points(const void *a, const void *b)
{
    const pyro_batch_rate *left = a, *right = b;
    if (left->batch_size != right->batch_size)
        return left->batch_size < right->batch_size ? -1 : 1;
    return (left->samples_per_s > right->samples_per_s) -
           (left->samples_per_s < right->samples_per_s);
}

/* Throughput factor per doubling of the batch, between two batches. */
static double gain_of_doubling(const pyro_batch_rate *from, const pyro_batch_rate *to)
{
    double ratio = (double)to->batch_size / (double)from->batch_size;
    double doublings = ratio > 0 ? log2(ratio) : 0;
    return pow(to->samples_per_s / from->samples_per_s, 1 / fmax(doublings, 1e-9));
}

bool pyro_find_knee(pyro_knee *out, pyro_batch_rate *points, size_t count)
{
    if (count < 2)
        return false;
    qsort(points, count, sizeof *points, compare_points);
    size_t knee = 0;
    while (knee + 1 < count &&
           !(gain_of_doubling(&points[knee], &points[knee + 1]) < 1 + PYRO_KNEE_GAIN))
        knee++;
    *out = (pyro_knee){.batch_size = points[knee].batch_size, .reached = knee + 1 < count};
    if (out->reached)
        snprintf(out->text, sizeof out->text, "doubling this batch gains less than %.0f%%",
                 PYRO_KNEE_GAIN * 100);
    else
        snprintf(out->text, sizeof out->text,
                 "not reached: the largest measured batch still gains");
    return true;
}

bool pyro_find_best_batch(pyro_best_batch *out, const pyro_batch_time *batches, size_t count,
                          int64_t present)
{
    double best = 0, present_rate = 0, chosen_rate = 0;
    int64_t largest = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(batches[i].call_ms > 0))
            continue;
        double rate = (double)batches[i].batch_size / batches[i].call_ms;
        best = fmax(best, rate);
        present_rate = batches[i].batch_size == present ? rate : present_rate;
        largest = batches[i].batch_size > largest ? batches[i].batch_size : largest;
        known++;
    }
    if (known < 2 || !(present_rate > 0))
        return false;
    *out = (pyro_best_batch){.batch_size = largest};
    for (size_t i = 0; i < count; i++) {
        double rate = (double)batches[i].batch_size / batches[i].call_ms;
        if (!(batches[i].call_ms > 0) || batches[i].batch_size > out->batch_size ||
            rate * (1 + PYRO_KNEE_GAIN) < best)
            continue;
        out->batch_size = batches[i].batch_size;
        chosen_rate = rate;
    }
    out->gain = chosen_rate / present_rate - 1;
    out->is_largest = out->batch_size == largest;
    return true;
}
