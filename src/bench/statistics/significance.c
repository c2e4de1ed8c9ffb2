/* Compares two samples: the Mann-Whitney test, the Hodges-Lehmann shift, and Holm's correction. */
#include "bench/statistics/inference.h"

#include "base/error.h"
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_LIMIT = 50 }; /* samples per side up to which the exact distribution is computed */

/*
 * The probability of each U among all orders of a_count and b_count samples. The generating
 * function is the product of (1 - x^(b + i)) / (1 - x^i): the small counts, which make the tails,
 * stay whole numbers and so exact. The upper half mirrors the lower.
 */
static double *exact_distribution(size_t a_count, size_t b_count)
{
    size_t largest = a_count * b_count;
    double *share = calloc(largest + 1, sizeof *share), total = 1;

    if (!share)
        return NULL;
    share[0] = 1;
    for (size_t i = 1; i <= a_count; i++) {
        for (size_t u = largest / 2; u >= b_count + i; u--)
            share[u] -= share[u - b_count - i];
        for (size_t u = i; u <= largest / 2; u++)
            share[u] += share[u - i];
        total *= (double)(b_count + i) / (double)i;
    }
    for (size_t u = 0; u <= largest / 2; u++)
        share[largest - u] = share[u] /= total;
    return share;
}

typedef struct ranked {
    double value;
    bool from_a;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;

    return (x > y) - (x < y);
}

/* Sums the ranks of a; ties share theirs. *tie_term is the sum of t^3 - t over the ties. */
static double sum_ranks(const ranked *all, size_t count, double *tie_term)
{
    double sum = 0;

    *tie_term = 0;
    for (size_t i = 0, end; i < count; i = end) {
        size_t from_a = 0;

        for (end = i; end < count && all[end].value == all[i].value; end++)
            from_a += all[end].from_a;
        double ties = (double)(end - i);
        sum += (double)from_a * ((double)(i + end) + 1) / 2;
        *tie_term += ties * ties * ties - ties;
    }
    return sum;
}

static double normal_p(double u, double a, double b, double tie_term, pyro_alternative alternative)
{
    double n = a + b, middle = a * b / 2;
    double deviation = sqrt(a * b / 12 * (n + 1 - tie_term / (n * (n - 1))));

    if (!(deviation > 0))
        return 1;
    if (alternative == PYRO_LESS)
        return pyro_normal_cdf((u + 0.5 - middle) / deviation);
    if (alternative == PYRO_GREATER)
        return pyro_normal_cdf((middle + 0.5 - u) / deviation);
    return fmin(1, 2 * pyro_normal_cdf((0.5 - fabs(u - middle)) / deviation));
}

static double exact_p(const double *share, double u, size_t largest, pyro_alternative alternative)
{
    double at_most = 0, at_least = 0;

    for (size_t i = 0; i <= largest; i++) {
        at_most += (double)i <= u ? share[i] : 0;
        at_least += (double)i >= u ? share[i] : 0;
    }
    return alternative == PYRO_LESS      ? at_most
           : alternative == PYRO_GREATER ? at_least
                                         : fmin(1, 2 * fmin(at_most, at_least));
}

int pyro_mann_whitney_test(pyro_mann_whitney *out, const double *a, size_t a_count, const double *b,
                           size_t b_count, pyro_alternative alternative, pyro_error *error)
{
    size_t count = a_count + b_count;
    double tie_term, *share = NULL;

    *out = (pyro_mann_whitney){NAN, NAN, false};
    if (a_count == 0 || b_count == 0)
        return PYRO_OK;
    ranked *all = malloc(count * sizeof *all);
    if (!all)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < count; i++)
        all[i] = (ranked){i < a_count ? a[i] : b[i - a_count], i < a_count};
    qsort(all, count, sizeof *all, compare_ranked);
    out->u = sum_ranks(all, count, &tie_term) - (double)a_count * (double)(a_count + 1) / 2;
    free(all);
    out->exact = tie_term == 0 && a_count <= EXACT_LIMIT && b_count <= EXACT_LIMIT;
    if (!out->exact) {
        out->p = normal_p(out->u, (double)a_count, (double)b_count, tie_term, alternative);
        return PYRO_OK;
    }
    share = exact_distribution(a_count, b_count);
    if (!share)
        return pyro_fail_memory(error);
    out->p = exact_p(share, out->u, a_count * b_count, alternative);
    free(share);
    return PYRO_OK;
}

/*
 * How many sorted differences to leave off at each end, plus one: the first U outside the tail. 0
 * when even the outermost pair does not reach the confidence; *status holds failures.
 */
static size_t outermost_rank(size_t a_count, size_t b_count, double confidence, int *status)
{
    double tail = (1 - confidence) / 2, a = (double)a_count, b = (double)b_count, sum = 0;

    *status = PYRO_OK;
    if (a_count > EXACT_LIMIT || b_count > EXACT_LIMIT) {
        double rank = a * b / 2 + pyro_normal_quantile(tail) * sqrt(a * b * (a + b + 1) / 12);

        return rank > 1 ? (size_t)rank : 0;
    }
    double *share = exact_distribution(a_count, b_count);
    if (!share) {
        *status = PYRO_ERROR_MEMORY;
        return 0;
    }
    size_t rank = 0;
    for (; rank <= a_count * b_count / 2; rank++) {
        sum += share[rank];
        if (sum > tail)
            break;
    }
    free(share);
    return rank;
}

int pyro_hodges_lehmann(double *shift, pyro_interval *out, const double *a, size_t a_count,
                        const double *b, size_t b_count, double confidence, pyro_error *error)
{
    int status;

    *shift = NAN;
    *out = (pyro_interval){NAN, NAN, confidence};
    if (a_count == 0 || b_count == 0)
        return PYRO_OK;
    if (a_count > PYRO_HODGES_LEHMANN_MAX || b_count > PYRO_HODGES_LEHMANN_MAX) {
        return pyro_fail(error, PYRO_ERROR_LIMIT, "more than %d samples per side",
                         PYRO_HODGES_LEHMANN_MAX);
    }
    size_t pairs = a_count * b_count, rank = outermost_rank(a_count, b_count, confidence, &status);
    double *differences = malloc(pairs * sizeof *differences);
    if (!differences || status != PYRO_OK) {
        free(differences);
        return pyro_fail_memory(error);
    }
    for (size_t i = 0; i < a_count; i++)
        for (size_t j = 0; j < b_count; j++)
            differences[i * b_count + j] = b[j] - a[i];
    pyro_sort_samples(differences, pairs);
    *shift = pyro_sample_quantile(differences, pairs, 0.5);
    if (rank > 0) {
        out->low = differences[rank - 1];
        out->high = differences[pairs - rank];
    }
    free(differences);
    return PYRO_OK;
}

int pyro_holm(double *p, size_t count, pyro_error *error)
{
    double *sorted = malloc((count > 0 ? count : 1) * sizeof *sorted);

    if (!sorted)
        return pyro_fail_memory(error);
    memcpy(sorted, p, count * sizeof *p);
    pyro_sort_samples(sorted, count);
    for (size_t i = 0; i < count; i++) {
        double adjusted = 0;

        for (size_t j = 0; j < count && sorted[j] <= p[i]; j++)
            adjusted = fmax(adjusted, sorted[j] * (double)(count - j));
        p[i] = fmin(1, adjusted);
    }
    free(sorted);
    return PYRO_OK;
}
