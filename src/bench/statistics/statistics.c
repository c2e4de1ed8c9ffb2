/* Computes descriptive statistics. */
#include "bench/statistics/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Averages the distances from the first sample: large values keep their digits, in one pass. */
double pyro_mean(const double *samples, size_t count)
{
    double sum = 0;

    if (count == 0)
        return NAN;
    for (size_t i = 0; i < count; i++)
        sum += samples[i] - samples[0];
    return samples[0] + sum / (double)count;
}

double pyro_stddev(const double *samples, size_t count)
{
    double mean = pyro_mean(samples, count), sum = 0;

    if (count < 2)
        return NAN;
    for (size_t i = 0; i < count; i++)
        sum += (samples[i] - mean) * (samples[i] - mean);
    return sqrt(sum / (double)(count - 1));
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void pyro_sort_samples(double *samples, size_t count)
{
    if (count > 1)
        qsort(samples, count, sizeof *samples, compare_doubles);
}

static void swap(double *a, double *b)
{
    double kept = *a;

    *a = *b;
    *b = kept;
}

/* The middle one of three, so that sorted and reversed input stay fast. */
static double choose_pivot(const double *samples, size_t low, size_t high)
{
    double a = samples[low], b = samples[low + (high - low) / 2], c = samples[high];

    return a < b ? (b < c ? b : fmax(a, c)) : (a < c ? a : fmax(b, c));
}

/* Everything up to the returned place, which is before `high`, is at most what follows it. */
static size_t split_at(double *samples, size_t low, size_t high, double pivot)
{
    for (;; low++, high--) {
        while (samples[low] < pivot)
            low++;
        while (samples[high] > pivot)
            high--;
        if (low >= high)
            return high;
        swap(&samples[low], &samples[high]);
    }
}

double pyro_select(double *samples, size_t count, size_t rank)
{
    size_t low = 0, high = count - 1;

    for (int rounds = 0; low < high; rounds++) {
        /* Adversarial input is sorted instead. */
        if (rounds > 100) {
            pyro_sort_samples(samples + low, high - low + 1);
            break;
        }
        size_t split = split_at(samples, low, high, choose_pivot(samples, low, high));
        if (rank <= split)
            high = split;
        else
            low = split + 1;
    }
    return samples[rank];
}

double pyro_sample_quantile(const double *sorted, size_t count, double probability)
{
    if (count == 0)
        return NAN;
    double position = probability * (double)(count - 1);
    size_t below = (size_t)position;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

double pyro_mad(const double *sorted, size_t count, double *scratch)
{
    double median = pyro_sample_quantile(sorted, count, 0.5);

    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(sorted[i] - median);
    pyro_sort_samples(scratch, count);
    return pyro_sample_quantile(scratch, count, 0.5);
}

pyro_outliers pyro_find_outliers(const double *sorted, size_t count)
{
    pyro_outliers outliers = {0, 0, 0, 0};
    double q1 = pyro_sample_quantile(sorted, count, 0.25),
           q3 = pyro_sample_quantile(sorted, count, 0.75);
    double range = q3 - q1;

    for (size_t i = 0; i < count; i++) {
        if (sorted[i] < q1 - 3 * range)
            outliers.low_severe++;
        else if (sorted[i] < q1 - 1.5 * range)
            outliers.low_mild++;
        else if (sorted[i] > q3 + 3 * range)
            outliers.high_severe++;
        else if (sorted[i] > q3 + 1.5 * range)
            outliers.high_mild++;
    }
    return outliers;
}

double pyro_autocorrelation(const double *samples, size_t count, size_t lag)
{
    double mean = pyro_mean(samples, count), shared = 0, total = 0;

    for (size_t i = 0; i < count; i++)
        total += (samples[i] - mean) * (samples[i] - mean);
    for (size_t i = lag; i < count; i++)
        shared += (samples[i] - mean) * (samples[i - lag] - mean);
    return total > 0 ? shared / total : 0;
}

bool pyro_autocorrelation_is_significant(double lag1, size_t count)
{
    return count >= 20 && fabs(lag1) > pyro_normal_quantile(0.995) / sqrt((double)count);
}

double pyro_normal_cdf(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2);
}

/* Newton's method on the tail's logarithm, which is nearly a parabola and so never overshoots. */
double pyro_normal_quantile(double probability)
{
    if (!(probability > 0 && probability < 1))
        return probability == 0 ? -INFINITY : probability == 1 ? INFINITY : NAN;
    if (probability > 0.5)
        return -pyro_normal_quantile(1 - probability);
    double target = log(probability);
    double x = target < -1 ? -sqrt(-2 * target) : 0;
    for (int i = 0; i < 60; i++) {
        double tail = pyro_normal_cdf(x);
        double density = exp(-x * x / 2) / sqrt(2 * M_PI);
        double step = (log(tail) - target) * tail / density;

        x -= step;
        if (fabs(step) <= 1e-15 * (1 + fabs(x)))
            break;
    }
    return x;
}

static double log_factorial(double n)
{
    int sign;

    return lgamma_r(n + 1, &sign);
}

static double binomial_pmf(double k, double n, double p)
{
    return exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) + k * log(p) +
               (n - k) * log1p(-p));
}

