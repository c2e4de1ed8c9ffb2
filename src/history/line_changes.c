/* Change points of stored lines: where, how large, of which class, and whether somebody knows. */
#include "history/history.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "base/sha256.h"
#include "bench/statistics/inference.h"
#include "bench/statistics/statistics.h"
#include "history/changes/changes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTS_MIN = 8, /* below this a line has no changes */
    SIDE_MAX = 80, /* points per side for the size of a change */
    NEIGHBOURS = 10 /* points per side that show which machine and method were in use */
};

/* Scatter must grow by this factor to be reported. */
#define NOISE_GROWTH 1.5

struct pyro_history_changes_store {
    pyro_history_changes changes;
    pyro_arena arena;
    size_t capacity;
};

const char *pyro_change_class_name(pyro_change_class kind)
{
    static const char *const names[] = {"regression", "improvement", "method changed",
                                        "machine changed", "noise grew"};

    return names[kind];
}

/* A level between two change points. */
typedef struct piece {
    size_t start, end;
} piece;

typedef struct detection {
    const pyro_history_line *line;
    double *values, *scratch;
    pyro_change_point *points;
    size_t point_count;
    struct pyro_history_changes_store *store;
    pyro_error *error;
} detection;

static piece piece_before(const detection *d, size_t i)
{
    return (piece){i == 0 ? 0 : d->points[i - 1].index, d->points[i].index};
}

static piece piece_after(const detection *d, size_t i)
{
    return (piece){d->points[i].index,
                   i + 1 < d->point_count ? d->points[i + 1].index : d->line->point_count};
}

static double median_of(detection *d, piece p)
{
    memcpy(d->scratch, d->values + p.start, (p.end - p.start) * sizeof *d->scratch);
    pyro_sort_samples(d->scratch, p.end - p.start);
    return pyro_sample_quantile(d->scratch, p.end - p.start, 0.5);
}

/* How well a split explains the points, as a logarithm of the likelihood. */
static void fill_likelihoods(detection *d, piece all, double *likelihoods, double factor)
{
    double total = 0, squares = 0, before = 0, n = (double)(all.end - all.start);

    for (size_t i = all.start; i < all.end; i++) {
        double value = d->values[i] - d->values[all.start];

        total += value;
        squares += value * value;
    }
    for (size_t i = all.start + 1; i < all.end; i++) {
        double left = (double)(i - all.start), right = n - left;

        before += d->values[i - 1] - d->values[all.start];
        double rest = squares - before * before / left -
                      (total - before) * (total - before) / right;
        likelihoods[i - all.start] = -n / 2 * log(fmax(rest, 1e-12 * squares + 1e-300)) /
                                     (factor * factor);
    }
}

/* The points that hold 95% of the probability around the most likely first one. */
static void find_range(detection *d, size_t i, pyro_history_change *change)
{
    piece all = {piece_before(d, i).start, piece_after(d, i).end};
    size_t at = d->points[i].index - all.start, count = all.end - all.start;
    double total = 0, mass = 1, *weights = d->scratch;
    double correlation = pyro_step_correlation(d->values + all.start, count, at);

    fill_likelihoods(d, all, weights, pyro_correlation_factor(correlation));
    double most = weights[at];
    for (size_t j = 1; j < count; j++) {
        weights[j] = exp(fmin(0, weights[j] - most));
        total += weights[j];
    }
    size_t low = at, high = at;
    while (mass < 0.95 * total && (low > 1 || high + 1 < count)) {
        double left = low > 1 ? weights[low - 1] : -1;
        double right = high + 1 < count ? weights[high + 1] : -1;

        mass += fmax(left, right);
        if (left >= right)
            low--;
        else
            high++;
    }
    change->low = all.start + low;
    change->high = all.start + high;
}

/* The nearest points of a piece to a change, as logarithms if that is possible. */
static size_t copy_side(const detection *d, double *out, piece p, bool at_end, bool logarithms)
{
    size_t count = p.end - p.start < SIDE_MAX ? p.end - p.start : SIDE_MAX;
    size_t first = at_end ? p.end - count : p.start;

    for (size_t i = 0; i < count; i++)
        out[i] = logarithms ? log(d->values[first + i]) : d->values[first + i];
    return count;
}

