/* Lists the runs of a history, newest first. */
#include "history/lines.h"

#include "base/containers/buf.h"
#include "base/error.h"
#include "history/history.h"

#include <string.h>

typedef struct listing {
    struct pyro_history_lines_store *store;
    const pyro_history_query *query;
    size_t most;
} listing;

static bool is_wanted(const pyro_history_query *query, const pyro_history_run *run)
{
    return pyro_history_matches(query->project, run->project) &&
           pyro_history_matches(query->branch, run->branch) &&
           pyro_history_matches(query->machine, run->machine_class) &&
           pyro_history_is_commit(query->commit, run->commit) &&
           pyro_history_has_tags(query, run->tags) && run->time_ns >= query->since_ns &&
           (query->until_ns == 0 || run->time_ns <= query->until_ns);
}

static int take_run(void *user, const pyro_sql_value *cells, size_t count, pyro_error *error)
{
    listing *l = user;
    pyro_history_list *list = &l->store->list;
    pyro_history_run run = {.run = pyro_sql_get_integer(&cells[0]),
                            .time_ns = pyro_sql_get_integer(&cells[1]),
                            .added_ns = pyro_sql_get_integer(&cells[2]),
                            .benchmarks = ""};
    const char **members[] = {&run.kind,          &run.project, &run.commit,
                              &run.branch,        &run.tool,    &run.tags,
                              &run.machine_class, &run.machine, &run.fingerprint};

    (void)count;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        *members[i] = pyro_lines_text(l->store, pyro_sql_get_text(&cells[i + 3]));
        if (!*members[i])
            return pyro_fail_memory(error);
    }
    if (!is_wanted(l->query, &run))
        return PYRO_OK;
    if (!pyro_grow(&list->runs, &l->store->run_capacity, list->run_count + 1, sizeof *list->runs))
        return pyro_fail_memory(error);
    list->runs[list->run_count++] = run;
    /* With a filter by benchmark, any of the older runs may be among those asked for. */
    return l->most > 0 && !l->query->benchmark && list->run_count == l->most ? PYRO_SQL_STOP
                                                                             : PYRO_OK;
}

typedef struct benchmark_names {
    pyro_buf names;
    const char *pattern;
    bool matches;
    size_t metric_count;
    pyro_buf last;
} benchmark_names;

static int take_benchmark(void *user, const pyro_sql_value *cells, size_t count, pyro_error *error)
{
    benchmark_names *b = user;
    const char *name = pyro_sql_get_text(&cells[0]);

    (void)count;
    (void)error;
    b->metric_count++;
    if (b->last.data && b->last.length > 0 && strcmp(b->last.data, name) == 0)
        return PYRO_OK;
    pyro_buf_addf(&b->names, "%s%s", b->names.length > 0 ? ", " : "", name);
    pyro_buf_reset(&b->last);
    pyro_buf_adds(&b->last, name);
    b->matches = b->matches || pyro_history_matches(b->pattern, name);
    return PYRO_OK;
}

/* Fills in what the run measured; *matches says whether the query asks for it. */
static int describe_run(listing *l, pyro_database *database, pyro_history_run *run, bool *matches,
                        pyro_error *error)
{
    benchmark_names b = {PYRO_BUF_INIT, l->query->benchmark, false, 0, PYRO_BUF_INIT};
    pyro_sql_value parameters[] = {pyro_sql_integer(run->run)};
    int status = pyro_database_run(database,
                                   "SELECT s.benchmark FROM points p JOIN series s "
                                   "ON s.id = p.series WHERE p.run = $1 ORDER BY s.benchmark",
                                   parameters, 1, take_benchmark, &b, error);

    if (status == PYRO_OK && (b.names.failed || b.last.failed))
        status = pyro_fail_memory(error);
    if (status == PYRO_OK) {
        run->benchmarks = pyro_lines_text(l->store, b.names.data ? b.names.data : "");
        run->metric_count = b.metric_count;
        status = run->benchmarks ? PYRO_OK : pyro_fail_memory(error);
    }
    *matches = b.matches || !l->query->benchmark;
    pyro_buf_free(&b.names);
    pyro_buf_free(&b.last);
    return status;
}

int pyro_history_list_runs(pyro_history_list **out, pyro_history *history,
                           const pyro_history_query *query, size_t most, pyro_error *error)
{
    listing l = {.query = query, .most = most};
    int status = pyro_lines_store_new(&l.store, error);
    size_t kept = 0;

    *out = NULL;
    if (status == PYRO_OK)
        status = pyro_database_run(
            history->database,
            "SELECT r.id, r.time_ns, r.added_ns, r.kind, r.project, r.commit_id, r.branch, r.tool, "
            "r.tags, m.class, m.description, m.fingerprint FROM runs r "
            "JOIN machines m ON m.id = r.machine ORDER BY r.time_ns DESC, r.id DESC",
            NULL, 0, take_run, &l, error);
    for (size_t i = 0; status == PYRO_OK && i < l.store->list.run_count; i++) {
        pyro_history_run run = l.store->list.runs[i];
        bool matches;

        if (most > 0 && kept == most)
            break;
        status = describe_run(&l, history->database, &run, &matches, error);
        if (matches)
            l.store->list.runs[kept++] = run;
    }
    if (status == PYRO_OK) {
        l.store->list.run_count = kept;
        *out = &l.store->list;
    } else {
        pyro_lines_store_free(l.store);
    }
    return status;
}

void pyro_history_list_free(pyro_history_list *list)
{
    if (list)
        pyro_lines_store_free(list->store);
}
