/*
 * E-divisive with Student's test in sliding windows, as Apache Otava 0.8.0 does it. Sums are added
 * up in the order of NumPy, so that ties between candidates break alike.
 */
#include "history/changes/changes.h"

#include "base/containers/buf.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 50, WINDOW_MAX = 2000 };

/* NumPy's pairwise sum. */
static double pairwise_sum(const double *a, size_t n)
{
    enum { LANES = 8, BLOCK = 128 };
    double sum = 0, lanes[LANES];
    size_t i;

    if (n < LANES) {
        for (i = 0; i < n; i++)
            sum += a[i];
        return sum;
    }
    if (n > BLOCK) {
        size_t half = n / 2 - n / 2 % LANES;

        return pairwise_sum(a, half) + pairwise_sum(a + half, n - half);
    }
    memcpy(lanes, a, sizeof lanes);
    for (i = LANES; i < n - n % LANES; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += a[i + lane];
    sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
          ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; i < n; i++)
        sum += a[i];
    return sum;
}

/* The sum of squared distances from the mean in the same order, without a copy of the values. */
static double pairwise_squares(const double *a, size_t n, double mean)
{
    enum { CHUNK = 128 };
    double squares[CHUNK];

    if (n > CHUNK) {
        size_t half = n / 2 - n / 2 % 8;

        return pairwise_squares(a, half, mean) + pairwise_squares(a + half, n - half, mean);
    }
    for (size_t i = 0; i < n; i++)
        squares[i] = (a[i] - mean) * (a[i] - mean);
    return pairwise_sum(squares, n);
}

pyro_change_point pyro_change_compare(const double *values, size_t start, size_t split, size_t end)
{
    double left = (double)(split - start), right = (double)(end - split);
    pyro_change_point point = {.index = split, .p = 1};

    point.mean_before = pairwise_sum(values + start, split - start) / left;
    point.mean_after = pairwise_sum(values + split, end - split) / right;
    if (left >= 2)
        point.stddev_before = sqrt(
            pairwise_squares(values + start, split - start, point.mean_before) / left);
    if (right >= 2)
        point.stddev_after = sqrt(pairwise_squares(values + split, end - split, point.mean_after) /
                                  right);
    if (left + right <= 2)
        return point;
    double degrees = left + right - 2;
    double variance = ((left - 1) * (point.stddev_before * point.stddev_before) +
                       (right - 1) * (point.stddev_after * point.stddev_after)) /
                      degrees;
    double deviation = sqrt(variance * (1.0 / left + 1.0 / right));
    point.p = pyro_student_p((point.mean_before - point.mean_after) / deviation, degrees);
    return point;
}

/* The distances between all values of a window, and sums of them. */
typedef struct window {
    const double *values;
    size_t size;
    double *distances; /* size x size */
    double *columns; /* [j]: sum of distances from values 0 .. j to value j + 1 */
    double *rows; /* [i][j]: sum of distances from value i to values i + 1 .. j + 1 */
    double *scratch; /* sums of columns, and of rows from above and from below */
} window;

static size_t stride(const window *w)
{
    return w->size - 1;
}

static void measure(window *w, const double *values, size_t size)
{
    w->values = values;
    w->size = size;
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++)
            w->distances[i * size + j] = fabs(values[i] - values[j]);
    for (size_t j = 0; j + 1 < size; j++) {
        w->columns[j] = 0;
        for (size_t i = 0; i <= j; i++)
            w->columns[j] += w->distances[i * size + j + 1];
    }
    for (size_t i = 0; i + 1 < size; i++) {
        double sum = 0;

        for (size_t j = 0; j + 1 < size; j++) {
            if (j >= i)
                sum += w->distances[i * size + j + 1];
            w->rows[i * stride(w) + j] = sum;
        }
    }
}

typedef struct candidate {
    size_t index;
    double q;
    bool found;
} candidate;

/* Sums of columns without the values before `start`; of rows from above, and from below. */
static void add_up(window *w, size_t start, size_t count, double *columns, double *above,
                   double *below)
{
    double sum = 0;

    for (size_t j = 0; j < count; j++) {
        double before = 0;

        for (size_t i = 0; i < start; i++)
            before += w->distances[i * w->size + start + 1 + j];
        sum += w->columns[start + j] - before;
        columns[j] = sum;
    }
    for (size_t j = 0; j < count; j++) {
        sum = 0;
        for (size_t i = 0; i < count; i++) {
            sum += w->rows[(start + i) * stride(w) + start + j];
            above[i * count + j] = sum;
        }
        sum = 0;
        for (size_t i = count; i-- > 0;) {
            below[i * count + j] = sum;
            sum += w->rows[(start + i) * stride(w) + start + j];
        }
    }
}

/* The split of values start .. end - 1 with the largest divergence, over all ends of the right side. */
static candidate find_candidate(window *w, size_t start, size_t end)
{
    size_t count = end - 1 - start;
    double *columns = w->scratch, *above = columns + w->size, *below = above + count * count;
    candidate best = {0};

    add_up(w, start, count, columns, above, below);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            double a = 0, b = 0, c = 0, ends = (double)(j + 2);

            /* Otava searches its whole matrix; below the diagonal it holds zeros. */
            if (j >= i)
                a = 2 / ends * (above[i * count + j] - (i > 0 ? columns[i - 1] : 0));
            if (j >= i && i > 0)
                b = 2 * (double)(j + 1 - i) / (ends * (double)i) * columns[i - 1];
            if (j > i)
                c = 2 * (double)(i + 1) / (ends * (double)(j - i)) * below[i * count + j];
            double q = a - b - c;
            if (!best.found || q > best.q)
                best = (candidate){i + 1 + start, q, true};
        }
    }
    return best;
}