/* Sums the shorter tail, from its largest term outwards until terms are negligible. */
double pyro_binomial_cdf(long long k, size_t n, double probability)
{
    double total = (double)n, odds = probability / (1 - probability), sum = 0;

    if (k < 0)
        return 0;
    if ((size_t)k >= n)
        return 1;
    bool lower = (double)k < total * probability;
    double at = lower ? (double)k : (double)k + 1;
    double term = binomial_pmf(at, total, probability);
    while (term > 0 && at >= 0 && at <= total) {
        sum += term;
        if (term < sum * 1e-17)
            break;
        term *= lower ? at / ((total - at + 1) * odds) : (total - at) * odds / (at + 1);
        at += lower ? -1 : 1;
    }
    return lower ? sum : 1 - sum;
}

/* Bisection: the largest k in [-1, n] with P(X <= k) <= limit. */
static long long last_below(size_t n, double probability, double limit)
{
    long long low = -1, high = (long long)n;

    while (low + 1 < high) {
        long long middle = low + (high - low) / 2;

        if (pyro_binomial_cdf(middle, n, probability) <= limit)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* X_(l) <= quantile <= X_(u) holds when the number of samples below the quantile is in [l, u). */
pyro_rank_bounds pyro_quantile_ranks(size_t count, double probability, double confidence)
{
    double tail = (1 - confidence) / 2;
    pyro_rank_bounds ranks = {(size_t)(last_below(count, probability, tail) + 1), count + 1};
    /* 1 - tail rounds; a small margin keeps the bound on the safe side of exact ties. */
    long long last = last_below(count, probability, 1 - tail - 1e-12);

    if (last + 2 <= (long long)count)
        ranks.high = (size_t)(last + 2);
    return ranks;
}

size_t pyro_quantile_needs(double probability, double confidence)
{
    return (size_t)ceil(log1p(-confidence) / log(probability) - 1e-9);
}

static bool within(double first, double second, double low, double high)
{
    if (second == 0)
        return first == 0;
    double difference = (first - second) / second;
    return difference >= low && difference <= high;
}

/* Mean, quartiles and median absolute deviation of one window. */
typedef struct window_statistics {
    double mean, q1, median, q3, mad;
} window_statistics;

static window_statistics describe_window(const double *samples, size_t count, double *scratch)
{
    window_statistics described = {.mean = pyro_mean(samples, count)};

    memcpy(scratch, samples, count * sizeof *samples);
    pyro_sort_samples(scratch, count);
    described.q1 = pyro_sample_quantile(scratch, count, 0.25);
    described.median = pyro_sample_quantile(scratch, count, 0.5);
    described.q3 = pyro_sample_quantile(scratch, count, 0.75);
    described.mad = pyro_mad(scratch, count, scratch + count);
    return described;
}

/* Ignores only the first value: a first call that compiles or allocates is far above all others. */
static bool first_is_outlier(const double *first, const double *second, size_t count,
                             double *scratch)
{
    size_t others = 2 * count - 1;

    memcpy(scratch, first + 1, (count - 1) * sizeof *first);
    memcpy(scratch + count - 1, second, count * sizeof *second);
    pyro_sort_samples(scratch, others);
    double q1 = pyro_sample_quantile(scratch, others, 0.25),
           q3 = pyro_sample_quantile(scratch, others, 0.75);
    return !(first[0] <= q3 + 1.5 * (q3 - q1));
}

bool pyro_windows_agree(const double *first, const double *second, size_t count, double *scratch)
{
    /* Deviations of a hundredth of the median are quiet, whatever their ratio. */
    const double quiet = 0.01;

    if (count < 2 || first_is_outlier(first, second, count, scratch))
        return false;
    window_statistics a = describe_window(first, count, scratch),
                      b = describe_window(second, count, scratch);
    bool mads = within(a.mad, b.mad, -0.1, 0.1) ||
                (a.mad <= quiet * a.median && b.mad <= quiet * b.median);
    return within(a.mean, b.mean, -0.5, 0.1) && mads && within(a.q1, b.q1, -0.05, 0.05) &&
           within(a.q3, b.q3, -0.05, 0.05);
}
