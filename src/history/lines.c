/* Reads lines and lists of runs from the database. */
#include "history/lines.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "history/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int pyro_lines_store_new(struct pyro_history_lines_store **out, pyro_error *error)
{
    struct pyro_history_lines_store *store = calloc(1, sizeof *store);

    *out = store;
    if (!store)
        return pyro_fail_memory(error);
    pyro_arena_init(&store->arena);
    pyro_intern_init(&store->texts, &store->arena);
    store->lines.store = store;
    store->list.store = store;
    return PYRO_OK;
}

void pyro_lines_store_free(struct pyro_history_lines_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->lines.line_count; i++)
        free(store->lines.lines[i].points);
    free(store->lines.lines);
    free(store->list.runs);
    pyro_intern_free(&store->texts);
    pyro_arena_free(&store->arena);
    free(store);
}

const char *pyro_lines_text(struct pyro_history_lines_store *store, const char *text)
{
    uint32_t id = pyro_intern_add(&store->texts, text, strlen(text));

    return id == PYRO_INTERN_NONE ? NULL : pyro_intern_text(&store->texts, id);
}

/* Machines and methods, which many points share. */
typedef struct shared_row {
    int64_t id;
    const char *texts[3];
} shared_row;

typedef struct shared_rows {
    struct pyro_history_lines_store *store;
    shared_row *rows; /* in order of their numbers */
    size_t count, capacity;
} shared_rows;

static int take_shared(void *user, const pyro_sql_value *cells, size_t count, pyro_error *error)
{
    shared_rows *shared = user;
    shared_row row = {.id = pyro_sql_get_integer(&cells[0])};

    for (size_t i = 1; i < count && i < 4; i++) {
        row.texts[i - 1] = pyro_lines_text(shared->store, pyro_sql_get_text(&cells[i]));
        if (!row.texts[i - 1])
            return pyro_fail_memory(error);
    }
    if (!pyro_grow(&shared->rows, &shared->capacity, shared->count + 1, sizeof *shared->rows))
        return pyro_fail_memory(error);
    shared->rows[shared->count++] = row;
    return PYRO_OK;
}