static bool all_positive(const detection *d, piece p)
{
    for (size_t i = p.start; i < p.end; i++)
        if (!(d->values[i] > 0))
            return false;
    return true;
}

static int find_size(detection *d, size_t i, pyro_history_change *change)
{
    piece before = piece_before(d, i), after = piece_after(d, i);
    bool logarithms = all_positive(d, before) && all_positive(d, after);
    double left[SIDE_MAX], right[SIDE_MAX], shift;
    size_t left_count = copy_side(d, left, before, true, logarithms);
    size_t right_count = copy_side(d, right, after, false, logarithms);
    pyro_interval interval;
    int status = pyro_hodges_lehmann(&shift, &interval, left, left_count, right, right_count, 0.95,
                                     d->error);

    change->before = median_of(d, before);
    change->after = median_of(d, after);
    if (status != PYRO_OK)
        return status;
    /* Correlated neighbours know less than they are many. */
    double factor = pyro_correlation_factor(pyro_step_correlation(
        d->values + before.start, after.end - before.start, before.end - before.start));
    double low = shift + factor * (interval.low - shift);
    double high = shift + factor * (interval.high - shift);
    double level = fabs(change->before);
    change->change = logarithms ? expm1(shift) : shift / level;
    change->interval = (pyro_interval){logarithms ? expm1(low) : low / level,
                                       logarithms ? expm1(high) : high / level, 0.95};
    return PYRO_OK;
}

typedef const char *label_of(const pyro_history_point *point);

static const char *fingerprint_of(const pyro_history_point *point)
{
    return point->fingerprint;
}

static const char *class_of(const pyro_history_point *point)
{
    return point->machine_class;
}

static const char *method_of(const pyro_history_point *point)
{
    return point->method;
}

/* True if no label in use before the change is in use after it. Equal texts are one pointer. */
static bool is_replaced(const detection *d, size_t i, label_of *label)
{
    piece before = piece_before(d, i), after = piece_after(d, i);
    size_t first = before.end - before.start > NEIGHBOURS ? before.end - NEIGHBOURS : before.start;
    size_t last = after.end - after.start > NEIGHBOURS ? after.start + NEIGHBOURS : after.end;

    for (size_t a = first; a < before.end; a++)
        for (size_t b = after.start; b < last; b++)
            if (strcmp(label(&d->line->points[a]), label(&d->line->points[b])) == 0)
                return false;
    return true;
}

static pyro_change_class classify(const detection *d, size_t i, const pyro_history_change *change)
{
    if (is_replaced(d, i, fingerprint_of) || is_replaced(d, i, class_of))
        return PYRO_CHANGE_MACHINE;
    if (is_replaced(d, i, method_of))
        return PYRO_CHANGE_METHOD;
    return (change->after > change->before) == d->line->higher_is_better ? PYRO_CHANGE_IMPROVEMENT
                                                                         : PYRO_CHANGE_REGRESSION;
}

/* By line and commit, so that later results do not change it. */
static void set_id(pyro_history_change *change)
{
    const pyro_history_line *line = change->line;
    const pyro_history_point *point = &line->points[change->index];
    const char *texts[] = {line->project, line->benchmark,     line->metric,
                           line->unit,    line->machine_class, point->commit};
    char hex[PYRO_SHA256_HEX];
    pyro_sha256 hash;

    pyro_sha256_init(&hash);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        pyro_sha256_add(&hash, texts[i], strlen(texts[i]) + 1);
    if (point->commit[0] == '\0')
        pyro_sha256_add(&hash, &point->time_ns, sizeof point->time_ns);
    pyro_sha256_add(&hash, &change->kind, change->kind == PYRO_CHANGE_NOISE ? 1 : 0);
    pyro_sha256_finish(&hash, hex);
    memcpy(change->id, hex, sizeof change->id - 1);
    change->id[sizeof change->id - 1] = '\0';
}

static int add_change(detection *d, pyro_history_change *change)
{
    pyro_history_changes *changes = &d->store->changes;

    set_id(change);
    if (!pyro_grow(&changes->changes, &d->store->capacity, changes->change_count + 1,
                   sizeof *changes->changes))
        return pyro_fail_memory(d->error);
    changes->changes[changes->change_count++] = *change;
    return PYRO_OK;
}

