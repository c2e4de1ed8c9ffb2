/* Finds the best of the measured batches by throughput. */
#ifndef PYRO_ANALYZE_FINDINGS_BATCHES_H
#define PYRO_ANALYZE_FINDINGS_BATCHES_H

#include <pyrometer/recommend.h>

/* The smallest batch that comes within PYRO_KNEE_GAIN of the best throughput. */
typedef struct pyro_best_batch {
    int64_t batch_size;
    double gain;     /* of throughput over the present batch, a share */
    bool is_largest; /* of the measured ones */
} pyro_best_batch;

/* False when fewer than two batches, or not the present one, were measured. */
bool pyro_find_best_batch(pyro_best_batch *out, const pyro_batch_time *batches, size_t count,
                          int64_t present);

#endif
