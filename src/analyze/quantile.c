/* Selects the k-th smallest value by partitioning. */
#include "analyze/quantile.h"

static void swap(int64_t *a, int64_t *b)
{
    int64_t held = *a;
    *a = *b;
    *b = held;
}

static int64_t middle_of_three(int64_t a, int64_t b, int64_t c)
{
    if ((a <= b) == (b <= c))
        return b;
    return (b <= a) == (a <= c) ? a : c;
}

int64_t pyro_quantile(int64_t *values, size_t count, size_t numerator, size_t denominator)
{
    if (!count)
        return 0;
    size_t rank = (count * numerator + denominator - 1) / denominator;
    size_t wanted = rank ? rank - 1 : 0;
    size_t low = 0, high = count; /* the result lies in [low, high) */
    uint64_t seed = count;
    while (high - low > 1) {
        /* Pivots at random places: no order of the input makes this quadratic. */
        size_t picks[3];
        for (int i = 0; i < 3; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            picks[i] = low + (size_t)((seed >> 33) % (high - low));
        }
        int64_t pivot = middle_of_three(values[picks[0]], values[picks[1]], values[picks[2]]);
        size_t less = low, same = low, more = high; /* [low,less) < pivot, [less,same) equal */
        while (same < more) {
            if (values[same] < pivot)
                swap(&values[less++], &values[same++]);
            else if (values[same] > pivot)
                swap(&values[same], &values[--more]);
            else
                same++;
        }
        if (wanted < less)
            high = less;
        else if (wanted >= more)
            low = more;
        else
            return pivot;
    }
    return values[wanted];
}

int64_t pyro_median(int64_t *values, size_t count)
{
    int64_t low = pyro_quantile(values, count, 1, 2);
    return count % 2 ? low : low + (pyro_quantile(values, count, count / 2 + 1, count) - low) / 2;
}