/* Distances from the level of their piece, as shares of it. */
static void fill_residuals(detection *d, double *residuals)
{
    for (size_t i = 0; i <= d->point_count; i++) {
        piece p = {i == 0 ? 0 : d->points[i - 1].index,
                   i == d->point_count ? d->line->point_count : d->points[i].index};
        double level = median_of(d, p);

        for (size_t j = p.start; j < p.end; j++)
            residuals[j] = level != 0 ? fabs(d->values[j] / level - 1) : 0;
    }
}

static double scatter_of(const double *residuals, double *scratch, size_t start, size_t end)
{
    memcpy(scratch, residuals + start, (end - start) * sizeof *scratch);
    pyro_sort_samples(scratch, end - start);
    return 1.4826 * pyro_sample_quantile(scratch, end - start, 0.5);
}

/* Reports where the scatter around the levels grows; it needs no change of the level. */
static int find_noise(detection *d)
{
    size_t count = d->line->point_count;
    double *residuals = malloc(count * sizeof *residuals);
    static const pyro_change_options options = {0};
    pyro_change_list found = {0};
    int status = residuals ? PYRO_OK : pyro_fail_memory(d->error);

    if (status == PYRO_OK) {
        fill_residuals(d, residuals);
        status = pyro_changes_ranks(&found, residuals, count, &options, d->error);
    }
    for (size_t i = 0; i < found.count && status == PYRO_OK; i++) {
        size_t start = i == 0 ? 0 : found.items[i - 1].index, at = found.items[i].index;
        size_t end = i + 1 < found.count ? found.items[i + 1].index : count;
        double before = scatter_of(residuals, d->scratch, start, at);
        double after = scatter_of(residuals, d->scratch, at, end);

        if (after < NOISE_GROWTH * before || before <= 0)
            continue;
        pyro_history_change change = {.line = d->line,
                                      .index = at,
                                      .low = at > start + 3 ? at - 3 : start + 1,
                                      .high = at + 3 < end ? at + 3 : end - 1,
                                      .kind = PYRO_CHANGE_NOISE,
                                      .before = before,
                                      .after = after,
                                      .change = after / before - 1,
                                      .interval = {NAN, NAN, 0.95},
                                      .p = found.items[i].p,
                                      .votes = 1u << PYRO_CHANGES_RANKS};
        status = add_change(d, &change);
    }
    free(found.items);
    free(residuals);
    return status;
}

static int detect(detection *d, const pyro_change_options *options)
{
    pyro_change_options all = *options;
    int status;

    /* Small changes are levels too: without them the next one would look like noise. */
    all.min_change = 0;
    status = pyro_find_changes(&d->points, &d->point_count, d->values, d->line->point_count,
                               PYRO_CHANGES_VOTE, &all, d->error);

    for (size_t i = 0; i < d->point_count && status == PYRO_OK; i++) {
        pyro_history_change change = {.line = d->line,
                                      .index = d->points[i].index,
                                      .p = d->points[i].p,
                                      .votes = d->points[i].votes};

        find_range(d, i, &change);
        status = find_size(d, i, &change);
        change.kind = classify(d, i, &change);
        if (status == PYRO_OK && !(fabs(change.change) < options->min_change))
            status = add_change(d, &change);
    }
    if (status == PYRO_OK)
        status = find_noise(d);
    free(d->points);
    d->points = NULL;
    d->point_count = 0;
    return status;
}

static int detect_line(struct pyro_history_changes_store *store, const pyro_history_line *line,
                       const pyro_change_options *options, pyro_error *error)
{
    size_t count = line->point_count;
    detection d = {.line = line,
                   .values = malloc((count + 1) * sizeof(double)),
                   .scratch = malloc((count + 1) * sizeof(double)),
                   .store = store,
                   .error = error};
    int status = d.values && d.scratch ? PYRO_OK : pyro_fail_memory(error);

    for (size_t i = 0; status == PYRO_OK && i < count; i++)
        d.values[i] = line->points[i].value;
    if (status == PYRO_OK)
        status = detect(&d, options);
    free(d.values);
    free(d.scratch);
    return status;
}

