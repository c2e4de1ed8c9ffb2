/* The vote: a change point counts if two of the three detectors find one near it. */
#include "history/changes/changes.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

enum { NEAR = 5, VOTERS = 3, VOTES_NEEDED = 2 };

/* What a step must be, in deviations of the difference of its levels, corrected for correlation. */
#define SCORE_MIN 2.5

static pyro_change_detector *const voters[VOTERS] = {
    [PYRO_CHANGES_EDIVISIVE] = pyro_changes_edivisive,
    [PYRO_CHANGES_BAYESIAN] = pyro_changes_bayesian,
    [PYRO_CHANGES_RANKS] = pyro_changes_ranks,
};

static bool is_near(size_t a, size_t b)
{
    return a > b ? a - b <= NEAR : b - a <= NEAR;
}

/* The voters that have a point near an index. */
static unsigned votes_at(const pyro_change_list *lists, size_t index)
{
    unsigned votes = 0;

    for (size_t v = 0; v < VOTERS; v++)
        for (size_t i = 0; i < lists[v].count; i++)
            if (is_near(lists[v].items[i].index, index))
                votes |= 1u << v;
    return votes;
}

static size_t count_votes(unsigned votes)
{
    return (size_t)__builtin_popcount(votes);
}

/* The split between two points whose levels leave the smallest squares. */
static size_t best_index(const double *values, size_t start, size_t end, size_t low, size_t high)
{
    double total = 0, before = 0, most = -1;
    size_t best = low;

    for (size_t i = start; i < end; i++)
        total += values[i];
    for (size_t i = start + 1; i <= high; i++) {
        double left = (double)(i - start), right = (double)(end - i);

        before += values[i - 1];
        if (i < low || i >= end)
            continue;
        double gap = before / left - (total - before) / right;
        double explained = gap * gap * left * right / (left + right);
        if (explained > most) {
            most = explained;
            best = i;
        }
    }
    return best;
}

/* Candidates with enough votes; of those near each other, the one with the most. */
static bool collect(pyro_change_list *out, const pyro_change_list *lists)
{
    for (size_t v = 0; v < VOTERS; v++)
        for (size_t i = 0; i < lists[v].count; i++) {
            pyro_change_point point = lists[v].items[i];
            bool is_taken = false;

            point.votes = votes_at(lists, point.index);
            if (count_votes(point.votes) < VOTES_NEEDED)
                continue;
            for (size_t j = 0; j < out->count && !is_taken; j++)
                if (is_near(out->items[j].index, point.index)) {
                    is_taken = true;
                    if (count_votes(point.votes) > count_votes(out->items[j].votes))
                        out->items[j] = point;
                }
            if (!is_taken && !pyro_change_list_insert(out, &point))
                return false;
        }
    return true;
}

static size_t start_of(const pyro_change_list *list, size_t i)
{
    return i == 0 ? 0 : list->items[i - 1].index;
}

static size_t end_of(const pyro_change_list *list, size_t i, size_t count)
{
    return i + 1 < list->count ? list->items[i + 1].index : count;
}

/* Moves each point to the split that explains most, and fills in the levels around it. */
static void settle(pyro_change_list *list, const double *values, size_t count)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t start = start_of(list, i), end = end_of(list, i, count);
        size_t at = list->items[i].index;
        size_t low = at > start + 1 + NEAR ? at - NEAR : start + 1;
        size_t high = at + NEAR < end - 1 ? at + NEAR : end - 1;
        unsigned votes = list->items[i].votes;

        list->items[i].index = best_index(values, start, end, low, high);
        list->items[i] = pyro_change_compare(values, start, list->items[i].index, end);
        list->items[i].votes = votes;
    }
}

/* The size of a step in deviations, as correlated neighbours allow. */
static double score_of(const pyro_change_list *list, size_t i, const double *values, size_t count)
{
    const pyro_change_point *point = &list->items[i];
    size_t start = start_of(list, i), end = end_of(list, i, count);
    double left = (double)(point->index - start), right = (double)(end - point->index);
    double pooled = sqrt((left * point->stddev_before * point->stddev_before +
                          right * point->stddev_after * point->stddev_after) /
                         (left + right));
    double correlation = pyro_step_correlation(values + start, end - start, point->index - start);

    return fabs(point->mean_after - point->mean_before) /
           (pooled * sqrt(1 / left + 1 / right) * pyro_correlation_factor(correlation));
}

static void remove_weak(pyro_change_list *list, const double *values, size_t count,
                        const pyro_change_options *options)
{
    for (;;) {
        size_t weakest = 0;
        double lowest = INFINITY;

        settle(list, values, count);
        for (size_t i = 0; i < list->count; i++) {
            const pyro_change_point *point = &list->items[i];
            double score = score_of(list, i, values, count);

            if (fabs(point->mean_after / point->mean_before - 1) < options->min_change)
                score = 0;
            if (score < lowest) {
                lowest = score;
                weakest = i;
            }
        }
        if (lowest >= SCORE_MIN)
            return;
        for (size_t i = weakest; i + 1 < list->count; i++)
            list->items[i] = list->items[i + 1];
        list->count--;
    }
}

int pyro_changes_vote(pyro_change_list *out, const double *values, size_t count,
                      const pyro_change_options *options, pyro_error *error)
{
    pyro_change_list lists[VOTERS] = {{0}};
    int status = PYRO_OK;

    for (size_t v = 0; v < VOTERS && status == PYRO_OK; v++)
        status = voters[v](&lists[v], values, count, options, error);
    if (status == PYRO_OK && !collect(out, lists))
        status = pyro_fail_memory(error);
    if (status == PYRO_OK)
        remove_weak(out, values, count, options);
    for (size_t v = 0; v < VOTERS; v++)
        free(lists[v].items);
    return status;
}

/* A copy in which NaN takes the value before it, or the first one. */
static int fill_missing(double **out, const double *values, size_t count, pyro_error *error)
{
    double *filled = malloc((count + 1) * sizeof *filled), last = NAN;

    *out = NULL;
    if (!filled)
        return pyro_fail_memory(error);
    for (size_t i = 0; i < count; i++)
        if (isinf(values[i])) {
            free(filled);
            return pyro_fail(error, PYRO_ERROR_ARGUMENT, "value %zu is infinite", i);
        }
    for (size_t i = 0; i < count; i++) {
        last = isnan(values[i]) ? last : values[i];
        filled[i] = last;
    }
    for (size_t i = count; i-- > 0;) {
        filled[i] = isnan(filled[i]) ? last : filled[i];
        last = filled[i];
    }
    if (count > 0 && isnan(filled[0])) {
        free(filled);
        return pyro_fail(error, PYRO_ERROR_ARGUMENT, "the series has no values");
    }
    *out = filled;
    return PYRO_OK;
}

int pyro_find_changes(pyro_change_point **out, size_t *count, const double *values,
                      size_t value_count, pyro_change_method method,
                      const pyro_change_options *options, pyro_error *error)
{
    static const pyro_change_options defaults = {0};
    pyro_change_list list = {0};
    double *filled;
    int status = fill_missing(&filled, values, value_count, error);

    *out = NULL;
    *count = 0;
    if (status != PYRO_OK)
        return status;
    status = (method == PYRO_CHANGES_VOTE ? pyro_changes_vote : voters[method])(
        &list, filled, value_count, options ? options : &defaults, error);
    free(filled);
    if (status != PYRO_OK) {
        free(list.items);
        return status;
    }
    *out = list.items;
    *count = list.count;
    return PYRO_OK;
}
