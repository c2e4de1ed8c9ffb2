/* Opens a history and stores runs in it. */
#include "history/history.h"

#include "base/error.h"
#include "base/file.h"
#include "history/database/location.h"
#include "history/run.h"
#include "history/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RUNS_PER_TRANSACTION = 1000 };

int pyro_history_default_path(char **out, const char *name, pyro_error *error)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length;

    *out = NULL;
    /* The standard says to ignore a relative path here. */
    if (data && data[0] == '/')
        length = asprintf(out, "%s/pyrometer/%s", data, name);
    else if (home && home[0] == '/')
        length = asprintf(out, "%s/.local/share/pyrometer/%s", home, name);
    else
        return pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                         "no folder for the history: set HOME to an absolute path, or name a file");
    if (length >= 0)
        return PYRO_OK;
    *out = NULL;
    return pyro_fail_memory(error);
}

int64_t pyro_history_now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The folder of the default file may be missing; that of a file that the user names may not. */
static int make_default_folder(const char *path, pyro_error *error)
{
    char *folder = strdup(path);

    if (!folder)
        return pyro_fail_memory(error);
    *strrchr(folder, '/') = '\0';
    int status = pyro_file_make_folder(folder, error);
    free(folder);
    return status;
}

static int open_database(pyro_history *history, const char *location, bool read_only,
                         pyro_error *error)
{
    if (read_only && !pyro_location_is_server(location) && access(location, F_OK) != 0)
        return pyro_fail(error, PYRO_ERROR_NOT_FOUND,
                         "%.300s: no history here; pyrometer history add makes one", location);
    bool is_older = false;
    int status = pyro_database_open(&history->database, location, read_only, error);

    if (status == PYRO_OK && read_only)
        status = pyro_schema_is_older(history->database, &is_older, error);
    if (status == PYRO_OK && is_older) {
        pyro_database_close(history->database);
        history->database = NULL;
        status = pyro_database_open(&history->database, location, false, error);
    }
    return status == PYRO_OK ? pyro_schema_prepare(history->database, error) : status;
}

int pyro_history_open(pyro_history **out, const char *location, bool read_only, pyro_error *error)
{
    pyro_history *history = calloc(1, sizeof *history);
    char *chosen = NULL;
    int status = history ? PYRO_OK : pyro_fail_memory(error);

    *out = NULL;
    if (status == PYRO_OK && !location) {
        status = pyro_history_default_path(&chosen, "history.db", error);
        if (status == PYRO_OK && !read_only)
            status = make_default_folder(chosen, error);
        location = chosen;
    }
    if (status == PYRO_OK)
        status = open_database(history, location, read_only, error);
    free(chosen);
    if (status == PYRO_OK)
        *out = history;
    else
        pyro_history_close(history);
    return status;
}

void pyro_history_close(pyro_history *history)
{
    if (!history)
        return;
    pyro_database_close(history->database);
    free(history);
}

const char *pyro_history_name(const pyro_history *history)
{
    return history->database->name;
}

/* A row's number: found by `select`, or after `insert`, which takes the same parameters first. */
static int find_or_insert(pyro_database *database, const char *select, size_t select_count,
                          const char *insert, const pyro_sql_value *parameters, size_t count,
                          int64_t *id, pyro_error *error)
{
    bool found;
    int status = pyro_database_integer(database, select, parameters, select_count, id, &found,
                                       error);

    if (status != PYRO_OK || found)
        return status;
    status = pyro_database_run(database, insert, parameters, count, NULL, NULL, error);
    if (status == PYRO_OK)
        status = pyro_database_integer(database, select, parameters, select_count, id, &found,
                                       error);
    if (status == PYRO_OK && !found)
        status = pyro_fail(error, PYRO_ERROR_IO, "%.300s: a new row is missing", database->name);
    return status;
}

static int store_samples(pyro_database *database, int64_t series, int64_t run,
                         const pyro_run_metric *metric, pyro_error *error)
{
    pyro_sql_value parameters[] = {
        pyro_sql_integer(series), pyro_sql_integer(run),
        pyro_sql_bytes(metric->samples, metric->count * sizeof *metric->samples)};

    if (!metric->samples)
        return PYRO_OK;
    return pyro_database_run(database,
                             "INSERT INTO samples (series, run, sample_values) VALUES ($1, $2, $3) "
                             "ON CONFLICT DO NOTHING",
                             parameters, 3, NULL, NULL, error);
}

