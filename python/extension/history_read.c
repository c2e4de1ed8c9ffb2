/* Functions that read the history of results: reports as JSON, alerts, plans, gc. */
#include "module.h"

#include <pyrometer/history.h>
#include <pyrometer/report.h>

/* What the functions of this file have opened. */
typedef struct history_reading {
    pyro_history *history;
    pyro_history_order *order;
    pyro_history_list *list;
    pyro_history_lines *lines;
    pyro_history_changes *changes;
} history_reading;

/* What Python passes to all of them. */
typedef struct history_filters {
    const char *database;
    pyro_history_query query;
    const char *tag; /* the one of query.tags, or NULL */
    double min_change;
    bool by_time;
} history_filters;

PyDoc_STRVAR(filters_doc,
             "filters is (db, project, benchmark, metric, machine, branch, commit, tag, since_ns, "
             "until_ns, statistic, across_machines, by_time, min_change).");

static int parse_filters(PyObject *tuple, history_filters *out)
{
    int statistic, across, by_time;
    long long since_ns, until_ns;
    pyro_history_query *query = &out->query;

    *out = (history_filters){0};
    if (!PyArg_ParseTuple(tuple, "zzzzzzzzLLippd:filters", &out->database, &query->project,
                          &query->benchmark, &query->metric, &query->machine, &query->branch,
                          &query->commit, &out->tag, &since_ns, &until_ns, &statistic, &across,
                          &by_time, &out->min_change))
        return -1;
    if (statistic < 0 || statistic > PYRO_STATISTIC_P99) {
        PyErr_SetString(PyExc_ValueError, "unknown statistic");
        return -1;
    }
    query->tags = &out->tag;
    query->tag_count = out->tag ? 1 : 0;
    query->since_ns = since_ns;
    query->until_ns = until_ns;
    query->statistic = (pyro_statistic_kind)statistic;
    query->across_machines = across;
    out->by_time = by_time;
    return 0;
}

static PyObject *fail(PyObject *module, const pyro_error *error, int status)
{
    return core_fail(PyModule_GetState(module), error, status, 1);
}

/* The text that a writer made, or an exception. */
static PyObject *finish(PyObject *module, int status, char *text, size_t size,
                        const pyro_error *error)
{
    PyObject *result = status < 0 ? fail(module, error, status)
                                  : PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");

    pyro_free(text);
    return result;
}

/* Opens lines and their changes, in the order of git unless by time. */
static int open_lines(history_reading *r, history_filters *filters, bool writes, pyro_error *error)
{
    pyro_change_options options = {.min_change = filters->min_change};

    if (!filters->by_time)
        r->order = pyro_history_order_by_git(&filters->query);
    int status = pyro_history_open(&r->history, filters->database, !writes, error);
    if (status == PYRO_OK)
        status = pyro_history_read(&r->lines, r->history, &filters->query, error);
    if (status == PYRO_OK)
        status = pyro_history_find_changes(&r->changes, r->history, r->lines, &options, error);
    return status;
}

static int open_list(history_reading *r, const history_filters *filters, pyro_error *error)
{
    int status = pyro_history_open(&r->history, filters->database, true, error);

    return status == PYRO_OK
               ? pyro_history_list_runs(&r->list, r->history, &filters->query, 0, error)
               : status;
}

static void close_history(history_reading *r)
{
    pyro_history_changes_free(r->changes);
    pyro_history_lines_free(r->lines);
    pyro_history_list_free(r->list);
    pyro_history_close(r->history);
    pyro_history_order_free(r->order);
}

static int write_json(char **text, size_t *size, const pyro_history_report *report,
                      pyro_error *error)
{
    pyro_report_options options = {.format = PYRO_FORMAT_JSON};

    return pyro_report_history(text, size, report, &options, error);
}

static int view_of(const char *name, pyro_history_view *view)
{
    static const char *const names[] = {"list", "show", "export", "collect", "trend", "changes"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            *view = (pyro_history_view)i;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "unknown view %s", name);
    return -1;
}

static PyObject *history_report(PyObject *module, PyObject *args)
{
    history_filters filters;
    pyro_history_report report = {0};
    history_reading reading = {0};
    PyObject *tuple;
    const char *view;
    pyro_error error;
    char *text = NULL;
    size_t size = 0;
    int status;

    if (!PyArg_ParseTuple(args, "O!s:history_report", &PyTuple_Type, &tuple, &view) ||
        parse_filters(tuple, &filters) || view_of(view, &report.view))
        return NULL;
    filters.query.with_samples = report.view == PYRO_HISTORY_EXPORT;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS;
    status = report.view == PYRO_HISTORY_LIST ? open_list(&reading, &filters, &error)
                                              : open_lines(&reading, &filters, false, &error);
    report.list = reading.list;
    report.lines = reading.lines;
    report.changes = reading.changes;
    if (status == PYRO_OK)
        status = write_json(&text, &size, &report, &error);
    close_history(&reading);
    Py_END_ALLOW_THREADS;
    return finish(module, status, text, size, &error);
}

