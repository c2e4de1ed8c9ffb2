/* Analyses differences of pairs: the signed-rank test and its Hodges-Lehmann estimate. */
#include "bench/statistics/inference.h"

#include "base/error.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_LIMIT = 50 }; /* differences up to which the exact distribution is computed */

/* The share of each rank sum among all 2^count assignments of signs. */
static double *exact_distribution(size_t count)
{
    size_t largest = count * (count + 1) / 2;
    double *share = calloc(largest + 1, sizeof *share);

    if (!share)
        return NULL;
    share[0] = 1;
    for (size_t rank = 1; rank <= count; rank++) {
        for (size_t sum = largest; sum >= rank; sum--)
            share[sum] = (share[sum] + share[sum - rank]) / 2;
        for (size_t sum = 0; sum < rank; sum++)
            share[sum] /= 2;
    }
    return share;
}

static int compare_size(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

    return (x > y) - (x < y);
}

/* Sums the ranks of positive differences; `sorted` is by size. *tie_term is the sum of t^3 - t. */
static double sum_ranks(const double *sorted, size_t count, double *tie_term)
{
    double sum = 0;

    *tie_term = 0;
    for (size_t i = 0, end; i < count; i = end) {
        size_t above = 0;

        for (end = i; end < count && fabs(sorted[end]) == fabs(sorted[i]); end++)
            above += sorted[end] > 0;
        double ties = (double)(end - i);
        sum += (double)above * ((double)(i + end) + 1) / 2;
        *tie_term += ties * ties * ties - ties;
    }
    return sum;
}

static double normal_p(double w, double n, double tie_term, pyro_alternative alternative)
{
    double middle = n * (n + 1) / 4;
    double deviation = sqrt(n * (n + 1) * (2 * n + 1) / 24 - tie_term / 48);

    if (!(deviation > 0))
        return 1;
    if (alternative == PYRO_LESS)
        return pyro_normal_cdf((w + 0.5 - middle) / deviation);
    if (alternative == PYRO_GREATER)
        return pyro_normal_cdf((middle + 0.5 - w) / deviation);
    return fmin(1, 2 * pyro_normal_cdf((0.5 - fabs(w - middle)) / deviation));
}

static int exact_p(double *p, double w, size_t count, pyro_alternative alternative,
                   pyro_error *error)
{
    size_t largest = count * (count + 1) / 2;
    double *share = exact_distribution(count), at_most = 0, at_least = 0;

    if (!share)
        return pyro_fail_memory(error);
    for (size_t i = 0; i <= largest; i++) {
        at_most += (double)i <= w ? share[i] : 0;
        at_least += (double)i >= w ? share[i] : 0;
    }
    free(share);
    *p = alternative == PYRO_LESS      ? at_most
         : alternative == PYRO_GREATER ? at_least
                                       : fmin(1, 2 * fmin(at_most, at_least));
    return PYRO_OK;
}

int pyro_signed_rank_test(pyro_signed_rank *out, const double *differences, size_t count,
                          pyro_alternative alternative, pyro_error *error)
{
    double *sorted = malloc((count + 1) * sizeof *sorted), tie_term;
    size_t used = 0;
    int status = PYRO_OK;

    *out = (pyro_signed_rank){0, 1, false};
    if (!sorted)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < count; i++)
        if (differences[i] != 0)
            sorted[used++] = differences[i];
    qsort(sorted, used, sizeof *sorted, compare_size);
    out->w = sum_ranks(sorted, used, &tie_term);
    free(sorted);
    out->exact = tie_term == 0 && used == count && used <= EXACT_LIMIT;
    if (out->exact)
        status = exact_p(&out->p, out->w, used, alternative, error);
    else
        out->p = normal_p(out->w, (double)used, tie_term, alternative);
    return status;
}

/* Like outermost_rank of significance.c, for the sorted pairwise means. */
static size_t outermost_rank(size_t count, double confidence, int *status)
{
    double tail = (1 - confidence) / 2, n = (double)count, sum = 0;
    size_t pairs = count * (count + 1) / 2, rank = 0;

    *status = PYRO_OK;
    if (count > EXACT_LIMIT) {
        double place = n * (n + 1) / 4 +
                       pyro_normal_quantile(tail) * sqrt(n * (n + 1) * (2 * n + 1) / 24);

        return place > 1 ? (size_t)place : 0;
    }
    double *share = exact_distribution(count);
    if (!share) {
        *status = PYRO_ERROR_MEMORY;
        return 0;
    }
    for (; rank <= pairs / 2; rank++) {
        sum += share[rank];
        if (sum > tail)
            break;
    }
    free(share);
    return rank;
}

int pyro_hodges_lehmann_paired(double *centre, pyro_interval *out, const double *differences,
                               size_t count, double confidence, pyro_error *error)
{
    int status;

    *centre = NAN;
    *out = (pyro_interval){NAN, NAN, confidence};
    if (count == 0)
        return PYRO_OK;
    if (count > PYRO_HODGES_LEHMANN_MAX)
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d pairs", PYRO_HODGES_LEHMANN_MAX);
    size_t pairs = count * (count + 1) / 2, rank = outermost_rank(count, confidence, &status);
    double *means = malloc(pairs * sizeof *means), *at = means;
    if (!means || status != PYRO_OK) {
        free(means);
        return pyro_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = i; j < count; j++)
            *at++ = (differences[i] + differences[j]) / 2;
    pyro_sort_samples(means, pairs);
    *centre = pyro_sample_quantile(means, pairs, 0.5);
    if (rank > 0) {
        out->low = means[rank - 1];
        out->high = means[pairs - rank];
    }
    free(means);
    return PYRO_OK;
}
