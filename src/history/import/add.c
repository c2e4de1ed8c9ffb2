/* What the readers of all formats share: adding runs and metrics, machines, times. */
#include "history/import/import.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int pyro_import_run(pyro_import *import, pyro_run **out, const char *kind)
{
    int status = pyro_run_new(out, kind, import->error);

    return status == PYRO_OK ? pyro_runs_add(import->runs, *out, import->error) : status;
}

/* "name", "name #2", ...: a file may repeat a benchmark, and none of its numbers is dropped. */
static const char *unused_name(pyro_run *run, const pyro_run_metric *metric)
{
    size_t same = 0;

    for (size_t i = 0; i < run->metric_count; i++) {
        const pyro_run_metric *other = &run->metrics[i];
        size_t length = strlen(metric->benchmark);

        same += strcmp(other->metric, metric->metric) == 0 &&
                strncmp(other->benchmark, metric->benchmark, length) == 0 &&
                (other->benchmark[length] == '\0' ||
                 strncmp(other->benchmark + length, " #", 2) == 0);
    }
    return same == 0
               ? metric->benchmark
               : pyro_arena_format(&run->store->arena, "%s #%zu", metric->benchmark, same + 1);
}

int pyro_import_add(pyro_import *import, pyro_run *run, const pyro_import_metric *given)
{
    bool failed = false;
    double factor = given->factor != 0 ? given->factor : 1;
    pyro_run_metric metric = {.benchmark = given->benchmark,
                              .metric = given->metric,
                              .unit = given->unit,
                              .method = given->method ? given->method : "",
                              .higher_is_better = given->higher_is_better,
                              .value = given->value * factor,
                              .statistics = given->statistics};

    metric.samples = pyro_node_numbers(&import->document, given->samples, factor, &metric.count,
                                       &failed);
    if (failed)
        return pyro_fail_memory(import->error);
    if (!metric.samples && !isfinite(metric.value))
        return PYRO_OK;
    /* Quadratic in the repetitions only for small files; large ones keep the first of a name. */
    if (run->metric_count < 4096)
        metric.benchmark = unused_name(run, &metric);
    if (!metric.benchmark)
        return pyro_fail_memory(import->error);
    return pyro_run_add_metric(run, &metric, import->error);
}

int pyro_import_machine(pyro_import *import, pyro_run *run, const pyro_buf *machine_class,
                        const pyro_buf *all)
{
    char fingerprint[PYRO_FINGERPRINT];
    const char *description = all->data ? all->data : "";

    if (machine_class->failed || all->failed)
        return pyro_fail_memory(import->error);
    pyro_fingerprint(fingerprint, description);
    int status = pyro_run_set(run, &run->machine_class,
                              machine_class->data ? machine_class->data : "", import->error);
    if (status == PYRO_OK)
        status = pyro_run_set(run, &run->machine, description, import->error);
    if (status == PYRO_OK && description[0] != '\0')
        status = pyro_run_set(run, &run->fingerprint, fingerprint, import->error);
    return status;
}

/* Reads up to nine digits after the point of a second. */
static int64_t parse_fraction(const char **at)
{
    int64_t nanoseconds = 0, digit = 100000000;

    for (; **at >= '0' && **at <= '9'; (*at)++) {
        nanoseconds += (**at - '0') * digit;
        digit /= 10;
    }
    return nanoseconds;
}

int64_t pyro_parse_time(const char *text)
{
    struct tm parts = {0};
    int64_t nanoseconds = 0, offset_s = 0;
    int hours = 0, minutes = 0;
    const char *at = strptime(text, "%Y-%m-%d", &parts);

    if (!at || parts.tm_year < 70 || parts.tm_year > 300)
        return 0;
    if (*at == 'T' || *at == ' ') {
        at = strptime(at + 1, "%H:%M:%S", &parts);
        if (!at)
            return 0;
        if (*at == '.' || *at == ',') {
            at++;
            nanoseconds = parse_fraction(&at);
        }
        if ((*at == '+' || *at == '-') && sscanf(at + 1, "%2d%*[:]%2d", &hours, &minutes) < 2)
            sscanf(at + 1, "%2d%2d", &hours, &minutes);
        offset_s = (*at == '-' ? -1 : 1) * ((int64_t)hours * 3600 + (int64_t)minutes * 60);
    }
    return ((int64_t)timegm(&parts) - offset_s) * 1000000000 + nanoseconds;
}

void pyro_import_parameters(pyro_buf *buf, const pyro_node *object)
{
    if (!pyro_node_is(object, PYRO_JSON_OBJECT))
        return;
    for (const pyro_node *child = object->first; child; child = child->next) {
        if (child->kind == PYRO_JSON_STRING)
            pyro_buf_addf(buf, " %s=%s", child->key, child->text);
        else if (child->kind == PYRO_JSON_NUMBER)
            pyro_buf_addf(buf, " %s=%.12g", child->key, child->number);
        else if (child->kind == PYRO_JSON_TRUE || child->kind == PYRO_JSON_FALSE)
            pyro_buf_addf(buf, " %s=%s", child->key,
                          child->kind == PYRO_JSON_TRUE ? "true" : "false");
    }
}