static int find_series(pyro_database *database, const pyro_run *run, const pyro_run_metric *metric,
                       int64_t *series, pyro_error *error)
{
    pyro_sql_value parameters[] = {
        pyro_sql_text(run->project),       pyro_sql_text(metric->benchmark),
        pyro_sql_text(metric->metric),     pyro_sql_text(metric->unit),
        pyro_sql_text(run->machine_class), pyro_sql_integer(metric->higher_is_better)};

    return find_or_insert(
        database,
        "SELECT id FROM series WHERE project = $1 AND benchmark = $2 AND "
        "metric = $3 AND unit = $4 AND machine_class = $5",
        5,
        "INSERT INTO series (project, benchmark, metric, unit, machine_class, "
        "higher_is_better) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        parameters, 6, series, error);
}

static int store_metric(pyro_database *database, const pyro_run *run, int64_t run_id,
                        const pyro_run_metric *metric, pyro_error *error)
{
    pyro_sql_value method_text[] = {pyro_sql_text(metric->method)};
    pyro_run_statistics of;
    int64_t series = 0, method = 0;
    int status = find_series(database, run, metric, &series, error);

    if (status == PYRO_OK)
        status = find_or_insert(
            database, "SELECT id FROM methods WHERE description = $1", 1,
            "INSERT INTO methods (description) VALUES ($1) ON CONFLICT DO NOTHING", method_text, 1,
            &method, error);
    if (status == PYRO_OK)
        status = pyro_run_summarize(&of, metric, error);
    if (status != PYRO_OK)
        return status;
    pyro_sql_value parameters[] = {pyro_sql_integer(series),  pyro_sql_integer(run_id),
                                   pyro_sql_integer(method),  pyro_sql_integer((int64_t)of.count),
                                   pyro_sql_real(of.mean),    pyro_sql_real(of.median),
                                   pyro_sql_real(of.stddev),  pyro_sql_real(of.lowest),
                                   pyro_sql_real(of.highest), pyro_sql_real(of.p95),
                                   pyro_sql_real(of.p99)};
    status = pyro_database_run(
        database,
        "INSERT INTO points (series, run, method, sample_count, mean, median, stddev, lowest, "
        "highest, p95, p99) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) "
        "ON CONFLICT DO NOTHING",
        parameters, 11, NULL, NULL, error);
    return status == PYRO_OK ? store_samples(database, series, run_id, metric, error) : status;
}

static int find_machine(pyro_database *database, const pyro_run *run, int64_t *machine,
                        pyro_error *error)
{
    pyro_sql_value parameters[] = {pyro_sql_text(run->machine_class),
                                   pyro_sql_text(run->fingerprint), pyro_sql_text(run->machine)};

    return find_or_insert(
        database, "SELECT id FROM machines WHERE class = $1 AND fingerprint = $2", 2,
        "INSERT INTO machines (class, fingerprint, description) VALUES ($1, $2, $3) "
        "ON CONFLICT DO NOTHING",
        parameters, 3, machine, error);
}

/* Inside a transaction. */
static int store_run(pyro_database *database, const pyro_run *run, bool *is_new, pyro_error *error)
{
    char key[PYRO_SHA256_HEX];
    int64_t machine = 0, run_id = 0, now_ns = pyro_history_now_ns();
    int64_t time_ns = run->time_ns != 0 ? run->time_ns : run->file_time_ns;
    bool found;

    pyro_run_key(run, key);
    *is_new = false;
    int status = find_machine(database, run, &machine, error);
    if (status != PYRO_OK)
        return status;
    pyro_sql_value parameters[] = {
        pyro_sql_text(key),          pyro_sql_text(run->kind),
        pyro_sql_text(run->project), pyro_sql_text(run->commit),
        pyro_sql_text(run->branch),  pyro_sql_integer(time_ns != 0 ? time_ns : now_ns),
        pyro_sql_integer(now_ns),    pyro_sql_integer(machine),
        pyro_sql_text(run->tool),    pyro_sql_text(run->tags)};
    status = pyro_database_run(
        database,
        "INSERT INTO runs (content_key, kind, project, commit_id, branch, time_ns, added_ns, "
        "machine, tool, tags) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
        "ON CONFLICT DO NOTHING",
        parameters, 10, NULL, NULL, error);
    if (status != PYRO_OK || database->changed == 0)
        return status;
    status = pyro_database_integer(database, "SELECT id FROM runs WHERE content_key = $1",
                                   parameters, 1, &run_id, &found, error);
    for (size_t i = 0; i < run->metric_count && status == PYRO_OK; i++)
        status = store_metric(database, run, run_id, &run->metrics[i], error);
    *is_new = status == PYRO_OK;
    return status;
}

int pyro_history_add(pyro_history *history, const pyro_run *run, bool *is_new, pyro_error *error)
{
    bool stored = false;
    int status = pyro_database_begin(history->database, error);

    *is_new = false;
    if (status != PYRO_OK)
        return status;
    status = pyro_database_end(history->database, store_run(history->database, run, &stored, error),
                               error);
    *is_new = status == PYRO_OK && stored;
    return status;
}

int pyro_history_add_all(pyro_history *history, const pyro_runs *runs, size_t *added,
                         pyro_error *error)
{
    int status = PYRO_OK;

    *added = 0;
    for (size_t i = 0; i < runs->count && status == PYRO_OK;) {
        size_t end = i + RUNS_PER_TRANSACTION < runs->count ? i + RUNS_PER_TRANSACTION
                                                            : runs->count;
        size_t stored = 0;

        status = pyro_database_begin(history->database, error);
        if (status != PYRO_OK)
            break;
        for (; i < end && status == PYRO_OK; i++) {
            bool is_new;

            status = store_run(history->database, runs->items[i], &is_new, error);
            stored += is_new;
        }
        status = pyro_database_end(history->database, status, error);
        *added += status == PYRO_OK ? stored : 0;
    }
    return status;
}