/* The rules as texts; the caller frees the array. NULL with an exception. */
static pyro_alert_rule *parse_rules(PyObject *module, PyObject *list, size_t *count)
{
    Py_ssize_t length = PySequence_Fast_GET_SIZE(list);
    pyro_alert_rule *rules = PyMem_Calloc((size_t)length + 1, sizeof *rules);
    pyro_error error;

    if (!rules)
        PyErr_NoMemory();
    pyro_error_clear(&error);
    for (*count = 0; rules && *count < (size_t)length; ++*count) {
        const char *text = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(list, (Py_ssize_t)*count));
        int status = text ? pyro_alert_parse(&rules[*count], text, &error) : PYRO_OK;

        if (text && status == PYRO_OK)
            continue;
        if (text)
            fail(module, &error, status);
        PyMem_Free(rules);
        return NULL;
    }
    return rules;
}

/* The four texts of alerts: JSON, JUnit, Markdown, a webhook's payload. */
static int write_alerts(char *texts[4], size_t sizes[4], const pyro_alerts *alerts,
                        pyro_error *error)
{
    pyro_history_report report = {.view = PYRO_HISTORY_ALERTS, .alerts = alerts};
    int status = write_json(&texts[0], &sizes[0], &report, error);

    for (int i = 0; i < 3 && status == PYRO_OK; i++)
        status = pyro_report_alerts(&texts[i + 1], &sizes[i + 1], alerts, (pyro_alerts_format)i,
                                    error);
    return status;
}

static PyObject *history_alert(PyObject *module, PyObject *args)
{
    history_filters filters;
    history_reading reading = {0};
    PyObject *tuple, *given, *list, *result = NULL;
    pyro_alerts alerts = {0};
    char *texts[4] = {NULL};
    size_t sizes[4] = {0}, count = 0;
    pyro_error error;
    int status;

    if (!PyArg_ParseTuple(args, "O!O:history_alert", &PyTuple_Type, &tuple, &given) ||
        parse_filters(tuple, &filters))
        return NULL;
    list = PySequence_Fast(given, "rules must be a sequence of texts");
    pyro_alert_rule *rules = list ? parse_rules(module, list, &count) : NULL;
    Py_XDECREF(list);
    if (!rules)
        return NULL;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS;
    status = open_lines(&reading, &filters, false, &error);
    if (status == PYRO_OK)
        status = pyro_alerts_check(&alerts, rules, count, reading.lines, reading.changes, 0,
                                   &error);
    if (status == PYRO_OK)
        status = write_alerts(texts, sizes, &alerts, &error);
    Py_END_ALLOW_THREADS;
    if (status < 0)
        fail(module, &error, status);
    else
        result = Py_BuildValue("s#s#s#s#OO", texts[0], (Py_ssize_t)sizes[0], texts[1],
                               (Py_ssize_t)sizes[1], texts[2], (Py_ssize_t)sizes[2], texts[3],
                               (Py_ssize_t)sizes[3], alerts.fired ? Py_True : Py_False,
                               alerts.cannot_tell ? Py_True : Py_False);
    for (int i = 0; i < 4; i++)
        pyro_free(texts[i]);
    pyro_alerts_free(&alerts);
    close_history(&reading);
    PyMem_Free(rules);
    return result;
}

static PyObject *history_plan(PyObject *module, PyObject *args)
{
    history_filters filters;
    history_reading reading = {0};
    pyro_capacity_request request;
    pyro_capacity_rows plan = {0};
    pyro_history_report report = {.view = PYRO_HISTORY_PLAN, .capacity = &request, .plan = &plan};
    double utilisation, price;
    const char *model, *rate, *p99;
    PyObject *tuple;
    pyro_error error;
    char *text = NULL;
    size_t size = 0;
    int status;

    if (!PyArg_ParseTuple(args, "O!zssdd:history_plan", &PyTuple_Type, &tuple, &model, &rate, &p99,
                          &utilisation, &price) ||
        parse_filters(tuple, &filters))
        return NULL;
    filters.query.model = model;
    filters.query.metric = "latency";
    filters.query.with_samples = true;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS;
    status = pyro_capacity_parse(&request, rate, p99, &error);
    request.utilisation = utilisation;
    request.price_per_hour = price;
    if (status == PYRO_OK)
        status = open_lines(&reading, &filters, false, &error);
    if (status == PYRO_OK)
        status = pyro_history_plan(&plan, reading.lines, reading.changes, &request, &error);
    if (status == PYRO_OK)
        status = write_json(&text, &size, &report, &error);
    pyro_capacity_rows_free(&plan);
    close_history(&reading);
    Py_END_ALLOW_THREADS;
    return finish(module, status, text, size, &error);
}