static const shared_row *find_shared(const shared_rows *shared, int64_t id)
{
    static const shared_row unknown = {0, {"", "", ""}};
    size_t low = 0, high = shared->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (shared->rows[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < shared->count && shared->rows[low].id == id ? &shared->rows[low] : &unknown;
}

/* What the row functions need while lines are read. */
typedef struct reading {
    struct pyro_history_lines_store *store;
    const pyro_history_query *query;
    shared_rows machines, methods;
    pyro_history_line *line;
    size_t point_capacity;
} reading;

static int take_series(void *user, const pyro_sql_value *cells, size_t count, pyro_error *error)
{
    reading *r = user;
    struct pyro_history_lines_store *store = r->store;
    const char *texts[5];

    (void)count;
    for (size_t i = 0; i < 5; i++) {
        texts[i] = pyro_lines_text(store, pyro_sql_get_text(&cells[i + 1]));
        if (!texts[i])
            return pyro_fail_memory(error);
    }
    if (!pyro_history_matches(r->query->project, texts[0]) ||
        !pyro_history_matches(r->query->benchmark, texts[1]) ||
        !pyro_history_is_model(r->query->model, texts[1]) ||
        !pyro_history_matches(r->query->metric, texts[2]) ||
        !pyro_history_matches(r->query->machine, texts[4]))
        return PYRO_OK;
    if (!pyro_grow(&store->lines.lines, &store->line_capacity, store->lines.line_count + 1,
                   sizeof *store->lines.lines))
        return pyro_fail_memory(error);
    store->lines.lines[store->lines.line_count++] = (pyro_history_line){
        .series = pyro_sql_get_integer(&cells[0]),
        .project = texts[0],
        .benchmark = texts[1],
        .metric = texts[2],
        .unit = texts[3],
        .machine_class = texts[4],
        .higher_is_better = pyro_sql_get_integer(&cells[6]) != 0,
    };
    return PYRO_OK;
}

static double choose_statistic(const pyro_history_point *point, pyro_statistic_kind statistic)
{
    const double values[] = {point->median, point->mean, point->lowest, point->p95, point->p99};

    return isnan(values[statistic]) ? point->median : values[statistic];
}

static bool is_wanted(const pyro_history_query *query, const pyro_history_point *point)
{
    return (query->run == 0 || query->run == point->run) &&
           pyro_history_matches(query->branch, point->branch) &&
           pyro_history_is_commit(query->commit, point->commit) &&
           pyro_history_has_tags(query, point->tags) && point->time_ns >= query->since_ns &&
           (query->until_ns == 0 || point->time_ns <= query->until_ns);
}

/* A run without some of its metrics is not what its key stands for. */
static bool reads_whole_runs(const pyro_history_query *query)
{
    return query->with_samples && !query->benchmark && !query->model && !query->metric;
}

static bool read_labels(reading *r, pyro_history_point *point, const pyro_sql_value *cells)
{
    const char **members[] = {&point->commit, &point->branch, &point->tags, &point->tool,
                              &point->kind};
    const shared_row *machine = find_shared(&r->machines, pyro_sql_get_integer(&cells[8]));

    for (size_t i = 0; i < 5; i++) {
        *members[i] = pyro_lines_text(r->store, pyro_sql_get_text(&cells[i + 1]));
        if (!*members[i])
            return false;
    }
    point->machine_class = machine->texts[0];
    point->fingerprint = machine->texts[1];
    point->machine = machine->texts[2];
    point->method = find_shared(&r->methods, pyro_sql_get_integer(&cells[9]))->texts[0];
    if (!reads_whole_runs(r->query))
        return true;
    point->key = pyro_lines_text(r->store, pyro_sql_get_text(&cells[18]));
    return point->key;
}

static int take_point(void *user, const pyro_sql_value *cells, size_t count, pyro_error *error)
{
    reading *r = user;
    pyro_history_point point = {.run = pyro_sql_get_integer(&cells[0]),
                                .time_ns = pyro_sql_get_integer(&cells[6]),
                                .added_ns = pyro_sql_get_integer(&cells[7]),
                                .count = (size_t)pyro_sql_get_integer(&cells[10]),
                                .mean = pyro_sql_get_real(&cells[11]),
                                .median = pyro_sql_get_real(&cells[12]),
                                .stddev = pyro_sql_get_real(&cells[13]),
                                .lowest = pyro_sql_get_real(&cells[14]),
                                .highest = pyro_sql_get_real(&cells[15]),
                                .p95 = pyro_sql_get_real(&cells[16]),
                                .p99 = pyro_sql_get_real(&cells[17])};

    (void)count;
    if (!read_labels(r, &point, cells))
        return pyro_fail_memory(error);
    point.value = choose_statistic(&point, r->query->statistic);
    if (!is_wanted(r->query, &point) || !isfinite(point.value))
        return PYRO_OK;
    if (!pyro_grow(&r->line->points, &r->point_capacity, r->line->point_count + 1,
                   sizeof *r->line->points))
        return pyro_fail_memory(error);
    r->line->points[r->line->point_count++] = point;
    return PYRO_OK;
}

/* Rows come in the order of the points, which are in the order of their runs. */
static int take_samples(void *user, const pyro_sql_value *cells, size_t count, pyro_error *error)
{
    reading *r = user;
    int64_t run = pyro_sql_get_integer(&cells[0]);
    size_t low = 0, high = r->line->point_count;

    (void)count;
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (r->line->points[middle].run < run)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= r->line->point_count || r->line->points[low].run != run)
        return PYRO_OK;
    pyro_history_point *point = &r->line->points[low];
    double *samples = pyro_arena_array(&r->store->arena, cells[1].size / sizeof(double) + 1,
                                       sizeof *samples);
    if (!samples)
        return pyro_fail_memory(error);
    point->sample_count = cells[1].size / sizeof(double);
    memcpy(samples, cells[1].text, point->sample_count * sizeof *samples);
    point->samples = samples;
    return PYRO_OK;
}

/* In the order that take_point() expects. */
#define POINT_COLUMNS \
    "r.id, r.commit_id, r.branch, r.tags, r.tool, r.kind, r.time_ns, r.added_ns, r.machine, " \
    "p.method, p.sample_count, p.mean, p.median, p.stddev, p.lowest, p.highest, p.p95, p.p99"
#define POINT_ROWS " FROM points p JOIN runs r ON r.id = p.run WHERE p.series = $1 ORDER BY p.run"

static int read_points(reading *r, pyro_database *database, pyro_error *error)
{
    pyro_sql_value parameters[] = {pyro_sql_integer(r->line->series)};
    const char *sql = reads_whole_runs(r->query) ? "SELECT " POINT_COLUMNS
                                                   ", r.content_key" POINT_ROWS
                                                 : "SELECT " POINT_COLUMNS POINT_ROWS;
    int status = pyro_database_run(database, sql, parameters, 1, take_point, r, error);

    if (status == PYRO_OK && r->query->with_samples)
        status = pyro_database_run(database,
                                   "SELECT run, sample_values FROM samples WHERE series = $1",
                                   parameters, 1, take_samples, r, error);
    return status;
}

static bool is_same_line(const pyro_history_line *a, const pyro_history_line *b)
{
    return a->project == b->project && a->benchmark == b->benchmark && a->metric == b->metric &&
           a->unit == b->unit;
}

/* Appends the points of lines that differ only in the class of machine to the first of them. */
static int join_machines(struct pyro_history_lines_store *store, pyro_error *error)
{
    pyro_history_lines *lines = &store->lines;
    size_t kept = 0;

    for (size_t i = 0; i < lines->line_count; i++) {
        pyro_history_line *line = &lines->lines[i], *first = &lines->lines[kept - (kept > 0)];

        if (kept == 0 || !is_same_line(first, line)) {
            lines->lines[kept++] = *line;
            continue;
        }
        size_t capacity = first->point_count;
        if (!pyro_grow(&first->points, &capacity, first->point_count + line->point_count,
                       sizeof *first->points)) {
            /* Everything from here on stays owned by the store. */
            memmove(&lines->lines[kept], line, (lines->line_count - i) * sizeof *line);
            lines->line_count = kept + lines->line_count - i;
            return pyro_fail_memory(error);
        }
        if (line->point_count > 0)
            memcpy(first->points + first->point_count, line->points,
                   line->point_count * sizeof *line->points);
        first->point_count += line->point_count;
        first->machine_class = "any";
        free(line->points);
    }
    lines->line_count = kept;
    return PYRO_OK;
}

static int read_shared(reading *r, pyro_database *database, pyro_error *error)
{
    r->machines.store = r->methods.store = r->store;
    int status = pyro_database_run(
        database, "SELECT id, class, fingerprint, description FROM machines ORDER BY id", NULL, 0,
        take_shared, &r->machines, error);

    return status == PYRO_OK
               ? pyro_database_run(database, "SELECT id, description FROM methods ORDER BY id",
                                   NULL, 0, take_shared, &r->methods, error)
               : status;
}

int pyro_history_read(pyro_history_lines **out, pyro_history *history,
                      const pyro_history_query *query, pyro_error *error)
{
    reading r = {.query = query};
    int status = pyro_lines_store_new(&r.store, error);

    *out = NULL;
    if (status == PYRO_OK)
        status = read_shared(&r, history->database, error);
    if (status == PYRO_OK)
        status = pyro_database_run(
            history->database,
            "SELECT id, project, benchmark, metric, unit, machine_class, higher_is_better "
            "FROM series ORDER BY project, benchmark, metric, unit, machine_class",
            NULL, 0, take_series, &r, error);
    for (size_t i = 0; status == PYRO_OK && i < r.store->lines.line_count; i++) {
        r.line = &r.store->lines.lines[i];
        r.point_capacity = 0;
        status = read_points(&r, history->database, error);
    }
    if (status == PYRO_OK && query->across_machines)
        status = join_machines(r.store, error);
    for (size_t i = 0; status == PYRO_OK && i < r.store->lines.line_count; i++)
        status = pyro_line_order(&r.store->lines.lines[i], query, error);
    free(r.machines.rows);
    free(r.methods.rows);
    if (status == PYRO_OK)
        *out = &r.store->lines;
    else
        pyro_lines_store_free(r.store);
    return status;
}

void pyro_history_lines_free(pyro_history_lines *lines)
{
    if (lines)
        pyro_lines_store_free(lines->store);
}