typedef struct acknowledging {
    struct pyro_history_changes_store *store;
    size_t first; /* changes of this line */
} acknowledging;

static int take_acknowledgement(void *user, const pyro_sql_value *cells, size_t count,
                                pyro_error *error)
{
    const acknowledging *a = user;
    pyro_history_changes *changes = &a->store->changes;
    const char *commit = pyro_sql_get_text(&cells[0]), *note = pyro_sql_get_text(&cells[1]);

    (void)count;
    for (size_t i = a->first; i < changes->change_count; i++) {
        pyro_history_change *change = &changes->changes[i];

        for (size_t j = change->low; j <= change->high && !change->acknowledged; j++)
            if (strcmp(change->line->points[j].commit, commit) == 0) {
                change->acknowledged = true;
                change->note = pyro_arena_text(&a->store->arena, note, strlen(note));
                if (!change->note)
                    return pyro_fail_memory(error);
            }
    }
    return PYRO_OK;
}

/* Throughput follows from latency: its changes are the same ones. */
static bool is_derived(const pyro_history_lines *lines, const pyro_history_line *line)
{
    if (strcmp(line->metric, "throughput") != 0)
        return false;
    for (size_t i = 0; i < lines->line_count; i++) {
        const pyro_history_line *other = &lines->lines[i];

        if (strcmp(other->metric, "latency") == 0 && other->benchmark == line->benchmark &&
            other->project == line->project && other->machine_class == line->machine_class)
            return true;
    }
    return false;
}

int pyro_history_find_changes(pyro_history_changes **out, pyro_history *history,
                              const pyro_history_lines *lines, const pyro_change_options *options,
                              pyro_error *error)
{
    struct pyro_history_changes_store *store = calloc(1, sizeof *store);
    int status = store ? PYRO_OK : pyro_fail_memory(error);

    *out = NULL;
    if (!store)
        return status;
    pyro_arena_init(&store->arena);
    store->changes.store = store;
    for (size_t i = 0; i < lines->line_count && status == PYRO_OK; i++) {
        const pyro_history_line *line = &lines->lines[i];
        acknowledging a = {store, store->changes.change_count};
        pyro_sql_value parameters[] = {pyro_sql_integer(line->series)};

        if (line->point_count < POINTS_MIN || is_derived(lines, line))
            continue;
        status = detect_line(store, line, options, error);
        if (status == PYRO_OK && store->changes.change_count > a.first)
            status = pyro_database_run(
                history->database, "SELECT commit_id, note FROM acknowledgements WHERE series = $1",
                parameters, 1, take_acknowledgement, &a, error);
    }
    if (status == PYRO_OK)
        *out = &store->changes;
    else
        pyro_history_changes_free(&store->changes);
    return status;
}

void pyro_history_changes_free(pyro_history_changes *changes)
{
    if (!changes)
        return;
    struct pyro_history_changes_store *store = changes->store;

    free(changes->changes);
    pyro_arena_free(&store->arena);
    free(store);
}

int pyro_history_acknowledge(pyro_history *history, const pyro_history_change *change,
                             const char *note, pyro_error *error)
{
    const char *commit = change->line->points[change->index].commit;
    pyro_sql_value parameters[] = {pyro_sql_integer(change->line->series), pyro_sql_text(commit),
                                   pyro_sql_text(note ? note : ""),
                                   pyro_sql_integer(pyro_history_now_ns())};

    if (commit[0] == '\0')
        return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                         "the results of this change have no commit to remember it by");
    int status = pyro_database_begin(history->database, error);
    if (status != PYRO_OK)
        return status;
    status = pyro_database_run(history->database,
                               "DELETE FROM acknowledgements WHERE series = $1 AND commit_id = $2",
                               parameters, 2, NULL, NULL, error);
    if (status == PYRO_OK)
        status = pyro_database_run(history->database,
                                   "INSERT INTO acknowledgements (series, commit_id, note, "
                                   "added_ns) VALUES ($1, $2, $3, $4)",
                                   parameters, 4, NULL, NULL, error);
    return pyro_database_end(history->database, status, error);
}
