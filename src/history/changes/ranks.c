/*
 * A detector by ranks: Wilcoxon's statistic at every split of overlapping intervals, divided by what
 * correlated neighbours do to it. Outliers count no more than any other large value.
 */
#include "history/changes/changes.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

/* The threshold was chosen by simulation: about 1 of 50 lines without a change has an alarm. */
#define THRESHOLD 3.9
enum { SIDE_MIN = 4, INTERVAL_MIN = 24 };

typedef struct ranked_value {
    double value;
    size_t index;
} ranked_value;

static int compare_values(const void *a, const void *b)
{
    double left = ((const ranked_value *)a)->value, right = ((const ranked_value *)b)->value;

    return left < right ? -1 : left > right;
}

typedef struct ranking {
    ranked_value *order;
    double *ranks; /* from 1; ties share theirs */
    double variance; /* of a rank */
} ranking;

static void rank_values(ranking *r, const double *values, size_t count)
{
    double squares = 0, middle = ((double)count + 1) / 2;

    for (size_t i = 0; i < count; i++)
        r->order[i] = (ranked_value){values[i], i};
    qsort(r->order, count, sizeof *r->order, compare_values);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && r->order[end].value == r->order[i].value;)
            end++;
        double shared = ((double)i + (double)end + 1) / 2;
        for (size_t j = i; j < end; j++)
            r->ranks[r->order[j].index] = shared;
        squares += (double)(end - i) * (shared - middle) * (shared - middle);
    }
    r->variance = squares / ((double)count - 1);
}

typedef struct best_split {
    size_t index;
    double score; /* standard deviations; 0: none */
} best_split;

static best_split find_split(ranking *r, const double *values, size_t start, size_t end)
{
    size_t count = end - start;
    double sum = 0, n = (double)count;
    best_split best = {0};

    rank_values(r, values + start, count);
    if (r->variance == 0)
        return best;
    for (size_t i = 1; i + SIDE_MIN <= count; i++) {
        double left = (double)i;

        sum += r->ranks[i - 1] - (n + 1) / 2;
        double score = fabs(sum) / sqrt(r->variance * left * (n - left) / n);
        if (i >= SIDE_MIN && score > best.score)
            best = (best_split){start + i, score};
    }
    if (best.score > THRESHOLD)
        best.score /= pyro_correlation_factor(
            pyro_step_correlation(r->ranks, count, best.index - start));
    return best;
}

/* Halves the length of the intervals, which overlap by half, so that short levels show too. */
static best_split search(ranking *r, const double *values, size_t start, size_t end)
{
    best_split best = {0};

    for (size_t length = end - start; length >= INTERVAL_MIN || length == end - start;
         length /= 2) {
        size_t step = length / 2 > 0 ? length / 2 : 1;

        if (length < 2 * SIDE_MIN)
            break;
        for (size_t at = start;; at += step) {
            size_t first = at + length <= end ? at : end - length;
            best_split one = find_split(r, values, first, first + length);

            if (one.score > best.score)
                best = one;
            if (first + length >= end)
                break;
        }
    }
    return best;
}

static bool divide(ranking *r, pyro_change_list *out, const double *values, size_t start,
                   size_t end)
{
    best_split best = search(r, values, start, end);

    if (best.score <= THRESHOLD)
        return true;
    pyro_change_point point = {.index = best.index, .p = erfc(best.score / sqrt(2))};
    return pyro_change_list_insert(out, &point) && divide(r, out, values, start, best.index) &&
           divide(r, out, values, best.index, end);
}

int pyro_changes_ranks(pyro_change_list *out, const double *values, size_t count,
                       const pyro_change_options *options, pyro_error *error)
{
    ranking r = {.order = malloc((count + 1) * sizeof *r.order),
                 .ranks = malloc((count + 1) * sizeof *r.ranks)};
    bool enough = r.order && r.ranks;

    (void)options;
    if (enough && count >= 2 * SIDE_MIN)
        enough = divide(&r, out, values, 0, count);
    free(r.order);
    free(r.ranks);
    return enough ? PYRO_OK : pyro_fail_memory(error);
}
