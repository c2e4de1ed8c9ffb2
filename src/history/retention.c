/* Removes old samples and results, and keeps one result per week of very old ones. */
#include "history/history.h"

#include "base/containers/buf.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define WEEK_NS (7 * 24 * 3600 * INT64_C(1000000000))

typedef struct old_point {
    int64_t series, run, time_ns;
    double median;
} old_point;

typedef struct old_points {
    old_point *items;
    size_t count, capacity;
} old_points;

static int take_point(void *user, const pyro_sql_value *cells, size_t count, pyro_error *error)
{
    old_points *points = user;

    (void)count;
    if (!pyro_grow(&points->items, &points->capacity, points->count + 1, sizeof *points->items))
        return pyro_fail_memory(error);
    points->items[points->count++] = (old_point){
        pyro_sql_get_integer(&cells[0]), pyro_sql_get_integer(&cells[1]),
        pyro_sql_get_integer(&cells[2]), pyro_sql_get_real(&cells[3])};
    return PYRO_OK;
}

static int compare_medians(const void *a, const void *b)
{
    const old_point *left = a, *right = b;

    if (left->median != right->median)
        return left->median < right->median ? -1 : 1;
    return left->run < right->run ? -1 : left->run > right->run;
}

static int remove_point(pyro_database *database, const old_point *point, pyro_error *error)
{
    pyro_sql_value parameters[] = {pyro_sql_integer(point->series), pyro_sql_integer(point->run)};
    int status = pyro_database_run(database, "DELETE FROM samples WHERE series = $1 AND run = $2",
                                   parameters, 2, NULL, NULL, error);

    return status == PYRO_OK
               ? pyro_database_run(database, "DELETE FROM points WHERE series = $1 AND run = $2",
                                   parameters, 2, NULL, NULL, error)
               : status;
}

/* Of the points of one line and week, keeps the one with the median value. */
static int roll_up(pyro_database *database, int64_t before_ns, int64_t *removed, pyro_error *error)
{
    pyro_sql_value parameters[] = {pyro_sql_integer(before_ns)};
    old_points points = {0};
    int status = pyro_database_run(
        database,
        "SELECT p.series, p.run, r.time_ns, p.median FROM points p JOIN runs r ON r.id = p.run "
        "WHERE r.time_ns < $1 ORDER BY p.series, r.time_ns, r.id",
        parameters, 1, take_point, &points, error);

    for (size_t i = 0, end; i < points.count && status == PYRO_OK; i = end) {
        const old_point *first = &points.items[i];

        for (end = i + 1; end < points.count && points.items[end].series == first->series &&
                          points.items[end].time_ns / WEEK_NS == first->time_ns / WEEK_NS;)
            end++;
        qsort(points.items + i, end - i, sizeof *points.items, compare_medians);
        for (size_t j = i; j < end && status == PYRO_OK; j++) {
            if (j == i + (end - i - 1) / 2)
                continue;
            status = remove_point(database, &points.items[j], error);
            *removed += status == PYRO_OK;
        }
    }
    free(points.items);
    return status;
}

static int remove_samples(pyro_database *database, int64_t before_ns, int64_t *removed,
                          pyro_error *error)
{
    pyro_sql_value parameters[] = {pyro_sql_integer(before_ns)};
    int status = pyro_database_run(
        database, "DELETE FROM samples WHERE run IN (SELECT id FROM runs WHERE time_ns < $1)",
        parameters, 1, NULL, NULL, error);

    *removed += database->changed;
    return status;
}

static int remove_points(pyro_database *database, int64_t before_ns, int64_t *removed,
                         pyro_error *error)
{
    pyro_sql_value parameters[] = {pyro_sql_integer(before_ns)};
    int64_t samples = 0;
    int status = remove_samples(database, before_ns, &samples, error);

    if (status == PYRO_OK)
        status = pyro_database_run(
            database, "DELETE FROM points WHERE run IN (SELECT id FROM runs WHERE time_ns < $1)",
            parameters, 1, NULL, NULL, error);
    *removed += status == PYRO_OK ? database->changed : 0;
    return status;
}

static int collect(pyro_database *database, const pyro_retention *retention,
                   pyro_retention_result *out, pyro_error *error)
{
    int64_t now_ns = retention->now_ns != 0 ? retention->now_ns : pyro_history_now_ns();
    int status = PYRO_OK;

    if (retention->all_ns > 0)
        status = remove_points(database, now_ns - retention->all_ns, &out->removed, error);
    if (status == PYRO_OK && retention->weekly_ns > 0)
        status = roll_up(database, now_ns - retention->weekly_ns, &out->rolled_up, error);
    if (status == PYRO_OK && retention->samples_ns > 0)
        status = remove_samples(database, now_ns - retention->samples_ns, &out->samples, error);
    if (status == PYRO_OK) {
        status = pyro_database_execute(
            database, "DELETE FROM runs WHERE id NOT IN (SELECT run FROM points)", error);
        out->runs = status == PYRO_OK ? database->changed : 0;
    }
    return status;
}

int pyro_history_collect(pyro_history *history, const pyro_retention *retention,
                         pyro_retention_result *out, pyro_error *error)
{
    int status = pyro_database_begin(history->database, error);

    *out = (pyro_retention_result){0};
    if (status != PYRO_OK)
        return status;
    status = collect(history->database, retention, out, error);
    if (status == PYRO_OK && retention->only_count)
        return pyro_database_execute(history->database, "ROLLBACK", error);
    status = pyro_database_end(history->database, status, error);
    /* Another program may be reading, or the disk may be full: the file stays as large as it is. */
    if (status == PYRO_OK && history->database->kind->compact)
        pyro_database_execute(history->database, history->database->kind->compact, NULL);
    return status;
}

int pyro_retention_parse(pyro_retention *out, const char *keep_samples, const char *keep_all,
                         const char *keep_weekly, pyro_error *error)
{
    *out = (pyro_retention){0};
    const struct {
        const char *option, *text;
        int64_t *target;
    } rows[] = {{"keep-samples", keep_samples ? keep_samples : "90d", &out->samples_ns},
                {"keep-all", keep_all ? keep_all : "1y", &out->weekly_ns},
                {"keep-weekly", keep_weekly ? keep_weekly : "forever", &out->all_ns}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].text, "forever") != 0 &&
            !pyro_duration_parse(rows[i].target, rows[i].text))
            return pyro_fail(error, PYRO_ERROR_ARGUMENT,
                             "--%s %.40s: expected a duration such as 90d, 12h or 2w",
                             rows[i].option, rows[i].text);
    return PYRO_OK;
}