bool pyro_change_list_insert(pyro_change_list *list, const pyro_change_point *point)
{
    size_t at = 0;

    while (at < list->count && list->items[at].index < point->index)
        at++;
    if (at < list->count && list->items[at].index == point->index)
        return true;
    if (!pyro_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        return false;
    memmove(list->items + at + 1, list->items + at, (list->count - at) * sizeof *list->items);
    list->items[at] = *point;
    list->count++;
    return true;
}

/* The piece between two change points that contains an index, or whose end it is. */
static pyro_change_point compare_at(const double *values, size_t count,
                                    const pyro_change_list *points, size_t index)
{
    size_t start = 0, end = count;

    for (size_t i = 0; i < points->count; i++) {
        if (points->items[i].index < index)
            start = points->items[i].index;
        if (points->items[i].index > index) {
            end = points->items[i].index;
            break;
        }
    }
    return pyro_change_compare(values, start, index, end);
}

/* Splits a window until the best candidate of all pieces is not significant. */
static bool split_window(window *w, double max_p, pyro_change_list *found)
{
    found->count = 0;
    for (;;) {
        candidate best = {0};

        for (size_t i = 0; i <= found->count; i++) {
            size_t start = i == 0 ? 0 : found->items[i - 1].index;
            size_t end = i == found->count ? w->size : found->items[i].index;

            if (end - start < 2)
                continue;
            candidate one = find_candidate(w, start, end);
            if (!best.found || one.q > best.q)
                best = one;
        }
        if (!best.found)
            return true;
        pyro_change_point point = compare_at(w->values, w->size, found, best.index);
        if (!(point.p <= max_p))
            return true;
        if (!pyro_change_list_insert(found, &point))
            return false;
    }
}

static double magnitude(const pyro_change_point *point)
{
    double forward = point->mean_before == 0 ? 0 : point->mean_after / point->mean_before - 1;
    double backward = point->mean_after == 0 ? 0 : point->mean_before / point->mean_after - 1;

    return fmax(fabs(forward), fabs(backward));
}

/* The index of the point to remove; the count if all points may stay. */
static size_t find_weakest(const pyro_change_list *points, double max_p, double min_magnitude)
{
    size_t weakest = 0, smallest = 0;

    for (size_t i = 1; i < points->count; i++) {
        if (points->items[i].p > points->items[weakest].p)
            weakest = i;
        if (magnitude(&points->items[i]) < magnitude(&points->items[smallest]))
            smallest = i;
    }
    if (!(points->items[weakest].p < max_p))
        return weakest;
    return magnitude(&points->items[smallest]) > min_magnitude ? points->count : smallest;
}

/* Removes the weakest points; like Otava, compares again the two points after a removed one. */
static void merge(pyro_change_list *points, const double *values, size_t count, double max_p,
                  double min_magnitude)
{
    while (points->count > 0) {
        size_t weakest = find_weakest(points, max_p, min_magnitude);

        if (weakest == points->count)
            return;
        points->count--;
        memmove(points->items + weakest, points->items + weakest + 1,
                (points->count - weakest) * sizeof *points->items);
        for (size_t i = weakest; i < points->count && i < weakest + 2; i++)
            points->items[i] = compare_at(values, count, points, points->items[i].index);
    }
}

static bool window_alloc(window *w, size_t size)
{
    w->distances = malloc(size * size * sizeof(double));
    w->columns = malloc(size * sizeof(double));
    w->rows = malloc(size * size * sizeof(double));
    w->scratch = malloc((2 * size * size + size) * sizeof(double));
    return w->distances && w->columns && w->rows && w->scratch;
}

static void window_free(window *w)
{
    free(w->distances);
    free(w->columns);
    free(w->rows);
    free(w->scratch);
}

/* Otava's first pass accepts weaker evidence. */
static double first_pass(double max_p)
{
    if (max_p < 0.05)
        return max_p * 10;
    return max_p < 0.5 ? max_p * 2 : max_p;
}

int pyro_changes_edivisive(pyro_change_list *out, const double *values, size_t count,
                           const pyro_change_options *options, pyro_error *error)
{
    size_t size = options->window > 0 ? options->window : WINDOW;
    double max_p = options->max_p > 0 ? options->max_p : 0.001;
    pyro_change_list found = {0};
    window w = {0};
    bool enough = true;

    if (size < 2 || size > WINDOW_MAX)
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the window must be 2 to %d points",
                         WINDOW_MAX);
    enough = window_alloc(&w, size);
    for (size_t start = 0; enough && start < count;) {
        size_t end = start + size < count ? start + size : count, last = 0;

        measure(&w, values + start, end - start);
        enough = split_window(&w, first_pass(max_p), &found);
        for (size_t i = 0; enough && i < found.count; i++) {
            found.items[i].index += start;
            last = found.items[i].index;
            enough = pyro_change_list_insert(out, &found.items[i]);
        }
        start = last > start + size / 2 ? last : start + size / 2;
    }
    for (size_t i = 0; enough && i < out->count; i++)
        out->items[i] = compare_at(values, count, out, out->items[i].index);
    merge(out, values, count, max_p, options->min_change);
    free(found.items);
    window_free(&w);
    return enough ? PYRO_OK : pyro_fail_memory(error);
}
