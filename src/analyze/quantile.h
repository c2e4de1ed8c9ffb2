/* Computes order statistics of measured numbers. */
#ifndef PYRO_ANALYZE_QUANTILE_H
#define PYRO_ANALYZE_QUANTILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The value below which numerator/denominator of the values lie (the nearest rank, so always one of
 * them; of an even count's two middle ones the lower). Reorders `values`; 0 when `count` is 0.
 */
int64_t pyro_quantile(int64_t *values, size_t count, size_t numerator, size_t denominator);
/* The middle of the values; of an even count, the mean of the two in the middle. Reorders them. */
int64_t pyro_median(int64_t *values, size_t count);

#endif