static PyObject *history_collect(PyObject *module, PyObject *args)
{
    const char *database, *samples, *all, *weekly;
    pyro_retention_result collected = {0};
    pyro_retention retention;
    pyro_history *history = NULL;
    int only_count, status;
    pyro_error error;
    char *text = NULL;
    size_t size = 0;

    if (!PyArg_ParseTuple(args, "zzzzp:history_collect", &database, &samples, &all, &weekly,
                          &only_count))
        return NULL;
    pyro_history_report report = {
        .view = PYRO_HISTORY_COLLECT, .collected = &collected, .only_counted = only_count != 0};
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS;
    status = pyro_retention_parse(&retention, samples, all, weekly, &error);
    retention.only_count = only_count;
    if (status == PYRO_OK)
        status = pyro_history_open(&history, database, false, &error);
    if (status == PYRO_OK)
        status = pyro_history_collect(history, &retention, &collected, &error);
    if (status == PYRO_OK)
        status = write_json(&text, &size, &report, &error);
    pyro_history_close(history);
    Py_END_ALLOW_THREADS;
    return finish(module, status, text, size, &error);
}

static int acknowledge(history_reading *r, const char *id, const char *note, size_t *found,
                       pyro_error *error)
{
    int status = PYRO_OK;

    for (size_t i = 0; status == PYRO_OK && i < r->changes->change_count; i++) {
        if (strncmp(r->changes->changes[i].id, id, strlen(id)) != 0)
            continue;
        ++*found;
        status = pyro_history_acknowledge(r->history, &r->changes->changes[i], note, error);
    }
    return status;
}

static PyObject *history_acknowledge(PyObject *module, PyObject *args)
{
    history_filters filters;
    history_reading reading = {0};
    const char *id, *note;
    PyObject *tuple;
    size_t found = 0;
    pyro_error error;
    int status;

    if (!PyArg_ParseTuple(args, "O!sz:history_acknowledge", &PyTuple_Type, &tuple, &id, &note) ||
        parse_filters(tuple, &filters))
        return NULL;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS;
    status = open_lines(&reading, &filters, true, &error);
    if (status == PYRO_OK)
        status = acknowledge(&reading, id, note, &found, &error);
    close_history(&reading);
    Py_END_ALLOW_THREADS;
    return status < 0 ? fail(module, &error, status) : PyLong_FromSize_t(found);
}

static PyObject *history_newest(PyObject *module, PyObject *args)
{
    history_filters filters;
    history_reading reading = {0};
    PyObject *tuple;
    int for_github, status;
    pyro_error error;
    char *text = NULL;
    size_t size = 0;

    if (!PyArg_ParseTuple(args, "O!p:history_newest", &PyTuple_Type, &tuple, &for_github) ||
        parse_filters(tuple, &filters))
        return NULL;
    pyro_error_clear(&error);
    Py_BEGIN_ALLOW_THREADS;
    status = open_lines(&reading, &filters, false, &error);
    if (status == PYRO_OK && for_github)
        status = pyro_report_github_entries(&text, &size, reading.lines, &error);
    else if (status == PYRO_OK)
        status = pyro_report_prometheus(&text, &size, reading.lines, reading.changes, &error);
    close_history(&reading);
    Py_END_ALLOW_THREADS;
    return finish(module, status, text, size, &error);
}

static PyMethodDef methods[] = {
    {"history_report", history_report, METH_VARARGS, filters_doc},
    {"history_alert", history_alert, METH_VARARGS,
     "history_alert(filters, rules) -> (json, junit, markdown, webhook, fired, cannot_tell)"},
    {"history_plan", history_plan, METH_VARARGS,
     "history_plan(filters, model, rate, p99, utilisation, price) -> str: JSON."},
    {"history_collect", history_collect, METH_VARARGS,
     "history_collect(db, keep_samples, keep_all, keep_weekly, dry_run) -> str: JSON."},
    {"history_acknowledge", history_acknowledge, METH_VARARGS,
     "history_acknowledge(filters, id, note) -> int: the number of changes with this id."},
    {"history_newest", history_newest, METH_VARARGS,
     "history_newest(filters, for_github) -> str: for Prometheus, or github-action-benchmark."},
    {NULL, NULL, 0, NULL},
};

int core_add_history_read(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
